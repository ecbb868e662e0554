"""Figures of agents that execute lists: curves by length, and what one thinks step by step."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from errands.agents.registry import AGENTS, order_of_results
from errands.evaluation import published
from errands.evaluation.estimates import estimate
from errands.evaluation.figures import save
from errands.evaluation.list_tables import Variant, variants
from errands.evaluation.seed_tables import scores
from errands.evaluation.tables import Record
from errands.evaluation.timeline import Timeline

NARROW = 0.09  # share of the width that a subtask's name needs
FEWEST_POINTS = 3  # lengths that make a curve
METRICS = ("reward", "success", "steps", "completed")
SPLIT_STYLES = {"seen": "o", "unseen": "^"}
EVENT_COLOUR = "#d1495b"
SHIFT_COLOURS = ("#8c564b", "#c9c9c9", "#2a7f9e")


def length_curves(records: Sequence[Record], world: str, path: Path) -> bool:
    """Reward, success, steps and completed by list length: ours solid, the paper's dashed.

    Returns whether any agent was measured at enough lengths for a curve.
    """
    curves = _curves(records, world)
    if not curves:
        return False
    figure, axes = plt.subplots(2, 2, figsize=(13, 8.5), layout="constrained")
    has_paper = False
    drawn = {variant.agent for variant, _ in curves}
    agents = [agent for agent in order_of_results() if agent in drawn]
    for axis, metric in zip(axes.flat, METRICS, strict=True):
        for (variant, split), line in curves.items():
            colour, mark = AGENTS[variant.agent].colour, SPLIT_STYLES[split]
            ours = {length: estimate([each[metric]]) for length, each in line.items()}
            means = [found.value for found in ours.values()]
            axis.plot(list(ours), means, color=colour, marker=mark, markersize=4)
            bands = {k: (found.low, found.high) for k, found in ours.items() if found.runs > 1}
            if bands:
                low, high = zip(*bands.values(), strict=True)
                axis.fill_between(list(bands), low, high, color=colour, alpha=0.15, linewidth=0)
            theirs = published.curve(world, metric, variant.agent, split, analogy=variant.analogy)
            theirs = theirs or {}
            has_paper |= bool(theirs)
            axis.plot(
                list(theirs),
                list(theirs.values()),
                color=colour,
                marker=mark,
                markersize=3,
                linestyle="--",
                linewidth=1,
                alpha=0.6,
            )
        axis.set_xlabel("instructions in the list")
        axis.set_xticks([1, 5, 10, 15, 20])
        axis.set_ylabel(metric)
        axis.grid(alpha=0.3)
    keys = [Line2D([], [], color=AGENTS[agent].colour, label=agent) for agent in agents]
    keys += [
        Line2D([], [], color="0.3", marker=mark, linestyle="", label=f"{split} instructions")
        for split, mark in SPLIT_STYLES.items()
    ]
    if has_paper:
        keys.append(Line2D([], [], color="0.3", label="ours"))
        keys.append(Line2D([], [], color="0.3", linestyle="--", label="paper"))
    figure.legend(handles=keys, loc="outside lower center", ncols=len(keys))
    save(figure, path)
    return True


# Scores of every seed by list length and metric.
Curve = dict[int, dict[str, NDArray[np.float64]]]


def _curves(records: Sequence[Record], world: str) -> dict[tuple[Variant, str], Curve]:
    """Measurements at three lengths or more, by agent and split, over all seeds."""
    plain = [
        record
        for record in records
        if record["world"] == world
        and record["with_all"]
        and not record["forgiving"]
        and not record.get("sizes")
        and record["split"] in SPLIT_STYLES
    ]
    runs: dict[Variant, list[Variant]] = {}
    for variant in variants(plain):
        has_colour = variant.agent in AGENTS and AGENTS[variant.agent].colour
        if has_colour and not variant.is_ablation:
            runs.setdefault(replace(variant, seed=None), []).append(variant)
    found: dict[tuple[Variant, str], Curve] = {}
    for group, each in runs.items():
        if any(other.agent == group.agent for other, _ in found):
            continue  # one preset of each agent
        for split in SPLIT_STYLES:
            measured = {run: _lengths(plain, run, split) for run in each}
            most = max(measured.values(), key=len)
            if len(most) >= FEWEST_POINTS:
                # A run that was measured at some lengths only would bend the mean there.
                alike = [run for run in each if measured[run] == most]
                found[group, split] = {
                    length: {name: scores(plain, alike, split, length, name) for name in METRICS}
                    for length in most
                }
    return found


def _lengths(records: Sequence[Record], run: Variant, split: str) -> list[int]:
    """At which lengths a run was measured."""
    own = (record for record in records if Variant.of(record) == run)
    return sorted({record["length"] for record in own if record["split"] == split})


def policy_timeline(timeline: Timeline, event: str, path: Path) -> None:
    """The paper's analysis figure: update, shift, pointer and subtask over one episode."""
    steps = len(timeline.update)
    height = 4.2 + 0.24 * len(timeline.instructions)
    figure, axes = plt.subplots(
        4,
        1,
        figsize=(13, height),
        layout="constrained",
        sharex=True,
        gridspec_kw={"height_ratios": [1, 1, 0.32 * len(timeline.instructions), 1.1]},
    )
    when = np.arange(1, steps + 1)
    axes[0].bar(when, timeline.update, width=1.0, color="#4c6a92")
    axes[0].set_ylabel("update")
    bottom = np.zeros(steps)
    for k, (name, colour) in enumerate(zip(("-1", "0", "+1"), SHIFT_COLOURS, strict=True)):
        axes[1].bar(when, timeline.shift[:, k], 1.0, bottom, color=colour, label=name)
        bottom += timeline.shift[:, k]
    axes[1].set_ylabel("shift")
    axes[1].legend(loc="upper left", bbox_to_anchor=(1.0, 1.05), fontsize=8, frameon=False)
    for axis in axes[:2]:
        axis.set_ylim(0, 1)
        axis.set_yticks([0, 1])
    _draw_pointer(axes[2], timeline)
    _draw_subtasks(axes[3], timeline)
    for axis in axes:
        for t in np.flatnonzero(timeline.event):
            axis.axvspan(t + 0.5, t + 1.5, color=EVENT_COLOUR, alpha=0.13, linewidth=0)
    for t in np.flatnonzero(timeline.caught):
        axes[0].annotate(
            f"{event} caught",
            (t + 1, 1.0),
            (0, 6),
            textcoords="offset points",
            ha="center",
            fontsize=8,
            color=EVENT_COLOUR,
        )
    axes[3].set_xlabel(f"step (shaded: {event} is there)")
    axes[3].set_xlim(0.5, steps + 0.5)
    save(figure, path)


