"""The state of one world as a record, its random numbers, and placing objects on its map.

Worlds are records in one array: a step of a world touches most of its fields, so they lie side by
side, and kernels pass one pointer. (As separate arrays, each call would pass twenty.) Lists differ
in length, so they are stored separately, one row of `goals` per instruction.
"""

from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from errands.kernel import kernel
from errands.worlds.spec import EMPTY, FIRST_OBJECT, MAP_SIZE, MOST_OBJECTS, NOTHING

VERB, TARGET, QUANTITY, SUPPLY = range(4)  # columns of an instruction's row in `goals`
Goals = NDArray[np.int16]  # (longest list, 4); SUPPLY: targets that appear with the instruction


class World:
    """Everything about one world but its list. Agents never see this: they get observations."""

    tiles: Annotated[NDArray[np.uint8], "u1", MAP_SIZE, MAP_SIZE]  # what stands on each cell
    counts: Annotated[NDArray[np.int16], "i2", MOST_OBJECTS]  # how many of each object there are
    row: Annotated[int, "i2"]  # the agent's cell
    column: Annotated[int, "i2"]
    heading: Annotated[int, "i2"]  # 0 north, 1 east, 2 south, 3 west; the grid's agent has none
    pitch: Annotated[int, "i2"]  # -1 down, 0 level, 1 up; the grid's agent has none
    deed_verb: Annotated[int, "i2"]  # what the agent achieved in the last step, or NOTHING
    deed_object: Annotated[int, "i2"]
    length: Annotated[int, "i2"]  # instructions in the list
    progress: Annotated[int, "i2"]  # instructions done: the true pointer
    achieved: Annotated[int, "i2"]  # times the current instruction's subtask was done
    event_cell: Annotated[int, "i2"]  # row * MAP_SIZE + column of the event's object, or NOTHING
    event_left: Annotated[int, "i2"]  # steps until it leaves
    events: Annotated[int, "i2"]  # how many have appeared in this episode
    events_used: Annotated[int, "i2"]  # how many of them the agent transformed
    steps: Annotated[int, "i4"]  # steps taken
    step_limit: Annotated[int, "i4"]
    random: Annotated[np.uint64, "u8"]  # the world's own generator


@kernel()
def uniform(world: World) -> float:
    """The world's next number in [0, 1): splitmix64, so a world does not depend on its batch."""
    world.random += np.uint64(0x9E3779B97F4A7C15)
    z = world.random
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return float(z >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@kernel()
def below(world: World, bound: int) -> int:
    """The world's next whole number in 0..bound-1."""
    return int(uniform(world) * bound)


@kernel()
def set_tile(world: World, row: int, column: int, tile: int) -> None:
    """Place a tile and update the counts of objects."""
    old = world.tiles[row, column]
    if old >= FIRST_OBJECT:
        world.counts[old - FIRST_OBJECT] -= 1
    if tile >= FIRST_OBJECT:
        world.counts[tile - FIRST_OBJECT] += 1
    world.tiles[row, column] = tile


@kernel()
def is_free(world: World, row: int, column: int) -> bool:
    """Whether nothing is on the cell, not even the agent."""
    if row == world.row and column == world.column:
        return False
    return bool(world.tiles[row, column] == EMPTY)


@kernel()
def is_within_reach(world: World, row: int, column: int) -> bool:
    """Whether the agent can act on the cell without a step: its own, and those beside it."""
    return abs(row - world.row) + abs(column - world.column) <= 1


@kernel()
def can_take(world: World, row: int, column: int, within_reach: bool) -> bool:
    """Whether the cell is free, and far enough from the agent."""
    return is_free(world, row, column) and (within_reach or not is_within_reach(world, row, column))


@kernel()
def place_somewhere(world: World, tile: int, within_reach: bool) -> int:
    """Put a tile on a random free cell; returns the cell, or NOTHING if there is none.

    Cells that the agent can act on without a step are taken only if `within_reach` says so.
    """
    free = 0
    for row in range(1, MAP_SIZE - 1):
        for column in range(1, MAP_SIZE - 1):
            free += can_take(world, row, column, within_reach)
    if free == 0:
        return NOTHING
    remaining = below(world, free)
    for row in range(1, MAP_SIZE - 1):
        for column in range(1, MAP_SIZE - 1):
            if can_take(world, row, column, within_reach):
                if remaining == 0:
                    set_tile(world, row, column, tile)
                    return row * MAP_SIZE + column
                remaining -= 1
    return NOTHING
