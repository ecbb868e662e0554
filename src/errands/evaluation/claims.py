"""The paper's claims, and whether they hold here: verdicts computed from committed results.

A claim is a list of checks, each a comparison of two cells of results, or of one with the paper's
number. All seeds of a cell count. A difference is known up to two standard errors: over seeds where
a cell has several, otherwise over episodes. A check held if the difference is certainly as large as
the claim needs, did not hold if it is certainly too small, and is unclear otherwise. What no
committed result measures has no verdict.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from errands.evaluation import published
from errands.evaluation.document import Table
from errands.evaluation.list_tables import TEST, TRAIN, Variant
from errands.evaluation.tables import Record

Verdict = Literal["held", "held in part", "did not hold", "unclear", "not measured yet"]
Outcome = Literal["held", "failed", "unclear"]
Metric = Literal["success", "reward", "caught"]
OUTCOMES: dict[Outcome, str] = {"held": "", "failed": "*but not* ", "unclear": "*unclear:* "}
ERRORS = 2.0  # standard errors up to which a difference is known
MATTERS: dict[Metric, float] = {"success": 0.01, "caught": 0.01, "reward": 0.1}  # at least
NEEDED = 0.1  # of success: without something that is needed, an agent loses more
AS_WELL = 0.03  # the largest loss on unseen subtasks in the paper's table for its 3D world
FAILS = 0.5  # success on training lists below which an agent has not learned them
SCENARIO_NAMES = ("independent", "object-dependent", "inter-extrapolation")
WORLD_NAMES = ("grid", "block")


@dataclass(frozen=True)
class Measured:
    """A cell's score over all its seeds."""

    value: float
    error: float  # standard error
    seeds: int


@dataclass(frozen=True)
class Lists:
    """Lists of instructions, executed by one agent."""

    world: str
    agent: str
    split: str = "unseen"
    analogy: bool = True
    soft: bool = False
    metric: Metric = "success"

    @property
    def length(self) -> int:
        return TRAIN if self.split == "train" else TEST

    def matches(self, record: Record) -> bool:
        variant = Variant.of(record)
        wanted = Variant(self.world, self.agent, self.analogy, self.soft, self.soft)
        same = replace(variant, preset="", seed=None) == wanted
        plain = record["with_all"] and not record["forgiving"] and not record.get("sizes")
        place = (record["split"], record["length"]) == (self.split, self.length)
        return bool(same and plain and place and variant.preset in ("", "fast"))


@dataclass(frozen=True)
class Skills:
    """Subtasks of a scenario, done by one skill."""

    world: str
    scenario: str
    split: str = "unseen"
    analogy: bool = True
    teacher: str = "planner"
    metric: Metric = "success"

    def matches(self, record: Record) -> bool:
        training = record["training"]
        found = Skills(
            record["world"],
            record["scenario"],
            record["split"],
            training["analogy"],
            training["teacher"],
            self.metric,
        )
        is_plain = training["preset"] == "fast" and not training.get("in_lists")
        return found == self and is_plain


Cell = Lists | Skills


@dataclass(frozen=True)
class Evidence:
    """All committed results."""

    lists: Sequence[Record]  # trained agents and planners
    skills: Sequence[Record]

    def measure(self, cell: Cell) -> Measured | None:
        """A cell's score; None if nothing was measured."""
        records = self.lists if isinstance(cell, Lists) else self.skills
        best: dict[int, Record] = {}  # the record with most episodes of each seed
        for record in records:
            if cell.matches(record):
                seed = (record.get("training") or {}).get("seed") or 0
                if seed not in best or record["episodes"] > best[seed]["episodes"]:
                    best[seed] = record
        return over_seeds(list(best.values()), cell.metric)


def over_seeds(records: Sequence[Record], metric: Metric) -> Measured | None:
    """The mean over records, one for each seed; a single one has an error over its episodes."""
    scores = [score(record, metric) for record in records]
    if not scores:
        return None
    values = np.array([value for value, _ in scores])
    if len(values) == 1:
        return Measured(values[0], scores[0][1], 1)
    spread = float(values.std(ddof=1)) / math.sqrt(len(values))
    return Measured(float(values.mean()), spread, len(values))


