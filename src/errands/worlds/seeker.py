"""A teacher for the block world that only knows what its agent could have seen.

The exact planner walks to targets that are still out of sight, which nobody can learn to imitate
from pictures. The seeker looks around until a target has come into view, then plans exactly, with
the targets it has seen; only when looking around shows nothing new does it ask the planner. It
keeps its gaze level: looking up or down changes nothing but the picture.
"""

import math

import numba
import numpy as np
from numpy.typing import NDArray

from errands.worlds import block
from errands.worlds.block import AHEAD_COLUMN, AHEAD_ROW
from errands.worlds.goals import resolved_verb
from errands.worlds.kernel import kernel
from errands.worlds.planner import Plan, block_plan
from errands.worlds.raycast import FIELD_OF_VIEW
from errands.worlds.record import Records
from errands.worlds.spec import EMPTY, FIRST_OBJECT, MAP_SIZE, WALL
from errands.worlds.state import World

HALF_VIEW = math.tan(FIELD_OF_VIEW / 2)  # cells to the side that are in view, a cell ahead
LINE_STEP = 0.2  # of a line of sight, in cells


@kernel()
def is_visible(world: World, heading: int, row: int, column: int) -> bool:
    """Whether a level gaze shows a cube on that cell: in the field of view, no wall between."""
    down, right = row - world.row, column - world.column
    ahead = down * AHEAD_ROW[heading] + right * AHEAD_COLUMN[heading]
    aside = abs(down * AHEAD_COLUMN[heading] + right * AHEAD_ROW[heading])
    on_top = world.tiles[world.row, world.column] >= FIRST_OBJECT
    # From on top of an object the next cell lies below the picture.
    if ahead < (2 if on_top else 1) or aside > ahead * HALF_VIEW + 0.5:
        return False
    distance = math.sqrt(down * down + right * right)
    steps = int(distance / LINE_STEP)
    for k in range(1, steps):
        share = k / steps
        r = math.floor(world.row + 0.5 + share * down)
        c = math.floor(world.column + 0.5 + share * right)
        if (r != row or c != column) and world.tiles[r, c] == WALL:
            return False
    return True


@kernel()
def look(world: World, heading: int, seen: NDArray[np.bool_]) -> int:
    """How many open cells not seen before a level gaze shows; they are marked as seen."""
    fresh = 0
    for row in range(1, MAP_SIZE - 1):
        for column in range(1, MAP_SIZE - 1):
            if seen[row, column] or world.tiles[row, column] == WALL:
                continue
            if is_visible(world, heading, row, column):
                seen[row, column] = True
                fresh += 1
    return fresh


@kernel()
def seek(
    world: World, verb: int, target: int, seen: NDArray[np.bool_], optimal: NDArray[np.bool_]
) -> int:
    """Mark the seeker's actions; returns the cost of the way to a target it has seen, or -1."""
    optimal[:] = False
    if world.pitch != 0:
        optimal[block.UP if world.pitch < 0 else block.DOWN] = True
        return -1
    seen[world.row, world.column] = True
    look(world, world.heading, seen)
    tile = FIRST_OBJECT + target
    hidden = np.zeros((MAP_SIZE, MAP_SIZE), np.bool_)
    known = 0
    for row in range(MAP_SIZE):
        for column in range(MAP_SIZE):
            if world.tiles[row, column] == tile:
                hidden[row, column] = not seen[row, column]
                known += seen[row, column]
    if known == 0:
        for turn, sign in ((block.RIGHT, 1), (block.LEFT, 3)):
            if look(world, (world.heading + sign) % 4, seen.copy()) > 0:
                optimal[turn] = True
                return -1
        return block_plan(world, verb, target, optimal)
    for row in range(MAP_SIZE):  # plan as if targets out of sight were not there
        for column in range(MAP_SIZE):
            if hidden[row, column]:
                world.tiles[row, column] = EMPTY
    cost = block_plan(world, verb, target, optimal)
    for row in range(MAP_SIZE):
        for column in range(MAP_SIZE):
            if hidden[row, column]:
                world.tiles[row, column] = tile
    return cost


@kernel(parallel=True)
def seek_all(
    worlds: Records,
    subtasks: NDArray[np.int16],
    rules: Records,
    seen: NDArray[np.bool_],
    optimal: NDArray[np.bool_],
    cost: NDArray[np.int32],
) -> None:
    """Every world's seeker for that world's subtask: rows of verb, object, quantity."""
    for i in numba.prange(cost.size):
        target = subtasks[i, 1]
        verb = resolved_verb(subtasks[i, 0], target, rules[0])
        cost[i] = seek(worlds[i], verb, target, seen[i], optimal[i])


class Seekers:
    """One seeker for each world of a batch, with what it has seen so far."""

    def __init__(self, worlds: int) -> None:
        self.seen = np.zeros((worlds, MAP_SIZE, MAP_SIZE), np.bool_)

    def forget(self, mask: NDArray[np.bool_]) -> None:
        """Begin anew where the mask is true: a new episode."""
        self.seen[mask] = False

    def plan(self, worlds: Records, subtasks: NDArray[np.int16], rules: Records) -> Plan:
        plan = Plan(
            np.zeros((worlds.size, block.ACTIONS), np.bool_), np.zeros(worlds.size, np.int32)
        )
        seek_all(worlds, subtasks, rules, self.seen, *plan)
        return plan
