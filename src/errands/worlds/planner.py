"""Exact teachers and hand-made policies. They see the whole state; agents never do.

`costs_to_go` gives, for every pose of the agent, the least cost until a subtask's next deed, in
units of one step's penalty; an action is optimal when its cost plus the cost to go of where it
leads is least. Things that walk count where they stand now, and a counted subtask goes for the
nearest target each time.
"""

from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from errands.language.vocabulary import PICK_UP, TRANSFORM, VISIT
from errands.worlds import block, grid
from errands.worlds.block import AHEAD_COLUMN, AHEAD_ROW
from errands.worlds.events import COLUMN_STEPS, ROW_STEPS
from errands.worlds.goals import resolved_verb
from errands.worlds.kernel import kernel
from errands.worlds.record import Records
from errands.worlds.spec import FIRST_OBJECT, MAP_SIZE, NOTHING, WALL, WATER, Rules, WorldSpec
from errands.worlds.state import TARGET, VERB, Goals, World

UNREACHABLE = np.int32(1 << 20)
ALL_WAYS = 4  # of moving in the block world: turn left, turn right, walk forward, walk backward
FACING = 3  # the same without walking backward
NEAR_OPTIMAL, SHORTEST_PATH = "near-optimal", "shortest-path"
PLANNERS = (NEAR_OPTIMAL, SHORTEST_PATH)  # in the order in which they are offered


class Plan(NamedTuple):
    """What a teacher says of a batch of worlds."""

    optimal: NDArray[np.bool_]  # (worlds, actions) every action that is as good as any
    cost: NDArray[np.int32]  # (worlds,) least cost to the subtask's next deed


@kernel()
def grid_entry_cost(tile: int, water_cost: int) -> int:
    """Cost of a step that ends on a tile."""
    return water_cost if tile == WATER else 1


@kernel()
def grid_costs_to_go(
    tiles: NDArray[np.uint8], verb: int, target: int, water_cost: int, cost: NDArray[np.int32]
) -> None:
    """Fill cost[row, column] for an agent standing there, by sweeps until nothing changes."""
    for row in range(MAP_SIZE):
        for column in range(MAP_SIZE):
            cost[row, column] = UNREACHABLE
            if tiles[row, column] == WALL:
                continue
            for direction in range(4):
                r, c = row + ROW_STEPS[direction], column + COLUMN_STEPS[direction]
                if tiles[r, c] == target:
                    ends_on = target if verb == VISIT else tiles[row, column]
                    cost[row, column] = grid_entry_cost(ends_on, water_cost)
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
                through = cost[r, c] + grid_entry_cost(tiles[r, c], water_cost)
                if through < cost[row, column]:
                    cost[row, column] = through
                    changed = True
        forward = not forward


@kernel()
def grid_plan(
    world: World, verb: int, target: int, water_cost: int, optimal: NDArray[np.bool_]
) -> int:
    """Mark every optimal action of the agent; returns the least cost."""
    cost = np.empty((MAP_SIZE, MAP_SIZE), np.int32)
    tiles = world.tiles
    grid_costs_to_go(tiles, verb, FIRST_OBJECT + target, water_cost, cost)
    row, column = world.row, world.column
    of_action = np.full(grid.ACTIONS, UNREACHABLE, np.int32)
    for direction in range(4):
        r, c = row + ROW_STEPS[direction], column + COLUMN_STEPS[direction]
        is_target = tiles[r, c] == FIRST_OBJECT + target
        if tiles[r, c] != WALL:
            arrives = verb == VISIT and is_target
            step = grid_entry_cost(tiles[r, c], water_cost)
            of_action[grid.MOVE + direction] = step if arrives else step + cost[r, c]
        if verb != VISIT and is_target:
            first = grid.PICK if verb == PICK_UP else grid.CHANGE
            of_action[first + direction] = grid_entry_cost(tiles[row, column], water_cost)
    return mark_least(of_action, optimal)


@kernel()
def mark_least(of_action: NDArray[np.int32], optimal: NDArray[np.bool_]) -> int:
    """Mark the actions of least cost; none when the target cannot be had."""
    least = of_action.min()
    for action in range(of_action.size):
        optimal[action] = of_action[action] == least and least < UNREACHABLE
    return int(min(least, UNREACHABLE))


