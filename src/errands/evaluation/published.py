"""The papers' numbers, to stand beside ours: every table, and the grid's curves by list length."""

import csv
import json
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

ABLATION_WORLD = "grid"  # the only world of the earlier version, and so of the ablations
LONGEST = 20  # instructions of the longest lists in the curves
# How the authors' figure calls the agents of its curves: by (agent, with analogies).
_CURVES = {
    ("flat", True): "Flat",
    ("short", False): "Hier",
    ("short", True): "Hier-Analogy",
    ("dynamic", False): "TA",
    ("dynamic", True): "TA-Analogy",
}


class Cell(NamedTuple):
    """One entry of a table: reward and success rate (0..1)."""

    reward: float
    success: float


@cache
def _tables() -> dict[str, Any]:
    path = files("errands.evaluation").joinpath("published", "tables.json")
    tables: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return tables


@cache
def _curves() -> dict[tuple[str, str], dict[int, float]]:
    """By metric and the figure's name of the agent: values by list length."""
    path = files("errands.evaluation").joinpath("published", "grid_per_length.csv")
    rows = csv.DictReader(path.read_text(encoding="utf-8").splitlines())
    return {
        (row["metric"], row["agent"]): {k: float(row[f"K{k}"]) for k in range(1, LONGEST + 1)}
        for row in rows
    }


def _cell(table: dict[str, Any] | None, *columns: str) -> Cell | None:
    """The first of the columns that the table has."""
    for column in columns:
        if table is not None and column in table:
            reward, percent = table[column]
            return Cell(reward, percent / 100)
    return None


def skill(world: str, scenario: str, split: str, *, analogy: bool) -> Cell | None:
    """The paper's cell of a skill's table, or None where it has none."""
    table = _tables().get(f"{world}_skill", {}).get(scenario.replace("-", "_"), {})
    return _cell(table.get("analogy" if analogy else "no_analogy"), split)


def planner(world: str, agent: str, length: int) -> Cell | None:
    """The paper's cell of a hand-made policy, for lists of 4 and of 20."""
    table = _tables().get(f"{world}_instructions", {}).get(agent.replace("-", "_"))
    column = {4: "train", 20: "test"}.get(length)
    return _cell(table, column) if column else None


def lists(
    world: str,
    agent: str,
    split: str,
    *,
    with_all: bool = True,
    analogy: bool = True,
    soft: bool = False,
    forgiving: bool = False,
) -> Cell | None:
    """An agent on training lists of 4, or on seen or unseen lists of 20; None: not published.

    What is not in the paper's own tables comes from its earlier version, which has the grid alone.
    """
    agent = agent.replace("-", "_")
    # For hand-made policies one column serves seen and unseen lists.
    columns: tuple[str, ...] = (split, "test") if with_all else (f"{split}_no_all", "no_all")
    if split == "train":
        columns = ("train",) if with_all else ()
    plain = with_all and analogy and not soft and not forgiving
    if plain:
        table = _tables().get(f"{world}_instructions", {})
        return _cell(table.get(f"hierarchical_{agent}", table.get(agent)), *columns)
    if world != ABLATION_WORLD:
        return None
    earlier = _tables()["grid_instructions_ablations"]
    if forgiving:
        is_there = analogy and not soft
        return _cell(earlier["forgiving"].get(agent), *columns) if is_there else None
    if agent == "dynamic" and analogy:
        agent = "dynamic_soft" if soft else "dynamic_hard"
    elif soft:
        return None
    elif not analogy:
        agent = f"{agent}_no_analogy"
    return _cell(earlier.get(agent), *columns)


def curve(
    world: str, metric: str, agent: str, split: str, *, analogy: bool = True
) -> dict[int, float] | None:
    """Reward, success, steps or completed by list length, read off the figure; the grid's alone.

    The figure calls the near-optimal policy "Shortest", and does not tell seen from unseen there.
    """
    if world != ABLATION_WORLD:
        return None
    if agent == "near-optimal":
        return _curves()[metric, "Shortest"]
    name = _CURVES.get((agent, analogy))
    return _curves().get((metric, f"{name} {split}")) if name else None
