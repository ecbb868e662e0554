"""What happens without the agent: objects that walk, and the event that comes and goes."""

import numpy as np

from errands.kernel import kernel
from errands.worlds.spec import EMPTY, FIRST_OBJECT, MAP_SIZE, NOTHING, Rules
from errands.worlds.state import World, below, is_free, place_somewhere, set_tile, uniform

# North, south, west, east: the order of the grid's actions.
ROW_STEPS = np.array([-1, 1, 0, 0])
COLUMN_STEPS = np.array([0, 0, -1, 1])


@kernel()
def walk(world: World, rules: Rules) -> None:
    """Each walking object may move to an empty neighbouring cell."""
    walkers = 0
    for k in range(rules.walks.size):
        if rules.walks[k] > 0.0:
            walkers += world.counts[k]
    if walkers == 0:
        return
    # Cells are collected first: an object that moved south or east must not be visited twice.
    cells = np.empty(walkers, np.int16)
    found = 0
    for row in range(MAP_SIZE):
        for column in range(MAP_SIZE):
            tile = world.tiles[row, column]
            if tile >= FIRST_OBJECT and rules.walks[tile - FIRST_OBJECT] > 0.0:
                cells[found] = row * MAP_SIZE + column
                found += 1
    for k in range(walkers):
        cell = int(cells[k])
        row, column = cell // MAP_SIZE, cell % MAP_SIZE
        tile = world.tiles[row, column]
        if uniform(world) >= rules.walks[tile - FIRST_OBJECT]:
            continue
        direction = below(world, 4)
        to_row, to_column = row + ROW_STEPS[direction], column + COLUMN_STEPS[direction]
        if not is_free(world, to_row, to_column):
            continue
        if to_row * MAP_SIZE + to_column == world.event_cell:
            continue  # just vacated by the event's object: this one would be taken for it
        world.tiles[row, column] = EMPTY
        world.tiles[to_row, to_column] = tile
        if world.event_cell == cell:
            world.event_cell = to_row * MAP_SIZE + to_column


@kernel()
def come_and_go(world: World, rules: Rules) -> None:
    """The event's object leaves when its time is up; when there is none, one may appear."""
    cell = world.event_cell
    if cell != NOTHING:
        row, column = cell // MAP_SIZE, cell % MAP_SIZE
        world.event_left -= 1
        if world.tiles[row, column] != FIRST_OBJECT + rules.event_object:
            world.event_cell = NOTHING  # the agent took or transformed it
        elif world.event_left == 0:
            set_tile(world, row, column, EMPTY)
            world.event_cell = NOTHING
    elif uniform(world) < rules.event_probability:
        world.event_cell = place_somewhere(world, FIRST_OBJECT + rules.event_object, True)
        world.event_left = rules.event_lifetime
        if world.event_cell != NOTHING:
            world.events += 1
