"""Why an episode failed: one cause by a stated rule, and one sentence for people.

1. If there are too few targets in the end for the next instruction, the cause is what the agent was
   doing wrong at the deed after which there were too few.
2. Otherwise it was time. Steps are lost while the agent is at another subtask than the one that the
   list asks for (an event's object excepted). If the lost steps would have been enough for the rest
   of the list, at the agent's own pace in all other steps, the cause is what cost most of them; if
   not, the cause is the clock.

What it was doing wrong follows from its pointer. Ahead of the truth: it left an instruction early.
Behind: it stayed at one that was done, or missed the signal, if the skill did not say that it was.
At the right place: it did another verb or object than asked. The instruction to blame is the one
with which the pointer went astray, not those that suffered later.
"""

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from errands.evaluation.account import Account, Decisions
from errands.language.vocabulary import ALL

ORDINALS = ("", "first", "second", "third")


class Cause(StrEnum):
    """What a failed list failed by."""

    LEFT = "left early"
    STAYED = "stayed too long"
    MISSED = "missed signal"
    OTHER = "another verb or object"
    CLOCK = "clock"


@dataclass(frozen=True)
class Failure:
    """Why one episode failed."""

    cause: Cause
    instruction: int  # that was left, stayed at, missed, not followed, or out of time
    used_up: bool  # too few targets were left for the next instruction
    sentence: str


def explain(account: Account) -> Failure | None:
    """The cause of a failed episode; None if its list was done."""
    if account.success:
        return None
    fatal = fatal_step(account)
    if account.decisions is None:
        return _without_decisions(account, fatal)
    faults = _Faults(account, account.decisions)
    if fatal is not None:
        return _failure(faults, faults.at(fatal), fatal, used_up=True)
    lost = int(faults.astray.sum())
    pace = (account.steps - lost) / max(account.done, 1)
    if lost == 0 or lost < pace * (len(account.instructions) - account.done):
        return Failure(Cause.CLOCK, account.done, False, _out_of_time(account, lost))
    cause = faults.costliest()
    return _failure(faults, cause, faults.first_costly(cause), used_up=False)


def fatal_step(account: Account) -> int | None:
    """The step whose deed made the next instruction impossible; None if it still was possible."""
    if account.forgiving:
        return None
    quantity = account.instructions[account.done].quantity
    asked = account.asked[account.done]
    needed = 1
    if quantity != ALL and account.consumes(asked):
        needed = quantity - int(account.achieved[-1])
    lacking = needed - account.left
    if lacking <= 0:
        return None
    wasted = np.flatnonzero(
        (account.deeds[:, 1] == asked[1]) & ~account.counted & _consuming(account)
    )
    # The last ones made the difference: before them, there was something to spare.
    return int(wasted[max(len(wasted) - lacking, 0)]) if len(wasted) else None


def _consuming(account: Account) -> NDArray[np.bool_]:
    """(T,) whether a step's deed took its object away."""
    consumes = np.zeros(account.steps, np.bool_)
    for t in np.flatnonzero(account.deeds[:, 0] >= 0):
        consumes[t] = account.consumes(account.deeds[t])
    return consumes


class _Faults:
    """What a trained agent was doing wrong, step by step."""

    def __init__(self, account: Account, decisions: Decisions) -> None:
        self.account = account
        self.decisions = decisions
        self.progress = account.progress[:-1]

    @cached_property
    def astray(self) -> NDArray[np.bool_]:
        """(T,) whether the step was lost. Flat's subtasks are unknown: its pointer must do."""
        if not self.decisions.has_skill:
            return np.asarray(self.decisions.pointer != self.progress, np.bool_)
        return ~self.account.fits & ~self.account.hunts

    @cached_property
    def roots(self) -> NDArray[np.int64]:
        """(T,) the step at which the pointer got where it is: ahead, behind, or to the truth."""
        side = np.sign(self.decisions.pointer - self.progress)
        changes = np.flatnonzero(np.diff(side)) + 1
        roots = np.zeros(self.account.steps, np.int64)
        roots[changes] = changes
        return np.maximum.accumulate(roots)

    def at(self, t: int) -> Cause:
        """What it was doing wrong at step t, if anything."""
        at, asked = int(self.decisions.pointer[t]), int(self.progress[t])
        if at > asked:
            return Cause.LEFT
        if at == asked:
            return Cause.OTHER
        noticed = self.decisions.signal[self.roots[t]] or not self.decisions.has_skill
        return Cause.STAYED if noticed or self.went_back(t) else Cause.MISSED

    def went_back(self, t: int) -> bool:
        """Whether the pointer is behind at step t because it moved back."""
        root = self.roots[t]
        return bool(self.decisions.pointer[root] < self.decisions.pointer[root - 1])

    def blamed(self, t: int) -> int:
        """The instruction that the fault at step t began with."""
        if self.at(t) == Cause.OTHER:
            return int(self.progress[t])
        root = self.roots[t]
        return int(min(self.decisions.pointer[root], self.progress[root]))

    @cached_property
    def lost(self) -> dict[Cause, list[int]]:
        """The lost steps by their cause, in the order in which causes first appear."""
        steps: dict[Cause, list[int]] = {}
        for t in np.flatnonzero(self.astray).tolist():
            steps.setdefault(self.at(t), []).append(t)
        return steps

    def costliest(self) -> Cause:
        return max(self.lost, key=lambda cause: len(self.lost[cause]))

    def first_costly(self, cause: Cause) -> int:
        """The first step lost on the instruction that lost most by this cause."""
        by_instruction: dict[int, list[int]] = {}
        for t in self.lost[cause]:
            by_instruction.setdefault(self.blamed(t), []).append(t)
        return max(by_instruction.values(), key=len)[0]


