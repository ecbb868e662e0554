"""Sweeps on one machine: nothing twice, nothing lost, and no run stops another."""

import csv
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from errands.sweep import work
from errands.sweep.local import LocalSweep
from errands.sweep.plan import SweepPlan, make_plan
from twins import sweeping

SKILL = {"stage": "skill", "seed": "0..1"}
AGENTS = {"skill": "grid-skill-independent-seed-{seed}", "seed": "0..1"}


@pytest.fixture(autouse=True)
def small_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work, "PROGRAM", (sys.executable, sweeping.__file__))


def plan_of(*groups: dict[str, object]) -> SweepPlan:
    return make_plan(groups, {"episodes": 5})


def finish(sweep: LocalSweep, seconds: float = 60.0) -> list[int]:
    """Poll to the end; returns how many runs were at work each time."""
    at_work = []
    deadline = time.monotonic() + seconds
    while sweep.poll():
        assert time.monotonic() < deadline
        states = [job.situation for job in sweep.jobs.values()]
        at_work.append(sum(state in ("training", "evaluating") for state in states))
        time.sleep(0.02)
    return at_work


def situations(sweep: LocalSweep) -> dict[str, str]:
    return {name: job.situation for name, job in sweep.jobs.items()}


def starts(root: Path, name: str) -> list[int]:
    """From which frame training began or was resumed, each time."""
    return [int(text) for text in (root / "runs" / name / "starts.txt").read_text().split()]


