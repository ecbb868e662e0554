"""First-person pictures of the block world: true perspective, looked up in tables.

The eye is always above a cell's centre, at one of two heights, with one of three pitches. So the
pixels that a cube or a wall would cover, and the texels of its picture there, are the same every
time: the tables hold them for every cell around the eye, and a frame only copies, from far to near,
what the map contains. Everything, textures and light included, is expressed in the viewer's frame
(forward, right): a picture depends on what surrounds the eye, never on where north is.
"""

import math
from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from errands.kernel import kernel
from errands.worlds.art import PICTURE_SIZE as PICTURE
from errands.worlds.draw import generated_picture
from errands.worlds.spec import EMPTY, FIRST_OBJECT, MAP_SIZE, WALL, WATER

# From the spec: Minecraft's camera. Pictures are square: the field of view is 70 degrees both ways.
FIELD_OF_VIEW = math.radians(70)
EYE_HEIGHT = 1.62  # blocks above the feet
PITCH_STEP = math.radians(45)  # from the paper
# Our choice for "tall": higher than an eye on top of an object, so no wall is seen from above.
WALL_HEIGHT = 3.0

# A texture: three faces, each a 16x16 picture and its halvings (8x8, 4x4, 2x2) for the distance.
FRONT, SIDE, TOP = range(3)
FACE_LIGHT = (0.92, 0.74, 1.0)  # our choice
LEVEL_STARTS = (0, 256, 320, 336)
FACE_TEXELS = 340
SKY_SHADES = 256  # the ground has only a top face: the sky is kept in the place of its front
SKY_HORIZON, SKY_ZENITH = (186, 212, 240), (52, 100, 190)

# What a ray can hit in a cell. An object is a wall of height 1 with a top; water is a floor.
WALL_FRONT, WALL_SIDE, OBJECT_FRONT, OBJECT_SIDE, OBJECT_TOP, FLOOR = SURFACES = range(6)


class RayTables(NamedTuple):
    """Where the rays of every view go, in pictures of one size. A view is [elevated, pitch + 1]."""

    # [2, 3, pixels]: texel of the ground or the sky, as if the map were empty
    backdrop: NDArray[np.uint16]
    # [2, 3, forward, reach - 1 + right, surface]: first span of a surface, up to that of the next
    starts: NDArray[np.int32]
    # [spans, 3]: pixels in a row of the picture: the first, how many, and where their texels begin
    spans: NDArray[np.uint32]
    # texel of each pixel of each span
    texels: NDArray[np.uint16]


# What is recorded of one view: for each surface the number of spans and texels so far and the last
# pixel, then the spans and texels themselves.
Notes = tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.uint32], NDArray[np.uint16]]


@cache
def build_tables(map_size: int = MAP_SIZE, size: int = 64) -> RayTables:
    """Tables for maps of up to `map_size` squared and pictures of `size` squared pixels."""
    if size % 2:
        raise ValueError(f"the size of a picture must be even, not {size}")
    backdrop = np.empty((2, 3, size * size), np.uint16)
    # A first run counts the spans and texels of each surface, a second one writes them.
    counts = np.zeros((2, 3, map_size, 2 * map_size - 1, len(SURFACES), 2), np.int32)
    _trace_views(size, backdrop, counts, np.empty((0, 3), np.uint32), np.empty(0, np.uint16))
    ends = counts.reshape(-1, 2).cumsum(axis=0, dtype=np.int32).reshape(counts.shape)
    cursors = ends - counts
    starts = np.concatenate([cursors[..., 0], ends[..., -1:, 0]], axis=-1)
    span_count, texel_count = ends.reshape(-1, 2)[-1]
    spans = np.empty((span_count, 3), np.uint32)
    texels = np.empty(texel_count, np.uint16)
    _trace_views(size, backdrop, cursors, spans, texels)
    return RayTables(backdrop, starts, spans, texels)


