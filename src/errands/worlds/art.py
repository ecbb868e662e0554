"""Pixel art kept as text: a palette of characters, and 16 by 16 pictures drawn with them."""

import re
from functools import cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

PICTURE_SIZE = 16
TRANSPARENT = "."
_COLOUR = re.compile(r"(\S) ([0-9a-fA-F]{6})")
_HEADER = re.compile(r"picture (\S+)")


def check_art(name: str) -> None:
    """Refuse a name that is not of shipped pixel art; the ValueError says which there are."""
    folder = files("errands.worlds").joinpath("art")
    shipped = sorted(file.name.removesuffix(".txt") for file in folder.iterdir())
    if name not in shipped:
        raise ValueError(f"there is no art '{name}'; there are {', '.join(shipped)}")


def load_art(name: str) -> dict[str, NDArray[np.uint8]]:
    """Read the shipped file `art/<name>.txt`: picture name to (16, 16, 4) RGBA, in file order."""
    return {picture: pixels.copy() for picture, pixels in _shipped(name).items()}


@cache
def _shipped(name: str) -> dict[str, NDArray[np.uint8]]:
    check_art(name)
    path = files("errands.worlds").joinpath("art", f"{name}.txt")
    return parse_art(path.read_text(encoding="utf-8"), f"{name}.txt")


def parse_art(text: str, source: str = "art") -> dict[str, NDArray[np.uint8]]:
    """Read pixel art from text. A mistake raises ValueError with `source` and the line.

    A line `palette` opens a list of `<char> <rrggbb>` lines; a line `picture <name>` opens 16 rows
    of 16 characters. '.' is always transparent. Blank lines and lines that start with '#' are
    skipped.
    """
    palette: dict[str, tuple[int, int, int, int]] = {TRANSPARENT: (0, 0, 0, 0)}
    pictures: dict[str, NDArray[np.uint8]] = {}
    section = ""  # "palette", or the name of the picture being read
    rows: list[list[tuple[int, int, int, int]]] = []

    def fail(number: int, why: str) -> ValueError:
        return ValueError(f"{source}, line {number}: {why}")

    def close_picture(number: int) -> None:
        if section in ("", "palette"):
            return
        if len(rows) != PICTURE_SIZE:
            raise fail(number, f"picture {section} has {len(rows)} rows, not {PICTURE_SIZE}")
        pictures[section] = np.array(rows, dtype=np.uint8)

    number = 0
    for number, line in enumerate(text.splitlines(), start=1):
        line = line.rstrip()
        if not line or line.startswith("#"):
            continue
        header = _HEADER.fullmatch(line)
        if line == "palette" or header:
            close_picture(number)
            section, rows = header[1] if header else "palette", []
            if section in pictures or (header and section == "palette"):
                raise fail(number, f"the name {section} is taken")
        elif section == "palette":
            colour = _COLOUR.fullmatch(line)
            if not colour:
                raise fail(number, f"expected '<char> <rrggbb>', got {line!r}")
            if colour[1] in palette:
                raise fail(number, f"the palette has {colour[1]!r} already")
            red, green, blue = bytes.fromhex(colour[2])
            palette[colour[1]] = (red, green, blue, 255)
        elif section:
            if len(line) != PICTURE_SIZE or len(rows) == PICTURE_SIZE:
                raise fail(number, f"picture {section} needs {PICTURE_SIZE} rows of {PICTURE_SIZE}")
            unknown = set(line) - palette.keys()
            if unknown:
                raise fail(number, f"not in the palette: {' '.join(sorted(unknown))}")
            rows.append([palette[char] for char in line])
        else:
            raise fail(number, f"expected 'palette' or 'picture <name>', got {line!r}")
    close_picture(number)
    return pictures