def test_trains_evaluates_and_collects(tmp_path: Path) -> None:
    sweep = LocalSweep(plan_of(SKILL, AGENTS), tmp_path, 2)
    at_work = finish(sweep)
    assert set(situations(sweep).values()) == {"done"}
    assert max(at_work) == 2
    name = "grid-dynamic-seed-1"
    for split in ("train", "seen", "unseen"):
        assert (tmp_path / "instructions" / f"{name}-{split}.json").is_file()
    assert (tmp_path / "skills" / "grid-skill-independent-seed-0-unseen.json").is_file()
    log = (tmp_path / "logs" / f"{name}.jsonl").read_text()
    assert log == (tmp_path / "runs" / name / "log.jsonl").read_text()
    with open(tmp_path / "results.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 2 * 2 + 2 * 3
    assert {row["hints"] for row in rows} == {"a+b"}
    assert {row["test_seed"] for row in rows} == {"500000"}


def test_a_run_waits_for_its_skill(tmp_path: Path) -> None:
    """And begins as soon as that is trained, not after its evaluation."""
    sweep = LocalSweep(plan_of(AGENTS, SKILL), tmp_path, 4)
    sweep.poll()
    assert sweep.jobs["grid-dynamic-seed-0"].situation == "waiting"
    assert sweep.jobs["grid-dynamic-seed-0"].message == "for grid-skill-independent-seed-0"
    finish(sweep)
    assert set(situations(sweep).values()) == {"done"}


def test_what_is_done_is_skipped(tmp_path: Path) -> None:
    plan = plan_of(SKILL)
    finish(LocalSweep(plan, tmp_path, 2))
    (tmp_path / "skills" / "grid-skill-independent-seed-1-unseen.json").unlink()
    again = LocalSweep(plan, tmp_path, 2)
    assert list(situations(again).values()) == ["done", "waiting"]
    finish(again)
    assert set(situations(again).values()) == {"done"}
    assert starts(tmp_path, "grid-skill-independent-seed-1") == [0]  # only evaluated once more


def test_one_bad_run_stops_no_other(tmp_path: Path) -> None:
    groups = {"agent": ["short", "long"], "without": ["fails", ""]}, {"skill": "grid-none"}
    sweep = LocalSweep(plan_of(*groups), tmp_path, 2)
    finish(sweep)
    failed = {name: job.message for name, job in sweep.jobs.items() if job.situation == "failed"}
    assert failed == {
        "grid-short-without-fails-seed-0": "it cannot be trained",
        "grid-long-without-fails-seed-0": "it cannot be trained",
        "grid-dynamic-seed-0": "there is no grid-none",
    }
    assert sweep.jobs["grid-short-seed-0"].situation == "done"


def test_a_run_fails_with_the_one_that_it_needs(tmp_path: Path) -> None:
    groups = (
        {"stage": "skill", "without": "fails"},
        {"skill": "grid-skill-independent-without-fails-seed-0"},
        {"agent": "short"},
    )
    sweep = LocalSweep(plan_of(*groups), tmp_path, 2)
    finish(sweep)
    assert list(situations(sweep).values()) == ["failed", "failed", "done"]
    assert "grid-skill-independent-without-fails-seed-0 failed" in (
        sweep.jobs["grid-dynamic-seed-0"].message
    )


def test_a_crash_is_resumed_by_the_same_command(tmp_path: Path) -> None:
    plan = plan_of({"without": "crash"})
    name = "grid-dynamic-without-crash-seed-0"
    sweep = LocalSweep(plan, tmp_path, 1)
    finish(sweep)
    assert sweep.jobs[name].message == "ended by SIGKILL"
    sweep = LocalSweep(plan, tmp_path, 1)
    finish(sweep)
    assert situations(sweep) == {name: "done"}
    assert starts(tmp_path, name) == [0, sweeping.FRAMES // 2]


def test_stopping_saves_every_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECONDS_A_FRAME", "0.2")
    plan = plan_of(SKILL)
    sweep = LocalSweep(plan, tmp_path, 2)
    names = list(sweep.jobs)
    deadline = time.monotonic() + 30
    while not all((tmp_path / "runs" / name / "log.jsonl").exists() for name in names):
        assert sweep.poll()
        assert time.monotonic() < deadline
        time.sleep(0.02)
    for _ in sweep.stop():
        time.sleep(0.02)
    monkeypatch.setenv("SECONDS_A_FRAME", "0")
    again = LocalSweep(plan, tmp_path, 2)
    finish(again)
    assert set(situations(again).values()) == {"done"}
    for name in names:
        first, second = starts(tmp_path, name)
        assert first == 0 < second < sweeping.FRAMES


@pytest.mark.slow
def test_hours_end_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The small program counts a minute a frame."""
    monkeypatch.setenv("SECONDS_A_FRAME", "0.3")
    plan = plan_of({"hours": 3 / 60})
    sweep = LocalSweep(plan, tmp_path, 1)
    finish(sweep)
    assert situations(sweep) == {"grid-dynamic-seed-0": "done"}
    now = work.progress(tmp_path, plan.runs[0])
    assert now is not None
    assert 3 <= now.frames < sweeping.FRAMES


@pytest.mark.slow
def test_two_sweeps_share_a_folder(tmp_path: Path) -> None:
    plan = plan_of({"agent": ["dynamic", "short", "long"]})
    sweeps = LocalSweep(plan, tmp_path, 1), LocalSweep(plan, tmp_path, 1)
    deadline = time.monotonic() + 30
    met, left = False, [True]
    while any(left):
        left = [sweep.poll() for sweep in sweeps]
        met |= any("elsewhere" in situations(sweep).values() for sweep in sweeps)
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert met
    for name in sweeps[0].jobs:
        assert starts(tmp_path, name) == [0]


def test_the_lock_outlives_a_sweep_that_is_killed(tmp_path: Path) -> None:
    """What it started goes on training, and no other process may do the same."""
    run = plan_of({}).runs[0]
    held = work.claim_run(tmp_path, run)
    assert held is not None
    process = subprocess.Popen(["sleep", "60"], pass_fds=(held.fileno(),))
    held.close()
    assert work.claim_run(tmp_path, run) is None
    process.send_signal(signal.SIGKILL)
    process.wait()
    again = work.claim_run(tmp_path, run)
    assert again is not None
    again.close()


def test_progress_reads_the_last_whole_line(tmp_path: Path) -> None:
    run = plan_of({}).runs[0]
    assert work.progress(tmp_path, run) is None
    log = tmp_path / "runs" / run.name / "log.jsonl"
    log.parent.mkdir(parents=True)
    log.write_text(
        '{"frames": 10, "total_frames": 40, "seconds": 5, "validation": {"success": 0.5}}\n'
        '{"frames": 20, "total_frames": 40, "seconds": 10.0}\n{"frames": 30, "tot'
    )
    now = work.progress(tmp_path, run)
    assert now == work.Progress(20, 40, 10.0, 0.5)
    assert now.seconds_left == 10.0
