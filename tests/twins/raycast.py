"""The block world's renderer in plain Python: each ray walks through the map, cell by cell.

No tables and no order of painting: a ray is followed in the map's own rows and columns, and its
colour comes straight from the picture that it meets.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

Pictures = Mapping[str, NDArray[np.uint8]]
Colour = list[int]

AHEAD = [(-1, 0), (0, 1), (1, 0), (0, -1)]  # rows and columns of a step north, east, south, west
LIGHT = {"front": 0.92, "side": 0.74, "top": 1.0}
HORIZON, ZENITH = (186, 212, 240), (52, 100, 190)


def render(
    tiles: NDArray[np.uint8],
    row: int,
    col: int,
    heading: int,
    pitch: int,
    pictures: Pictures,
    object_names: Sequence[str],
    size: int = 64,
) -> NDArray[np.uint8]:
    """The view from a cell, [size, size, 3]."""
    names = ["floor", "wall", "water", *object_names]
    image = np.zeros((size, size, 3), np.uint8)
    half = math.tan(math.radians(35))
    angle = math.radians(45 * pitch)
    eye = 1.62 + (tiles[row, col] >= 3)
    for y in range(size):
        for x in range(size):
            right = half * ((2 * x + 1) / size - 1)
            up = half * (1 - (2 * y + 1) / size)
            forward = math.cos(angle) - up * math.sin(angle)
            rise = math.sin(angle) + up * math.cos(angle)
            ray = (forward, right, rise)
            image[y, x] = _follow(ray, tiles, row, col, heading, eye, pictures, names, size)
    return image


def _follow(
    ray: tuple[float, float, float],
    tiles: NDArray[np.uint8],
    row: int,
    col: int,
    heading: int,
    eye: float,
    pictures: Pictures,
    names: list[str],
    size: int,
) -> Colour:
    forward, right, rise = ray
    length = math.sqrt(forward**2 + right**2 + rise**2)
    ahead, rightward = AHEAD[heading], AHEAD[(heading + 1) % 4]
    speed = [forward * ahead[axis] + right * rightward[axis] for axis in (0, 1)]
    cell = [row, col]
    entry = None  # axis and time of the crossing that led into the cell
    now = 0.0

    def colour(name: str, face: str, u: float, v: float, time: float, slope: float) -> Colour:
        texels = 16 * time * 2 * math.tan(math.radians(35)) / size / math.sqrt(slope / length)
        return _sample(pictures, name, face, u, v, texels)

    def from_above(name: str, time: float) -> Colour:
        offset = [(row, col)[axis] + speed[axis] * time - cell[axis] for axis in (0, 1)]
        across = offset[0] * rightward[0] + offset[1] * rightward[1] + 0.5
        along = 0.5 - offset[0] * ahead[0] - offset[1] * ahead[1]
        return colour(name, "top", across, along, time, -rise)

    while True:
        inside = 0 <= cell[0] < tiles.shape[0] and 0 <= cell[1] < tiles.shape[1]
        tile = int(tiles[cell[0], cell[1]]) if inside else 0
        height = eye + rise * now
        if entry is not None and ((tile == 1 and height < 3) or (tile >= 3 and height < 1)):
            into = [0, 0]
            into[entry] = 1 if speed[entry] > 0 else -1
            clockwise = AHEAD[(AHEAD.index((into[0], into[1])) + 1) % 4]
            across = 0.5
            for axis in (0, 1):
                point = (row, col)[axis] + speed[axis] * now
                across += (point - cell[axis]) * clockwise[axis]
            face = "front" if ahead[entry] else "side"
            return colour(names[tile], face, across, 1 - height, now, abs(speed[entry]))

        if rise >= 0 and (height >= 3 or not inside):
            return [
                int(low + (high - low) * int(rise / length * 255) / 255 + 0.5)
                for low, high in zip(HORIZON, ZENITH, strict=True)
            ]
        leave = []
        for axis in (0, 1):
            wall = cell[axis] + (0.5 if speed[axis] > 0 else -0.5) - (row, col)[axis]
            leave.append(wall / speed[axis] if speed[axis] else math.inf)
        axis = 0 if leave[0] < leave[1] else 1
        if rise < 0 and tile >= 3 and (time := (1 - eye) / rise) <= leave[axis]:
            return from_above(names[tile], time)
        if rise < 0 and (time := -eye / rise) <= leave[axis]:
            return from_above(names[tile], time)
        now, entry = leave[axis], axis
        cell[axis] += 1 if speed[axis] > 0 else -1


def _sample(pictures: Pictures, name: str, face: str, u: float, v: float, texels: float) -> Colour:
    """The mean colour of the square of 1, 2, 4 or 8 texels that is nearest to a pixel's width."""
    part = "top" if face == "top" else "side"
    picture = pictures[f"{name}.{part}"] if f"{name}.{part}" in pictures else pictures[name]
    block = 2 ** min(3, max(0, round(math.log2(texels))))
    left = int(u % 1 * 16) // block * block
    top = int(v % 1 * 16) // block * block
    square = picture[top : top + block, left : left + block, :3].reshape(-1, 3)
    return [int(sum(map(int, channel)) / block**2 * LIGHT[face] + 0.5) for channel in square.T]
