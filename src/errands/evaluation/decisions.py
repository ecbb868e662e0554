"""Which decisions of a trained agent go wrong, over many episodes.

Decisions are judged by the truth, instruction by instruction, and every list that failed is counted
under one cause (`explain`).
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from errands.evaluation.account import Account, Decisions
from errands.evaluation.explain import Cause, explain

EXAMPLES = 3  # sentences that are kept for each cause


@dataclass
class InstructionTally:
    """How often what happened with one instruction."""

    begun: int = 0  # it became the next one to do
    finished: int = 0
    by_accident: int = 0  # finished while the agent was at something else
    judged: int = 0  # finished on purpose, and the episode went on: the next three are of these
    signal: int = 0  # the skill said so at once
    gate: int = 0  # the update gate opened at once
    pointer: int = 0  # the pointer moved on at once
    partly: int = 0  # deeds on purpose that left more to do
    partly_signal: int = 0  # the skill said after them that the deed was done
    left_early: int = 0  # begun, and the pointer moved on before it was finished
    false_alarms: int = 0  # begun, and the signal came without a deed
    failed: int = 0  # lists that failed by a decision about it, or at it when time ran out


@dataclass
class Events:
    """How the agent met events."""

    events: int = 0
    caught: int = 0
    hunts: int = 0  # times in a row with a subtask about the event's object that nobody asked for
    hunts_stayed: int = 0  # the pointer stayed, until after the hunt, or moved to the right place
    hunts_caught: int = 0


class Explanation:
    """Adds up episodes of one agent."""

    def __init__(self) -> None:
        self.tallies: dict[str, InstructionTally] = defaultdict(InstructionTally)
        self.events = Events()
        self.causes: Counter[Cause] = Counter()
        self.used_up: Counter[Cause] = Counter()
        self.examples: list[dict[str, Any]] = []
        self.has_skill = True

    def add(self, accounts: Iterable[Account], first_seed: int = 0) -> None:
        """Take episodes in, which took place in the test worlds from a seed on."""
        for seed, account in enumerate(accounts, first_seed):
            if account.decisions is None:
                raise ValueError("only decisions of trained agents can be explained")
            self.has_skill = account.decisions.has_skill
            self._judge_instructions(account, account.decisions)
            self._judge_hunts(account, account.decisions)
            self._judge_list(account, seed)

    def _judge_instructions(self, account: Account, decisions: Decisions) -> None:
        pointer, signal = decisions.pointer, decisions.signal
        ends = [*account.begins[1:].tolist(), account.steps]
        for k, (begin, end) in enumerate(zip(account.begins.tolist(), ends, strict=True)):
            if k == len(account.instructions):
                break
            tally = self.tallies[account.words(k)]
            tally.begun += 1
            at_it = pointer[begin:end] == k
            worked = at_it & account.fits[begin:end] if self.has_skill else at_it
            if k < account.done:
                tally.finished += 1
                tally.by_accident += not worked[-1]
                if worked[-1] and end < account.steps:
                    tally.judged += 1
                    tally.signal += int(signal[end])
                    tally.gate += int(decisions.gate[end])
                    tally.pointer += int(pointer[end] == k + 1)
            if end - begin < 2:
                continue
            # What the agent decided one step later, as long as there was something to do.
            after = slice(begin + 1, end)
            did = worked[:-1] & account.counted[begin : end - 1]
            tally.partly += int(did.sum())
            tally.partly_signal += int((did & signal[after]).sum())
            tally.left_early += bool((at_it[:-1] & (pointer[after] > k)).any())
            idle = worked[:-1] & ~account.obeyed[begin : end - 1]
            tally.false_alarms += bool((idle & signal[after]).any())

    def _judge_hunts(self, account: Account, decisions: Decisions) -> None:
        self.events.events += account.events
        self.events.caught += int(account.caught.sum())
        edges = np.diff(account.hunts.astype(np.int64), prepend=0, append=0)
        starts, ends = np.flatnonzero(edges > 0), np.flatnonzero(edges < 0)
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
            before = int(decisions.pointer[max(start - 1, 0)])
            during = decisions.pointer[start : end + 1]  # with the step that ends it
            right = account.progress[start : end + 1][: len(during)]
            self.events.hunts += 1
            self.events.hunts_stayed += bool(((during == before) | (during == right)).all())
            self.events.hunts_caught += bool(account.caught[start:end].any())

    def _judge_list(self, account: Account, seed: int) -> None:
        failure = explain(account)
        if failure is None:
            return
        self.causes[failure.cause] += 1
        self.used_up[failure.cause] += failure.used_up
        self.tallies[account.words(failure.instruction)].failed += 1
        if self.causes[failure.cause] <= EXAMPLES:
            told = {"cause": str(failure.cause), "seed": seed, "sentence": failure.sentence}
            self.examples.append(told)

    def record(self) -> dict[str, Any]:
        """Everything as JSON has it: counts, with null for what an agent without a skill lacks."""
        causes: dict[str, dict[str, int | None]] = {
            str(cause): {"lists": self.causes[cause], "used_up": self.used_up[cause]}
            for cause in Cause
        }
        instructions = {words: asdict(self.tallies[words]) for words in sorted(self.tallies)}
        events = asdict(self.events)
        if not self.has_skill:
            causes[str(Cause.MISSED)] = {"lists": None, "used_up": None}
            for tally in instructions.values():
                tally |= dict.fromkeys(("signal", "partly_signal", "false_alarms"))
            events |= dict.fromkeys(("hunts", "hunts_stayed", "hunts_caught"))
        return {
            "has_skill": self.has_skill,
            "failed": sum(self.causes.values()),
            "causes": causes,
            "examples": sorted(self.examples, key=lambda told: list(Cause).index(told["cause"])),
            "instructions": instructions,
            "events": events,
        }
