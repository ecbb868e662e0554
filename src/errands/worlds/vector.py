"""Many worlds at once: a thin shell around the kernels, which everything else uses."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from errands.kernel import bound_to
from errands.language.vocabulary import INTERACT
from errands.worlds.kinds import KINDS, Kind
from errands.worlds.layout import compile_pool, compile_setting, compile_tasks
from errands.worlds.planner import Plan, Planner, Teacher
from errands.worlds.record import Records, new_records
from errands.worlds.spec import (
    EMPTY,
    FIRST_OBJECT,
    MAP_SIZE,
    NOTHING,
    Setting,
    WorldSpec,
    compile_rules,
)
from errands.worlds.state import SUPPLY, World
from errands.worlds.step import CUT_OFF, DONE
from errands.worlds.tasks import TaskSource

_CHANGING = ("_goals", "rewards", "status", "images", "tokens", "mask", "_returns")
# Views and machine code, which a copy makes for itself.
_REBUILT = ("_paid", "_begin_all", "_step_all")


@dataclass(frozen=True)
class EpisodeStatistics:
    """Finished episodes, one row each."""

    world: NDArray[np.int64]  # which world of the batch
    reward: NDArray[np.float64]  # sum over the episode
    steps: NDArray[np.int64]  # length of the episode
    completed: NDArray[np.int64]  # instructions done
    success: NDArray[np.bool_]  # the whole list was done
    events: NDArray[np.int64]  # how often the event happened
    events_used: NDArray[np.int64]  # and how often the agent transformed its object


class Worlds:
    """A batch of worlds of one kind. Buffers are written in place: copy what you keep.

    `step` never resets; `reset(mask)` begins new episodes where the mask is true. What agents may
    see is in `images`, `tokens`, `mask` and `subtasks`; `privileged` is for planners and teachers.
    """

    def __init__(
        self, spec: WorldSpec, count: int, tasks: TaskSource, setting: Setting | None = None
    ) -> None:
        if count < 1:
            raise ValueError(f"a batch needs at least one world, not {count}")
        self.spec = spec  # what the worlds are
        self.count = count  # how many there are
        self.rules: Records = compile_rules(spec)
        self.actions = len(self.kind.actions)  # number of actions
        self.idle_action = int(self.kind.idle)  # the action without effect
        self.longest = tasks.lengths[1]  # instructions of the longest list
        self._worlds = new_records(World, count)
        self._goals = np.zeros((count, self.longest, 4), np.int16)
        self._planner = Planner(spec, self.rules)
        self.rewards = np.zeros(count, np.float32)  # of the last step
        self.status = np.zeros(count, np.uint8)  # 0 while an episode runs
        self.images = np.zeros((count, *spec.image_shape), np.uint8)  # what each agent sees
        self.tokens = np.zeros((count, self.longest, 3), np.int64)  # the lists, for networks
        self.mask = np.zeros((count, self.longest), np.bool_)  # where there is an instruction
        self._returns = np.zeros(count, np.float64)
        self.change_tasks(tasks)
        self.change_setting(setting or spec.lists)
        self._tables = self.kind.mechanics.tables(spec)
        self.seed(0)

    @property
    def kind(self) -> Kind:
        return KINDS[self.spec.kind]

    def change_tasks(self, tasks: TaskSource) -> None:
        """Use other tasks, from each world's next reset on (for curricula)."""
        if tasks.lengths[1] > self.longest:
            raise ValueError(f"lists of {tasks.lengths[1]} do not fit worlds for {self.longest}")
        self.tasks = tasks
        self._tasks = compile_tasks(tasks)
        self._pool = compile_pool(tasks.pool, self.spec.vocabulary)

    def change_setting(self, setting: Setting) -> None:
        """Use another layout of episodes, from each world's next reset on (for curricula)."""
        self.setting = setting
        self._ranges = compile_setting(setting, self.spec.objects)

    def __getstate__(self) -> dict[str, Any]:
        """What a copy of the worlds contains; the rest is rebuilt from it."""
        return {name: value for name, value in vars(self).items() if name not in _REBUILT}

    def seed(
        self, seeds: int | Sequence[int | None], mask: NDArray[np.bool_] | None = None
    ) -> None:
        """Give world i the random numbers of seed + i, or of its own seed in a sequence.

        A world's episodes depend on its seed alone, not on the size of the batch. A world whose
        seed is None, or where a mask is false, keeps its current random numbers.
        """
        if isinstance(seeds, int | np.integer):
            seeds = range(int(seeds), int(seeds) + self.count)
        check_seeds(seeds)
        if len(seeds) != self.count:
            raise ValueError(f"{len(seeds)} seeds for {self.count} worlds")
        mixed = _mix(_mix(np.array([int(seed or 0) % 2**64 for seed in seeds], np.uint64)))
        given = np.array([seed is not None for seed in seeds])
        chosen = self._chosen(mask)
        chosen = chosen[given[chosen]]
        self._worlds["random"][chosen] = mixed[chosen]

    def reset(self, mask: NDArray[np.bool_] | None = None) -> None:
        """Begin new episodes, in every world or where the mask is true, and observe them."""
        chosen = self._chosen(mask)
        if chosen.size == 0:
            return
        self.rewards[chosen] = 0.0
        self.status[chosen] = 0
        self._begin_all(chosen, *self._arrays)

    def step(self, actions: NDArray[np.int64], *, renew: bool = False) -> None:
        """Act in every world; writes `rewards`, `status` and `images`.

        A world whose episode has ended does not change, or with `renew` begins a new episode
        instead of acting: one call is a whole step of a batch that never stops.
        """
        actions = _as_integers(actions)
        if actions.shape != (self.count,):
            raise ValueError(f"actions have shape {actions.shape}, not ({self.count},)")
        self._advance(actions[None], renew, *self._paid)

    def follow(
        self, actions: NDArray[np.int64], *, renew: bool = False
    ) -> tuple[NDArray[np.float32], NDArray[np.uint8]]:
        """Take many steps (steps, worlds) in one call; returns rewards and status of each.

        For actions that do not depend on observations: those of a random agent, or of an episode
        that is repeated. Worlds are observed after every step; the last observation remains.
        """
        actions = _as_integers(actions)
        if actions.ndim != 2 or actions.shape[1] != self.count or not len(actions):
            raise ValueError(f"actions have shape {actions.shape}, not (steps, {self.count})")
        rewards, status = np.empty(actions.shape, np.float32), np.empty(actions.shape, np.uint8)
        self._advance(actions, renew, rewards, status)
        self.rewards[:], self.status[:] = rewards[-1], status[-1]
        return rewards, status

    def _advance(
        self,
        actions: NDArray[np.int64],
        renew: bool,
        rewards: NDArray[np.float32],
        status: NDArray[np.uint8],
    ) -> None:
        if not self._step_all(actions, self.actions, renew, rewards, status, *self._arrays):
            raise ValueError(f"actions must be within 0..{self.actions - 1}")

    @cached_property
    def _paid(self) -> tuple[NDArray[np.float32], NDArray[np.uint8]]:
        """Where one step writes: the worlds' own rewards and status, as (1, worlds)."""
        return self.rewards[None], self.status[None]

    @cached_property
    def _begin_all(self) -> Callable[..., None]:
        begin_all = self.kind.mechanics.begin_all(self.count)
        return bound_to(begin_all, np.zeros(self.count, np.int64), *self._arrays)

    @cached_property
    def _step_all(self) -> Callable[..., bool]:
        if not self._worlds["length"].all():  # looked at before the first step only
            raise ValueError("no episode has begun in some worlds: call reset() before step()")
        step_all = self.kind.mechanics.step_all(self.count)
        actions = np.zeros((1, self.count), np.int64)
        return bound_to(step_all, actions, self.actions, False, *self._paid, *self._arrays)

    @property
    def _arrays(self) -> tuple[Any, ...]:
        """What episodes are made from, and where they take place."""
        source = self.rules, self._ranges, self._tasks, self._pool
        seen = self.tokens, self.mask, self.images
        return self._returns, self._worlds, self._goals, *source, self._tables, *seen

    def drop(self, i: int, row: int, column: int, name: str) -> None:
        """Put an object on an empty cell of world i, as people can on the web page.

        The event's object becomes the event: it gives its reward, and leaves when its time is up.
        There is only one at a time, so it replaces one that is already there.
        """
        world, kind = self._worlds[i], self.spec.vocabulary.object_index(name)
        if not (0 < row < MAP_SIZE - 1 and 0 < column < MAP_SIZE - 1):
            raise ValueError(f"cell ({row}, {column}) is not inside the map")
        if world["tiles"][row, column] != EMPTY or (row, column) == (world["row"], world["column"]):
            raise ValueError(f"cell ({row}, {column}) is not empty")
        if kind == self.rules[0]["event_object"] and self.setting.event:
            if world["event_cell"] != NOTHING:
                world["tiles"].flat[world["event_cell"]] = EMPTY
                world["counts"][kind] -= 1
            world["event_cell"] = row * MAP_SIZE + column
            world["event_left"] = self.rules[0]["event_lifetime"]
            world["events"] += 1
        world["tiles"][row, column] = FIRST_OBJECT + kind
        world["counts"][kind] += 1
        self.kind.mechanics.observe(world, self._tables, self.images[i])

    def snapshot(self) -> dict[str, NDArray[Any]]:
        """Everything that changes, as plain arrays; `restore` resumes exactly from here."""
        changing = {name: getattr(self, name) for name in _CHANGING}
        changing["_worlds"] = self._worlds.view(np.uint8)
        return {name.lstrip("_"): array.copy() for name, array in changing.items()}

    def restore(self, snapshot: dict[str, NDArray[Any]]) -> None:
        """Resume from a snapshot of worlds of the same spec and number."""
        for name in _CHANGING:
            getattr(self, name)[:] = snapshot[name.lstrip("_")]
        self._worlds.view(np.uint8)[:] = snapshot["worlds"]

    @property
    def subtasks(self) -> NDArray[np.int16]:
        """The parameters (worlds, 3) of each world's only instruction, when lists have length 1."""
        if self.longest != 1:
            raise ValueError("a list of instructions has no single subtask: use tokens and mask")
        return self._goals[:, 0, :SUPPLY]

    @property
    def done(self) -> NDArray[np.bool_]:
        """Where the last step finished the whole list."""
        return np.equal(self.status, DONE)

    @property
    def cut_off(self) -> NDArray[np.bool_]:
        """Where the last step reached the step limit."""
        return np.equal(self.status, CUT_OFF)

    def finished(self) -> EpisodeStatistics:
        """The episodes that the last step ended: read it before `reset` begins new ones."""
        ended = np.flatnonzero(self.status)
        worlds = self._worlds[ended]
        return EpisodeStatistics(
            world=ended,
            reward=self._returns[ended],
            steps=worlds["steps"].astype(np.int64),
            completed=worlds["progress"].astype(np.int64),
            success=self.status[ended] == DONE,
            events=worlds["events"].astype(np.int64),
            events_used=worlds["events_used"].astype(np.int64),
        )

    @property
    def privileged(self) -> Records:
        """The true states (`state.World`), for teachers and drawing: never for an agent."""
        return self._worlds

    @property
    def privileged_goals(self) -> NDArray[np.int16]:
        """The lists as the worlds check them: (worlds, longest, verb, object, quantity, supply)."""
        return self._goals

    def privileged_subtasks(self) -> NDArray[np.int16]:
        """The true current instruction (worlds, 3) of each world."""
        index = np.minimum(self._worlds["progress"], self._worlds["length"] - 1)
        return self._goals[np.arange(self.count), index, :SUPPLY]

    def meant(self, subtasks: NDArray[np.integer[Any]]) -> NDArray[np.integer[Any]]:
        """Subtasks (N, 2 or 3), with the verb that "interact with" stands for in its place."""
        verbs, targets = subtasks[:, 0], subtasks[:, 1]
        meant = subtasks.copy()
        meant[:, 0] = np.where(verbs == INTERACT, self.rules["interact"][0, targets], verbs)
        return meant

    def plan_subtasks(self, subtasks: NDArray[np.int16] | None = None) -> Plan:
        """The exact teacher of each world's current, or given, subtask."""
        if subtasks is None:
            subtasks = self.privileged_subtasks()
        return self._planner.subtasks(self._worlds, subtasks)

    def plan_lists(self, policy: str) -> Plan:
        """The hand-made policies for whole lists: `shortest-path` or `near-optimal`."""
        return self._planner.lists(self._worlds, self._goals, policy)

    def new_teacher(self) -> Teacher:
        """A teacher of skills, which uses only what the agent can know."""
        return self.kind.mechanics.teacher(self)

    def _chosen(self, mask: NDArray[np.bool_] | None) -> NDArray[np.int64]:
        if mask is None:
            return np.arange(self.count)
        if np.shape(mask) != (self.count,):
            raise ValueError(f"a mask has shape {np.shape(mask)}, not ({self.count},)")
        return np.flatnonzero(mask)


def check_seeds(seeds: Sequence[int | None]) -> None:
    """Refuse seeds that are no whole numbers, which could not be told from others."""
    for seed in seeds:
        is_whole = isinstance(seed, int | np.integer) and not isinstance(seed, bool)
        if seed is not None and not is_whole:
            raise TypeError(f"a seed is a whole number, not {seed!r:.40}")


def _as_integers(actions: Any) -> NDArray[np.int64]:
    """Actions as the kernels take them; a fraction or a text is a mistake, and not rounded."""
    given = np.asarray(actions)
    if given.dtype.kind not in "iu":
        raise TypeError(f"actions are whole numbers, not {actions!r:.60}")
    return np.asarray(given, np.int64, order="C")


def _mix(z: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Spread neighbouring numbers over all 64 bits (the finaliser of splitmix64)."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (z ^ (z >> np.uint64(31))) + np.uint64(0x9E3779B97F4A7C15)
