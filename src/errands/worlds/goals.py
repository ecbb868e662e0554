"""When an instruction is done: the task's side of a step, shared by both worlds.

A deed is one achievement of the agent in one step: it arrived on an object's cell (visit), or it
picked up or transformed an object. An instruction with quantity q is done after q fitting deeds;
with ALL, by a fitting deed that leaves none of its objects in the world.
"""

from errands.language.vocabulary import ALL, INTERACT
from errands.worlds.kernel import kernel
from errands.worlds.spec import FIRST_OBJECT, NOTHING, Rules
from errands.worlds.state import (
    QUANTITY,
    SUPPLY,
    TARGET,
    VERB,
    Goals,
    World,
    place_somewhere,
)


@kernel()
def resolved_verb(verb: int, target: int, rules: Rules) -> int:
    """What a verb asks for: "interact with" depends on the object's group."""
    return rules.interact[target] if verb == INTERACT else verb


@kernel()
def reach(world: World, goals: Goals, index: int) -> None:
    """Begin the instruction at `index`: targets the map could not offer before appear now."""
    world.progress = index
    world.achieved = 0
    if index < world.length:
        bring_supply(world, goals)


@kernel()
def bring_supply(world: World, goals: Goals) -> None:
    """Place what the current instruction is still owed, as far as there is room."""
    index = world.progress
    while goals[index, SUPPLY] > 0:
        tile = FIRST_OBJECT + goals[index, TARGET]
        if place_somewhere(world, tile) == NOTHING:
            return
        goals[index, SUPPLY] -= 1


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
        place_somewhere(world, FIRST_OBJECT + target)
