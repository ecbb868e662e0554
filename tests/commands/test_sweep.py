"""`errands sweep`: what it refuses in one line, and a sweep from beginning to end."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from errands.cli import main
from errands.sweep import work
from twins import sweeping

COMMAND = """
import sys
from errands.sweep import work
work.PROGRAM = (sys.executable, sys.argv.pop(1))
from errands.cli import main
sys.exit(main())
"""


@pytest.fixture(autouse=True)
def small_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work, "PROGRAM", (sys.executable, sweeping.__file__))


def complaint(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The one line of standard error that a wrong command line gets."""
    assert main(["sweep", *arguments]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("errands: ")
    assert said.err.count("\n") == 1
    return said.err


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        ([], "no runs are named"),
        (["none.toml"], "none.toml"),
        (["--stage", "skil"], "did you mean skill"),
        (["--agent", "dynamic,clever"], "run grid-clever-seed-0:"),
        (["--stage", "skill", "--agent", "flat"], "--agent"),
        (["--seeds", "few"], "write 0..4"),
        (["--seeds", "0", "--jobs", "-1"], "--jobs -1 is out of range"),
        (["--seeds", "0", "--episodes", "0"], "--episodes 0 is out of range"),
        (["--seeds", "0", "--lengths", "20..1"], "counts down"),
        (["--seeds", "0", "--task", "1"], "--task 1 is out of range"),
        (["--seeds", "0", "--ray", "auto", "--jobs", "2"], "--ray and --jobs"),
        (["--seeds", "0", "--ray", "ray://127.0.0.1:1"], "with --ray auto"),
        (["--seeds", "0", "--only", "*short*"], "--only *short* matches no run"),
    ],
)
def test_wrong_input_gets_one_line(
    arguments: list[str], hint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "sweep"
    assert hint in complaint(capsys, *arguments, "--out", str(folder))
    assert not folder.exists()


def test_a_file_and_options_exclude_each_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text("[[runs]]\n")
    assert "a file and --agent exclude" in complaint(capsys, str(plan), "--agent", "short")
    assert f"--out {plan} is a file" in complaint(capsys, str(plan), "--out", str(plan))


def test_lists_the_commands_of_every_run(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--agent", "dynamic,short", "--without", "glance+briefing", "--seeds", "3"]
    assert main(["sweep", *options, "--list", "--episodes", "7", "--lengths", "1,20"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert [line for line in said if line.startswith("#")] == [
        "# 0  grid-dynamic-without-glance+briefing-seed-3",
        "# 1  grid-short-without-glance+briefing-seed-3",
    ]
    assert said[6] == (
        "errands train meta --agent short --without glance --without briefing --seed 3 --threads 1 "
        "--out runs/grid-short-without-glance+briefing-seed-3"
    )
    assert said[8] == (
        "errands evaluate instructions --split seen --lengths 1,20 --world grid --weights "
        "runs/grid-short-without-glance+briefing-seed-3 --episodes 7 --seed 500000 --json "
        "instructions/grid-short-without-glance+briefing-seed-3-seen.json"
    )


@pytest.mark.slow
def test_a_sweep_from_beginning_to_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    usual = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    folder = tmp_path / "sweep"
    options = ["--agent", "dynamic,short", "--without", "fails,", "--out", str(folder)]
    try:
        assert main(["sweep", *options, "--only", "*dynamic*"]) == 1
        assert "1 of 2 runs done" in capsys.readouterr().err
        assert main(["sweep", *options, "--task", "3", "--jobs", "1"]) == 0
    finally:
        signal.signal(signal.SIGINT, usual[0])
        signal.signal(signal.SIGTERM, usual[1])
    assert "1 of 1 runs done; results in" in capsys.readouterr().err
    assert sorted(path.name for path in (folder / "logs").iterdir()) == [
        "grid-dynamic-seed-0.jsonl",
        "grid-short-seed-0.jsonl",
    ]
    assert main(["sweep", *options, "--status"]) == 0
    assert "2 of 4 done" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_saves_all_runs(number: signal.Signals, tmp_path: Path) -> None:
    """Also if it is sent to a background job of a shell, which ignores Ctrl-C itself."""
    paths = os.pathsep.join(path for path in sys.path if path)
    command = [sys.executable, "-c", COMMAND, sweeping.__file__, "sweep", "--seeds", "0..1"]
    process = subprocess.Popen(
        [*command, "--jobs", "2", "--out", str(tmp_path)],
        env={**os.environ, "PYTHONPATH": paths, "SECONDS_A_FRAME": "0.3"},
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
    )
    logs = [tmp_path / "runs" / f"grid-dynamic-seed-{seed}" / "log.jsonl" for seed in (0, 1)]
    deadline = time.monotonic() + 60
    while not all(log.exists() for log in logs):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(number)
    said = process.communicate(timeout=60)[1]
    assert process.returncode == 130
    assert "saved; run the same command again to resume" in said
    for log in logs:
        frames = len(log.read_text().splitlines())
        assert 0 < frames < sweeping.FRAMES
        assert (log.parent / "resume.json").read_text() == str(frames)
