"""The grid world: seen from above as binary planes, acted on in four directions."""

import numpy as np
from numpy.typing import NDArray

from errands.kernel import kernel
from errands.language.vocabulary import PICK_UP, TRANSFORM, VISIT
from errands.worlds.actions import GridAction
from errands.worlds.events import COLUMN_STEPS, ROW_STEPS
from errands.worlds.planner import UNREACHABLE, mark_least
from errands.worlds.spec import FIRST_OBJECT, MAP_SIZE, WALL, WATER, Rules
from errands.worlds.state import World
from errands.worlds.step import act_on, forget_deed, move_to

AGENT_PLANE = 0  # the planes are the tile codes, with the agent instead of EMPTY
ACTIONS = len(GridAction)
MOVE, PICK, CHANGE = (  # first action of each sort, as plain integers for the kernels
    int(GridAction.MOVE_NORTH),
    int(GridAction.PICK_UP_NORTH),
    int(GridAction.TRANSFORM_NORTH),
)


@kernel()
def act(world: World, action: int, rules: Rules) -> None:
    """The agent's part of a step."""
    forget_deed(world)
    if action < MOVE:
        return
    direction = (action - MOVE) % 4
    row = world.row + ROW_STEPS[direction]
    column = world.column + COLUMN_STEPS[direction]
    if action < PICK:
        move_to(world, row, column)
    else:
        act_on(world, row, column, PICK_UP if action < CHANGE else TRANSFORM, rules)


@kernel()
def observe(world: World, tables: tuple[()], out: NDArray[np.uint8]) -> None:
    """Write the planes: what is on each cell."""
    out[:] = 0
    for row in range(MAP_SIZE):
        for column in range(MAP_SIZE):
            # Written without a branch: an empty cell writes to the agent's plane, cleared below.
            out[world.tiles[row, column], row, column] = 1
    out[AGENT_PLANE] = 0
    out[AGENT_PLANE, world.row, world.column] = 1


@kernel()
def entry_cost(tile: int, water_cost: int) -> int:
    """Cost of a step that ends on a tile."""
    return water_cost if tile == WATER else 1


@kernel()
def costs_to_go(
    tiles: NDArray[np.uint8], verb: int, target: int, water_cost: int, cost: NDArray[np.int32]
) -> None:
    """Fill cost[row, column] for an agent that stands there, by sweeps until nothing changes."""
    for row in range(MAP_SIZE):
        for column in range(MAP_SIZE):
            cost[row, column] = UNREACHABLE
            if tiles[row, column] == WALL:
                continue
            for direction in range(4):
                r, c = row + ROW_STEPS[direction], column + COLUMN_STEPS[direction]
                if tiles[r, c] == target:
                    ends_on = target if verb == VISIT else tiles[row, column]
                    cost[row, column] = entry_cost(ends_on, water_cost)
    changed = True
    forward = True
    while changed:
        changed = False
        for index in range(MAP_SIZE * MAP_SIZE):
            cell = index if forward else MAP_SIZE * MAP_SIZE - 1 - index
            row, column = cell // MAP_SIZE, cell % MAP_SIZE
            if tiles[row, column] == WALL:
                continue
            for direction in range(4):
                r, c = row + ROW_STEPS[direction], column + COLUMN_STEPS[direction]
                if tiles[r, c] == WALL:
                    continue
                through = cost[r, c] + entry_cost(tiles[r, c], water_cost)
                if through < cost[row, column]:
                    cost[row, column] = through
                    changed = True
        forward = not forward


@kernel()
def plan(world: World, verb: int, target: int, water_cost: int, optimal: NDArray[np.bool_]) -> int:
    """Mark every optimal action of the agent; returns the least cost."""
    cost = np.empty((MAP_SIZE, MAP_SIZE), np.int32)
    tiles = world.tiles
    costs_to_go(tiles, verb, FIRST_OBJECT + target, water_cost, cost)
    row, column = world.row, world.column
    of_action = np.full(ACTIONS, UNREACHABLE, np.int32)
    for direction in range(4):
        r, c = row + ROW_STEPS[direction], column + COLUMN_STEPS[direction]
        is_target = tiles[r, c] == FIRST_OBJECT + target
        if tiles[r, c] != WALL:
            arrives = verb == VISIT and is_target
            step = entry_cost(tiles[r, c], water_cost)
            of_action[MOVE + direction] = step if arrives else step + cost[r, c]
        if verb != VISIT and is_target:
            first = PICK if verb == PICK_UP else CHANGE
            of_action[first + direction] = entry_cost(tiles[row, column], water_cost)
    return mark_least(of_action, optimal)
