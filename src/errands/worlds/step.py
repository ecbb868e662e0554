"""One step of any world after the agent has acted: moving objects, the task, the reward."""

import numpy as np
from numpy.typing import NDArray

from errands.kernel import kernel
from errands.language.vocabulary import TRANSFORM, VISIT
from errands.worlds.events import come_and_go, walk
from errands.worlds.goals import advance_goals, put_back
from errands.worlds.layout import Ranges
from errands.worlds.spec import EMPTY, FIRST_OBJECT, NOTHING, WALL, WATER, Rules
from errands.worlds.state import Goals, World, set_tile

RUNNING, DONE, CUT_OFF = range(3)  # status of an episode after a step


@kernel()
def are_within(actions: NDArray[np.int64], bound: int) -> bool:
    """Whether every action is one of 0..bound-1."""
    within = True
    for action in actions.ravel():
        within &= bool(0 <= action < bound)
    return within


@kernel()
def is_over(world: World) -> bool:
    """Whether the episode has ended: until it is reset, the world does not change."""
    return bool(world.progress == world.length or world.steps >= world.step_limit)


@kernel()
def forget_deed(world: World) -> None:
    world.deed_verb = NOTHING
    world.deed_object = NOTHING


@kernel()
def move_to(world: World, row: int, column: int) -> None:
    """Go to a cell unless a wall is there; arriving on an object's cell is a visit."""
    tile = world.tiles[row, column]
    if tile == WALL:
        return
    world.row, world.column = row, column
    if tile >= FIRST_OBJECT:
        world.deed_verb = VISIT
        world.deed_object = tile - FIRST_OBJECT


@kernel()
def act_on(world: World, row: int, column: int, verb: int, rules: Rules) -> None:
    """Pick up or transform the object on a cell, if there is one."""
    tile = world.tiles[row, column]
    if tile < FIRST_OBJECT:
        return
    becomes = rules.becomes[tile - FIRST_OBJECT] if verb == TRANSFORM else EMPTY
    set_tile(world, row, column, becomes)
    world.deed_verb = verb
    world.deed_object = tile - FIRST_OBJECT


@kernel()
def live_on(world: World, goals: Goals, rules: Rules, ranges: Ranges) -> tuple[float, int]:
    """Everything that follows the agent's act; returns the reward and the episode's status.

    A world whose episode has ended does not change, and gives no reward, until it is reset.
    """
    if world.progress == world.length:
        return 0.0, DONE
    if world.steps >= world.step_limit:
        return 0.0, CUT_OFF
    walk(world, rules)
    if ranges.event:
        come_and_go(world, rules)
    done = advance_goals(world, goals, rules)
    if ranges.forgiving and not done:
        put_back(world, goals)
    world.steps += 1
    reward = pay(world, rules, ranges)
    if done:
        return reward + rules.reward_done, DONE
    return reward, CUT_OFF if world.steps >= world.step_limit else RUNNING


@kernel()
def pay(world: World, rules: Rules, ranges: Ranges) -> float:
    """The step's reward without the one for the whole list."""
    caught = world.deed_verb == TRANSFORM and world.deed_object == rules.event_object
    if ranges.event and caught:
        world.events_used += 1
        return rules.reward_event
    if world.tiles[world.row, world.column] == WATER:
        return rules.reward_water
    return rules.reward_step
