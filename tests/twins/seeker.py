"""What a gaze down shows, told plainly: in the camera's own axes, and along lines of sight."""

import math

import numpy as np
from numpy.typing import NDArray

AHEAD = ((-1, 0), (0, 1), (1, 0), (0, -1))  # row and column, by heading
WALL, FIRST_OBJECT = 1, 3


def visible_cells(
    tiles: NDArray[np.uint8], row: int, column: int, heading: int
) -> set[tuple[int, int]]:
    """Cells inside the border on which a cube would be seen, near its top or in its middle."""
    return {
        (r, c)
        for r in range(1, 9)
        for c in range(1, 9)
        for height in (0.9, 0.5)
        if _in_view(tiles, row, column, heading, r, c, height)
        and _clear(tiles, row, column, r, c, height)
    }


def eye_height(tiles: NDArray[np.uint8], row: int, column: int) -> float:
    return 2.62 if tiles[row, column] >= FIRST_OBJECT else 1.62


def _in_view(
    tiles: NDArray[np.uint8], row: int, column: int, heading: int, r: int, c: int, height: float
) -> bool:
    forward_row, forward_column = AHEAD[heading]
    right_row, right_column = AHEAD[(heading + 1) % 4]
    forward = (r - row) * forward_row + (c - column) * forward_column
    right = (r - row) * right_row + (c - column) * right_column
    below = eye_height(tiles, row, column) - height
    # The camera looks 45 degrees down: how far away is the point, along that line?
    away = (forward + below) / math.sqrt(2)
    # The upper edge of the picture is 10 degrees below the horizon.
    under_the_edge = math.atan2(below, forward) >= math.radians(10)
    aside = abs(right) <= away * math.tan(math.radians(35)) + 0.5
    return forward >= 1 and under_the_edge and aside


def _clear(tiles: NDArray[np.uint8], row: int, column: int, r: int, c: int, height: float) -> bool:
    """No wall in between, and no cube that is high enough, looking at every fifth of a cell."""
    eye = eye_height(tiles, row, column)
    steps = int(math.hypot(r - row, c - column) / 0.2)
    for k in range(1, steps):
        share = k / steps
        cell = (
            math.floor(row + 0.5 + share * (r - row)),
            math.floor(column + 0.5 + share * (c - column)),
        )
        top = {0: 0.0, WALL: math.inf}.get(int(tiles[cell]), 1.0)
        if cell != (r, c) and top > (1 - share) * eye + share * height:
            return False
    return True


Pose = tuple[int, int, int]  # row, column, heading


def poses_after(tiles: NDArray[np.uint8], pose: Pose) -> dict[int, Pose]:
    """Where turning left (0), turning right (1) and going forward (4) lead."""
    row, column, heading = pose
    after = {0: (row, column, (heading + 3) % 4), 1: (row, column, (heading + 1) % 4)}
    ahead = row + AHEAD[heading][0], column + AHEAD[heading][1]
    if tiles[ahead] != WALL:
        after[4] = (*ahead, heading)
    return after


def steps_to(tiles: NDArray[np.uint8], pose: Pose, cells: set[tuple[int, int]]) -> int:
    """Steps to the nearest of these cells."""
    reached, steps = {pose}, 0
    while not any((row, column) in cells for row, column, _ in reached):
        reached |= {after for before in reached for after in poses_after(tiles, before).values()}
        steps += 1
    return steps
