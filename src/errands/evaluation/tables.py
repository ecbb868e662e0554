"""Tables of skills and hand-made policies as pure functions of result files: ours and the paper's.

Those of agents that execute lists are in list_tables.py.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from errands.evaluation import published
from errands.evaluation.document import Table
from errands.files import DamagedFile
from errands.language.splits import SCENARIOS
from errands.records import Maybe, OrNull, check_shape, one_line, read_json
from errands.worlds.spec import WORLDS

Record = dict[str, Any]
NOTHING = "-"
# What tables and figures rely on, in records of skills and of agents that execute lists.
MEASURED = {"mean": float, "stderr": OrNull(float)}
RECORD: dict[str, Any] = {"world": str, "agent": str, "split": str, "episodes": int, "seed": int}
RECORD |= {"success": MEASURED, "reward": MEASURED, "steps": MEASURED}
LEARNED = {"preset": str, "analogy": bool, "seed": int, "frames": int, "seconds": float}
SKILL_RECORD = RECORD | {
    "scenario": SCENARIOS,
    "finished": MEASURED,
    "training": LEARNED | {"teacher": str, "in_lists": Maybe(bool)},
}
LIST_RECORD = RECORD | {
    "length": int,
    "with_all": bool,
    "forgiving": bool,
    "soft": Maybe(bool),
    "sizes": Maybe([int]),
    "completed": MEASURED,
    "events": MEASURED,
    "events_used": MEASURED,
    "training": Maybe(
        LEARNED
        | {"agent": str, "soft": Maybe(bool), "hints": Maybe([str]), "total_frames": Maybe(int)}
    ),
}


def read_records(folder: Path) -> list[Record]:
    """Every record of the JSON files in a folder: one a file, or a list of them."""
    records: list[Record] = []
    for path in sorted(folder.glob("*.json")):
        content = read_json(path)
        found = content if isinstance(content, list) else [content]
        for record in found:
            if not isinstance(record, dict):
                raise DamagedFile(f"'{path}' contains something else than records")
            shape = SKILL_RECORD if "scenario" in record else LIST_RECORD
            try:
                check_shape(record, shape)
            except ValueError as error:
                raise DamagedFile(f"'{path}' is damaged: {one_line(str(error))}") from None
        records += found
    return records


def skill_table(records: Sequence[Record]) -> Table:
    """Strict success and reward of every skill: paper's, ours, and how ours was trained."""
    headings: tuple[str, ...] = ("world", "scenario", "analogy", "subtasks", "preset, teacher")
    headings += ("seed", "paper", "ours", "finished", "reward", "episodes", "minutes")
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
                str(training.get("seed", 0)),
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


def _skill_order(record: Record) -> tuple[int, int, bool, bool, str, bool, int]:
    return (
        place_of_world(record["world"]),
        SCENARIOS.index(record["scenario"]),
        record["training"]["analogy"],
        record["training"].get("in_lists", False),
        record["training"]["teacher"],
        record["split"] == "unseen",
        record["training"].get("seed", 0),
    )
