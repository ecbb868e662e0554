"""A full account of an episode, step by step: the truth, what the agent decided, what it did.

The truth is the world's privileged record. It is read to judge an agent, and never shown to one.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from errands.language.instruction import Instruction
from errands.language.vocabulary import INTERACT, VERBS, VISIT
from errands.worlds.gym import listed
from errands.worlds.spec import NOTHING, WorldSpec
from errands.worlds.state import SUPPLY
from errands.worlds.vector import Worlds

if TYPE_CHECKING:
    from errands.agents.hierarchy import Trace
    from errands.evaluation.episodes import Policy

# Kept for every step of every world, so in few bytes.
TRUTH = np.dtype(
    [
        ("progress", "i2"),
        ("achieved", "i2"),
        ("deed", "i1", 2),  # of the step before
        ("events_used", "i2"),
    ]
)
DECISION = np.dtype([("pointer", "i2"), ("signal", "?"), ("gate", "?"), ("subtask", "i1", 2)])


@dataclass(frozen=True)
class Decisions:
    """What a trained agent decided, one row per step."""

    pointer: NDArray[np.int64]  # (T,) the likeliest instruction
    signal: NDArray[np.bool_]  # (T,) the skill says that the subtask before is finished
    gate: NDArray[np.bool_]  # (T,) the update gate was open
    subtask: NDArray[np.int64]  # (T, 2) verb and object; NOTHING for Flat, which has no subtasks

    @property
    def has_skill(self) -> bool:
        return bool((self.subtask != NOTHING).all())


@dataclass(frozen=True)
class Account:
    """One episode that has ended. Verbs are what an object makes of them, never "interact with"."""

    spec: WorldSpec
    instructions: tuple[Instruction, ...]
    progress: NDArray[np.int64]  # (T + 1,) instructions done before each step, and in the end
    achieved: NDArray[np.int64]  # (T + 1,) deeds towards the next instruction
    deeds: NDArray[np.int64]  # (T, 2) verb and object of what the agent did, or NOTHING
    left: int  # targets of the next instruction in the end, with those that would still appear
    events: int  # how often the event happened
    caught: NDArray[np.bool_]  # (T,) the agent transformed its object in this step
    decisions: Decisions | None = None  # None for a planner or a person
    forgiving: bool = False  # missing targets are put back

    @property
    def steps(self) -> int:
        return len(self.deeds)

    @property
    def done(self) -> int:
        """Instructions that were done."""
        return int(self.progress[-1])

    @property
    def success(self) -> bool:
        return self.done == len(self.instructions)

    @cached_property
    def asked(self) -> NDArray[np.int64]:
        """(K, 2) verb and object of each instruction."""
        codes = [item.code(self.spec.vocabulary)[:2] for item in self.instructions]
        return resolved(np.array(codes, np.int64), self.spec)

    @cached_property
    def begins(self) -> NDArray[np.int64]:
        """(done + 1,) the step at which each instruction became the next one."""
        return np.searchsorted(self.progress, np.arange(self.done + 1))

    @cached_property
    def counted(self) -> NDArray[np.bool_]:
        """(T,) whether the step's deed counted towards the list."""
        moved = (np.diff(self.progress) > 0) | (np.diff(self.achieved) > 0)
        return np.asarray(moved, np.bool_)

    @cached_property
    def fits(self) -> NDArray[np.bool_]:
        """(T,) whether the agent was at the subtask that the list asked for."""
        if self.decisions is None:
            return np.zeros(self.steps, np.bool_)
        asked = self.asked[self.progress[:-1]]
        return np.asarray((self.decisions.subtask == asked).all(axis=1), np.bool_)

    @cached_property
    def hunts(self) -> NDArray[np.bool_]:
        """(T,) whether the subtask was about the event's object, which the list did not ask for."""
        event = self.spec.event
        if self.decisions is None or event is None:
            return np.zeros(self.steps, np.bool_)
        kind = self.spec.vocabulary.object_index(event.object)
        return np.asarray((self.decisions.subtask[:, 1] == kind) & ~self.fits, np.bool_)

    @cached_property
    def obeyed(self) -> NDArray[np.bool_]:
        """(T,) whether the step's deed was the subtask's, so that a signal should follow."""
        if self.decisions is None:
            return np.zeros(self.steps, np.bool_)
        same = (self.deeds == self.decisions.subtask).all(axis=1)
        return np.asarray(same & (self.deeds[:, 0] != NOTHING), np.bool_)

    def words(self, k: int) -> str:
        """Instruction k."""
        return self.instructions[k].words(self.spec.vocabulary)

    def subtask_words(self, code: NDArray[np.int64]) -> str:
        """A subtask or a deed."""
        return Instruction.from_code((*code, 1), self.spec.vocabulary).words(self.spec.vocabulary)

    def consumes(self, code: NDArray[np.int64]) -> bool:
        """Whether a deed leaves one target less; ice stays ice."""
        verb, kind = (int(part) for part in code)
        name = self.spec.objects[kind]
        stays = VERBS[verb] == "transform" and self.spec.transforms.get(name) == name
        return verb != VISIT and not stays