def _draw_pointer(axis: Axes, timeline: Timeline) -> None:
    steps, length = timeline.pointer.shape
    axis.imshow(
        timeline.pointer.T,
        aspect="auto",
        cmap="Blues",
        vmin=0,
        vmax=1,
        extent=(0.5, steps + 0.5, length - 0.5, -0.5),
    )
    when = np.arange(steps + 1) + 0.5
    truth = np.minimum(timeline.progress, length - 1)
    axis.step(when, [*truth, truth[-1]], where="post", color="#e07a1f", linewidth=1, label="truth")
    axis.set_yticks(range(length), timeline.instructions, fontsize=8)
    axis.set_ylabel("pointer")
    axis.legend(loc="upper left", bbox_to_anchor=(1.0, 1.02), fontsize=8, frameon=False)


def _draw_subtasks(axis: Axes, timeline: Timeline) -> None:
    """A box for each stretch with the same subtask."""
    changes = [0]
    changes += [k for k in range(1, len(timeline.subtasks)) if _changed(timeline, k)]
    changes.append(len(timeline.subtasks))
    for k, (first, after) in enumerate(pairwise(changes)):
        axis.axvspan(first + 0.5, after + 0.5, color=("#dfe7ef", "#c3d2e0")[k % 2], linewidth=0)
        axis.text(
            (first + after + 1) / 2,
            0.5,
            timeline.subtasks[first],
            rotation=0 if after - first > NARROW * len(timeline.subtasks) else 90,
            ha="center",
            va="center",
            fontsize=7,
        )
    axis.set_ylim(0, 1)
    axis.set_yticks([])
    axis.set_ylabel("subtask")


def _changed(timeline: Timeline, k: int) -> bool:
    return timeline.subtasks[k] != timeline.subtasks[k - 1]
