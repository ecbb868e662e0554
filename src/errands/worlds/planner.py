"""Exact teachers and hand-made policies. They see the whole state, agents never do.

Each kind of world has its own `plan`. It finds, for every pose of the agent, the least cost until a
subtask's next deed, in units of one step's penalty; an action is optimal when its cost plus the
cost to go of where it leads is least. Moving objects are assumed to stay where they are, and a
counted subtask goes for the nearest target each time.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numba
import numpy as np
from numpy.typing import NDArray

from errands.kernel import kernel
from errands.language.vocabulary import TRANSFORM
from errands.worlds.goals import resolved_verb
from errands.worlds.kinds import KINDS
from errands.worlds.record import Records
from errands.worlds.spec import NOTHING, WorldSpec
from errands.worlds.state import TARGET, VERB, Goals, World

if TYPE_CHECKING:
    from errands.worlds.vector import Worlds

UNREACHABLE = np.int32(1 << 20)
NEAR_OPTIMAL, SHORTEST_PATH = "near-optimal", "shortest-path"
PLANNERS = (NEAR_OPTIMAL, SHORTEST_PATH)  # in the order of help texts


class Plan(NamedTuple):
    """A teacher's answer for a batch of worlds."""

    optimal: NDArray[np.bool_]  # (worlds, actions) every action that is as good as any
    cost: NDArray[np.int32]  # (worlds,) least cost to the subtask's next deed


class Teacher(Protocol):
    """Shows the skill of a batch of worlds, step by step, which actions lead to its subtask."""

    memory: Mapping[str, NDArray[Any]]  # what it needs to resume

    def forget(self, mask: NDArray[np.bool_]) -> None:
        """Start again where the mask is true: a new episode, or another subtask."""

    def plan(self, subtasks: NDArray[np.int16]) -> Plan:
        """Which actions are right now for each world's subtask (worlds, 3)."""


@kernel()
def mark_least(of_action: NDArray[np.int32], optimal: NDArray[np.bool_]) -> int:
    """Mark the actions of least cost; none when the target is unreachable."""
    least = of_action.min()
    for action in range(of_action.size):
        optimal[action] = of_action[action] == least and least < UNREACHABLE
    return int(min(least, UNREACHABLE))


def plan(world: World, verb: int, target: int, water_cost: int, optimal: NDArray[np.bool_]) -> int:
    """Mark every optimal action and return the least cost: each kind of world has its own."""
    raise NotImplementedError


def plan_subtasks(
    worlds: Records,
    subtasks: NDArray[np.int16],
    water_cost: int,
    rules: Records,
    optimal: NDArray[np.bool_],
    cost: NDArray[np.int32],
) -> None:
    """Every world's teacher for that world's subtask: rows of verb, object, quantity."""
    for i in numba.prange(subtasks.shape[0]):
        target = subtasks[i, 1]
        verb = resolved_verb(subtasks[i, 0], target, rules[0])
        cost[i] = plan(worlds[i], verb, target, water_cost, optimal[i])


@kernel()
def asked_for(world: World, goals: Goals, kind: int) -> bool:
    """Whether the rest of a list names a kind of object."""
    return bool((goals[world.progress : world.length, TARGET] == kind).any())


def plan_lists(
    worlds: Records,
    goals: NDArray[np.int16],
    close: int,
    water_cost: int,
    rules: Records,
    optimal: NDArray[np.bool_],
    cost: NDArray[np.int32],
) -> None:
    """Every world's next step through its list; an event within `close` steps comes first.

    Except while the list asks for the event's object: the detour could transform a target.
    """
    for i in numba.prange(cost.size):
        world = worlds[i]
        cost[i] = UNREACHABLE
        event = rules[0].event_object
        if world.event_cell != NOTHING and close > 0 and not asked_for(world, goals[i], event):
            cost[i] = plan(world, TRANSFORM, event, water_cost, optimal[i])
            if cost[i] > min(close, world.event_left):
                cost[i] = UNREACHABLE
        if cost[i] == UNREACHABLE:
            goal = goals[i, min(world.progress, world.length - 1)]
            verb = resolved_verb(goal[VERB], goal[TARGET], rules[0])
            cost[i] = plan(world, verb, goal[TARGET], water_cost, optimal[i])


class Planner:
    """The functions above, compiled for a kind of world and with a spec's numbers filled in."""

    def __init__(self, spec: WorldSpec, rules: Records) -> None:
        self._rules = rules
        self._kind = spec.kind
        # Teachers maximise reward, so water costs what it costs in reward, in whole steps.
        step, water = spec.rewards.step, spec.rewards.water
        self._water_cost = max(1, round(water / step)) if step else 1
        self._close = spec.event.close if spec.event else 0

    def subtasks(self, worlds: Records, subtasks: NDArray[np.int16]) -> Plan:
        """The teacher of each world's subtask (worlds, 3)."""
        plan = self._blank(worlds.size)
        plan_all = KINDS[self._kind].mechanics.plan_subtasks(worlds.size)
        plan_all(worlds, subtasks, self._water_cost, self._rules, *plan)
        return plan

    def lists(self, worlds: Records, goals: NDArray[np.int16], policy: str) -> Plan:
        """The hand-made policies for whole lists: `shortest-path` or `near-optimal`."""
        if policy not in PLANNERS:
            raise ValueError(f"no planner '{policy}'; there are {', '.join(PLANNERS)}")
        close = self._close if policy == NEAR_OPTIMAL else 0
        plan = self._blank(worlds.size)
        plan_all = KINDS[self._kind].mechanics.plan_lists(worlds.size)
        plan_all(worlds, goals, close, self._water_cost, self._rules, *plan)
        return plan

    def _blank(self, worlds: int) -> Plan:
        actions = len(KINDS[self._kind].actions)
        return Plan(np.zeros((worlds, actions), np.bool_), np.zeros(worlds, np.int32))


class ExactTeacher:
    """The planner as a teacher. It needs no memory: it sees the whole state."""

    def __init__(self, worlds: "Worlds") -> None:
        self._worlds = worlds
        self.memory: Mapping[str, NDArray[Any]] = {}

    def forget(self, mask: NDArray[np.bool_]) -> None:
        """Nothing is remembered."""

    def plan(self, subtasks: NDArray[np.int16]) -> Plan:
        return self._worlds.plan_subtasks(subtasks)


def first_optimal(plan: Plan) -> NDArray[np.intp]:
    """One action per world: the first optimal one, or 0 when there is none."""
    chosen: NDArray[np.intp] = plan.optimal.argmax(axis=1)
    return chosen
