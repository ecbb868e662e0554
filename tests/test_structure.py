"""What keeps the source easy to read: short files, one meaning for each name, nothing unused."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

REPOSITORY = Path(__file__).parent.parent
SOURCE = REPOSITORY / "src"
TABLES = REPOSITORY / "docs" / "tables.py"
LONGEST_FILE = 400  # lines
# Names that nothing here uses: other libraries call them by name.
CALLED_FROM_OUTSIDE = {
    *("on_start", "on_end"),  # by Numba, when it compiles
    "send_400_response",  # by uvicorn, when what it received is no HTTP
    *("step_async", "step_wait", "get_images", "get_attr"),  # and these by Stable-Baselines3
    *("set_attr", "env_method", "env_is_wrapped"),
}


def python_files() -> dict[str, str]:
    """The text of every module, by path."""
    return {
        str(path.relative_to(SOURCE)): path.read_text(encoding="utf-8")
        for path in sorted(SOURCE.rglob("*.py"))
    }


def names_of_two_classes(files: Mapping[str, str]) -> dict[str, list[str]]:
    """Public names that classes in different places share, and where they are."""
    places: dict[str, list[str]] = defaultdict(list)
    for path, text in files.items():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(path)
    return {name: where for name, where in places.items() if len(where) > 1}


def test_no_two_classes_have_the_same_name() -> None:
    assert names_of_two_classes(python_files()) == {}


def test_a_second_class_of_the_same_name_is_noticed() -> None:
    files = {"a.py": "class World:\n    pass\n", "b.py": "if True:\n    class World: ...\n"}
    assert names_of_two_classes(files) == {"World": ["a.py", "b.py"]}


def test_no_file_is_too_long_to_read() -> None:
    lengths = {path: text.count("\n") for path, text in python_files().items()}
    lengths[TABLES.name] = TABLES.read_text(encoding="utf-8").count("\n")
    assert {path: lines for path, lines in lengths.items() if lines > LONGEST_FILE} == {}


def defined_names(tree: ast.Module) -> Iterator[str]:
    """Functions, classes and constants of a module, and what its classes define."""
    classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    enums = [node for node in classes if any("Enum" in ast.unparse(base) for base in node.bases)]
    for owner in (tree, *(node for node in classes if node not in enums)):
        for node in owner.body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                yield node.name
            elif isinstance(node, ast.Assign | ast.AnnAssign):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                yield from (target.id for target in targets if isinstance(target, ast.Name))


def used_names(tree: ast.AST) -> Iterator[str]:
    """All that is read, called or named in a string that could be a name, but for imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.keyword) and node.arg:
            yield node.arg
        elif isinstance(node, ast.Constant) and re.fullmatch(r"[\w.:]+", str(node.value)):
            yield from re.findall(r"\w+", str(node.value))  # such as "errands.agents.load"


def unused_names(files: Mapping[str, str], others: str) -> dict[str, list[str]]:
    """Names that are defined, and occur neither elsewhere in the files nor in other text."""
    trees = {path: ast.parse(text) for path, text in files.items()}
    used = {name for tree in trees.values() for name in used_names(tree)}
    used |= set(re.findall(r"\w+", others)) | CALLED_FROM_OUTSIDE
    unused = {
        path: [name for name in defined_names(tree) if not (name in used or name[:2] == "__")]
        for path, tree in trees.items()
    }
    return {path: names for path, names in unused.items() if names}


def examples_for_users() -> str:
    """The Python of the pages, the scripts of the docs, the web page, and the entry points."""
    pages = (REPOSITORY / "README.md", *(REPOSITORY / "docs").glob("*.md"))
    shown = [
        block
        for page in pages
        for block in re.findall(
            r"^```python\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
        )
    ]
    scripts = [*(REPOSITORY / "docs").rglob("*.py"), *SOURCE.rglob("*.js")]
    scripts += [REPOSITORY / "pyproject.toml"]
    return "\n".join([*shown, *(path.read_text(encoding="utf-8") for path in scripts)])


def test_nothing_in_the_package_is_for_tests_alone() -> None:
    assert unused_names(python_files(), examples_for_users()) == {}


def test_what_only_a_test_would_call_is_noticed() -> None:
    files = {
        "a.py": "def used(): ...\n\ndef forgotten(): ...\n\nONE = TWO = 1\n",
        "b.py": "from a import forgotten, used\n\nclass Kept:\n    spare = used(ONE)\n",
    }
    assert unused_names(files, "Kept()") == {"a.py": ["forgotten", "TWO"], "b.py": ["spare"]}
