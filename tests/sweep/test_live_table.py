"""A sweep on the screen: every run has a row, and the time left follows from runs like it."""

import io
from pathlib import Path

import pytest
from rich.console import Console

from errands.sweep import live_table
from errands.sweep.plan import make_plan
from errands.sweep.work import Progress
from errands.sweep.worker import Job


def jobs_of(*groups: dict[str, object]) -> dict[str, Job]:
    return {run.name: Job(run) for run in make_plan(groups, {}).runs}


def test_every_run_has_a_row_and_those_at_work_come_first(tmp_path: Path) -> None:
    jobs = jobs_of({"agent": ["dynamic", "short", "long"]})
    jobs["grid-long-seed-0"].situation = "training"
    jobs["grid-short-seed-0"].situation, jobs["grid-short-seed-0"].message = "failed", "[no] skill"
    log = tmp_path / "runs" / "grid-long-seed-0" / "log.jsonl"
    log.parent.mkdir(parents=True)
    log.write_text(
        '{"frames": 25, "total_frames": 100, "seconds": 1200, "validation": {"success": 0.5}}\n'
    )
    console = Console(width=120, record=True, file=io.StringIO())
    console.print(live_table.table(jobs, tmp_path, 2))
    said = console.export_text()
    rows = [line for line in said.splitlines() if "seed-0" in line]
    first = [cell.strip() for cell in rows[0].strip("│").split("│")]
    assert first == ["grid-long-seed-0", "training", "25%", "50.0%", "20 min", "1 h 00 min"]
    assert "failed [no] skill" in rows[1]
    assert "grid-dynamic-seed-0" in rows[2]
    # Beside the hour of the run under way, the other is expected to take 80 minutes.
    assert "0 of 3 done, 1 failed, about 1 h 20 min left" in said


def test_time_left() -> None:
    jobs = jobs_of({"seed": "0..3"}, {"stage": "skill"}, {"agent": "flat", "hours": 0.1})
    none = dict.fromkeys(jobs)
    assert live_table.seconds_left(jobs, none, 2) is None
    jobs["grid-dynamic-seed-0"].situation = "done"
    found: dict[str, Progress | None] = {
        **none,
        "grid-dynamic-seed-0": Progress(100, 100, 1000.0, 1.0),
        "grid-dynamic-seed-1": Progress(50, 100, 600.0, None),
        "grid-flat-seed-0": Progress(10, 100, 300.0, None),
    }
    each = 600 + 2 * (1000 + 1200 + 360) / 3 + 60  # and a skill, of which nothing is known yet
    usual = (1000 + 1200 + 360) / 3
    assert live_table.seconds_left(jobs, found, 2) == pytest.approx((each + usual) / 2)
    assert live_table.seconds_left(jobs, found, 100) == pytest.approx(usual)


@pytest.mark.parametrize(
    ("seconds", "said"), [(40, "40 s"), (59.4, "59 s"), (720, "12 min"), (7500, "2 h 05 min")]
)
def test_durations(seconds: float, said: str) -> None:
    assert live_table.duration(seconds) == said


def test_without_a_terminal_there_is_a_line_for_each_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_table, "SECONDS_BETWEEN_LOOKS", 0.0)
    jobs = jobs_of({})
    job = jobs["grid-dynamic-seed-0"]
    changes = iter(["training", "training", "done"])

    def poll() -> bool:
        job.situation = next(changes)  # type: ignore[assignment]
        return job.situation != "done"

    console = Console(width=120, record=True, file=io.StringIO())
    live_table.show_sweep(jobs, tmp_path, poll, console, 1)
    said = [line[10:] for line in console.export_text().splitlines()]
    assert said == ["grid-dynamic-seed-0: training", "grid-dynamic-seed-0: done"]
