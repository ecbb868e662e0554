"""Maps for people to look at: pixel-art pictures from above, and coloured text for a terminal.

An object without a picture is drawn as a coloured tile with its initials: any world can be drawn.
"""

import colorsys
import re
import unicodedata
import zlib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import product
from string import ascii_lowercase, ascii_uppercase, digits

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from errands.worlds.art import PICTURE_SIZE, load_art
from errands.worlds.spec import EMPTY, FIRST_OBJECT, WALL, WATER

Picture = NDArray[np.uint8]
Colour = tuple[int, int, int]
Pixels = tuple[int, bytes]  # an RGBA picture that can be hashed: its side, and its bytes

OUTLINE: Colour = (36, 32, 47)  # the outline colour of the shipped art
BACKDROP: Colour = (28, 26, 36)  # between and below pictures

# Names of the pictures of floors, wall and water: the first of each that the art contains is used.
# The two floors are laid as a checkerboard.
_GROUND = (("floor",), ("floor.alt", "floor"), ("wall", "wall.top", "block"), ("water",))

# Terminal colours of floor, wall and water, and of the agent.
_TERMINAL_GROUND: tuple[Colour, ...] = ((46, 56, 46), (128, 132, 144), (28, 60, 110))
_TERMINAL_AGENT: Colour = (255, 255, 255)

# Letters of 3 by 5 pixels: an octal digit for each row from the top; its bit 4 is the left pixel.
_LETTERS = ascii_uppercase + digits + "?"
_LETTER_ROWS = (
    "25755656563444365556746477464434553557557222711152556554444757755655552555265644"  # A to P
    "25563656553421672222555575555255775552555522271247"  # Q to Z
    "7555726227612476121655711746163465271222252522531661202"  # 0 to 9, ?
)


