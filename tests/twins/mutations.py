"""Random damage: to the bytes of a file, and to the fields of JSON."""

import copy
import json
from typing import Any

import numpy as np

NESTED: Any = []
for _ in range(900):  # json reads it, and what walks through it may run out of stack
    NESTED = [NESTED]
ODD: tuple[Any, ...] = (
    *(None, True, False, -1, 0, 3, 2**40, 10**30, 1e308, 0.5, float("nan"), float("inf")),
    *("", "grid", "meta", "x" * 5000, "two\nlines \x1b[31m", "../..", "/etc/passwd"),
    *([], {}, [[]], [1, 2], {"a": {}}, [{}], NESTED),
)


def damaged_bytes(content: bytes, random: np.random.Generator) -> bytes:
    """One to three bytes changed, a piece cut out or doubled, or the end lost."""
    changed = bytearray(content)
    sort = random.integers(4)
    begin = int(random.integers(len(content)))
    end = min(len(content), begin + int(random.integers(1, 64)))
    if sort == 0:
        for place in random.integers(len(content), size=random.integers(1, 4)):
            changed[place] ^= int(random.integers(1, 256))
    elif sort == 1:
        del changed[begin:end]
    elif sort == 2:
        changed[begin:begin] = changed[begin:end]
    else:
        del changed[begin:]
    return bytes(changed)


def damaged_json(content: Any, random: np.random.Generator) -> str:
    """The text of a JSON value in which one or two fields are lost, odd, or renamed."""
    if random.random() < 0.1:
        return damaged_bytes(json.dumps(content).encode(), random).decode(errors="replace")
    changed = {"root": copy.deepcopy(content)}
    for _ in range(random.integers(1, 3)):
        places = list(_places(changed))
        holder, key = places[random.integers(len(places))]
        sort = random.random()
        if sort < 0.3 and holder is not changed:
            del holder[key]
        elif sort < 0.4 and isinstance(holder, dict) and holder is not changed:
            holder[f"{key}x"] = holder.pop(key)
        else:
            holder[key] = ODD[random.integers(len(ODD))]
    return json.dumps(changed["root"])


def _places(value: Any) -> Any:
    """Every field and item within, as what contains it and its key."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield value, key
            yield from _places(item)
    elif isinstance(value, list) and value is not NESTED:
        for number, item in enumerate(value):
            yield value, number
            yield from _places(item)
