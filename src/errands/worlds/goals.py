"""When an instruction is done: the task's part of a step, shared by all kinds of world.

A deed is one achievement of the agent in one step: it arrived on an object's cell (visit), or it
picked up or transformed an object. An instruction with quantity q is done after q fitting deeds;
with ALL, by a fitting deed that leaves none of its objects in the world.
"""

from errands.kernel import kernel
from errands.language.vocabulary import ALL, INTERACT
from errands.worlds.spec import EMPTY, FIRST_OBJECT, MAP_SIZE, NOTHING, Rules
from errands.worlds.state import (
    QUANTITY,
    SUPPLY,
    TARGET,
    VERB,
    Goals,
    World,
    is_within_reach,
    place_somewhere,
    set_tile,
)


@kernel()
def resolved_verb(verb: int, target: int, rules: Rules) -> int:
    """What a verb asks for: "interact with" depends on the object's group."""
    return rules.interact[target] if verb == INTERACT else verb


@kernel()
def reach(world: World, goals: Goals, index: int) -> None:
    """Begin the instruction at `index`: targets the map could not offer before appear now.

    After "all" of the same object they appear one step later, so that none is visible for one step:
    an agent that has picked up all eggs could not tell a new egg from one that is left.
    """
    world.progress, world.achieved = index, 0
    if index == world.length:
        return
    before = goals[index - 1]
    if index == 0 or before[QUANTITY] != ALL or before[TARGET] != goals[index, TARGET]:
        bring_supply(world, goals)


@kernel()
def bring_supply(world: World, goals: Goals) -> None:
    """Place targets that the current instruction still lacks, as far as there is room."""
    index = world.progress
    while goals[index, SUPPLY] > 0 and place_target(world, goals, goals[index, TARGET]):
        goals[index, SUPPLY] -= 1


@kernel()
def place_target(world: World, goals: Goals, target: int) -> bool:
    """Put a target of the current instruction on the map; false when it has to wait.

    It appears out of the agent's reach where that is possible: on the cell that the agent has just
    emptied, it would hide what was done there.
    """
    tile = FIRST_OBJECT + target
    if place_somewhere(world, tile, False) != NOTHING:
        return True
    within_reach = not make_room(world, goals, target)
    return place_somewhere(world, tile, within_reach) != NOTHING


@kernel()
def make_room(world: World, goals: Goals, target: int) -> bool:
    """On a full map, remove an object out of reach: the products of transforming can fill a map.

    It is the object that the list needs last, or not at all; the instruction that needs it gets one
    later.
    """
    chosen, latest = NOTHING, NOTHING
    for cell in range(MAP_SIZE * MAP_SIZE):
        row, column = cell // MAP_SIZE, cell % MAP_SIZE
        kind = world.tiles[row, column] - FIRST_OBJECT
        if kind < 0 or kind == target or cell == world.event_cell:
            continue
        if is_within_reach(world, row, column):
            continue
        needed = world.progress
        while needed < world.length and goals[needed, TARGET] != kind:
            needed += 1
        if needed > latest:
            chosen, latest = cell, needed
    if chosen == NOTHING:
        return False
    set_tile(world, chosen // MAP_SIZE, chosen % MAP_SIZE, EMPTY)
    if latest < world.length:
        goals[latest, SUPPLY] += 1
    return True


@kernel()
def advance_goals(world: World, goals: Goals, rules: Rules) -> bool:
    """Count the step's deed towards the current instruction; true when the whole list is done."""
    index = world.progress
    bring_supply(world, goals)
    target = goals[index, TARGET]
    quantity = goals[index, QUANTITY]
    verb = resolved_verb(goals[index, VERB], target, rules)
    if world.deed_verb == verb and world.deed_object == target:
        world.achieved += 1
        none_left = world.counts[target] == 0
        if none_left if quantity == ALL else world.achieved >= quantity:
            reach(world, goals, index + 1)
    return world.progress == world.length


@kernel()
def put_back(world: World, goals: Goals) -> None:
    """The forgiving world: the current instruction's target never runs out."""
    target = goals[world.progress, TARGET]
    if world.counts[target] == 0:
        place_target(world, goals, target)