@kernel()
def _trace_views(
    size: int,
    backdrop: NDArray[np.uint16],
    cursors: NDArray[np.int32],
    spans: NDArray[np.uint32],
    texels: NDArray[np.uint16],
) -> None:
    """Follow every ray through every plane between cells, and record what it would hit there."""
    reach = cursors.shape[2]
    pixel_width = 2 * math.tan(FIELD_OF_VIEW / 2) / size
    previous = np.empty(cursors.shape[2:5], np.int64)  # last pixel recorded for a surface
    for elevated in range(2):
        eye = EYE_HEIGHT + elevated
        for pitch in range(3):
            angle = (pitch - 1) * PITCH_STEP
            previous[:] = -2
            noted = (cursors[elevated, pitch], previous, spans, texels)
            for pixel in range(size * size):
                # In units of one block of depth along the line of sight.
                upward = pixel_width * (size / 2 - 0.5 - pixel // size)
                right = pixel_width * (pixel % size + 0.5 - size / 2)
                forward = math.cos(angle) - upward * math.sin(angle)
                rise = math.sin(angle) + upward * math.cos(angle)
                length = math.sqrt(right * right + forward * forward + rise * rise)
                grain = pixel_width * PICTURE * math.sqrt(length)

                if rise < 0:
                    for surface, height in ((OBJECT_TOP, 1.0), (FLOOR, 0.0)):
                        steps = (eye - height) / -rise
                        x, y = right * steps + 0.5, forward * steps + 0.5
                        texel = _texel(TOP, x, -y, grain * steps / math.sqrt(-rise))
                        _note(noted, math.floor(y), math.floor(x), surface, pixel, size, texel)
                    backdrop[elevated, pitch, pixel] = texel
                else:
                    backdrop[elevated, pitch, pixel] = int(rise / length * (SKY_SHADES - 1))

                for plane in range(1, reach):
                    steps = (plane - 0.5) / forward
                    x, z = right * steps + 0.5, eye + rise * steps
                    if 0 <= z < WALL_HEIGHT:
                        texel = _texel(FRONT, x, -z, grain * steps / math.sqrt(forward))
                        _note(noted, plane, math.floor(x), WALL_FRONT, pixel, size, texel)
                        if z < 1:
                            _note(noted, plane, math.floor(x), OBJECT_FRONT, pixel, size, texel)

                    steps = (plane - 0.5) / abs(right)
                    y, z = forward * steps + 0.5, eye + rise * steps
                    if 0 <= z < WALL_HEIGHT:
                        # Left to right as seen: away from us on our left, towards us on our right.
                        sign = -1 if right < 0 else 1
                        texel = _texel(SIDE, -sign * y, -z, grain * steps / math.sqrt(abs(right)))
                        _note(noted, math.floor(y), sign * plane, WALL_SIDE, pixel, size, texel)
                        if z < 1:
                            _note(
                                noted, math.floor(y), sign * plane, OBJECT_SIDE, pixel, size, texel
                            )


@kernel()
def _texel(face: int, u: float, v: float, footprint: float) -> int:
    """Index of the texel at (u, v), counted in blocks; `footprint` is a pixel's width in texels."""
    level = 0
    while footprint > math.sqrt(2.0) and level < len(LEVEL_STARTS) - 1:
        footprint /= 2
        level += 1
    width = PICTURE >> level
    # A tiny negative number less its floor rounds up to 1.
    column = min(int((u - math.floor(u)) * width), width - 1)
    row = min(int((v - math.floor(v)) * width), width - 1)
    return face * FACE_TEXELS + LEVEL_STARTS[level] + row * width + column


@kernel()
def _note(
    noted: Notes, forward: int, right: int, surface: int, pixel: int, size: int, texel: int
) -> None:
    """Append a pixel to a surface's spans, or only count it in the first run."""
    cursors, previous, spans, texels = noted
    reach = cursors.shape[0]
    if forward >= reach or abs(right) >= reach:
        return
    place = (forward, reach - 1 + right, surface)
    cursor = cursors[place]
    if pixel != previous[place] + 1 or pixel % size == 0:
        if len(spans):
            spans[cursor[0], 0] = pixel
            spans[cursor[0], 1] = 0
            spans[cursor[0], 2] = cursor[1]
        cursor[0] += 1
    if len(spans):
        spans[cursor[0] - 1, 1] += 1
        texels[cursor[1]] = texel
    cursor[1] += 1
    previous[place] = pixel


def texture_atlas(
    pictures: Mapping[str, NDArray[np.uint8]], object_names: Sequence[str]
) -> NDArray[np.uint8]:
    """Textures by tile code, [3 + objects, 3 faces of 340 texels, RGB and a spare byte], lit.

    Uses `floor`, `wall` and `water`, and for objects `<name>.side` and `<name>.top`, or `<name>`
    for both; a missing picture is generated from its name.
    """
    kinds = ["floor", "wall", "water", *object_names]
    atlas = np.zeros((len(kinds), 3 * FACE_TEXELS, 4), np.uint8)
    for texture, name in zip(atlas, kinds, strict=True):
        side, top = (_picture(pictures, name, part) for part in ("side", "top"))
        for face, picture in ((FRONT, side), (SIDE, side), (TOP, top)):
            start = face * FACE_TEXELS
            texture[start : start + FACE_TEXELS, :3] = _halvings(picture) * FACE_LIGHT[face] + 0.5
    height = np.linspace(0, 1, SKY_SHADES)[:, None]
    sky = np.array(SKY_HORIZON) * (1 - height) + np.array(SKY_ZENITH) * height
    atlas[EMPTY, :SKY_SHADES, :3] = sky + 0.5
    return atlas


def _halvings(picture: NDArray[np.uint8]) -> NDArray[np.float64]:
    """A picture at full size, a half, a quarter and an eighth: [340, 3]."""
    level = picture.astype(np.float64)
    levels = [level.reshape(-1, 3)]
    for _ in LEVEL_STARTS[1:]:
        half = len(level) // 2
        level = level.reshape(half, 2, half, 2, 3).mean(axis=(1, 3))
        levels.append(level.reshape(-1, 3))
    return np.concatenate(levels)


def _picture(pictures: Mapping[str, NDArray[np.uint8]], name: str, part: str) -> NDArray[np.uint8]:
    """One face of an object, RGB: its own picture, or one generated from its name."""
    picture = pictures.get(f"{name}.{part}", pictures.get(name))
    if picture is None:
        picture = generated_picture(name)
    if picture.shape != (PICTURE, PICTURE, 4):
        raise ValueError(f"the picture of {name} must be 16 by 16 RGBA, not {picture.shape}")
    solid = picture[..., 3] > 0
    # A cube has no holes: transparent pixels get the mean colour of the others.
    mean = picture[solid][:, :3].mean(axis=0) if solid.any() else np.zeros(3)
    return np.where(solid[..., None], picture[..., :3], mean.astype(np.uint8))


@kernel()
def render_view(
    tiles: NDArray[np.uint8],
    row: int,
    col: int,
    heading: int,
    pitch: int,
    tables: RayTables,
    atlas: NDArray[np.uint8],
    out: NDArray[np.uint8],
) -> None:
    """Draw what is seen from a cell into `out`, uint8 [size, size, 3].

    The eye is one block higher if the cell holds an object. Beyond the map's edge is more ground.
    """
    elevated = 1 if tiles[row, col] >= FIRST_OBJECT else 0
    backdrop = tables.backdrop[elevated, pitch + 1]
    starts = tables.starts[elevated, pitch + 1]
    assert out.size == 3 * backdrop.size
    colours = atlas.view(np.uint32).reshape(atlas.shape[0], atlas.shape[1])
    canvas = np.empty(backdrop.size, np.uint32)
    ground = colours[EMPTY]
    for pixel in range(canvas.size):
        canvas[pixel] = ground[backdrop[pixel]]
    seen = np.empty((starts.shape[0] * starts.shape[1], 5), np.int32)
    count = _look_around(tiles, row, col, heading, starts.shape[0], seen)
    _paint_cells(seen[:count], starts, tables, colours, canvas)
    _pack(canvas, out.reshape(-1).view(np.uint32))


@kernel()
def _look_around(
    tiles: NDArray[np.uint8],
    row: int,
    col: int,
    heading: int,
    reach: int,
    seen: NDArray[np.int32],
) -> int:
    """List from near to far what can be seen: forward, reach - 1 + right, tile, front?, side?

    A ray enters a cell from the one before it or the one beside it, and never leaves a wall. What
    no ray enters is left out, and so are the faces that none enters through.
    """
    height, width = tiles.shape
    forward_row, forward_col = 0, 0
    if heading == 0:
        forward_row, ahead, left, right = -1, row, col, width - 1 - col
    elif heading == 1:
        forward_col, ahead, left, right = 1, width - 1 - col, row, height - 1 - row
    elif heading == 2:
        forward_row, ahead, left, right = 1, height - 1 - row, width - 1 - col, col
    else:
        forward_col, ahead, left, right = -1, col, height - 1 - row, row
    right_row, right_col = forward_col, -forward_row

    entered = np.zeros((reach, 2 * reach - 1), np.bool_)  # and not a wall: rays go on from here
    count = 0
    for forward in range(min(ahead + 1, reach)):
        for distance in range(min(max(left, right) + 1, reach)):
            for sign in range(-1, 2, 2):
                across = sign * distance
                if across < -left or across > right or (distance == 0 and sign == 1):
                    continue
                place = reach - 1 + across
                front = forward > 0 and entered[forward - 1, place]
                side = distance > 0 and entered[forward, place - sign]
                if not (front or side or forward == distance == 0):
                    continue
                tile = tiles[
                    row + forward * forward_row + across * right_row,
                    col + forward * forward_col + across * right_col,
                ]
                entered[forward, place] = tile != WALL
                if tile != EMPTY:
                    cell = seen[count]
                    cell[0], cell[1], cell[2], cell[3], cell[4] = forward, place, tile, front, side
                    count += 1
    return count


@kernel()
def _paint_cells(
    seen: NDArray[np.int32],
    starts: NDArray[np.int32],
    tables: RayTables,
    colours: NDArray[np.uint32],
    canvas: NDArray[np.uint32],
) -> None:
    """Paint cells from far to near, each over what it hides."""
    spans, texels = tables.spans, tables.texels
    for index in range(len(seen) - 1, -1, -1):
        forward, place, tile, front, side = seen[index]
        first = starts[forward, place]
        if tile == WALL:
            begin = first[WALL_FRONT] if front else first[WALL_SIDE]
            end = first[WALL_SIDE + 1] if side else first[WALL_SIDE]
        elif tile == WATER:
            begin, end = first[FLOOR], first[FLOOR + 1]
        else:
            begin = first[OBJECT_FRONT] if front else first[OBJECT_SIDE]
            end = first[OBJECT_TOP + 1]
        texture = colours[tile]
        for span in range(begin, end):
            pixel, texel = spans[span, 0], spans[span, 2]
            for step in range(spans[span, 1]):
                canvas[pixel + step] = texture[texels[texel + step]]


@kernel()
def _pack(canvas: NDArray[np.uint32], words: NDArray[np.uint32]) -> None:
    """Drop every fourth byte: four pixels become three words (of a little-endian machine)."""
    for quad in range(canvas.size // 4):
        first, second = canvas[4 * quad], canvas[4 * quad + 1]
        third, fourth = canvas[4 * quad + 2], canvas[4 * quad + 3]
        words[3 * quad] = first | second << 24
        words[3 * quad + 1] = second >> 8 | third << 16
        words[3 * quad + 2] = third >> 16 | fourth << 8
