"""What a gaze down shows, told plainly: in the camera's own axes, and along lines of sight."""

import math

import numpy as np
from numpy.typing import NDArray

AHEAD = ((-1, 0), (0, 1), (1, 0), (0, -1))  # row and column, by heading
WALL, FIRST_OBJECT = 1, 3


def visible_cells(
    tiles: NDArray[np.uint8], row: int, column: int, heading: int
) -> set[tuple[int, int]]:
    """Cells inside the border on which a cube would be seen."""
    return {
        (r, c)
        for r in range(1, 9)
        for c in range(1, 9)
        if _in_view(tiles, row, column, heading, r, c) and _clear(tiles, row, column, r, c)
    }


def _in_view(tiles: NDArray[np.uint8], row: int, column: int, heading: int, r: int, c: int) -> bool:
    forward_row, forward_column = AHEAD[heading]
    right_row, right_column = AHEAD[(heading + 1) % 4]
    forward = (r - row) * forward_row + (c - column) * forward_column
    right = (r - row) * right_row + (c - column) * right_column
    eye = 1.62 + (1.0 if tiles[row, column] >= FIRST_OBJECT else 0.0)
    # The camera looks 45 degrees down: how far away is the middle of a cube, along that line?
    away = (forward + eye - 0.5) / math.sqrt(2)
    return forward >= 1 and abs(right) <= away * math.tan(math.radians(35)) + 0.5


def _clear(tiles: NDArray[np.uint8], row: int, column: int, r: int, c: int) -> bool:
    """No wall in between, looking at every fifth of a cell."""
    steps = int(math.hypot(r - row, c - column) / 0.2)
    crossed = {
        (
            math.floor(row + 0.5 + k / steps * (r - row)),
            math.floor(column + 0.5 + k / steps * (c - column)),
        )
        for k in range(1, steps)
    }
    return all(tiles[cell] != WALL for cell in crossed - {(r, c)})
