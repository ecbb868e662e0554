"""JSON that others may have written: whether it has the fields and types that the code relies on.

A shape is a type, a table of shapes by name, a list of one shape, a tuple of the values that are
possible, `Maybe` or `OrNull`. Fields that a shape does not name may be anything.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from errands.files import DamagedFile

LARGEST = 2**26  # bytes of a JSON file
LONGEST = 300  # characters of a text
NAMES = {str: "a short text", int: "a whole number", float: "a number", bool: "true or false"}


@dataclass(frozen=True)
class Maybe:
    """What may be missing, or null."""

    shape: Any


@dataclass(frozen=True)
class OrNull:
    """What has to be there, and may be null."""

    shape: Any


ANYTHING = Maybe(object)


def read_json(path: Path, shape: Any = ANYTHING) -> Any:
    """The content of a file; DamagedFile says in one line what is wrong with it."""
    try:
        if path.stat().st_size > LARGEST:
            raise ValueError(f"it is larger than {LARGEST >> 20} megabytes")
        return parse_json(path.read_text(encoding="utf-8"), shape)
    except ValueError as error:
        raise DamagedFile(f"'{path}' is damaged: {one_line(str(error))}") from error


def parse_json(text: str, shape: Any = ANYTHING) -> Any:
    """What a text contains; a ValueError says what is wrong with it."""
    try:
        content = json.loads(text)
        check_shape(content, shape)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    return content


def check_shape(value: Any, shape: Any, name: str = "") -> None:
    """Raise a ValueError that says which field is missing or wrong, if any is."""
    if isinstance(shape, Maybe | OrNull):
        if value is not None:
            check_shape(value, shape.shape, name)
    elif isinstance(shape, Mapping):
        if not isinstance(value, dict):
            raise ValueError(f"{name or 'it'} is {_shown(value)}, not a table")
        for key, inner in shape.items():
            if key not in value and not isinstance(inner, Maybe):
                raise ValueError(f"{_joined(name, key)} is missing")
            check_shape(value.get(key), inner, _joined(name, key))
    elif isinstance(shape, list):
        if not isinstance(value, list):
            raise ValueError(f"{name or 'it'} is {_shown(value)}, not a list")
        for item in value:
            check_shape(item, shape[0], name)
    elif isinstance(shape, tuple):
        if not any(value is choice or value == choice for choice in shape):
            choices = ", ".join(map(str, shape))
            raise ValueError(f"{name or 'it'} is {_shown(value)}, not one of {choices}")
    elif not _is_a(value, shape):
        raise ValueError(f"{name or 'it'} is {_shown(value)}, not {NAMES[shape]}")


def _joined(name: str, key: str) -> str:
    return f"{name}.{key}" if name else key


def _is_a(value: Any, kind: type) -> bool:
    if kind is object:
        return True
    if kind is bool:
        return isinstance(value, bool)
    if kind is str:
        return isinstance(value, str) and len(value) <= LONGEST and value.isprintable()
    if isinstance(value, bool) or not isinstance(value, int if kind is int else int | float):
        return False
    return math.isfinite(value) and abs(value) < 2**63


def _shown(value: Any) -> str:
    return repr(value)[:60]


def one_line(text: str) -> str:
    """A message about a stranger's file: no line breaks, nothing that a terminal would execute."""
    printable = "".join(letter if letter.isprintable() else " " for letter in text)
    return " ".join(printable.split())[: 2 * LONGEST]
