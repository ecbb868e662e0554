"""No way of stopping a run changes what is learned: Ctrl-C, other signals, errors, kill -9."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from errands.config import Stage
from errands.interrupts import Interrupted
from errands.learning.checkpoint import PREVIOUS
from errands.learning.rollout import SkillRollout
from errands.stages import journal
from errands.stages.skill import SkillTrainer
from twins.runs import lines_of, run, stop_after
from twins.training import ITERATION, assert_same, tiny

pytestmark = pytest.mark.usefixtures("always_due")


@pytest.mark.parametrize("stop", [2, 4])
def test_ctrl_c_saves_and_the_same_command_goes_on(
    stop: int, tmp_path: Path, uninterrupted: tuple[SkillTrainer, Path]
) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, on_report=stop_after(stop))
    trainer, messages = run(tmp_path)
    assert messages == [f"resuming from frame {stop * ITERATION:,}"]
    assert_same(trainer, uninterrupted[0])
    assert [line["losses"] for line in lines_of(tmp_path)] == [
        line["losses"] for line in lines_of(uninterrupted[1])
    ]
    weights = "weights.safetensors"
    assert (tmp_path / weights).read_bytes() == (uninterrupted[1] / weights).read_bytes()


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """As in a terminal: shells let what they start in the background ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupt_within(
    iteration: int, presses: int, monkeypatch: pytest.MonkeyPatch, number: int = signal.SIGINT
) -> None:
    """Press Ctrl-C, or send another signal, while that iteration's batch is being collected."""
    collect, count = SkillRollout.collect, 0

    def interrupted(rollout: SkillRollout, *arguments: Any, **options: Any) -> Any:
        nonlocal count
        count += 1
        collected = collect(rollout, *arguments, **options)
        for _ in range(presses if count == iteration else 0):
            signal.raise_signal(number)
        return collected

    monkeypatch.setattr(SkillRollout, "collect", interrupted)


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_within_an_iteration_waits_for_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, uninterrupted: tuple[SkillTrainer, Path]
) -> None:
    interrupt_within(3, 1, monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    trainer, messages = run(tmp_path)
    assert messages == [f"resuming from frame {3 * ITERATION:,}"]
    assert_same(trainer, uninterrupted[0])


@pytest.mark.usefixtures("ctrl_c")
@pytest.mark.parametrize(
    ("number", "before"),
    [
        (signal.SIGTERM, signal.SIG_DFL),  # from a scheduler, and twice: `timeout` does that
        (signal.SIGHUP, signal.SIG_DFL),  # the terminal was closed
        (signal.SIGINT, signal.SIG_IGN),  # started in the background by a script
    ],
)
def test_other_signals_save_like_ctrl_c(
    number: int,
    before: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    uninterrupted: tuple[SkillTrainer, Path],
) -> None:
    interrupt_within(3, 1 if number == signal.SIGINT else 2, monkeypatch, number)
    usual = signal.signal(number, before)
    try:
        with pytest.raises(Interrupted) as stopped:
            run(tmp_path)
        assert signal.getsignal(number) == before
    finally:
        signal.signal(number, usual)
    assert stopped.value.number == number
    trainer, messages = run(tmp_path)
    assert messages == [f"resuming from frame {3 * ITERATION:,}"]
    assert_same(trainer, uninterrupted[0])


def test_a_hang_up_that_nohup_switched_off_stays_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupt_within(2, 1, monkeypatch, signal.SIGHUP)
    usual = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        assert run(tmp_path)[0].finished
    finally:
        signal.signal(signal.SIGHUP, usual)


@pytest.mark.usefixtures("ctrl_c")
@pytest.mark.parametrize("due", [0.0, 1000.0])
def test_a_second_ctrl_c_does_not_wait_and_saves_no_half_iteration(
    due: float,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    uninterrupted: tuple[SkillTrainer, Path],
) -> None:
    monkeypatch.setattr(journal, "SECONDS_BETWEEN_CHECKPOINTS", due)
    interrupt_within(3, 2, monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path)
    trainer, messages = run(tmp_path)
    assert messages == ([f"resuming from frame {2 * ITERATION:,}"] if due == 0 else [])
    assert_same(trainer, uninterrupted[0])


def test_an_error_within_an_iteration_saves_no_half_iteration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, uninterrupted: tuple[SkillTrainer, Path]
) -> None:
    monkeypatch.setattr(journal, "SECONDS_BETWEEN_CHECKPOINTS", 1000.0)
    step, updates = torch.optim.Adam.step, 0

    def fail_later(*arguments: Any) -> Any:
        nonlocal updates
        updates += 1
        if updates == 4:  # the second update of the second iteration
            raise MemoryError
        return step(*arguments)

    monkeypatch.setattr(torch.optim.Adam, "step", fail_later)
    with pytest.raises(MemoryError):
        run(tmp_path)
    assert_same(run(tmp_path)[0], uninterrupted[0])


# Of a process that is killed: long enough to be met while it is at work.
LONG = tiny(finetune=Stage(40 * ITERATION, 1e-2, 5e-3), validate_every=1000 * ITERATION)
KILLED = """
import sys
from errands import cli, presets
from errands.stages import journal
from test_stopping import LONG

journal.SECONDS_BETWEEN_CHECKPOINTS = journal.SECONDS_BETWEEN_LINES = 0.0
presets.skill_training = lambda *_, **__: LONG
sys.exit(cli.main(sys.argv[1:]))
"""


@pytest.mark.slow
def test_kill_9_loses_at_most_what_came_after_the_last_checkpoint(tmp_path: Path) -> None:
    """Each run is a process of its own: sums depend on how a process has set up its threads."""
    folder, uninterrupted = tmp_path / "run", tmp_path / "uninterrupted"
    command = [sys.executable, "-c", KILLED, "train", "skill", "--preset", "debug", "--out"]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    process = subprocess.Popen(
        [*command, str(folder)], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        deadline = time.monotonic() + 300
        while not (folder / PREVIOUS).exists() and process.poll() is None:
            assert time.monotonic() < deadline
            time.sleep(0.001)
    finally:
        process.kill()
        said = process.communicate()
    assert process.returncode == -signal.SIGKILL, said
    for out in (folder, uninterrupted):
        ended = subprocess.run([*command, str(out)], env=env, capture_output=True, text=True)
        assert ended.returncode == 0, ended.stderr
        assert ("resuming from frame" in ended.stderr) == (out == folder)
    assert_same(run(folder, LONG)[0], run(uninterrupted, LONG)[0])
    frames = [line["frames"] for line in lines_of(folder)]
    assert frames == [k * ITERATION for k in range(1, 44)]
