"""Random views of the block world, with labels of what each shows: training data for eyes.

A view comes with a label for every cell around the agent: what stands there, or that it is hidden.
Labels are privileged. They train a recogniser, which at run time sees pictures alone.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from errands.kernel import kernel
from errands.worlds.art import load_art
from errands.worlds.block import AHEAD_COLUMN, AHEAD_ROW, HIGHEST, LOWEST
from errands.worlds.raycast import (
    FLOOR,
    OBJECT_FRONT,
    OBJECT_TOP,
    WALL_FRONT,
    WALL_SIDE,
    RayTables,
    build_tables,
    render_view,
    texture_atlas,
)
from errands.worlds.spec import EMPTY, FIRST_OBJECT, MAP_SIZE, SMALLEST, WALL, WorldSpec

MOST_WALLS, MOST_OBJECTS = 0.1, 0.8  # shares of cells, the most of any setting
WITHOUT_OBJECTS = 0.2  # share of maps with none, where only walls are to be seen
ELEVATED = 0.2  # share of views from on top of an object, in addition to those by chance
DOWNWARD, LEVEL = 0.8, 0.15  # shares of pitches; the rest look up
# A label needs enough pixels to be learnable: with fewer, a cell is neither shown nor hidden.
FEWEST_PIXELS = 5
UNCLEAR, HIDDEN, NOTHING_THERE = -100, 0, 1  # labels; walls and objects follow as tile codes + 1


class Views(NamedTuple):
    """Pictures, and what they show, one row each."""

    images: NDArray[np.uint8]  # (N, 64, 64, 3)
    pitch: NDArray[np.int64]  # (N,) 0 down, 1 level, 2 up
    labels: NDArray[np.int64]  # (N, ahead * aside) of each cell in view, near to far, left to right


@kernel()
def scatter(random: np.random.Generator, kinds: int, tiles: NDArray[np.uint8]) -> int:
    """Lay out a random map with walls and objects of all kinds; returns its size."""
    size = SMALLEST + int(random.random() * (MAP_SIZE - SMALLEST + 1))
    walls = random.random() * MOST_WALLS
    objects = 0.0 if random.random() < WITHOUT_OBJECTS else random.random() ** 2 * MOST_OBJECTS
    tiles[:] = WALL
    for row in range(1, size - 1):
        for column in range(1, size - 1):
            if random.random() < walls:
                continue
            tiles[row, column] = EMPTY
            if random.random() < objects:
                tiles[row, column] = FIRST_OBJECT + int(random.random() * kinds)
    return size


@kernel()
def count_pixels(
    tiles: NDArray[np.uint8],
    row: int,
    column: int,
    heading: int,
    starts: NDArray[np.int32],
    spans: NDArray[np.uint32],
    shows: NDArray[np.int32],
    codes: NDArray[np.uint8],
) -> None:
    """For each cell in view (ahead, aside), how many pixels show it, and the tile on it.

    The painter's algorithm, as for pictures, with cells instead of colours.
    """
    ahead, aside = shows.shape
    reach = starts.shape[0]
    owner = np.full(64 * 64, -1, np.int32)
    codes[:] = WALL
    for forward in range(reach - 1, -1, -1):
        for distance in range(reach - 1, -1, -1):
            for sign in range(-1, 2, 2):
                if distance == 0 and sign == 1:
                    continue
                right = sign * distance
                r = row + forward * AHEAD_ROW[heading] + right * AHEAD_ROW[(heading + 1) % 4]
                c = (
                    column
                    + forward * AHEAD_COLUMN[heading]
                    + right * AHEAD_COLUMN[(heading + 1) % 4]
                )
                if not (0 <= r < MAP_SIZE and 0 <= c < MAP_SIZE):
                    continue
                tile = tiles[r, c]
                first = starts[forward, reach - 1 + right]
                begin, end = first[FLOOR], first[FLOOR + 1]
                if tile == WALL:
                    begin, end = first[WALL_FRONT], first[WALL_SIDE + 1]
                elif tile >= FIRST_OBJECT:
                    begin, end = first[OBJECT_FRONT], first[OBJECT_TOP + 1]
                place = -1
                if forward < ahead and abs(right) <= aside // 2:
                    place = forward * aside + right + aside // 2
                    codes[forward, right + aside // 2] = tile
                for span in range(begin, end):
                    for k in range(spans[span, 1]):
                        owner[spans[span, 0] + k] = place
    shows[:] = 0
    for pixel in range(owner.size):
        if owner[pixel] >= 0:
            shows[owner[pixel] // aside, owner[pixel] % aside] += 1


@kernel()
def make_views(
    random: np.random.Generator,
    kinds: int,
    tables: RayTables,
    atlas: NDArray[np.uint8],
    images: NDArray[np.uint8],
    pitch: NDArray[np.int64],
    labels: NDArray[np.int64],
    ahead: int,
) -> None:
    """Fill the arrays with views of random maps from random places."""
    aside = labels.shape[1] // ahead
    tiles = np.empty((MAP_SIZE, MAP_SIZE), np.uint8)
    shows, codes = np.empty((ahead, aside), np.int32), np.empty((ahead, aside), np.uint8)
    for i in range(len(images)):
        row = column = 0
        while tiles[row, column] == WALL or row == 0:
            size = scatter(random, kinds, tiles)
            row = 1 + int(random.random() * (size - 2))
            column = 1 + int(random.random() * (size - 2))
        if random.random() < ELEVATED:
            tiles[row, column] = FIRST_OBJECT + int(random.random() * kinds)
        heading, gaze = int(random.random() * 4), random.random()
        tilt = LOWEST if gaze < DOWNWARD else (0 if gaze < DOWNWARD + LEVEL else HIGHEST)
        render_view(tiles, row, column, heading, tilt, tables, atlas, images[i])
        pitch[i] = tilt - LOWEST
        elevated = 1 if tiles[row, column] >= FIRST_OBJECT else 0
        starts = tables.starts[elevated, tilt - LOWEST]
        count_pixels(tiles, row, column, heading, starts, tables.spans, shows, codes)
        for k in range(ahead * aside):
            pixels, tile = shows[k // aside, k % aside], codes[k // aside, k % aside]
            if pixels == 0:
                labels[i, k] = HIDDEN
            elif pixels < FEWEST_PIXELS:
                labels[i, k] = UNCLEAR
            else:  # there is no water in a world of blocks: objects follow walls without a gap
                labels[i, k] = tile + 1 if tile < FIRST_OBJECT else tile


class Scenes:
    """An unlimited source of views of a world's objects."""

    def __init__(self, spec: WorldSpec, ahead: int, aside: int) -> None:
        self._kinds = len(spec.objects)
        self._atlas = texture_atlas(load_art(spec.art_name), spec.objects)
        self._shape = ahead, aside

    def draw(self, count: int, random: np.random.Generator) -> Views:
        ahead, aside = self._shape
        views = Views(
            np.empty((count, 64, 64, 3), np.uint8),
            np.empty(count, np.int64),
            np.empty((count, ahead * aside), np.int64),
        )
        make_views(random, self._kinds, build_tables(), self._atlas, *views, ahead)
        return views
