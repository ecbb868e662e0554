"""Figures of skills as pure functions of shipped agents."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import torch
from matplotlib.figure import Figure
from numpy.typing import NDArray

from errands.agents.skill import Skill
from errands.language.instruction import parse_instruction
from errands.language.splits import subtasks
from errands.worlds.art import load_art
from errands.worlds.draw import top_down
from errands.worlds.gym import instruction_worlds
from errands.worlds.spec import GRID, MAP_SIZE, WALL
from errands.worlds.vector import Worlds

VALUE_SUBTASKS = ("visit egg", "pick up cow", "transform meat")  # the paper's, all unseen
VERB_MARKS = ("o", "s", "^", "D")
NAMES_AT = 0.12  # share of the width between the last subtask and the names of objects
LINE_HEIGHT = 0.04  # of a name, as a share of the figure's height


def value_maps(skill: Skill, path: Path, seed: int = 11) -> None:
    """What the critic expects with the agent on each cell, for unseen subtasks on one map."""
    wanted = ", ".join(VALUE_SUBTASKS)
    worlds = instruction_worlds("grid", 1, instructions=wanted)
    worlds.seed(seed)
    worlds.reset()
    figure, axes = plt.subplots(1, 1 + len(VALUE_SUBTASKS), figsize=(13, 3.4), layout="constrained")
    world = worlds.privileged[0]
    place = world["tiles"], int(world["row"]), int(world["column"])
    axes[0].imshow(top_down(*place, GRID.objects, load_art(GRID.art_name)))
    axes[0].set_title("observation")
    for axis, text in zip(axes[1:], VALUE_SUBTASKS, strict=True):
        values = _values_by_cell(skill, worlds, text)
        shown = axis.imshow(values, cmap="magma")
        figure.colorbar(shown, ax=axis, shrink=0.8)
        axis.set_title(f"{text} (unseen)")
    for axis in axes:
        axis.set_xticks([])
        axis.set_yticks([])
    save(figure, path)


def _values_by_cell(skill: Skill, worlds: Worlds, text: str) -> NDArray[np.float32]:
    """The critic's value (rows, columns); nothing where there is a wall."""
    tiles = worlds.privileged[0]["tiles"]
    code = parse_instruction(text, GRID.vocabulary).code(GRID.vocabulary)
    open_cells = np.argwhere(tiles != WALL)
    images = np.repeat(worlds.images, len(open_cells), axis=0)
    images[:, 0] = 0
    images[np.arange(len(open_cells)), 0, open_cells[:, 0], open_cells[:, 1]] = 1
    count = len(open_cells)
    with torch.no_grad():
        output, _ = skill.step(
            torch.from_numpy(images),
            torch.tensor([code] * count),
            torch.ones(count, dtype=torch.bool),
            skill.initial_memory(count),
        )
    values = np.full((MAP_SIZE, MAP_SIZE), np.nan, np.float32)
    values[open_cells[:, 0], open_cells[:, 1]] = output.value.numpy()
    return values


def embedding(skill: Skill, world: str, path: Path) -> None:
    """Every subtask's embedding, seen so that verbs differ to the right and objects upwards."""
    listed = subtasks(world, "independent", "all")
    trained = set(subtasks(world, "independent", "train"))
    vocabulary = GRID.vocabulary
    codes = torch.tensor([item.code(vocabulary) for item in listed])
    with torch.no_grad():
        points = skill.embedding(codes).numpy()
    centred = points - points.mean(axis=0)
    right = _main_direction(centred, codes[:, 0].numpy())
    up = _main_direction(centred - np.outer(centred @ right, right), codes[:, 1].numpy())
    flat = centred @ np.stack((right, up), axis=1)
    figure, axis = plt.subplots(figsize=(8, 6), layout="constrained")
    for name in vocabulary.objects:
        rows = [k for k, item in enumerate(listed) if item.object == name]
        axis.plot(*flat[[*rows, rows[0]]].T, color="0.8", linewidth=0.8, zorder=0)
    rightmost = flat[:, 0].max() + NAMES_AT * np.ptp(flat[:, 0])
    ends = np.stack(
        [
            max((flat[k] for k, item in enumerate(listed) if item.object == name), key=_x)
            for name in vocabulary.objects
        ]
    )
    heights = spread_apart(ends[:, 1], LINE_HEIGHT * float(np.ptp(flat[:, 1])))
    for name, end, height in zip(vocabulary.objects, ends, heights, strict=True):
        axis.plot((end[0], rightmost), (end[1], height), color="0.85", linewidth=0.6, zorder=0)
        axis.text(rightmost, height, f" {name}", fontsize=8, va="center")
    for k, item in enumerate(listed):
        verb = int(codes[k, 0])
        face = f"C{verb}" if item in trained else "white"
        x, y = flat[k]
        axis.scatter(x, y, marker=VERB_MARKS[verb], c=face, edgecolors=f"C{verb}", s=42)
    axis.set_xlim(right=rightmost + NAMES_AT * float(np.ptp(flat[:, 0])))
    for verb, name in enumerate(("visit", "pick up", "transform")):
        axis.scatter([], [], marker=VERB_MARKS[verb], c=f"C{verb}", label=name)
    axis.scatter([], [], marker="o", c="white", edgecolors="0.3", label="never trained")
    axis.legend()
    axis.set_title("subtask embedding: main direction of verbs, and of objects")
    save(figure, path)


def _x(point: NDArray[np.float32]) -> float:
    return float(point[0])


def spread_apart(wanted: NDArray[Any], apart: float) -> NDArray[np.float64]:
    """Heights in the same order, each close to the one that is wanted and `apart` from the next.

    Those that are too close become one block around their mean; blocks that meet are joined.
    """
    order = np.argsort(wanted, kind="stable")
    blocks: list[list[float]] = []
    for height in np.asarray(wanted, np.float64)[order]:
        blocks.append([float(height)])
        while len(blocks) > 1 and _bottom(blocks[-1], apart) - _top(blocks[-2], apart) < apart:
            last = blocks.pop()
            blocks[-1] += last
    placed = [_bottom(block, apart) + k * apart for block in blocks for k in range(len(block))]
    heights = np.empty(len(order))
    heights[order] = placed
    return heights


def _bottom(block: Sequence[float], apart: float) -> float:
    return sum(block) / len(block) - (len(block) - 1) * apart / 2


def _top(block: Sequence[float], apart: float) -> float:
    return sum(block) / len(block) + (len(block) - 1) * apart / 2


def _main_direction(points: NDArray[np.float32], group: NDArray[np.int64]) -> NDArray[np.float32]:
    """The direction in which the groups' means differ most."""
    means = np.stack([points[group == k].mean(axis=0) for k in np.unique(group)])
    direction: NDArray[np.float32] = np.linalg.svd(means - means.mean(axis=0))[2][0]
    return direction


def save(figure: Figure, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    plt.close(figure)
