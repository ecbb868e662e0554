"""A teacher for skills with a map, which knows exactly what its student knows.

It plans on the agent's own map: to the nearest target that is on it, or, if there is none, to where
most of what is unknown will come into view for the fewest steps. Cells that a picture has just
failed to show count less, the fresher the failure is, or it would turn back and forth in front of
them. Like the seeker, it looks down, and never walks backward. What it does follows from what the
student sees, so that all of it can be learned; the seeker, which knows where the walls out of sight
are, does things for which a student cannot see the reason.
"""

import math

import numpy as np
from numpy.typing import NDArray

from errands.agents.map_kernels import EMPTY, PITCHES, WALL
from errands.agents.mapping import MapWindow
from errands.kernel import kernel
from errands.language.vocabulary import INTERACT, PICK_UP, VISIT
from errands.worlds import block
from errands.worlds.block import AHEAD_COLUMN, AHEAD_ROW
from errands.worlds.raycast import EYE_HEIGHT
from errands.worlds.seeker import LINE_STEP, MIDDLE, TOP, is_in_picture
from errands.worlds.vector import Worlds

Bytes = NDArray[np.uint8]
Cells = NDArray[np.int64]

SECOND_LOOK = 0.001  # worth of looking again at what is known: targets appear, names are wrong
FAR = 8  # rows ahead in which a picture can show anything
UNVISITED = 1 << 20
HALF, MOST = 128, 256.0  # of a byte: the freshest failure leaves a little hope
TURNS_AND_STEP = (block.LEFT, block.RIGHT, block.FORWARD)


@kernel()
def _read(window: Bytes, side: int, tiles: Cells, hope: NDArray[np.float64]) -> None:
    """A window (S S C) as kinds (S, S), and how much is to be hoped from a look at each cell.

    Where nothing was seen and nothing can be, outside of the map, is as good as a wall.
    """
    channels = len(window) // (side * side)
    fresh, unseen = channels - 2, channels - 1
    for k in range(side * side):
        cell = window[k * channels : (k + 1) * channels]
        row, column = k // side, k % side
        stale = 1.0 - cell[fresh] / MOST
        likeliest = cell[:fresh].argmax()
        if cell[unseen] >= HALF:
            tiles[row, column], hope[row, column] = EMPTY, stale
        elif cell[likeliest] > 0:
            tiles[row, column], hope[row, column] = likeliest, SECOND_LOOK * stale
        else:
            tiles[row, column], hope[row, column] = WALL, 0.0


@kernel()
def _shows(tiles: Cells, pose: tuple[int, int, int], row: int, column: int) -> bool:
    """Whether a downward view from a pose shows a cube on that cell, as far as the map knows."""
    here_row, here_column, heading = pose
    down, right = row - here_row, column - here_column
    ahead = down * AHEAD_ROW[heading] + right * AHEAD_COLUMN[heading]
    aside = abs(down * AHEAD_COLUMN[heading] + right * AHEAD_ROW[heading])
    if ahead < 1 or ahead > FAR:
        return False
    eye = EYE_HEIGHT + (1.0 if tiles[here_row, here_column] > WALL else 0.0)
    if is_in_picture(eye, ahead, aside, TOP):
        height = TOP
    elif is_in_picture(eye, ahead, aside, MIDDLE):
        height = MIDDLE
    else:
        return False
    steps = int(math.sqrt(down * down + right * right) / LINE_STEP)
    for k in range(1, steps):
        share = k / steps
        r = math.floor(here_row + 0.5 + share * down)
        c = math.floor(here_column + 0.5 + share * right)
        if r == row and c == column:
            continue
        over_cubes = eye + share * (height - eye) >= 1.0
        if tiles[r, c] == WALL or (tiles[r, c] > WALL and not over_cubes):
            return False
    return True


@kernel()
def _gain(tiles: Cells, hope: NDArray[np.float64], pose: tuple[int, int, int]) -> float:
    """How much is to be hoped from a downward view from a pose."""
    side = len(tiles)
    row, column = pose[0], pose[1]
    gain = 1.0 if hope[row, column] > SECOND_LOOK else 0.0  # whoever stands on a cell knows it
    for r in range(max(0, row - FAR), min(side, row + FAR + 1)):
        for c in range(max(0, column - FAR), min(side, column + FAR + 1)):
            if hope[r, c] > 0 and _shows(tiles, pose, r, c):
                gain += hope[r, c]
    return gain


