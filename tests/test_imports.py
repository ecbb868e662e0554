"""Imports point one way: each part of the package uses only those in layers below its own."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "src" / "errands"
LAYERS = (
    ("files", "interrupts", "kernel", "seeds", "settings"),
    ("records",),
    ("language",),
    ("worlds", "agents"),  # in one layer: they do not know each other
    ("learning",),
    ("config",),
    ("presets",),
    ("evaluation",),
    ("stages", "watch", "sweep", "sb3"),
    ("commands",),
    ("cli",),
    ("__main__",),
)
LAYER = {part: height for height, parts in enumerate(LAYERS) for part in parts}


def part_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def parts_used(source: str) -> Iterator[str]:
    """The parts of the package that a module imports, also inside functions and for types only."""
    for node in ast.walk(ast.parse(source)):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module == "errands":
            names = [f"errands.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports name their package in full"
            names = [node.module or ""]
        yield from (name.split(".")[1] for name in names if name.startswith("errands."))


def is_allowed(part: str, used: str) -> bool:
    return part == used or LAYER[used] < LAYER[part]


MODULES = sorted(path for path in PACKAGE.rglob("*.py") if part_of(path) != "__init__")


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_modules_import_only_from_lower_layers(path: Path) -> None:
    used = {name for name in parts_used(path.read_text(encoding="utf-8")) if name in LAYER}
    assert {name for name in used if not is_allowed(part_of(path), name)} == set()


def test_every_part_has_a_layer() -> None:
    assert {part_of(path) for path in MODULES} == set(LAYER)


@pytest.mark.parametrize(
    ("part", "source"),
    [
        ("worlds", "from errands.agents.meta import MetaNetwork"),
        ("agents", "def f():\n    import errands.worlds.grid"),
        ("learning", "from errands import stages"),
    ],
)
def test_wrong_imports_are_noticed(part: str, source: str) -> None:
    assert not all(is_allowed(part, used) for used in parts_used(source))
