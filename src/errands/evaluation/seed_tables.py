"""Tables over training seeds: how good an agent is, how far its runs differ, and who is better."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from errands.agents.registry import FAVOURITE
from errands.evaluation import published
from errands.evaluation.claims import Measured, over_seeds
from errands.evaluation.document import Table
from errands.evaluation.estimates import (
    Estimate,
    better_half,
    estimate,
    interquartile_mean,
    probability_of_improvement,
)
from errands.evaluation.list_tables import COLUMNS, Variant, find, variants
from errands.evaluation.tables import NOTHING, Record, place_of_world

FEWEST = 2  # seeds that make a row


def groups(records: Iterable[Record]) -> dict[Variant, list[Variant]]:
    """Runs that differ by their seed alone, in the order of tables."""
    found: dict[Variant, list[Variant]] = {}
    for variant in variants(records):
        if variant.seed is not None:
            found.setdefault(replace(variant, seed=None), []).append(variant)
    return found


def scores(
    records: Sequence[Record], runs: Iterable[Variant], split: str, length: int, metric: str
) -> NDArray[np.float64]:
    """One score for each run that was measured there."""
    found = [find(records, run, split, length) for run in runs]
    return np.array([record[metric]["mean"] for record in found if record], np.float64)


def lists_over_seeds(records: Sequence[Record]) -> Table | None:
    """Success on the paper's lists, for every agent with several seeds."""
    headings = ("world", "agent", "lists", "seeds", "paper", "better half", "mean", "IQM", "worst")
    rows = []
    for group, runs in groups(records).items():
        for split, length in COLUMNS:
            each = scores(records, runs, split, length, "success")
            if len(each) >= FEWEST:
                theirs = group.published(split)
                name = group.name + (f", {group.preset}" if group.preset != "fast" else "")
                about = group.world, name, f"{split} {length}"
                rows.append((*about, *_figures(each, theirs)))
    return Table(headings, tuple(rows), words=3) if rows else None


def skills_over_seeds(records: Sequence[Record]) -> Table | None:
    """Strict success of every skill with several seeds."""
    found: dict[tuple[str, str, bool, str, str], dict[int, Record]] = {}
    for record in records:
        training = record["training"]
        how = f"{training['preset']}, {training['teacher']}"
        how += ", in lists" if training.get("in_lists") else ""
        key = record["world"], record["scenario"], training["analogy"], how, record["split"]
        found.setdefault(key, {})[training.get("seed", 0)] = record
    rows = []
    for key in sorted(found, key=lambda key: (place_of_world(key[0]), *map(str, key[1:]))):
        world, scenario, analogy, how, split = key
        each = np.array([record["success"]["mean"] for record in found[key].values()])
        if len(each) >= FEWEST:
            theirs = published.skill(world, scenario, split, analogy=analogy)
            about = world, scenario, "yes" if analogy else "no", how, split
            rows.append((*about, *_figures(each, theirs)))
    headings: tuple[str, ...] = ("world", "scenario", "analogy", "preset, teacher", "subtasks")
    headings += ("seeds", "paper", "better half", "mean", "IQM", "worst")
    return Table(headings, tuple(rows), words=5) if rows else None


def _figures(each: NDArray[np.float64], theirs: published.Cell | None) -> tuple[str, ...]:
    return (
        str(len(each)),
        f"{theirs.success:.1%}" if theirs else NOTHING,
        f"{float(better_half([each])):.1%}",
        _percent(estimate([each])),
        _percent(estimate([each], interquartile_mean)),
        f"{each.min():.1%}",
    )


def improvements(records: Sequence[Record]) -> Table | None:
    """How likely a run of the agent that the paper is about beats a run of another."""
    rows = []
    every = groups(records)
    for mine, own in every.items():
        if mine.agent != FAVOURITE or mine.is_ablation or mine.preset != "fast":
            continue
        for other, runs in every.items():
            if other.world != mine.world or other == mine:
                continue
            cells: tuple[str, ...] = ()
            for metric in ("success", "reward"):
                pairs = [
                    tuple(scores(records, some, *column, metric) for some in (own, runs))
                    for column in COLUMNS
                ]
                pairs = [pair for pair in pairs if min(map(len, pair)) >= FEWEST]
                if pairs:
                    ours, theirs = zip(*pairs, strict=True)
                    cells += (_percent(probability_of_improvement(ours, theirs)),)
            if cells:
                rows.append((mine.world, f"{mine.name} over {other.name}", *cells))
    headings = ("world", "agents", "by success", "by reward")
    return Table(headings, tuple(rows), words=2) if rows else None


def additions(records: Sequence[Record]) -> Table | None:
    """What an agent loses without one of its parts: the mean over seeds, a row for each variant."""
    lists = [record for record in records if record["with_all"] and not record["forgiving"]]
    headings: tuple[str, ...] = ("world", "agent", "seeds")
    headings += tuple(f"{split} {length}" for split, length in COLUMNS)
    headings += ("unseen 20: reward", "events used")
    every = {group: runs for group, runs in groups(lists).items() if group.agent == FAVOURITE}
    worlds = {group.world for group in every if _is_reduced(group)}
    rows = []
    for group, runs in sorted(every.items(), key=lambda item: _is_reduced(item[0])):
        cells = [
            [record for run in runs if (record := find(lists, run, split, length))]
            for split, length in COLUMNS
        ]
        if group.world not in worlds or not all(cells):
            continue
        name = group.name + (f", preset {group.preset}" if group.preset != "fast" else "")
        success = [shown_share(over_seeds(cell, "success")) for cell in cells]
        reward = over_seeds(cells[-1], "reward")
        used = shown_share(over_seeds(cells[-1], "caught"))
        earned = f"{reward.value:.2f} ± {reward.error:.2f}" if reward else NOTHING
        rows.append((group.world, name, str(len(cells[-1])), *success, earned, used))
    rows.sort(key=lambda row: place_of_world(row[0]))
    return Table(headings, tuple(rows), words=2) if rows else None


def _is_reduced(group: Variant) -> bool:
    """Whether something of the agent is left out, or it is the paper's own."""
    return group.is_ablation or group.preset != "fast"


def shown_share(measured: Measured | None) -> str:
    """A share with its error: over seeds where there are several, otherwise over episodes."""
    if measured is None:
        return NOTHING
    return f"{100 * measured.value:.1f} ± {100 * measured.error:.1f}%"


def _percent(found: Estimate) -> str:
    if found.low is None or found.high is None:
        return f"{found.value:.1%}"
    return f"{found.value:.1%} ({100 * found.low:.1f} to {100 * found.high:.1f})"