@kernel()
def _search(
    tiles: Cells, hope: NDArray[np.float64], target: int, deed: int, optimal: NDArray[np.bool_]
) -> None:
    """Mark the first actions of the best ways from the middle of a map, facing up.

    A breadth-first search; `first` keeps, for each pose, the set of actions with which a shortest
    way to it can begin.
    """
    side = len(tiles)
    middle = side // 2
    known = (tiles == target).any()
    hopes = hope.sum()
    cost = np.full((side, side, 4), UNVISITED, np.int64)
    first = np.zeros((side, side, 4), np.int64)
    queue = np.empty((side * side * 4, 3), np.int64)
    queue[0] = middle, middle, 0
    cost[middle, middle, 0] = 0
    waiting, served = 1, 0
    nearest, best, chosen = UNVISITED, 0.0, 0
    while served < waiting:
        row, column, heading = queue[served]
        served += 1
        steps = cost[row, column, heading]
        ahead_row, ahead_column = row + AHEAD_ROW[heading], column + AHEAD_COLUMN[heading]
        inside = 0 <= ahead_row < side and 0 <= ahead_column < side
        if known:
            if steps > nearest:
                break
            if inside and tiles[ahead_row, ahead_column] == target:
                nearest = steps
                chosen |= first[row, column, heading] if steps > 0 else 1 << deed
                continue
        elif steps > 0:
            if (hopes + 1.0) / (steps + 1) < best:  # no pose that is further away can be better
                break
            worth = _gain(tiles, hope, (row, column, heading)) / (steps + 1)
            if worth > best + 1e-9:
                best, chosen = worth, first[row, column, heading]
            elif worth > best - 1e-9 and worth > 0:
                chosen |= first[row, column, heading]
        for action in TURNS_AND_STEP:
            r, c, h = row, column, heading
            if action == block.LEFT:
                h = (heading + 3) % 4
            elif action == block.RIGHT:
                h = (heading + 1) % 4
            elif inside and tiles[ahead_row, ahead_column] != WALL:
                r, c = ahead_row, ahead_column
            else:
                continue
            begins = 1 << action if steps == 0 else first[row, column, heading]
            if cost[r, c, h] == UNVISITED:
                cost[r, c, h] = steps + 1
                queue[waiting] = r, c, h
                waiting += 1
            if cost[r, c, h] == steps + 1:
                first[r, c, h] |= begins
    for action in range(len(optimal)):
        optimal[action] = (chosen >> action) & 1


@kernel()
def _advise(
    features: Bytes,
    side: int,
    channels: int,
    verbs: NDArray[np.int64],
    targets: NDArray[np.int64],
    optimal: NDArray[np.bool_],
) -> None:
    """For every agent (N,), from its features (N, size): which actions (N, actions) are best."""
    tiles = np.empty((side, side), np.int64)
    hope = np.empty((side, side), np.float64)
    window = side * side * channels
    for i in range(len(features)):
        optimal[i] = False
        lowest = features[i, 2 * window]
        if not lowest:
            optimal[i, block.DOWN] = True
            continue
        _read(features[i, :window], side, tiles, hope)
        deed = block.CHANGE
        if verbs[i] == VISIT:
            deed = block.FORWARD
        elif verbs[i] == PICK_UP:
            deed = block.PICK
        _search(tiles, hope, WALL + 1 + targets[i], deed, optimal[i])


class Searcher:
    """Advises a batch of agents on the maps that their own eyes keep."""

    def __init__(self, eyes: MapWindow, worlds: Worlds) -> None:
        assert eyes.body > PITCHES  # the body's first number: whether it looks down
        self._side = 2 * eyes.network.reach + 1
        self._channels = eyes.channels
        self._meant = np.asarray(worlds.rules["interact"][0], np.int64)
        self._actions = worlds.actions

    def advise(self, features: Bytes, subtasks: NDArray[np.int16]) -> NDArray[np.bool_]:
        """Every action (worlds, actions) that is as good as any, for subtasks (worlds, 3)."""
        verbs, targets = subtasks[:, 0].astype(np.int64), subtasks[:, 1].astype(np.int64)
        verbs = np.where(verbs == INTERACT, self._meant[targets], verbs)
        optimal = np.zeros((len(features), self._actions), np.bool_)
        _advise(features, self._side, self._channels, verbs, targets, optimal)
        return optimal
