"""How an episode begins: terrain, a task, an agent, and objects such that the task is solvable.

Every episode is solvable by construction:
1. Open cells that the agent could not reach are filled with walls, so all open cells are connected
   without crossing water.
2. The list is simulated in advance. Where an instruction would find too few targets, they are
   placed on the map from the start, as long as a quarter of the open cells stays empty and no
   earlier instruction takes *all* of that object. Targets that cannot be there from the start are
   the instruction's supply: they appear when the list reaches that instruction (after "all" of the
   same object, one step later), out of the agent's reach, and on a full map in place of something
   that is needed later or never.
Nothing else is replaced: an agent that wastes what a later instruction needs has failed, unless
the setting is forgiving.
"""

from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from errands.kernel import kernel
from errands.language.instruction import Instruction
from errands.language.vocabulary import ALL, TRANSFORM, VISIT, Vocabulary
from errands.worlds.events import COLUMN_STEPS, ROW_STEPS
from errands.worlds.goals import reach, resolved_verb
from errands.worlds.record import Records, new_records
from errands.worlds.spec import (
    EMPTY,
    FIRST_OBJECT,
    MAP_SIZE,
    MOST_OBJECTS,
    NOTHING,
    WALL,
    WATER,
    Rules,
    Setting,
)
from errands.worlds.state import (
    QUANTITY,
    SUPPLY,
    TARGET,
    VERB,
    Goals,
    World,
    below,
    place_somewhere,
    uniform,
)
from errands.worlds.tasks import TaskSource

FEWEST_OPEN_CELLS = 9  # a map with fewer is sampled again, at last without walls
MOST_DRAWS = 20


class Ranges:
    """A setting as a record for the kernels."""

    scattered: Annotated[NDArray[np.int16], "i2", MOST_OBJECTS]
    kinds: Annotated[int, "i2"]  # number of entries of `scattered` that are used
    fewest_objects: Annotated[float, "f8"]
    most_objects: Annotated[float, "f8"]
    fewest_walls: Annotated[float, "f8"]
    most_walls: Annotated[float, "f8"]
    least_water: Annotated[float, "f8"]
    most_water: Annotated[float, "f8"]
    smallest: Annotated[int, "i2"]
    largest: Annotated[int, "i2"]
    event: Annotated[bool, "?"]
    forgiving: Annotated[bool, "?"]


def compile_setting(setting: Setting, objects: tuple[str, ...]) -> Records:
    compiled = new_records(Ranges, 1)
    ranges = compiled[0]
    kinds = [objects.index(name) for name in setting.scattered]
    ranges["scattered"][: len(kinds)] = kinds
    ranges["kinds"] = len(kinds)
    ranges["fewest_objects"], ranges["most_objects"] = setting.objects
    ranges["fewest_walls"], ranges["most_walls"] = setting.walls
    ranges["least_water"], ranges["most_water"] = setting.water
    ranges["smallest"], ranges["largest"] = setting.sizes
    ranges["event"], ranges["forgiving"] = setting.event, setting.forgiving
    return compiled


class Tasks:
    """How an episode's list of instructions is taken from the pool: one record."""

    shortest: Annotated[int, "i4"]  # the length of a list is sampled from shortest..longest
    longest: Annotated[int, "i4"]
    in_order: Annotated[bool, "?"]  # the list is the pool itself, not a sample from it
    step_limit: Annotated[int, "i4"]


Pool = NDArray[np.int16]  # (instructions, 6): its code, then its tokens, zeros if it has none


def compile_tasks(tasks: TaskSource) -> Records:
    compiled = new_records(Tasks, 1)
    record = compiled[0]
    record["shortest"], record["longest"] = tasks.lengths
    record["in_order"], record["step_limit"] = tasks.in_order, tasks.step_limit
    return compiled


def compile_pool(pool: tuple[Instruction, ...], words: Vocabulary) -> Pool:
    """Codes that the worlds check, and tokens; counted subtasks have no tokens."""
    spoken = all(words.carries(item.verb, item.quantity) for item in pool)
    silent = 0, 0, 0
    rows = [(*item.code(words), *(item.tokens(words) if spoken else silent)) for item in pool]
    return np.array(rows, np.int16)


