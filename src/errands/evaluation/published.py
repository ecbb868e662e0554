"""The papers' numbers, to stand beside ours: every table, and the grid's curves by list length."""

import json
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple


class Cell(NamedTuple):
    """One entry of a table: reward and success rate (0..1)."""

    reward: float
    success: float


@cache
def _tables() -> dict[str, Any]:
    path = files("errands.evaluation").joinpath("published", "tables.json")
    tables: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return tables


def skill(world: str, scenario: str, split: str, *, analogy: bool) -> Cell | None:
    """The paper's cell of a skill's table, or None where it has none."""
    table = _tables()[f"{world}_skill"].get(scenario.replace("-", "_"))
    if table is None:
        return None
    reward, percent = table["analogy" if analogy else "no_analogy"][split]
    return Cell(reward, percent / 100)


def planner(agent: str, length: int) -> Cell | None:
    """The paper's cell of a hand-made policy on the grid, for lists of 4 and of 20."""
    table = _tables()["grid_instructions"][agent.replace("-", "_")]
    column = {4: "train", 20: "test"}.get(length)
    if column is None:
        return None
    reward, percent = table[column]
    return Cell(reward, percent / 100)
