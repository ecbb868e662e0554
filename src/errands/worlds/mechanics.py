"""The kernels of a kind of world: it brings `act`, `observe` and `plan`, and shares the rest."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numba
import numpy as np
from numpy.typing import NDArray

from errands.kernel import specialised
from errands.worlds import planner
from errands.worlds.layout import Pool, begin_world
from errands.worlds.record import Records
from errands.worlds.spec import Rules, WorldSpec
from errands.worlds.state import World
from errands.worlds.step import RUNNING, are_within, is_over, live_on

if TYPE_CHECKING:
    from errands.worlds.vector import Worlds

Kernel = Callable[..., Any]
Tables = tuple[Any, ...]


def act(world: World, action: int, rules: Rules) -> None:
    """The agent's part of a step: each kind of world has its own."""
    raise NotImplementedError


def observe(world: World, tables: Tables, out: NDArray[np.uint8]) -> None:
    """Write what the agent sees: each kind of world has its own."""
    raise NotImplementedError


def begin_all(
    chosen: NDArray[np.int64],
    returns: NDArray[np.float64],
    worlds: Records,
    goals: NDArray[np.int16],
    rules: Records,
    ranges: Records,
    tasks: Records,
    pool: Pool,
    tables: Tables,
    tokens: NDArray[np.int64],
    mask: NDArray[np.bool_],
    images: NDArray[np.uint8],
) -> None:
    """Begin new episodes in the chosen worlds and observe them."""
    for k in numba.prange(chosen.size):
        i = chosen[k]
        returns[i] = 0.0
        begin_world(worlds[i], goals[i], rules[0], ranges[0], tasks[0], pool, tokens[i], mask[i])
        observe(worlds[i], tables, images[i])


def step_all(
    actions: NDArray[np.int64],
    choices: int,
    renew: bool,
    rewards: NDArray[np.float32],
    status: NDArray[np.uint8],
    returns: NDArray[np.float64],
    worlds: Records,
    goals: NDArray[np.int16],
    rules: Records,
    ranges: Records,
    tasks: Records,
    pool: Pool,
    tables: Tables,
    tokens: NDArray[np.int64],
    mask: NDArray[np.bool_],
    images: NDArray[np.uint8],
) -> bool:
    """Take every world through its actions (steps, worlds), and observe it after each.

    With `renew`, the step after an episode's last one begins another episode. An invalid action
    (not below `choices`) leaves every world unchanged, and false is returned.
    """
    if not are_within(actions, choices):
        return False
    for i in numba.prange(actions.shape[1]):
        for t in range(actions.shape[0]):
            if renew and is_over(worlds[i]):
                begin_world(
                    worlds[i], goals[i], rules[0], ranges[0], tasks[0], pool, tokens[i], mask[i]
                )
                rewards[t, i], status[t, i], returns[i] = 0.0, RUNNING, 0.0
            else:
                if not is_over(worlds[i]):
                    act(worlds[i], actions[t, i], rules[0])
                rewards[t, i], status[t, i] = live_on(worlds[i], goals[i], rules[0], ranges[0])
                returns[i] += rewards[t, i]
            observe(worlds[i], tables, images[i])
    return True


def no_tables(spec: WorldSpec) -> Tables:
    """For a kind of world whose `observe` needs nothing but the world."""
    return ()


@dataclass(frozen=True)
class Mechanics:
    """The kernels of a kind of world; each is compiled when it is first used."""

    act: Kernel
    observe: Kernel
    plan: Kernel
    tables: Callable[[WorldSpec], Tables] = no_tables  # what `observe` needs besides the world
    teacher: Callable[["Worlds"], planner.Teacher] = planner.ExactTeacher  # of skills
    few: int = 4  # up to this many worlds use one core: waking the others takes longer

    def begin_all(self, worlds: int) -> Kernel:
        return self._compiled(begin_all, worlds, observe=self.observe)

    def step_all(self, worlds: int) -> Kernel:
        return self._compiled(step_all, worlds, act=self.act, observe=self.observe)

    def plan_subtasks(self, worlds: int) -> Kernel:
        return self._compiled(planner.plan_subtasks, worlds, plan=self.plan)

    def plan_lists(self, worlds: int) -> Kernel:
        return self._compiled(planner.plan_lists, worlds, plan=self.plan)

    def _compiled(self, function: Kernel, worlds: int, **parts: Kernel) -> Kernel:
        """For a batch of this size. A small one uses no threads, so its process can be forked."""
        return _compile(function, parallel=worlds > self.few, **parts)


@cache
def _compile(function: Kernel, *, parallel: bool, **parts: Kernel) -> Kernel:
    return specialised(function, parallel=parallel, **parts)
