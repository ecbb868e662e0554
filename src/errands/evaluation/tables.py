"""Tables of skills and hand-made policies as pure functions of result files: ours and the paper's.

Those of agents that execute lists are in list_tables.py.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from errands.evaluation import published
from errands.evaluation.document import Table
from errands.files import DamagedFile
from errands.language.splits import SCENARIOS
from errands.worlds.spec import WORLDS

Record = dict[str, Any]
NOTHING = "-"


def read_records(folder: Path) -> list[Record]:
    """Every record of the JSON files in a folder: one a file, or a list of them."""
    records: list[Record] = []
    for path in sorted(folder.glob("*.json")):
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise DamagedFile(f"'{path}' is damaged: {error}") from error
        found = content if isinstance(content, list) else [content]
        if not all(isinstance(record, dict) for record in found):
            raise DamagedFile(f"'{path}' holds something else than records")
        records += found
    return records


def skill_table(records: Sequence[Record]) -> Table:
    """Strict success and reward of every skill: paper's, ours, and how ours was trained."""
    headings: tuple[str, ...] = ("world", "scenario", "analogy", "subtasks", "preset, teacher")
    headings += ("paper", "ours", "finished", "reward", "episodes", "minutes")
    rows = []
    for record in sorted(records, key=_skill_order):
        training = record["training"]
        theirs = published.skill(
            record["world"], record["scenario"], record["split"], analogy=training["analogy"]
        )
        rows.append(
            (
                record["world"],
                record["scenario"],
                "yes" if training["analogy"] else "no",
                record["split"],
                f"{training['preset']}, {training['teacher']}"
                + (", in lists" if training.get("in_lists") else ""),
                f"{theirs.success:.1%} ({theirs.reward:+.2f})" if theirs else NOTHING,
                percent(record["success"]),
                f"{record['finished']['mean']:.1%}",
                f"{record['reward']['mean']:+.2f}",
                f"{record['episodes']:,}",
                f"{training['seconds'] / 60:.0f}",
            )
        )
    return Table(headings, tuple(rows), words=5)


def planner_table(records: Sequence[Record]) -> Table:
    """The hand-made policies in worlds of full size: the yardsticks of the worlds."""
    headings: tuple[str, ...] = (
        "world",
        "policy",
        "split",
        "length",
        "paper",
        "ours: reward",
        "success",
        "steps",
    )
    headings += ("episodes",)
    full = [record for record in records if not record.get("sizes")]
    order = sorted(full, key=lambda r: (r["world"], r["agent"], r["split"], r["length"]))
    rows = []
    for record in order:
        theirs = published.planner(record["world"], record["agent"], record["length"])
        rows.append(
            (
                record["world"],
                record["agent"],
                record["split"],
                str(record["length"]),
                f"{theirs.reward:.2f} ({theirs.success:.1%})" if theirs else NOTHING,
                with_error(record["reward"], 2),
                f"{record['success']['mean']:.1%}",
                f"{record['steps']['mean']:.1f}",
                f"{record['episodes']:,}",
            )
        )
    return Table(headings, tuple(rows), words=3)


def with_error(measured: dict[str, float | None], digits: int, scale: float = 1.0) -> str:
    """A mean with its standard error, if there is one: of a single episode there is none."""
    mean, error = measured["mean"], measured["stderr"]
    assert mean is not None
    shown = f"{mean * scale:.{digits}f}"
    return shown if error is None else f"{shown} ±{error * scale:.{digits}f}"


def percent(measured: dict[str, float | None]) -> str:
    """A share with its standard error, if there is one."""
    mean, error = measured["mean"], measured["stderr"]
    assert mean is not None
    return f"{mean:.1%}" if error is None else f"{mean:.1%} ±{error:.1%}"


def place_of_world(name: str) -> int:
    """Where a world stands in tables: the package's in their order, then any other."""
    return list(WORLDS).index(name) if name in WORLDS else len(WORLDS)


def _skill_order(record: Record) -> tuple[int, int, bool, bool, bool]:
    return (
        place_of_world(record["world"]),
        SCENARIOS.index(record["scenario"]),
        record["training"]["analogy"],
        record["training"].get("in_lists", False),
        record["split"] == "unseen",
    )
