"""What keeps the source easy to read: short files, and one meaning for each name."""

import ast
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src"
LONGEST_FILE = 400  # lines


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