@kernel()
def begin_world(
    world: World,
    goals: Goals,
    rules: Rules,
    ranges: Ranges,
    tasks: Tasks,
    pool: Pool,
    tokens: NDArray[np.int64],
    mask: NDArray[np.bool_],
) -> None:
    """Begin a new episode and write the tokens of its list."""
    world.counts[:] = 0
    open_cells = draw_terrain(world, ranges)
    draw_list(world, goals, tasks, pool, tokens, mask)
    world.row, world.column = 0, 0  # not on the map yet: a corner of the border
    room = open_cells - max(2, open_cells // 4)
    scatter(world, ranges, room, open_cells)
    provide(world, goals, rules, room)
    draw_agent(world, open_cells)
    world.deed_verb = NOTHING
    world.deed_object = NOTHING
    world.event_cell = NOTHING
    world.event_left = 0
    world.events = 0
    world.events_used = 0
    world.steps = 0
    world.step_limit = tasks.step_limit
    reach(world, goals, 0)


@kernel()
def draw_terrain(world: World, ranges: Ranges) -> int:
    """Walls and water on a map of random size; returns how many cells stay open."""
    tiles = world.tiles
    size = ranges.smallest + below(world, ranges.largest - ranges.smallest + 1)
    top = below(world, MAP_SIZE - size + 1)
    left = below(world, MAP_SIZE - size + 1)
    for draw in range(MOST_DRAWS + 1):
        span = ranges.most_walls - ranges.fewest_walls
        walls = ranges.fewest_walls + span * uniform(world)
        span = ranges.most_water - ranges.least_water
        water = ranges.least_water + span * uniform(world)
        if draw == MOST_DRAWS:
            walls, water = 0.0, 0.0
        tiles[:] = WALL
        for row in range(top + 1, top + size - 1):
            for column in range(left + 1, left + size - 1):
                chance = uniform(world)
                if chance < walls:
                    tiles[row, column] = WALL
                elif chance < walls + water:
                    tiles[row, column] = WATER
                else:
                    tiles[row, column] = EMPTY
        open_cells = keep_largest_region(tiles)
        if open_cells >= FEWEST_OPEN_CELLS:
            break
    return open_cells


@kernel()
def keep_largest_region(tiles: NDArray[np.uint8]) -> int:
    """Fill every connected region of empty cells but the largest; returns that one's size."""
    region = np.zeros((MAP_SIZE, MAP_SIZE), np.int16)
    stack = np.empty(MAP_SIZE * MAP_SIZE, np.int16)
    regions, best, best_size = 0, 0, 0
    for start in range(MAP_SIZE * MAP_SIZE):
        if tiles[start // MAP_SIZE, start % MAP_SIZE] != EMPTY:
            continue
        if region[start // MAP_SIZE, start % MAP_SIZE] != 0:
            continue
        regions += 1
        region[start // MAP_SIZE, start % MAP_SIZE] = regions
        stack[0] = start
        waiting, size = 1, 0
        while waiting > 0:
            waiting -= 1
            size += 1
            row, column = stack[waiting] // MAP_SIZE, stack[waiting] % MAP_SIZE
            for direction in range(4):
                r, c = row + ROW_STEPS[direction], column + COLUMN_STEPS[direction]
                if tiles[r, c] == EMPTY and region[r, c] == 0:
                    region[r, c] = regions
                    stack[waiting] = r * MAP_SIZE + c
                    waiting += 1
        if size > best_size:
            best, best_size = regions, size
    for row in range(MAP_SIZE):
        for column in range(MAP_SIZE):
            if tiles[row, column] == EMPTY and region[row, column] != best:
                tiles[row, column] = WALL
    return best_size


@kernel()
def draw_list(
    world: World,
    goals: Goals,
    tasks: Tasks,
    pool: Pool,
    tokens: NDArray[np.int64],
    mask: NDArray[np.bool_],
) -> None:
    """Sample the episode's instructions from the pool, and write their tokens, three each.

    After the last one, and for instructions without tokens, tokens are zero and the mask is false.
    """
    length = tasks.shortest + below(world, tasks.longest - tasks.shortest + 1)
    world.length = length
    goals[:] = 0
    tokens[:] = 0
    mask[:] = False
    for k in range(length):
        choice = k if tasks.in_order else below(world, pool.shape[0])
        goals[k, :SUPPLY] = pool[choice, :SUPPLY]
        tokens[k] = pool[choice, SUPPLY:]
        mask[k] = tokens[k, 0] > 0


@kernel()
def draw_agent(world: World, open_cells: int) -> None:
    """Put the agent on a random open cell, perhaps on an object, facing anywhere, level."""
    remaining = below(world, open_cells)
    for cell in range(MAP_SIZE * MAP_SIZE):
        row, column = cell // MAP_SIZE, cell % MAP_SIZE
        if world.tiles[row, column] != WALL and world.tiles[row, column] != WATER:
            if remaining == 0:
                world.row, world.column = row, column
                break
            remaining -= 1
    world.heading = below(world, 4)
    world.pitch = 0


@kernel()
def scatter(world: World, ranges: Ranges, room: int, open_cells: int) -> None:
    """Place objects on random cells, whether the list needs them or not."""
    if ranges.kinds == 0:
        return
    span = ranges.most_objects - ranges.fewest_objects
    share = ranges.fewest_objects + span * uniform(world)
    wanted = min(room, int(share * open_cells + 0.5))
    for _ in range(wanted):
        kind = ranges.scattered[below(world, ranges.kinds)]
        place_somewhere(world, FIRST_OBJECT + kind, True)


@kernel()
def provide(world: World, goals: Goals, rules: Rules, room: int) -> None:
    """Simulate the list and provide every target that would be missing."""
    stock = world.counts.copy()  # number of each object when the list gets there
    cleared = np.zeros(MOST_OBJECTS, np.bool_)  # some earlier instruction takes all of them
    placed = stock.sum()
    for k in range(world.length):
        target, quantity = goals[k, TARGET], goals[k, QUANTITY]
        verb = resolved_verb(goals[k, VERB], target, rules)
        needed = rules.fewest_for_all if quantity == ALL else quantity
        if verb == VISIT:  # the same target can be visited again
            needed = 1
        while stock[target] < needed:
            on_map = not cleared[target] and placed < room
            if on_map and place_somewhere(world, FIRST_OBJECT + target, True) != NOTHING:
                placed += 1
            else:
                goals[k, SUPPLY] += 1
            stock[target] += 1
        if verb == VISIT:
            continue
        taken = stock[target] if quantity == ALL else quantity
        stock[target] -= taken
        if verb == TRANSFORM and rules.becomes[target] != EMPTY:
            stock[rules.becomes[target] - FIRST_OBJECT] += taken
        cleared[target] |= quantity == ALL
