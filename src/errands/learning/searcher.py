"""A teacher for skills with a map, which knows exactly what its student knows.

It plans on the agent's own map: to the nearest target that is on it, or, if there is none, to where
most of what is unknown will come into view for the fewest steps. Cells that a picture has just
failed to show count less, the fresher the failure is, or it would turn back and forth in front of
them. Like the seeker, it looks down, and never walks backward. What it does follows from what the
student sees, so that all of it can be learned; the seeker, which knows where the walls out of sight
are, does things for which a student cannot see the reason.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from errands.agents.map_kernels import EMPTY, PITCHES, WALL
from errands.agents.mapping import MapWindow
from errands.kernel import kernel
from errands.language.vocabulary import PICK_UP, VISIT
from errands.worlds import block
from errands.worlds.block import AHEAD_COLUMN, AHEAD_ROW
from errands.worlds.seeker import Tiles, is_visible
from errands.worlds.spec import FIRST_OBJECT
from errands.worlds.vector import Worlds

Bytes = NDArray[np.uint8]

FIRST_KIND = WALL + 1  # of a map, that is an object; tiles have water before it

SECOND_LOOK = 0.001  # worth of looking again at what is known: targets appear, names are wrong
FAR = 8  # rows ahead in which a picture can show anything
UNVISITED = 1 << 20
HALF, MOST = 128, 256.0  # of a byte: the freshest failure leaves a little hope
TURNS_AND_STEP = (block.LEFT, block.RIGHT, block.FORWARD)


@kernel()
def _read(window: Bytes, side: int, tiles: Tiles, hope: NDArray[np.float64]) -> None:
    """A window (S S C) as tile codes (S, S), and how much is to be hoped from a look at each cell.

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
            tile = likeliest if likeliest <= WALL else likeliest - FIRST_KIND + FIRST_OBJECT
            tiles[row, column], hope[row, column] = tile, SECOND_LOOK * stale
        else:
            tiles[row, column], hope[row, column] = WALL, 0.0


@kernel()
def _gain(tiles: Tiles, hope: NDArray[np.float64], row: int, column: int, heading: int) -> float:
    """How much is to be hoped from a downward view from there."""
    side = len(tiles)
    gain = 1.0 if hope[row, column] > SECOND_LOOK else 0.0  # whoever stands on a cell knows it
    for r in range(max(0, row - FAR), min(side, row + FAR + 1)):
        for c in range(max(0, column - FAR), min(side, column + FAR + 1)):
            if hope[r, c] > 0 and is_visible(tiles, (row, column), heading, r, c):
                gain += hope[r, c]
    return gain


@kernel()
def _search(
    tiles: Tiles, hope: NDArray[np.float64], target: int, deed: int, optimal: NDArray[np.bool_]
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
            worth = _gain(tiles, hope, row, column, heading) / (steps + 1)
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
    tiles = np.empty((side, side), np.uint8)
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
        _search(tiles, hope, FIRST_OBJECT + targets[i], deed, optimal[i])


class Searcher:
    """Advises a batch of agents on the maps that their own eyes keep."""

    def __init__(self, eyes: MapWindow, worlds: Worlds) -> None:
        assert eyes.body > PITCHES  # the body's first number: whether it looks down
        self._side = 2 * eyes.network.reach + 1
        self._channels = eyes.channels
        self._worlds = worlds
        self.memory: Mapping[str, NDArray[Any]] = {}  # all that it knows is on the map

    def forget(self, mask: NDArray[np.bool_]) -> None:
        """There is nothing to forget."""

    def advise(self, features: Bytes, subtasks: NDArray[np.int16]) -> NDArray[np.bool_]:
        """Every action (worlds, actions) that is as good as any, for subtasks (worlds, 3)."""
        meant = self._worlds.meant(subtasks).astype(np.int64)
        optimal = np.zeros((len(features), self._worlds.actions), np.bool_)
        _advise(features, self._side, self._channels, meant[:, 0], meant[:, 1], optimal)
        return optimal