def top_down(
    tiles: NDArray[np.uint8],
    row: int,
    col: int,
    object_names: Sequence[str],
    art: Mapping[str, Picture],
    *,
    heading: int | None = None,
    cell: int = 32,
    highlight: Sequence[tuple[int, int]] = (),
) -> Picture:
    """The map from above, RGB, `cell` pixels to a cell; `highlight` lists (row, column) cells.

    With a heading the agent is an arrow. An object it stands on stays visible: below the arrow, or
    small in the corner of the cell. Pictures of floor, walls, water and agent that `art` lacks are
    taken from the grid world's art.
    """
    _check_map(tiles, [(row, col), *highlight], object_names)
    if cell < 1:
        raise ValueError(f"a cell of {cell} pixels cannot be drawn")
    ground = tuple(_frozen(_find(art, *names)) for names in _GROUND)
    objects = tuple(_object_pixels(name, art) for name in object_names)
    sheet = _tile_sheet(ground, objects, cell)  # (2, tile codes, cell, cell, 3)
    height, width = tiles.shape
    checker = np.add.outer(np.arange(height), np.arange(width)) & 1
    # (height, width, cell, cell, 3) -> (height, cell, width, cell, 3): a row of pixels in one piece
    picture: Picture = sheet[checker, tiles].transpose(0, 2, 1, 3, 4)
    picture = picture.reshape(height * cell, width * cell, 3)

    def at(row: int, col: int) -> Picture:
        down, right = int(row) * cell, int(col) * cell  # a NumPy scalar could overflow
        return picture[down : down + cell, right : right + cell]

    here = at(row, col)
    if heading is not None:
        arrow = np.rot90(_find(art, "agent.top"), -int(heading))
        _paint(here, _scaled(_frozen(arrow), cell))
    else:
        on = int(tiles[row, col]) - FIRST_OBJECT
        if on >= 0:
            here[:] = sheet[checker[row, col], EMPTY]
        _paint(here, _scaled(_frozen(_find(art, "agent")), cell))
        if on >= 0:
            corner = cell - cell // 2
            _paint(here[corner:, corner:], _scaled(objects[on], cell // 2))
    for marked in highlight:
        _paint(at(*marked), _scaled(_frozen(_find(art, "highlight")), cell))
    return picture


def sprite_sheet(object_names: Sequence[str], art: Mapping[str, Picture]) -> Picture:
    """Every picture that `top_down` uses, side by side in one RGBA picture, for the web page.

    From the left: both floors, wall, water, the objects in their order, the agent from the side,
    the agent's arrow to the north, and the highlight.
    """
    pictures = [_find(art, *names) for names in _GROUND]
    objects = (_object_pixels(name, art) for name in object_names)
    pictures += [_scaled(pixels, PICTURE_SIZE) for pixels in objects]
    pictures += [_find(art, name) for name in ("agent", "agent.top", "highlight")]
    return np.concatenate(pictures, axis=1)


def side_by_side(view: Picture, top: Picture) -> Picture:
    """What the agent sees, enlarged to the height of the map, then a thin margin, then the map."""
    height = top.shape[0]
    width = view.shape[1] * height // view.shape[0]
    rows = np.arange(height) * view.shape[0] // height
    columns = np.arange(width) * view.shape[1] // width
    margin = np.full((height, max(2, height // 80), 3), BACKDROP, np.uint8)
    return np.concatenate([view[rows[:, None], columns], margin, top], axis=1)


def ansi(
    tiles: NDArray[np.uint8],
    row: int,
    col: int,
    object_names: Sequence[str],
    heading: int | None = None,
    *,
    legend: bool = False,
) -> str:
    """The map as text with 24-bit terminal colours: one line per row, two characters per cell.

    The agent is `@`, or an arrow if it has a heading; beside it is the colour of what it stands on.
    The legend, below the map, lists only what is on it.
    """
    _check_map(tiles, [(row, col)], object_names)
    count = len(object_names)
    texts = ["  ", "  ", "~~", *object_codes(object_names)]
    colours = [*_TERMINAL_GROUND, *(_distinct_colour(k, count) for k in range(count))]
    agent = "@" if heading is None else "^>v<"[heading]

    def block(tile: int) -> str:
        return _coloured(texts[tile], colours[tile])

    lines = []
    for r, tile_row in enumerate(tiles.tolist()):
        blocks = [block(tile) for tile in tile_row]
        if r == row:
            below = tile_row[col]
            beside = _coloured(texts[below][0], colours[below])
            blocks[col] = _coloured(agent, _TERMINAL_AGENT) + beside
        lines.append("".join(blocks))
    if legend:
        names = ["floor", "wall", "water", *object_names]
        present = [tile for tile in np.unique(tiles).tolist() if tile != EMPTY]
        entries = [("agent", _coloured(f"{agent} ", _TERMINAL_AGENT))]
        entries += [(names[tile], block(tile)) for tile in present]
        longest = max(len(name) for name, _ in entries)
        cells = [f"{sample} {name:{longest}}" for name, sample in entries]
        lines += ["", *("  ".join(cells[i : i + 4]).rstrip() for i in range(0, len(cells), 4))]
    return "\n".join(lines)


def window(length: int, current: int, rows: int) -> tuple[int, int]:
    """Range of instructions to show in a number of rows; one row says how many are hidden."""
    if length <= rows:
        return 0, length
    shown = max(1, rows - 1)
    first = min(max(0, current - shown // 2), length - shown)
    return first, first + shown


def object_codes(names: Sequence[str]) -> tuple[str, ...]:
    """Two ASCII characters for each name, all different: its initials if not taken yet."""
    taken: dict[str, None] = {}
    for name in names:
        taken[next(code for code in _possible_codes(name) if code not in taken)] = None
    return tuple(taken)


def generated_picture(name: str) -> Picture:
    """The picture of an object without one: its initials on a colour that its name determines."""
    red, green, blue = _rgb(zlib.crc32(name.encode()) % 360 / 360, 0.55, 0.85)
    picture = np.zeros((PICTURE_SIZE, PICTURE_SIZE, 4), np.uint8)
    picture[1:-1, 1:-1] = (*OUTLINE, 255)
    picture[2:-2, 2:-2] = (red, green, blue, 255)
    picture[-3, 2:-2] = (red * 3 // 4, green * 3 // 4, blue * 3 // 4, 255)
    picture[[1, 1, -2, -2], [1, -2, 1, -2]] = 0  # rounded corners
    for i, letter in enumerate(_initials(name).upper()):
        start = 5 * _LETTERS.index(letter)
        rows = np.array([int(digit) for digit in _LETTER_ROWS[start : start + 5]])
        ink = (rows[:, None] >> np.array([2, 1, 0])) & 1  # (5, 3)
        left = 4 + 5 * i
        picture[5:10, left : left + 3][ink == 1] = (*OUTLINE, 255)
    return picture


def _check_map(
    tiles: NDArray[np.uint8], cells: Sequence[tuple[int, int]], object_names: Sequence[str]
) -> None:
    for row, col in cells:
        if not (0 <= row < tiles.shape[0] and 0 <= col < tiles.shape[1]):
            raise ValueError(f"no cell ({row}, {col}) on a map of shape {tiles.shape}")
    if int(tiles.max()) >= FIRST_OBJECT + len(object_names):
        raise ValueError(f"tile {tiles.max()} is not one of {len(object_names)} objects")


@cache
def _shipped() -> dict[str, Picture]:
    return load_art("grid")


def _find(art: Mapping[str, Picture], *names: str) -> Picture:
    for pictures in (art, _shipped()):
        for name in names:
            if name in pictures:
                return pictures[name]
    raise KeyError(names)


def _object_pixels(name: str, art: Mapping[str, Picture]) -> Pixels:
    picture = art.get(name, art.get(f"{name}.top"))
    return _generated_pixels(name) if picture is None else _frozen(picture)


@cache
def _generated_pixels(name: str) -> Pixels:
    return _frozen(generated_picture(name))


def _frozen(picture: Picture) -> Pixels:
    """Caches use a picture's content as key: callers may load or change art at any time."""
    side = picture.shape[0]
    if picture.shape != (side, side, 4) or picture.dtype != np.uint8:
        raise ValueError(f"expected a square uint8 RGBA picture, not {picture.shape}")
    return side, picture.tobytes()


@lru_cache(maxsize=256)
def _scaled(pixels: Pixels, size: int) -> Picture:
    """The picture at size by size pixels, each original pixel as even as the size allows."""
    side, data = pixels
    picture = np.frombuffer(data, np.uint8).reshape(side, side, 4)
    factor = -(-size // side)
    picture = picture.repeat(factor, axis=0).repeat(factor, axis=1)
    if size % side:
        smaller = Image.fromarray(picture).resize((size, size), Image.Resampling.BOX)
        picture = np.asarray(smaller)
    return picture


@lru_cache(maxsize=16)
def _tile_sheet(ground: tuple[Pixels, ...], objects: tuple[Pixels, ...], cell: int) -> Picture:
    """Every tile on either floor: (2, tile codes, cell, cell, 3)."""
    floor, other_floor, wall, water = (_scaled(pixels, cell) for pixels in ground)
    sheet = np.zeros((2, FIRST_OBJECT + len(objects), cell, cell, 3), np.uint8)
    for on_floor, under in zip(sheet, (floor, other_floor), strict=True):
        for tile in on_floor:
            _paint(tile, under)
        _paint(on_floor[WALL], wall)
        _paint(on_floor[WATER], water)
        for tile, pixels in zip(on_floor[FIRST_OBJECT:], objects, strict=True):
            _paint(tile, _scaled(pixels, cell))
    return sheet


def _paint(under: Picture, picture: Picture) -> None:
    """Lay an RGBA picture over an RGB one, in place."""
    alpha = picture[:, :, 3:].astype(np.uint16)
    under[:] = (picture[:, :, :3] * alpha + under * (255 - alpha) + 127) // 255


def _initials(name: str) -> str:
    """Initials of the first two words, or the first two letters of a single word; capitalised."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    words: list[str] = re.findall(r"[A-Za-z0-9]+", plain) or ["??"]
    pair = words[0][0] + words[1][0] if len(words) > 1 else (words[0] * 2)[:2]
    return pair.capitalize()


def _possible_codes(name: str) -> Iterator[str]:
    first = _initials(name)
    yield first
    for letter in re.findall(r"[a-z0-9]", name.lower()[1:]) + list(digits):
        yield first[0] + letter
    for pair in product(ascii_uppercase, ascii_lowercase + digits):
        yield "".join(pair)


def _rgb(hue: float, saturation: float, value: float) -> Colour:
    red, green, blue = colorsys.hsv_to_rgb(hue, saturation, value)
    return round(255 * red), round(255 * green), round(255 * blue)


def _distinct_colour(k: int, count: int) -> Colour:
    """Evenly spaced hues; neighbours differ in saturation as well."""
    return _rgb(k / count, *((0.45, 1.0), (0.75, 0.85))[k % 2])


def _coloured(text: str, background: Colour) -> str:
    red, green, blue = background
    bright = 3 * red + 6 * green + blue > 1000
    ink = "20;20;20" if bright else "235;235;235"
    return f"\x1b[1;38;2;{ink};48;2;{red};{green};{blue}m{text}\x1b[0m"
