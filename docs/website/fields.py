"""Makes a table of the fields of each class for the API page, from the comments in the source.

The source says what a field means in a comment beside or above it, or in `setting(...)`. Griffe,
which reads the source, calls the methods `on_...`.
"""

import ast
from collections.abc import Iterator
from typing import Any

import griffe

Assignment = ast.Assign | ast.AnnAssign


class FieldTables(griffe.Extension):
    """Adds the fields of a class to its docstring."""

    def on_attribute_instance(self, *, node: Any, attr: griffe.Attribute, **_: Any) -> None:
        """In a signature, the default of a setting is enough."""
        if isinstance(node, ast.AnnAssign) and is_setting(node.value):
            attr.value = attr.value.arguments[0]

    def on_class_members(self, *, node: Any, cls: griffe.Class, **_: Any) -> None:
        if isinstance(node, ast.ClassDef) and cls.docstring is not None:
            cls.docstring.value += attributes(node, cls.module.source.splitlines())


def attributes(node: ast.ClassDef, lines: list[str]) -> str:
    """The part of a docstring that describes the public fields; nothing if none is described."""
    meanings = {
        name: described(assignment, lines)
        for name, assignment in fields(node)
        if not name.startswith("_")
    }
    rows = [f"    {name}: {meaning}" for name, meaning in meanings.items() if meaning]
    return "\n\nAttributes:\n" + "\n".join(rows) if rows else ""


def fields(node: ast.ClassDef) -> Iterator[tuple[str, Assignment]]:
    """The fields of a class with the assignments that declare them."""
    for statement in node.body:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            yield statement.target.id, statement
        elif isinstance(statement, ast.FunctionDef) and statement.name == "__init__":
            for inner in statement.body:
                if isinstance(inner, Assignment):
                    target = inner.targets[0] if isinstance(inner, ast.Assign) else inner.target
                    if isinstance(target, ast.Attribute):
                        yield target.attr, inner


def described(node: Assignment, lines: list[str]) -> str:
    """What the source says about a field, as a sentence; nothing if it says nothing."""
    if is_setting(node.value):
        meaning = sentence(ast.literal_eval(node.value.args[1]))
        papers = [f" The paper's value: {ast.unparse(word.value)}." for word in node.value.keywords]
        return meaning + "".join(papers)
    beside = lines[node.end_lineno - 1].encode()[node.end_col_offset :].decode().strip()
    if beside.startswith("#"):
        return sentence(beside.lstrip("# "))
    above: list[str] = []
    if isinstance(node, ast.AnnAssign):  # above another assignment, a comment is about the code
        for line in reversed(lines[: node.lineno - 1]):
            if not line.strip().startswith("#"):
                break
            above.insert(0, line.strip().lstrip("# "))
    return sentence(" ".join(above))


def is_setting(value: ast.expr | None) -> bool:
    return isinstance(value, ast.Call) and ast.unparse(value.func) == "setting"


def sentence(text: str) -> str:
    """With a capital letter and a full stop."""
    if not text:
        return ""
    return text[0].upper() + text[1:] + ("" if text.endswith((".", "?", "!")) else ".")