def score(record: Record, metric: Metric) -> tuple[float, float]:
    """A record's score and its standard error over episodes."""
    if metric == "caught":
        events = record["events"]["mean"] * record["episodes"]
        share = record["events_used"]["mean"] / record["events"]["mean"] if events else 0.0
        return share, math.sqrt(share * (1 - share) / max(events, 1))
    return record[metric]["mean"], record[metric]["stderr"] or 0.0


@dataclass(frozen=True)
class Comparison:
    """One comparison: the first cell should be above the second, or above a number."""

    about: str  # where, for the reader
    cell: Cell
    other: Cell | float
    by: float = 0.0  # how far above; below zero: how far it may stay behind
    is_below: bool = False  # it should be below instead

    def outcome(self, evidence: Evidence) -> tuple[Outcome, str] | None:
        """How it ended, and the numbers; None if it was not measured."""
        mine = evidence.measure(self.cell)
        if isinstance(self.other, float):
            theirs: Measured | None = Measured(self.other, 0.0, 0)
        else:
            theirs = evidence.measure(self.other)
        if mine is None or theirs is None:
            return None
        difference = (mine.value - theirs.value) * (-1 if self.is_below else 1)
        doubt = ERRORS * math.hypot(mine.error, theirs.error)
        metric = self.cell.metric
        outcome: Outcome = "unclear"
        if difference - doubt > self.by:
            outcome = "held"
        elif difference + doubt < max(self.by, MATTERS[metric] if self.by == 0 else self.by):
            outcome = "failed"
        numbers = f"{_shown(mine, metric)} against {_shown(theirs, metric)}"
        return outcome, f"{self.about}: {numbers}"


def _shown(measured: Measured, metric: Metric) -> str:
    value = f"{measured.value:.2f}" if metric == "reward" else f"{measured.value:.1%}"
    return value + (f" ({measured.seeds} seeds)" if measured.seeds > 1 else "")


@dataclass(frozen=True)
class Claim:
    """What the paper says, and what would show it here."""

    text: str
    checks: tuple[Comparison, ...]
    why: str = ""  # why we believe the verdict, whatever it is


@dataclass(frozen=True)
class Judged:
    """A claim with its verdict, and the numbers of its checks by how they ended."""

    verdict: Verdict
    numbers: dict[Outcome, tuple[str, ...]]
    missing: tuple[str, ...]  # where nothing was measured


def judge(claim: Claim, evidence: Evidence) -> Judged:
    found = [(check, check.outcome(evidence)) for check in claim.checks]
    ended = [outcome for _, outcome in found if outcome]
    numbers = {name: tuple(said for how, said in ended if how == name) for name in OUTCOMES}
    missing = tuple(check.about for check, outcome in found if outcome is None)
    verdict: Verdict = "held in part"
    if not ended:
        verdict = "not measured yet"
    elif len(numbers["held"]) == len(ended):
        verdict = "held"
    elif len(numbers["unclear"]) == len(ended):
        verdict = "unclear"
    elif not numbers["held"]:
        verdict = "did not hold"
    return Judged(verdict, numbers, missing)


def verdict_table(evidence: Evidence) -> Table:
    """Every claim with its verdict and its numbers, those that speak for it first."""
    rows = []
    for claim in claims():
        found = judge(claim, evidence)
        parts = [
            f"{OUTCOMES[name]}{'; '.join(said)}" for name, said in found.numbers.items() if said
        ]
        is_known = found.verdict != "not measured yet"
        if found.missing and is_known:
            parts.append(f"*not measured yet:* {'; '.join(found.missing)}")
        why = claim.why if is_known else ""
        rows.append((claim.text, found.verdict, ". ".join(parts), why))
    headings = ("the paper's claim", "verdict", "numbers", "why")
    return Table(headings, tuple(rows), words=len(headings))


