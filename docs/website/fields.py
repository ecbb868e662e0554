"""Shows what fields of classes mean: the comment beside or above one is its description.

The source says what a field is for in a comment, or in the text of `setting(...)`. Griffe, which
reads the source for the API pages, calls `on_attribute_instance`.
"""

import ast
from typing import Any

import griffe


class FieldComments(griffe.Extension):
    """Takes the description of a field from its comment."""

    def on_attribute_instance(self, *, node: Any, attr: griffe.Attribute, **_: Any) -> None:
        assigned = isinstance(node, ast.Assign | ast.AnnAssign) and attr.parent.is_class
        if assigned and attr.docstring is None:
            meaning = described(node, attr.parent.module.source.splitlines())
            if meaning:
                attr.docstring = griffe.Docstring(meaning, parent=attr)


def described(node: ast.Assign | ast.AnnAssign, lines: list[str]) -> str:
    """What the source says about a field, as a sentence; nothing if it says nothing."""
    if isinstance(node.value, ast.Call) and ast.unparse(node.value.func) == "setting":
        return sentence(ast.literal_eval(node.value.args[1]))
    beside = lines[node.end_lineno - 1].encode()[node.end_col_offset :].decode().strip()
    if beside.startswith("#"):
        return sentence(beside.lstrip("# "))
    above: list[str] = []  # a comment above an assignment in a method is about the code
    if isinstance(node, ast.Assign):
        return ""
    for line in reversed(lines[: node.lineno - 1]):
        if not line.strip().startswith("#"):
            break
        above.insert(0, line.strip().lstrip("# "))
    return sentence(" ".join(above))


def sentence(text: str) -> str:
    """With a capital letter and a full stop."""
    if not text:
        return ""
    return text[0].upper() + text[1:] + ("" if text.endswith((".", "?", "!")) else ".")
