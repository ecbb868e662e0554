"""The tidy table: one row for each record, with the columns that tell runs and cells apart."""

import csv
from pathlib import Path

from errands.evaluation.tidy import COLUMNS, tidy_rows, write_tidy

RESULTS = Path(__file__).parent.parent.parent / "results"


def test_a_row_has_run_cell_and_metrics() -> None:
    record = {
        "world": "grid",
        "agent": "dynamic-soft",
        "split": "unseen",
        "length": 20,
        "with_all": True,
        "forgiving": False,
        "sizes": [7, 10],
        "soft": True,
        "episodes": 100,
        "seed": 500_000,
        "seconds": 3.5,
        "success": {"mean": 0.5, "stderr": 0.05},
        "reward": {"mean": -3.0, "stderr": None},
        "commit": "abc",
        "training": {
            "agent": "dynamic",
            "seed": 4,
            "soft": True,
            "seconds": 99.0,
            "frames": 10,
            "hints": ["briefing", "glance"],
        },
    }
    (row,) = tidy_rows([record])
    assert tuple(row) == COLUMNS
    found = {name: value for name, value in row.items() if value is not None}
    assert found == {
        "world": "grid",
        "agent": "dynamic",
        "soft": True,
        "hints": "briefing+glance",
        "seed": 4,
        "split": "unseen",
        "length": 20,
        "with_all": True,
        "forgiving": False,
        "sizes": "7..10",
        "run_softly": True,
        "success": 0.5,
        "success_stderr": 0.05,
        "reward": -3.0,
        "episodes": 100,
        "test_seed": 500_000,
        "frames": 10,
        "training_seconds": 99.0,
        "commit": "abc",
    }


def test_planners_and_skills_have_rows_too() -> None:
    about = {"world": "grid", "split": "train", "episodes": 1, "seed": 0}
    planner, skill = tidy_rows(
        [
            {**about, "agent": "near-optimal", "length": 4},
            {**about, "agent": "x", "scenario": "independent", "training": {"seed": 1}},
        ]
    )
    assert (planner["agent"], planner["seed"]) == ("near-optimal", None)
    assert (skill["agent"], skill["scenario"], skill["seed"]) == ("skill", "independent", 1)


def test_the_committed_results_make_one_table(tmp_path: Path) -> None:
    for name in ("skills", "instructions", "planners"):
        (tmp_path / name).symlink_to(RESULTS / name)
    path = write_tidy(tmp_path)
    assert path.read_text() == (RESULTS / "results.csv").read_text(), "stale: errands report"
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    assert path == tmp_path / "results.csv"
    assert {row["agent"] for row in rows} >= {"skill", "dynamic", "flat", "near-optimal"}
    assert all(0 <= float(row["success"]) <= 1 for row in rows)