def claims() -> tuple[Claim, ...]:
    """The paper's claims, in its order."""
    return (
        Claim(
            "Analogies are needed for subtasks that were never trained, in each scenario",
            _of_scenarios(lambda cell: replace(cell, analogy=False), by=NEEDED),
        ),
        Claim(
            "With analogies, a skill does unseen subtasks as well as trained ones",
            _of_scenarios(lambda cell: replace(cell, split="train"), by=-AS_WELL),
        ),
        Claim(
            "Pre-training by distillation gives slightly better skills",
            tuple(
                Comparison(
                    f"grid, {split} subtasks, RL teachers against none",
                    Skills("grid", "independent", split, teacher="rl"),
                    Skills("grid", "independent", split, teacher="none"),
                )
                for split in ("train", "unseen")
            ),
        ),
        Claim("The hierarchy executes lists that a flat agent cannot", _against("flat")),
        Claim("Learning when to update is better than updating at every step", _against("short")),
        Claim(
            "It is better than updating only when a subtask is finished",
            _against("long"),
            "Long executes lists as well, but cannot leave a subtask for an event: the difference "
            "is in the reward.",
        ),
        Claim(
            "Trained on lists of 4, the agent executes lists of 20: its success is the paper's",
            _like_the_paper("seen"),
        ),
        Claim(
            "It also executes unseen instructions: its success on lists of 20 is the paper's",
            _like_the_paper("unseen"),
        ),
        Claim(
            "It interrupts subtasks for events that are worth it, which Long cannot",
            tuple(
                Comparison(
                    f"{world}, share of events used",
                    Lists(world, "dynamic", metric="caught"),
                    Lists(world, "long", metric="caught"),
                )
                for world in WORLD_NAMES
            ),
        ),
        Claim(
            "With that it earns more than the shortest paths do",
            tuple(
                Comparison(
                    f"grid, reward of {split} lists of 20",
                    Lists("grid", "dynamic", split, metric="reward"),
                    Lists("grid", "shortest-path", split, metric="reward"),
                )
                for split in ("seen", "unseen")
            ),
        ),
        Claim(
            "Soft updates first, and hard ones then, are crucial: hard updates alone fail",
            (
                Comparison(
                    "grid, training lists of 4, hard updates only",
                    Lists("grid", "dynamic", "train"),
                    FAILS,
                    is_below=True,
                ),
            ),
            "With the hint head-start, hard updates learn from the first frame on; without it, "
            "this was not measured.",
        ),
        Claim(
            "Analogies in the meta controller help with unseen instructions (earlier version)",
            (
                Comparison(
                    "grid, unseen lists of 20",
                    Lists("grid", "dynamic"),
                    Lists("grid", "dynamic", analogy=False),
                ),
            ),
        ),
        Claim(
            "Hard updates do better than soft ones alone (earlier version)",
            tuple(
                Comparison(
                    f"grid, {split} lists of 20",
                    Lists("grid", "dynamic", split),
                    Lists("grid", "dynamic", split, soft=True),
                )
                for split in ("seen", "unseen")
            ),
        ),
    )


def _of_scenarios(change: Callable[[Skills], Skills], by: float = 0.0) -> tuple[Comparison, ...]:
    """Unseen subtasks of every scenario against another cell of it."""
    return tuple(
        Comparison(f"{world}, {scenario}", cell, change(cell), by)
        for world in WORLD_NAMES
        for scenario in SCENARIO_NAMES
        for cell in (Skills(world, scenario),)
    )


def _against(baseline: str) -> tuple[Comparison, ...]:
    """Dynamic against a baseline, on lists of 20: success and reward."""
    metrics: Iterable[Metric] = ("success", "reward")
    return tuple(
        Comparison(f"{world}, {split} 20, {metric}", cell, replace(cell, agent=baseline))
        for world in WORLD_NAMES
        for split in ("seen", "unseen")
        for metric in metrics
        for cell in (Lists(world, "dynamic", split, metric=metric),)
    )


def _like_the_paper(split: str) -> tuple[Comparison, ...]:
    """Dynamic against the paper's Dynamic."""
    found = []
    for world in WORLD_NAMES:
        theirs = published.lists(world, "dynamic", split)
        assert theirs is not None
        found.append(Comparison(f"{world}, ours", Lists(world, "dynamic", split), theirs.success))
    return tuple(found)
