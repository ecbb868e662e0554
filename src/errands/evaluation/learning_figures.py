"""Learning curves as pure functions of committed logs: one panel a world, one colour an agent.

Agents for lists that lack a part have a panel of their own.
"""

import re
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from errands.agents.registry import designs
from errands.evaluation.figures import save
from errands.files import DamagedFile
from errands.records import Maybe, parse_json
from errands.worlds.spec import WORLDS

# Okabe and Ito's colours, which people with any kind of colour vision can tell apart, and styles
# for those agents that are left: no two agents of a panel look the same.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#b0a000")
STYLES = ("-", "--", ":", "-.")
ABLATIONS = ", ablations"
MOST_COLUMNS = 2  # of panels
POINTS = 200  # at which the mean of several seeds is computed

VALIDATION = {"frames": int, "validation": Maybe({"success": float})}  # of a log's line

Points = list[tuple[float, float]]  # millions of frames, and success


def learning_curves(logs: Sequence[Path], path: Path, *, of: str) -> bool:
    """Success on the validation split against frames of training; false if there is none.

    `of` is "skills", whose success is strict, or "lists". Every seed is a thin line, and their mean
    a thick one.
    """
    panels: dict[str, dict[str, list[Points]]] = {}
    for log in logs:
        world, agent = _named(log.stem)
        points = _validations(log, of)
        if points and agent != "eyes":  # which do no subtasks
            lacks = of == "lists" and world in WORLDS and agent not in designs()
            panel = world + ABLATIONS * lacks
            panels.setdefault(panel, {}).setdefault(agent, []).append(points)
    if not panels:
        return False
    usual = [world + lacking for lacking in ("", ABLATIONS) for world in WORLDS]
    order = sorted(panels, key=[*usual, *sorted(set(panels) - set(usual))].index)
    columns = min(len(order), MOST_COLUMNS)
    rows = -(-len(order) // columns)
    figure, axes = plt.subplots(
        rows,
        columns,
        figsize=(7 * columns, 6 * rows),
        layout="constrained",
        squeeze=False,
        sharey=True,
    )
    for empty in axes.flat[len(order) :]:
        empty.remove()
    for axis, world in zip(axes.flat, order, strict=False):
        agents = sorted(panels[world].items())
        for (agent, runs), (style, colour) in zip(agents, product(STYLES, COLOURS), strict=False):
            _draw(axis, agent, runs, colour, style)
        axis.set_title(world)
        axis.set_xlabel("million frames")
        axis.set_xlim(left=0)
        axis.set_ylim(0, 1.02)
        axis.grid(alpha=0.3)
        axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=2, fontsize=8)
    strict_success = "strict success" if of == "skills" else "success"
    for axis in axes[:, 0]:
        axis.set_ylabel(f"{strict_success}, validation split")
    save(figure, path)
    return True


def _named(stem: str) -> tuple[str, str]:
    """World and agent of a log's name: "grid-dynamic-seed-1" is a run of grid, dynamic."""
    agent = re.sub(r"-seed-\d+$", "", stem)
    world = next((name for name in WORLDS if agent.startswith(f"{name}-")), "")
    return world, agent.removeprefix(f"{world}-") if world else agent


def _draw(axis: Axes, agent: str, runs: list[Points], colour: str, style: str) -> None:
    if len(runs) == 1:
        frames, success = zip(*runs[0], strict=True)
        marker = "." if len(frames) == 1 else ""
        axis.plot(frames, success, marker=marker, color=colour, linestyle=style, label=agent)
        return
    for points in runs:
        axis.plot(*zip(*points, strict=True), color=colour, linestyle=style, alpha=0.35, lw=0.8)
    frames_of_all, mean = mean_curve(runs)
    label = f"{agent} ({len(runs)} seeds)"
    axis.plot(frames_of_all, mean, color=colour, linestyle=style, lw=2, label=label)


def mean_curve(runs: list[Points]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The mean of several runs where all of them were validated, between their points linear."""
    first = max(points[0][0] for points in runs)
    last = max(first, min(points[-1][0] for points in runs))
    frames = np.linspace(first, last, POINTS)
    each = [np.interp(frames, *np.array(points).T) for points in runs]
    return frames, np.asarray(np.mean(each, axis=0), np.float64)


def _validations(log: Path, of: str) -> Points:
    """Millions of frames and success, each time that a run looked at the validation split."""
    points = []
    for number, text in enumerate(log.read_text(errors="replace").splitlines(), start=1):
        try:
            line = parse_json(text, VALIDATION)
        except ValueError as error:
            raise DamagedFile(f"'{log}' is damaged in line {number}; remove that line") from error
        found = line.get("validation")
        if found and ("completed" in found) == (of == "lists"):
            points.append((line["frames"] / 1e6, found["success"]))
    return points
