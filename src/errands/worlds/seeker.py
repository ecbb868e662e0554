"""A teacher for the block world that only knows targets which its agent could have seen.

The exact planner walks to targets that are still out of sight, which no agent can learn to imitate
from pictures. The seeker turns until a target comes into view, goes to the nearest cell that it has
not seen when turning shows nothing new, and plans exactly once it has seen a target. It also makes
its actions visible to the agent: it looks down, because from on top of a cube a level view misses
the cell ahead, and it never walks backward.
"""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numba
import numpy as np
from numpy.typing import NDArray

from errands.kernel import kernel
from errands.language.vocabulary import VISIT
from errands.worlds import block
from errands.worlds.block import AHEAD_COLUMN, AHEAD_ROW
from errands.worlds.goals import resolved_verb
from errands.worlds.planner import Plan
from errands.worlds.raycast import EYE_HEIGHT, FIELD_OF_VIEW, PITCH_STEP
from errands.worlds.record import Records
from errands.worlds.spec import EMPTY, FIRST_OBJECT, MAP_SIZE, WALL
from errands.worlds.state import World

if TYPE_CHECKING:
    from errands.worlds.vector import Worlds

Tiles = NDArray[np.uint8]

HALF_VIEW = math.tan(FIELD_OF_VIEW / 2)  # to the side, at a distance of 1 along the line of sight
AHEAD_SHARE, BELOW_SHARE = math.cos(PITCH_STEP), math.sin(PITCH_STEP)  # of that distance
TOP, MIDDLE = 0.9, 0.5  # the points of a cube that are tested: height above the ground
LINE_STEP = 0.2  # step along a line of sight, in cells


@kernel()
def is_in_picture(eye: float, ahead: int, aside: int, height: float) -> bool:
    """Whether a downward view from height `eye` contains a point at that place and height."""
    below = eye - height
    away = ahead * AHEAD_SHARE + below * BELOW_SHARE
    above = ahead * BELOW_SHARE - below * AHEAD_SHARE
    return above <= away * HALF_VIEW and aside <= away * HALF_VIEW + 0.5


@kernel()
def is_visible(tiles: Tiles, here: tuple[int, int], heading: int, row: int, column: int) -> bool:
    """Whether a downward view shows a cube on that cell: its top or middle, with a free line."""
    down, right = row - here[0], column - here[1]
    ahead = down * AHEAD_ROW[heading] + right * AHEAD_COLUMN[heading]
    aside = abs(down * AHEAD_COLUMN[heading] + right * AHEAD_ROW[heading])
    if ahead < 1:
        return False
    eye = EYE_HEIGHT
    if tiles[here[0], here[1]] >= FIRST_OBJECT:
        eye += 1.0
    if is_in_picture(eye, ahead, aside, TOP):  # what hides the top hides the middle, too
        return is_clear(tiles, here, eye, row, column, TOP)
    if is_in_picture(eye, ahead, aside, MIDDLE):
        return is_clear(tiles, here, eye, row, column, MIDDLE)
    return False


@kernel()
def is_clear(
    tiles: Tiles, here: tuple[int, int], eye: float, row: int, column: int, height: float
) -> bool:
    """Whether neither a wall nor a cube hides the point at that height above the cell's centre."""
    down, right = row - here[0], column - here[1]
    steps = int(math.sqrt(down * down + right * right) / LINE_STEP)
    for k in range(1, steps):
        share = k / steps
        r = math.floor(here[0] + 0.5 + share * down)
        c = math.floor(here[1] + 0.5 + share * right)
        if r == row and c == column:
            continue
        over_cubes = eye + share * (height - eye) >= 1.0
        if tiles[r, c] == WALL or (tiles[r, c] >= FIRST_OBJECT and not over_cubes):
            return False
    return True


@kernel()
def look(world: World, heading: int, seen: NDArray[np.bool_]) -> None:
    """Mark the open cells that a downward view shows as seen."""
    here = world.row, world.column
    for row in range(1, MAP_SIZE - 1):
        for column in range(1, MAP_SIZE - 1):
            if not seen[row, column] and world.tiles[row, column] != WALL:
                seen[row, column] = is_visible(world.tiles, here, heading, row, column)


@kernel()
def is_worth_a_look(world: World, heading: int, seen: NDArray[np.bool_]) -> bool:
    """Whether a downward view shows an open cell that was not seen before."""
    here = world.row, world.column
    for row in range(1, MAP_SIZE - 1):
        for column in range(1, MAP_SIZE - 1):
            if seen[row, column] or world.tiles[row, column] == WALL:
                continue
            if is_visible(world.tiles, here, heading, row, column):
                return True
    return False


@kernel()
def seek(
    world: World, verb: int, target: int, seen: NDArray[np.bool_], optimal: NDArray[np.bool_]
) -> int:
    """Mark the seeker's actions; returns the cost to a target that it has seen, or -1."""
    optimal[:] = False
    if world.pitch != block.LOWEST:
        optimal[block.DOWN] = True
        return -1
    seen[world.row, world.column] = True
    look(world, world.heading, seen)
    tile = FIRST_OBJECT + target
    tiles = world.tiles.copy()
    known = 0
    for row in range(MAP_SIZE):
        for column in range(MAP_SIZE):
            if tiles[row, column] == tile:
                known += seen[row, column]
                if not seen[row, column]:  # plan as if targets out of sight were not there
                    tiles[row, column] = EMPTY
    if known == 0:
        for turn, sign in ((block.RIGHT, 1), (block.LEFT, 3)):
            if is_worth_a_look(world, (world.heading + sign) % 4, seen):
                optimal[turn] = True
                return -1
        for row in range(1, MAP_SIZE - 1):
            for column in range(1, MAP_SIZE - 1):
                if not seen[row, column] and tiles[row, column] != WALL:
                    tiles[row, column] = tile  # there may be one: go there and look
        block.plan_on(world, tiles, VISIT, target, block.FACING, optimal)
        return -1
    return block.plan_on(world, tiles, verb, target, block.FACING, optimal)


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

    def __init__(self, worlds: "Worlds") -> None:
        self._worlds = worlds
        self.seen = np.zeros((worlds.count, MAP_SIZE, MAP_SIZE), np.bool_)
        self.memory: Mapping[str, NDArray[Any]] = {"seen": self.seen}

    def forget(self, mask: NDArray[np.bool_]) -> None:
        """Forget what was seen where the mask is true: a new episode."""
        self.seen[mask] = False

    def plan(self, subtasks: NDArray[np.int16]) -> Plan:
        count = self._worlds.count
        plan = Plan(np.zeros((count, block.ACTIONS), np.bool_), np.zeros(count, np.int32))
        seek_all(self._worlds.privileged, subtasks, self._worlds.rules, self.seen, *plan)
        return plan
