"""All results as one tidy table: one row for each run and cell, for `pandas.read_csv`."""

import csv
import io
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from errands.evaluation.tables import Record, read_records
from errands.files import write_atomically

TABLE = "results.csv"
FOLDERS = ("skills", "instructions", "planners")  # of results
# Which run, and which cell; then what was measured, each with its standard error over episodes.
RUN = ("world", "agent", "scenario", "preset", "analogy", "teacher", "in_lists", "soft", "hints")
CELL = ("split", "length", "with_all", "forgiving", "sizes", "run_softly")
METRICS = ("success", "finished", "reward", "steps", "completed", "events", "events_used")
TRAINED = ("frames", "total_frames", "training_seconds")
ORIGIN = ("episodes", "test_seed", *TRAINED, "version", "commit")
COLUMNS = (
    *RUN,
    "seed",
    *CELL,
    *(column for metric in METRICS for column in (metric, f"{metric}_stderr")),
    *ORIGIN,
)


def write_tidy(results: Path, out: Path | None = None) -> Path:
    """Write results.csv: beside the folders with results, or into another folder."""
    records = [record for name in FOLDERS for record in read_records(results / name)]
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(tidy_rows(records))
    path = (out or results) / TABLE
    write_atomically(path, text.getvalue().encode())
    return path


def tidy_rows(records: Iterable[Record]) -> list[dict[str, Any]]:
    """A row for each record, in the order of its columns; what does not apply is empty."""
    rows = [_row(record) for record in records]
    return sorted(rows, key=lambda row: [str(value) for value in row.values()])


def _row(record: Record) -> dict[str, Any]:
    training = record.get("training") or {}
    facts: dict[str, Any] = {**record, **training}
    facts["agent"] = training.get("agent", record["agent"])
    if "scenario" in record:
        facts["agent"] = "skill"
    facts["seed"] = training.get("seed")  # of training; test worlds have their own
    facts["test_seed"] = record["seed"]
    facts["soft"] = training.get("soft")
    facts["run_softly"] = record.get("soft")
    facts["training_seconds"] = training.get("seconds")
    if facts.get("hints") is not None:
        facts["hints"] = "+".join(facts["hints"])
    if record.get("sizes"):
        facts["sizes"] = "..".join(map(str, record["sizes"]))
    for metric in METRICS:
        measured = record.get(metric)
        if measured is not None:
            facts[metric], facts[f"{metric}_stderr"] = measured["mean"], measured["stderr"]
    return {column: facts.get(column) for column in COLUMNS}