@kernel()
def block_costs_to_go(
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
                if verb == VISIT and ways == ALL_WAYS:  # one can also arrive backwards
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
def block_plan(
    world: World,
    tiles: NDArray[np.uint8],
    verb: int,
    target: int,
    ways: int,
    optimal: NDArray[np.bool_],
) -> int:
    """Mark every optimal action of the agent if the map is `tiles`; returns the least cost."""
    cost = np.empty((MAP_SIZE, MAP_SIZE, 4), np.int32)
    block_costs_to_go(tiles, verb, FIRST_OBJECT + target, ways, cost)
    row, column, heading = world.row, world.column, world.heading
    of_action = np.full(block.ACTIONS, UNREACHABLE, np.int32)
    of_action[block.LEFT] = 1 + cost[row, column, (heading + 3) % 4]
    of_action[block.RIGHT] = 1 + cost[row, column, (heading + 1) % 4]
    for sign, move in ((1, block.FORWARD), (-1, block.BACKWARD)):
        if move == block.BACKWARD and ways < ALL_WAYS:
            continue
        r, c = row + sign * AHEAD_ROW[heading], column + sign * AHEAD_COLUMN[heading]
        arrives = verb == VISIT and tiles[r, c] == FIRST_OBJECT + target
        if tiles[r, c] != WALL:
            of_action[move] = 1 if arrives else 1 + cost[r, c, heading]
    r, c = row + AHEAD_ROW[heading], column + AHEAD_COLUMN[heading]
    if verb != VISIT and tiles[r, c] == FIRST_OBJECT + target:
        of_action[block.PICK if verb == PICK_UP else block.CHANGE] = 1
    return mark_least(of_action, optimal)


@kernel()
def plan_subtask(
    world: World,
    verb: int,
    target: int,
    is_grid: bool,
    water_cost: int,
    rules: Rules,
    optimal: NDArray[np.bool_],
) -> int:
    """Either world's teacher for one subtask."""
    verb = resolved_verb(verb, target, rules)
    if is_grid:
        return grid_plan(world, verb, target, water_cost, optimal)
    return block_plan(world, world.tiles, verb, target, ALL_WAYS, optimal)


@kernel(parallel=True)
def plan_subtasks(
    worlds: Records,
    subtasks: NDArray[np.int16],
    is_grid: bool,
    water_cost: int,
    rules: Records,
    optimal: NDArray[np.bool_],
    cost: NDArray[np.int32],
) -> None:
    """Every world's teacher for that world's subtask: rows of verb, object, quantity."""
    for i in numba.prange(subtasks.shape[0]):
        cost[i] = plan_subtask(
            worlds[i], subtasks[i, 0], subtasks[i, 1], is_grid, water_cost, rules[0], optimal[i]
        )


@kernel()
def asked_for(world: World, goals: Goals, kind: int) -> bool:
    """Whether what is left of a list names a kind of object."""
    return bool((goals[world.progress : world.length, TARGET] == kind).any())


@kernel(parallel=True)
def plan_lists(
    worlds: Records,
    goals: NDArray[np.int16],
    close: int,
    is_grid: bool,
    water_cost: int,
    rules: Records,
    optimal: NDArray[np.bool_],
    cost: NDArray[np.int32],
) -> None:
    """Every world's next step through its list; an event `close` by comes first.

    Not so while the list asks for the event's object: a detour could transform a target of it.
    """
    for i in numba.prange(cost.size):
        world = worlds[i]
        cost[i] = UNREACHABLE
        event = rules[0].event_object
        if world.event_cell != NOTHING and close > 0 and not asked_for(world, goals[i], event):
            cost[i] = plan_subtask(
                world, TRANSFORM, event, is_grid, water_cost, rules[0], optimal[i]
            )
            if cost[i] > min(close, world.event_left):
                cost[i] = UNREACHABLE
        if cost[i] == UNREACHABLE:
            goal = goals[i, min(world.progress, world.length - 1)]
            cost[i] = plan_subtask(
                world, goal[VERB], goal[TARGET], is_grid, water_cost, rules[0], optimal[i]
            )


class Planner:
    """The kernels above with a spec's numbers filled in."""

    def __init__(self, spec: WorldSpec, rules: Records) -> None:
        self._rules = rules
        self._is_grid = spec.kind == "grid"
        self._actions = grid.ACTIONS if self._is_grid else block.ACTIONS
        # Teachers maximise reward, so water costs what it costs in reward, in whole steps.
        step, water = spec.rewards.step, spec.rewards.water
        self._water_cost = max(1, round(water / step)) if step else 1
        self._close = spec.event.close if spec.event else 0

    def subtasks(self, worlds: Records, subtasks: NDArray[np.int16]) -> Plan:
        """The teacher of each world's subtask (worlds, 3)."""
        plan = self._blank(worlds.size)
        plan_subtasks(worlds, subtasks, self._is_grid, self._water_cost, self._rules, *plan)
        return plan

    def lists(self, worlds: Records, goals: NDArray[np.int16], policy: str) -> Plan:
        """The hand-made policies for whole lists: `shortest-path` or `near-optimal`."""
        if policy not in PLANNERS:
            raise ValueError(f"no planner '{policy}'; there are {', '.join(PLANNERS)}")
        close = self._close if policy == NEAR_OPTIMAL else 0
        plan = self._blank(worlds.size)
        plan_lists(worlds, goals, close, self._is_grid, self._water_cost, self._rules, *plan)
        return plan

    def _blank(self, worlds: int) -> Plan:
        return Plan(np.zeros((worlds, self._actions), np.bool_), np.zeros(worlds, np.int32))


def first_optimal(plan: Plan) -> NDArray[np.intp]:
    """One action a world: the first optimal one, 0 when nothing can be done."""
    chosen: NDArray[np.intp] = plan.optimal.argmax(axis=1)
    return chosen
