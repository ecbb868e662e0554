"""The report follows from result files alone, and stands beside the papers' numbers."""

import json
from pathlib import Path
from typing import Any

import pytest

from errands.commands.problem import Problem
from errands.commands.report import Report
from errands.evaluation import published
from errands.evaluation.report import write_report
from errands.evaluation.tables import planner_table, read_records, skill_table


def skill_record(**changed: Any) -> dict[str, Any]:
    training = {"analogy": True, "preset": "fast", "teacher": "planner", "seconds": 630.0}
    return {
        "world": "grid",
        "scenario": "independent",
        "split": "unseen",
        "success": {"mean": 0.987, "stderr": 0.002},
        "finished": {"mean": 0.999, "stderr": 0.001},
        "reward": {"mean": 0.49, "stderr": 0.01},
        "episodes": 5000,
        "training": training,
        **changed,
    }


def test_published_cells_are_the_papers() -> None:
    assert published.skill("grid", "independent", "unseen", analogy=True) == (0.55, 0.996)
    collapse = published.skill("block", "object-dependent", "unseen", analogy=False)
    assert collapse == pytest.approx((-5.0, 0.022))
    assert published.skill("grid", "inter-extrapolation", "unseen", analogy=True) is None
    assert published.planner("near-optimal", 20) == (-10.3, 0.993)
    assert published.planner("shortest-path", 7) is None


def test_a_skill_stands_beside_the_papers() -> None:
    row = skill_table([skill_record()]).splitlines()[-1]
    for shown in ("99.6% (+0.55)", "98.7% ±0.2%", "+0.49", "5,000", "fast, planner", "| 10 |"):
        assert shown in row


def test_what_the_paper_does_not_have_is_a_dash() -> None:
    row = skill_table([skill_record(scenario="inter-extrapolation")]).splitlines()[-1]
    assert "| - | 98.7%" in row


def test_planners_of_the_block_world_have_no_counterpart() -> None:
    record = {
        "world": "block",
        "agent": "near-optimal",
        "split": "seen",
        "length": 20,
        "reward": {"mean": -13.24, "stderr": 0.04},
        "success": {"mean": 1.0, "stderr": 0.0},
        "steps": {"mean": 178.3, "stderr": 0.3},
        "episodes": 2000,
    }
    assert "| - | -13.24 ±0.04 |" in planner_table([record])
    assert "| -10.30 (99.3%) | -13.24" in planner_table([record | {"world": "grid"}])


def test_records_come_one_a_file_or_in_lists(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps({"k": 1}))
    (tmp_path / "b.json").write_text(json.dumps([{"k": 2}, {"k": 3}]))
    assert [record["k"] for record in read_records(tmp_path)] == [1, 2, 3]


def test_a_report_shows_tables_and_figures(tmp_path: Path) -> None:
    results = tmp_path / "results"
    (results / "skills").mkdir(parents=True)
    (results / "logs").mkdir()
    (results / "skills" / "one.json").write_text(json.dumps(skill_record()))
    line = {"seconds": 60.0, "validation": {"success": 0.5}}
    (results / "logs" / "run.jsonl").write_text(json.dumps(line) + "\n")
    path = write_report(results, tmp_path / "out")
    text = path.read_text()
    assert "98.7% ±0.2%" in text
    for name in ("values.png", "embedding.png", "learning.png"):
        assert f"figures/{name}" in text
        assert (tmp_path / "out" / "figures" / name).stat().st_size > 5000


def test_a_missing_folder_is_told_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(Problem, match="no such folder"):
        Report(results=tmp_path / "nowhere").execute()
