"""Episodes written down by hand, and agents whose fault is known, to test what is said of them."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from errands.evaluation.account import Account, Decisions, resolved
from errands.language.instruction import parse_instruction, parse_instructions
from errands.language.vocabulary import ALL, PICK_UP, TRANSFORM
from errands.worlds.planner import first_optimal
from errands.worlds.spec import NOTHING, WORLDS
from errands.worlds.vector import Worlds
from twins.thinker import Trace


class Step(NamedTuple):
    """One step of an episode: what the agent decided, and what it did."""

    pointer: int
    subtask: str = ""  # nothing for Flat
    deed: str = ""
    signal: bool = False
    gate: bool = False


def by_hand(
    wanted: str,
    steps: Sequence[Step],
    *,
    world: str = "block",
    left: int = 1,
    alls: int = 2,
    traced: bool = True,
    forgiving: bool = False,
) -> Account:
    """An account of these steps; "all" is done after `alls` deeds."""
    spec = WORLDS[world]
    instructions = tuple(parse_instructions(wanted, spec.vocabulary))

    def code(text: str) -> tuple[int, int]:
        if not text:
            return NOTHING, NOTHING
        verb, kind, _ = parse_instruction(text, spec.vocabulary).code(spec.vocabulary)
        return verb, kind

    asked = [tuple(row) for row in resolved(np.array([code(str(i)) for i in instructions]), spec)]
    progress, achieved, caught = [0], [0], []
    event = spec.event.object if spec.event else ""
    for step in steps:
        k, count = progress[-1], achieved[-1]
        if code(step.deed) == asked[k]:
            count += 1
        quantity = instructions[k].quantity
        finished = count == (alls if quantity == ALL else quantity)
        progress.append(k + finished)
        achieved.append(0 if finished else count)
        caught.append(step.deed == f"transform {event}")
    decisions = Decisions(
        pointer=np.array([step.pointer for step in steps]),
        signal=np.array([step.signal for step in steps]),
        gate=np.array([step.gate for step in steps]),
        subtask=np.array([code(step.subtask) for step in steps]),
    )
    return Account(
        spec=spec,
        instructions=instructions,
        progress=np.array(progress),
        achieved=np.array(achieved),
        deeds=np.array([code(step.deed) for step in steps]),
        left=left,
        events=sum(caught),
        caught=np.array(caught),
        decisions=decisions if traced else None,
        forgiving=forgiving,
    )


FAULTS = ("hasty", "stubborn", "deaf", "contrary", "idle")


class Faulty:
    """Does everything right, as a planner would, but for one fault."""

    def __init__(self, worlds: Worlds, fault: str) -> None:
        assert fault in FAULTS
        self._fault = fault
        self._pointer = np.zeros(worlds.count, np.int64)
        self._subtask: NDArray[np.int64] | None = None
        self.trace: Trace | None = None

    def act(self, worlds: Worlds) -> NDArray[np.int64]:
        states, goals = worlds.privileged, worlds.privileged_goals
        everyone = np.arange(worlds.count)
        signal = np.zeros(worlds.count, np.bool_)
        if self._subtask is not None:
            did = np.stack((states["deed_verb"], states["deed_object"]), axis=1)
            signal = (did == self._subtask[:, :2]).all(axis=1) & (self._fault != "deaf")
        moves = signal & (self._fault != "stubborn")
        if self._fault != "hasty":
            moves &= states["progress"] > self._pointer
        self._pointer = np.minimum(self._pointer + moves, states["length"] - 1)
        subtask = goals[everyone, self._pointer, :3].astype(np.int64)
        subtask[:, 2] = 1
        if self._fault == "contrary":
            subtask[subtask[:, 0] == PICK_UP, 0] = TRANSFORM
        actions = first_optimal(worlds.plan_subtasks(subtask.astype(np.int16))).astype(np.int64)
        if self._fault == "idle":
            actions[:] = worlds.idle_action
        self._subtask = subtask
        self.trace = Trace(
            pointer=np.eye(worlds.longest, dtype=np.float32)[self._pointer],
            shift=np.eye(3, dtype=np.float32)[1 + moves],
            shifted=moves.astype(np.int64),
            update=moves.astype(np.float32),
            updated=moves,
            subtask=subtask,
            termination=signal.astype(np.float32),
            finished=signal.astype(np.bool_),
            action=actions,
        )
        return actions