def _failure(faults: _Faults, cause: Cause, t: int, *, used_up: bool) -> Failure:
    tell = {
        Cause.LEFT: _left,
        Cause.STAYED: _stayed,
        Cause.MISSED: _missed,
        Cause.OTHER: _other,
    }[cause]
    result = _used_up(faults.account, t) if used_up else _were_lost(len(faults.lost[cause]))
    sentence = f"{tell(faults, t)}; {result}."
    return Failure(cause, faults.blamed(t), used_up, sentence)


def _left(faults: _Faults, t: int) -> str:
    account, decisions = faults.account, faults.decisions
    k, at = faults.blamed(t), int(faults.roots[t])
    quantity, achieved = account.instructions[k].quantity, int(account.achieved[at])
    when = "before it was done"
    if quantity != 1 and achieved:
        when = f"after the {_ordinal(achieved)}"
    why = "the pointer moved on with nothing finished"
    if at > 0 and account.counted[at - 1]:
        missing = "some" if quantity == ALL else str(quantity - achieved)
        why = f"the pointer moved on with {missing} still to do"
    elif at > 0 and decisions.signal[at]:
        why = "the signal said finished without a deed"
        if account.obeyed[at - 1]:
            last = account.subtask_words(decisions.subtask[at - 1])
            why = f"the pointer moved on after '{last}'"
    return f"It left '{account.words(k)}' {when}: {why}"


def _stayed(faults: _Faults, t: int) -> str:
    k = faults.blamed(t)
    words = faults.account.words(k)
    if faults.went_back(t):
        return f"It went back to '{words}', which was done"
    why = "the pointer did not move"
    if faults.decisions.has_skill:
        why = "the signal came, but the gate stayed shut"
        if faults.decisions.gate[faults.roots[t]]:
            why = "the gate opened, but the pointer did not move"
    return f"It stayed at '{words}' after it was done: {why}"


def _missed(faults: _Faults, t: int) -> str:
    account, k = faults.account, faults.blamed(t)
    before = faults.roots[t] - 1
    why = "the signal did not come"
    if not account.fits[before]:
        why += f" during '{account.subtask_words(faults.decisions.subtask[before])}'"
    return f"It did not notice that '{account.words(k)}' was done: {why}"


def _other(faults: _Faults, t: int) -> str:
    account, k = faults.account, faults.blamed(t)
    if not faults.decisions.has_skill:
        return f"Asked to '{account.words(k)}', it did '{account.subtask_words(account.deeds[t])}'"
    subtask = faults.decisions.subtask[t]
    chosen = account.subtask_words(subtask)
    if faults.astray[t]:
        return f"Asked to '{account.words(k)}', it chose '{chosen}'"
    return f"The skill was at '{chosen}' and did '{account.subtask_words(account.deeds[t])}'"


def _used_up(account: Account, t: int) -> str:
    """What a deed left behind."""
    item, words = account.instructions[account.done], account.words(account.done)
    few = f"no {item.object} was"
    if account.left:
        few = f"too few {account.spec.vocabulary.plural(item.object)} were"
    deed = account.subtask_words(account.deeds[t])
    return f"because of '{deed}' at step {t + 1}, {few} left for '{words}'"


def _out_of_time(account: Account, lost: int | None) -> str:
    place = f"number {account.done + 1} of {len(account.instructions)}"
    spent = _steps(account.steps - int(account.begins[-1]))
    sentence = f"Time ran out at '{account.words(account.done)}', {place}, after {spent} at it"
    if lost is None:
        return f"{sentence}."
    return f"{sentence}; {_were_lost(lost)} by wrong decisions."


def _without_decisions(account: Account, fatal: int | None) -> Failure:
    """For a planner or a person, only what they did is known."""
    if fatal is None:
        return Failure(Cause.CLOCK, account.done, False, _out_of_time(account, None))
    used_up = _used_up(account, fatal)
    sentence = f"{used_up[0].upper()}{used_up[1:]}."
    return Failure(Cause.OTHER, int(account.progress[fatal]), True, sentence)


def _ordinal(number: int) -> str:
    return ORDINALS[number] if number < len(ORDINALS) else f"{number}th"


def _steps(number: int) -> str:
    return "1 step" if number == 1 else f"{number or 'no'} steps"


def _were_lost(number: int) -> str:
    return f"{_steps(number)} {'was' if number == 1 else 'were'} lost"