def resolved(codes: NDArray[np.int64], spec: WorldSpec) -> NDArray[np.int64]:
    """Verbs and objects (N, 2) with "interact with" as the verb that the object makes of it."""
    meant = [VERBS.index(spec.interact.get(name, "pick up")) for name in spec.objects]
    verbs = np.where(codes[:, 0] == INTERACT, np.array(meant)[codes[:, 1]], codes[:, 0])
    return np.stack((verbs, codes[:, 1]), axis=1)


class Witness:
    """Sees every step of a batch of worlds that have just been reset, and gives account of it."""

    def __init__(self) -> None:
        self._truths: list[NDArray[np.void]] = []
        self._decisions: list[NDArray[np.void]] = []

    def see(self, worlds: Worlds, trace: "Trace | None" = None) -> None:
        """Call before each step of the worlds, with what a trained agent has decided for it."""
        self._truths.append(_truth(worlds))
        if trace is None:
            return
        kept = np.zeros(worlds.count, DECISION)
        kept["pointer"] = trace.pointer.argmax(axis=1)
        kept["signal"] = trace.finished
        kept["gate"] = trace.updated
        kept["subtask"] = resolved(trace.subtask[:, :2], worlds.spec)
        self._decisions.append(kept)

    def accounts(self, worlds: Worlds) -> list[Account]:
        """The accounts of all worlds, in their order; their episodes must have ended."""
        truths = np.stack((*self._truths, _truth(worlds)))  # (steps + 1, worlds)
        decisions = np.stack(self._decisions) if self._decisions else None
        return [_account(worlds, i, truths, decisions) for i in range(worlds.count)]


class Witnessed:
    """A policy whose every decision is witnessed."""

    def __init__(self, policy: "Policy") -> None:
        self._policy = policy
        self.witness = Witness()

    @property
    def trace(self) -> Any:
        return getattr(self._policy, "trace", None)

    def act(self, worlds: Worlds) -> NDArray[np.int64]:
        actions = self._policy.act(worlds)
        self.witness.see(worlds, self.trace)
        return actions


def _truth(worlds: Worlds) -> NDArray[np.void]:
    kept, world = np.zeros(worlds.count, TRUTH), worlds.privileged
    for name in ("progress", "achieved", "events_used"):
        kept[name] = world[name]
    kept["deed"] = np.stack((world["deed_verb"], world["deed_object"]), axis=1)
    return kept


def _account(
    worlds: Worlds, i: int, truths: NDArray[np.void], decisions: NDArray[np.void] | None
) -> Account:
    world = worlds.privileged[i]
    steps = int(world["steps"])
    truth = truths[: steps + 1, i]  # after its end, a world waits for the others
    decided = None
    if decisions is not None:
        own = decisions[:steps, i]
        decided = Decisions(
            pointer=own["pointer"].astype(np.int64),
            signal=own["signal"].copy(),
            gate=own["gate"].copy(),
            subtask=own["subtask"].astype(np.int64),
        )
        decided.signal[:1] = False  # there is no subtask before the first
    return Account(
        spec=worlds.spec,
        instructions=tuple(listed(worlds, i)),
        progress=truth["progress"].astype(np.int64),
        achieved=truth["achieved"].astype(np.int64),
        deeds=truth["deed"][1:].astype(np.int64),
        left=_targets_left(worlds, i),
        events=int(world["events"]),
        caught=np.diff(truth["events_used"].astype(np.int64)) > 0,
        decisions=decided,
        forgiving=worlds.setting.forgiving,
    )


def _targets_left(worlds: Worlds, i: int) -> int:
    """What the next instruction needs; a finished list needs nothing."""
    world = worlds.privileged[i]
    if world["progress"] == world["length"]:
        return 0
    goal = worlds.privileged_goals[i, world["progress"]]
    return int(world["counts"][goal[1]] + goal[SUPPLY])
