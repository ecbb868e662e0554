"""The block world: seen in first person, acted on straight ahead."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from errands.kernel import kernel
from errands.language.vocabulary import PICK_UP, TRANSFORM, VISIT
from errands.worlds.actions import BlockAction
from errands.worlds.art import load_art
from errands.worlds.planner import UNREACHABLE, mark_least
from errands.worlds.raycast import RayTables, build_tables, render_view, texture_atlas
from errands.worlds.spec import FIRST_OBJECT, MAP_SIZE, WALL, Rules, WorldSpec
from errands.worlds.state import World
from errands.worlds.step import act_on, forget_deed, move_to

# North, east, south, west: the order of headings, clockwise.
AHEAD_ROW = np.array([-1, 0, 1, 0])
AHEAD_COLUMN = np.array([0, 1, 0, -1])
ACTIONS = len(BlockAction)
LEFT, RIGHT, UP, DOWN, FORWARD, BACKWARD, PICK, CHANGE, _NO_OP = map(int, BlockAction)
LOWEST, HIGHEST = -1, 1  # pitch of the view
ALL_WAYS = 4  # ways of moving: turn left, turn right, walk forward, walk backward
FACING = 3  # the same without walking backward


class ViewTables(NamedTuple):
    """What pictures are rendered with. It is flat: parallel kernels take no tuple in a tuple."""

    backdrop: NDArray[np.uint16]  # this and the next three: RayTables
    starts: NDArray[np.int32]
    spans: NDArray[np.uint32]
    texels: NDArray[np.uint16]
    atlas: NDArray[np.uint8]  # the textures


def view_tables(spec: WorldSpec) -> ViewTables:
    return ViewTables(*build_tables(), texture_atlas(load_art(spec.art_name), spec.objects))


@kernel()
def act(world: World, action: int, rules: Rules) -> None:
    """The agent's part of a step."""
    forget_deed(world)
    heading = world.heading
    if action == LEFT:
        world.heading = (heading + 3) % 4
    elif action == RIGHT:
        world.heading = (heading + 1) % 4
    elif action == UP:
        world.pitch = min(world.pitch + 1, HIGHEST)
    elif action == DOWN:
        world.pitch = max(world.pitch - 1, LOWEST)
    row, column = world.row, world.column
    ahead_row, ahead_column = row + AHEAD_ROW[heading], column + AHEAD_COLUMN[heading]
    if action == FORWARD:
        move_to(world, ahead_row, ahead_column)
    elif action == BACKWARD:
        move_to(world, row - AHEAD_ROW[heading], column - AHEAD_COLUMN[heading])
    elif action == PICK:
        act_on(world, ahead_row, ahead_column, PICK_UP, rules)
    elif action == CHANGE:
        act_on(world, ahead_row, ahead_column, TRANSFORM, rules)


@kernel()
def observe(world: World, tables: ViewTables, out: NDArray[np.uint8]) -> None:
    """Render what the agent sees."""
    render_view(
        world.tiles,
        world.row,
        world.column,
        world.heading,
        world.pitch,
        RayTables(tables.backdrop, tables.starts, tables.spans, tables.texels),
        tables.atlas,
        out,
    )


@kernel()
def costs_to_go(
    tiles: NDArray[np.uint8], verb: int, target: int, ways: int, cost: NDArray[np.int32]
) -> None:
    """Fill cost[row, column, heading] by breadth-first search backwards from the deeds."""
    queue = np.empty(MAP_SIZE * MAP_SIZE * 4, np.int16)
    waiting, served = 0, 0
    for row in range(MAP_SIZE):
        for column in range(MAP_SIZE):
            for heading in range(4):
                cost[row, column, heading] = UNREACHABLE
                if tiles[row, column] == WALL:
                    continue
                r, c = AHEAD_ROW[heading], AHEAD_COLUMN[heading]
                at_hand = tiles[row + r, column + c] == target
                if verb == VISIT and ways == ALL_WAYS:  # the agent can also arrive backwards
                    at_hand |= tiles[row - r, column - c] == target
                if at_hand:
                    cost[row, column, heading] = 1
                    queue[waiting] = (row * MAP_SIZE + column) * 4 + heading
                    waiting += 1
    while served < waiting:
        pose = queue[served]
        served += 1
        heading, row, column = pose % 4, pose // 4 // MAP_SIZE, pose // 4 % MAP_SIZE
        for way in range(ways):  # came here by turning left, right, from behind, from ahead
            h, r, c = heading, row, column
            if way == 0:
                h = (heading + 1) % 4
            elif way == 1:
                h = (heading + 3) % 4
            elif way == 2:
                r, c = row - AHEAD_ROW[heading], column - AHEAD_COLUMN[heading]
            else:
                r, c = row + AHEAD_ROW[heading], column + AHEAD_COLUMN[heading]
            if tiles[r, c] != WALL and cost[r, c, h] == UNREACHABLE:
                cost[r, c, h] = cost[row, column, heading] + 1
                queue[waiting] = (r * MAP_SIZE + c) * 4 + h
                waiting += 1


@kernel()
def plan_on(
    world: World,
    tiles: NDArray[np.uint8],
    verb: int,
    target: int,
    ways: int,
    optimal: NDArray[np.bool_],
) -> int:
    """Mark every optimal action of the agent if the map is `tiles`; returns the least cost."""
    cost = np.empty((MAP_SIZE, MAP_SIZE, 4), np.int32)
    costs_to_go(tiles, verb, FIRST_OBJECT + target, ways, cost)
    row, column, heading = world.row, world.column, world.heading
    of_action = np.full(ACTIONS, UNREACHABLE, np.int32)
    of_action[LEFT] = 1 + cost[row, column, (heading + 3) % 4]
    of_action[RIGHT] = 1 + cost[row, column, (heading + 1) % 4]
    for sign, move in ((1, FORWARD), (-1, BACKWARD)):
        if move == BACKWARD and ways < ALL_WAYS:
            continue
        r, c = row + sign * AHEAD_ROW[heading], column + sign * AHEAD_COLUMN[heading]
        arrives = verb == VISIT and tiles[r, c] == FIRST_OBJECT + target
        if tiles[r, c] != WALL:
            of_action[move] = 1 if arrives else 1 + cost[r, c, heading]
    r, c = row + AHEAD_ROW[heading], column + AHEAD_COLUMN[heading]
    if verb != VISIT and tiles[r, c] == FIRST_OBJECT + target:
        of_action[PICK if verb == PICK_UP else CHANGE] = 1
    return mark_least(of_action, optimal)


@kernel()
def plan(world: World, verb: int, target: int, water_cost: int, optimal: NDArray[np.bool_]) -> int:
    """The same on the true map, by every way of moving; there is no water to avoid."""
    return plan_on(world, world.tiles, verb, target, ALL_WAYS, optimal)
