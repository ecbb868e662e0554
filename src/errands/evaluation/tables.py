"""Tables as pure functions of result files: ours beside the paper's."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from errands.evaluation import published
from errands.language.splits import SCENARIOS

Record = dict[str, Any]


def read_records(folder: Path) -> list[Record]:
    """Every record of the JSON files in a folder: one a file, or a list of them."""
    records: list[Record] = []
    for path in sorted(folder.glob("*.json")):
        content = json.loads(path.read_text(encoding="utf-8"))
        records += content if isinstance(content, list) else [content]
    return records


def markdown(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def skill_table(records: Sequence[Record]) -> str:
    """Strict success and reward of every skill: paper's, ours, and how ours was trained."""
    headings = ["world", "scenario", "analogy", "subtasks", "paper", "ours", "finished", "reward"]
    headings += ["episodes", "preset, teacher", "minutes"]
    rows = []
    for record in sorted(records, key=_skill_order):
        training = record["training"]
        theirs = published.skill(
            record["world"], record["scenario"], record["split"], analogy=training["analogy"]
        )
        rows.append(
            [
                record["world"],
                record["scenario"],
                "yes" if training["analogy"] else "no",
                record["split"],
                f"{theirs.success:.1%} ({theirs.reward:+.2f})" if theirs else "-",
                _percent(record["success"]),
                f"{record['finished']['mean']:.1%}",
                f"{record['reward']['mean']:+.2f}",
                f"{record['episodes']:,}",
                f"{training['preset']}, {training['teacher']}",
                f"{training['seconds'] / 60:.0f}",
            ]
        )
    return markdown(headings, rows)


def planner_table(records: Sequence[Record]) -> str:
    """The hand-made policies: the yardsticks of the worlds."""
    headings = ["world", "policy", "split", "length", "paper", "ours: reward", "success", "steps"]
    headings += ["episodes"]
    order = sorted(records, key=lambda r: (r["world"], r["agent"], r["split"], r["length"]))
    rows = []
    for record in order:
        on_grid = record["world"] == "grid"
        theirs = published.planner(record["agent"], record["length"]) if on_grid else None
        rows.append(
            [
                record["world"],
                record["agent"],
                record["split"],
                str(record["length"]),
                f"{theirs.reward:.2f} ({theirs.success:.1%})" if theirs else "-",
                f"{record['reward']['mean']:.2f} ±{record['reward']['stderr']:.2f}",
                f"{record['success']['mean']:.1%}",
                f"{record['steps']['mean']:.1f}",
                f"{record['episodes']:,}",
            ]
        )
    return markdown(headings, rows)


def _percent(measured: dict[str, float]) -> str:
    return f"{measured['mean']:.1%} ±{measured['stderr']:.1%}"


def _skill_order(record: Record) -> tuple[bool, int, bool, bool]:
    return (
        record["world"] == "block",
        SCENARIOS.index(record["scenario"]),
        record["training"]["analogy"],
        record["split"] == "unseen",
    )
