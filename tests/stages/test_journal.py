"""A run's folder: what it leaves behind, and that no way of stopping it changes what is learned."""

import errno
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData

from errands import files
from errands.agents.load import load
from errands.config import SkillTraining, Stage
from errands.files import DamagedFile, InUse
from errands.interrupts import Interrupted
from errands.learning import distributed
from errands.learning.checkpoint import PREVIOUS, RESUME
from errands.learning.rollout import SkillRollout
from errands.stages import journal
from errands.stages.journal import CONFIG, LOCK, LOG, DifferentRun
from errands.stages.run import train
from errands.stages.skill import SkillTrainer
from errands.stages.trainer import IterationReport
from twins.training import ITERATION, LENGTH, assert_same, tiny


@pytest.fixture(autouse=True)
def always_due(monkeypatch: pytest.MonkeyPatch) -> None:
    """Checkpoints and lines after every iteration, not by the clock."""
    monkeypatch.setattr(journal, "SECONDS_BETWEEN_CHECKPOINTS", 0.0)
    monkeypatch.setattr(journal, "SECONDS_BETWEEN_LINES", 0.0)


def ignore(trainer: SkillTrainer, report: IterationReport) -> None:
    pass


def run(
    folder: Path,
    training: SkillTraining | None = None,
    on_report: Callable[[SkillTrainer, IterationReport], None] = ignore,
) -> tuple[SkillTrainer, list[str]]:
    messages: list[str] = []
    wanted = training or tiny()
    trainer = train(
        lambda: SkillTrainer(wanted),
        wanted,
        folder,
        on_report=on_report,
        on_message=messages.append,
    )
    return trainer, messages


def stop_after(iterations: int) -> Callable[[SkillTrainer, IterationReport], None]:
    """As if Ctrl-C were pressed then."""

    def watch(trainer: SkillTrainer, report: IterationReport) -> None:
        if trainer.iteration == iterations:
            raise KeyboardInterrupt

    return watch


def lines_of(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / LOG).read_text().splitlines()]


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> tuple[SkillTrainer, Path]:
    folder = tmp_path_factory.mktemp("uninterrupted")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(journal, "SECONDS_BETWEEN_LINES", 0.0)
        patch.setattr(journal, "SECONDS_BETWEEN_CHECKPOINTS", 1000.0)
        return run(folder)[0], folder


def test_what_a_run_leaves_behind(uninterrupted: tuple[SkillTrainer, Path]) -> None:
    trainer, folder = uninterrupted
    names = {entry.name for entry in folder.iterdir()}
    (events,) = (name for name in names if name.startswith("events.out.tfevents"))
    assert names - {events} == {CONFIG, LOG, LOCK, RESUME, "weights.safetensors", "agent.json"}
    assert json.loads((folder / CONFIG).read_text())["seed"] == 0
    lines = lines_of(folder)
    assert [line["frames"] for line in lines] == [k * ITERATION for k in range(1, LENGTH + 1)]
    assert all({"stage", "seconds", "rollout", "losses"} <= line.keys() for line in lines)
    seconds = [line["seconds"] for line in lines]
    assert seconds == sorted(seconds)
    assert trainer.finished


def test_tensorboard_compares_settings(uninterrupted: tuple[SkillTrainer, Path]) -> None:
    """In the same run as the curves, not in another folder."""
    _, folder = uninterrupted
    events = EventAccumulator(str(folder)).Reload()
    plugins = events.summary_metadata
    written = {tag for tag in plugins if tag.startswith("_hparams_/")}
    assert written == {"_hparams_/experiment", "_hparams_/session_start_info"}
    content = plugins["_hparams_/session_start_info"].plugin_data.content
    settings = HParamsPluginData.FromString(content).session_start_info.hparams
    assert settings["seed"].number_value == 0
    assert settings["scenario"].string_value == "independent"
    assert settings["distill/frames"].number_value == 3 * ITERATION
    about = plugins["_hparams_/experiment"].plugin_data.content
    (metric,) = HParamsPluginData.FromString(about).experiment.metric_infos
    assert metric.name.tag in events.Tags()["scalars"]


def test_the_best_weights_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By strict success on the validation split; among equals the latest."""
    successes = iter([0.2, 0.7, 0.7, 0.1, 0.3, 0.2])
    kept: list[torch.Tensor] = []

    def validate(trainer: SkillTrainer, phase: Any) -> dict[str, float]:
        kept.append(trainer.average.policy.weight.detach().clone())
        return {"success": next(successes)}

    monkeypatch.setattr(SkillTrainer, "validate", validate)
    trainer, _ = run(tmp_path, tiny(validate_every=ITERATION))
    assert trainer.best == 0.7
    agent = load(tmp_path)
    assert torch.equal(agent.skill.policy.weight, kept[2])
    assert agent.description["frames"] == 3 * ITERATION
    assert agent.description["validation"] == {"success": 0.7}


def test_running_a_finished_run_again_changes_nothing(
    uninterrupted: tuple[SkillTrainer, Path],
) -> None:
    trainer, folder = uninterrupted
    before = {path: path.read_bytes() for path in folder.glob("*.safetensors")}
    log = (folder / LOG).read_text()
    again, messages = run(folder)
    assert_same(again, trainer)
    assert messages == [f"resuming from frame {LENGTH * ITERATION:,}"]
    assert {path: path.read_bytes() for path in folder.glob("*.safetensors")} == before
    assert (folder / LOG).read_text() == log


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


def test_a_second_process_in_the_folder_is_refused(tmp_path: Path) -> None:
    """As long as the first is at work, and no longer."""
    refused: list[InUse] = []

    def start_another(trainer: SkillTrainer, report: IterationReport) -> None:
        if trainer.iteration == 2:
            with pytest.raises(InUse) as other:
                run(tmp_path)
            refused.append(other.value)

    run(tmp_path, on_report=start_another)
    (refusal,) = refused
    assert f"'{tmp_path}' is in use by process {os.getpid()} on " in str(refusal)
    assert "\n" not in str(refusal)
    assert [line["frames"] for line in lines_of(tmp_path)] == [
        k * ITERATION for k in range(1, LENGTH + 1)
    ]
    run(tmp_path)


def test_a_file_system_without_locks_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_locks(*_: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(files.fcntl, "flock", no_locks)
    trainer, messages = run(tmp_path)
    assert trainer.finished
    assert messages == [f"no locks in '{tmp_path}' (No locks available): start no second run there"]


@pytest.mark.parametrize("name", [RESUME, LOG, "weights.safetensors"])
def test_a_full_disk_names_the_file_and_keeps_the_last_checkpoint(
    name: str, tmp_path: Path, uninterrupted: tuple[SkillTrainer, Path]
) -> None:
    """The kernel refuses to write to /dev/full as to a full disk."""
    log = b""

    def fill_the_disk(trainer: SkillTrainer, report: IterationReport) -> None:
        nonlocal log
        if trainer.iteration == 3:
            log = (tmp_path / LOG).read_bytes()
            unfinished = f".{name}.{socket.gethostname()}-{os.getpid()}.unfinished"
            written = tmp_path / (LOG if name == LOG else unfinished)
            written.unlink(missing_ok=True)
            written.symlink_to("/dev/full")

    with pytest.raises(OSError, match="make some, then run the same command again") as refused:
        run(tmp_path, on_report=fill_the_disk)
    assert refused.value.filename == str(tmp_path / name)
    if name == LOG:
        (tmp_path / LOG).unlink()
        (tmp_path / LOG).write_bytes(log)
    trainer, messages = run(tmp_path)
    assert messages == [f"resuming from frame {3 * ITERATION:,}"]
    assert_same(trainer, uninterrupted[0])
    weights = "weights.safetensors"
    assert (tmp_path / weights).read_bytes() == (uninterrupted[1] / weights).read_bytes()


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


def cut_in_half(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])


def test_a_damaged_checkpoint_is_told_and_the_previous_one_used(
    tmp_path: Path, uninterrupted: tuple[SkillTrainer, Path]
) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, on_report=stop_after(4))
    assert (tmp_path / PREVIOUS).exists()
    cut_in_half(tmp_path / RESUME)
    trainer, (damaged, goes_on) = run(tmp_path)
    assert RESUME in damaged
    assert damaged.endswith("resuming from the previous checkpoint")
    assert goes_on == f"resuming from frame {3 * ITERATION:,}"
    assert_same(trainer, uninterrupted[0])
    frames = [line["frames"] for line in lines_of(tmp_path)]
    assert frames == [k * ITERATION for k in range(1, LENGTH + 1)]  # none of them twice


def test_tensorboard_shows_the_frames_of_the_log(tmp_path: Path) -> None:
    """After a crash it forgets what came after the checkpoint, too."""
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, on_report=stop_after(4))
    os.replace(tmp_path / PREVIOUS, tmp_path / RESUME)
    run(tmp_path)
    board = EventAccumulator(str(tmp_path)).Reload()
    shown = [event.step for event in board.Scalars("rollout/success")]
    assert shown == [k * ITERATION for k in range(1, LENGTH + 1)]
    assert shown == [line["frames"] for line in lines_of(tmp_path)]


def test_two_damaged_checkpoints_stop_the_run_and_leave_it_alone(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, on_report=stop_after(3))
    for name in (RESUME, PREVIOUS):
        cut_in_half(tmp_path / name)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(DamagedFile, match="start again"):
        run(tmp_path)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize(
    ("other", "named"),
    [
        (tiny(seed=1), "another seed;"),
        (tiny(analogy=False, clip=0.3), "another analogy, clip;"),
        (replace(tiny(), network=replace(tiny().network, hidden=9)), "another network;"),
    ],
)
def test_another_configuration_is_refused(other: SkillTraining, named: str, tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, on_report=stop_after(1))
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(DifferentRun, match=named) as refused:
        run(tmp_path, other)
    assert "\n" not in str(refused.value)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_run_of_another_version_is_refused(tmp_path: Path) -> None:
    """One whose configuration had a field more."""
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, on_report=stop_after(1))
    config = json.loads((tmp_path / CONFIG).read_text())
    (tmp_path / CONFIG).write_text(json.dumps({**config, "temperature": 2}))
    with pytest.raises(DifferentRun, match="another temperature;"):
        run(tmp_path)


@pytest.mark.parametrize("content", [b"", b'{"world": "gr', b"[1, 2]", b"3", b"\xff\xfe"])
def test_a_damaged_configuration_is_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / CONFIG).write_bytes(content)
    with pytest.raises(DifferentRun, match="damaged") as refused:
        run(tmp_path)
    assert "\n" not in str(refused.value)


def test_a_damaged_log_loses_only_its_damaged_lines(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, on_report=stop_after(2))
    with open(tmp_path / LOG, "ab") as file:
        file.write(b'\xff\xfe\n[]\n{"stage": 1}\n{"stage": "dist')
    run(tmp_path)
    frames = [line["frames"] for line in lines_of(tmp_path)]
    assert frames == [k * ITERATION for k in range(1, LENGTH + 1)]


def test_only_the_first_of_several_processes_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(distributed, "rank", lambda: 1)
    trainer, messages = run(tmp_path / "run")
    assert trainer.finished
    assert messages == []
    assert not (tmp_path / "run").exists()


# Of a process that is killed: long enough to be met while it is at work.
LONG = tiny(finetune=Stage(40 * ITERATION, 1e-2, 5e-3), validate_every=1000 * ITERATION)
KILLED = """
import sys
from errands import cli, presets
from errands.stages import journal
from test_journal import LONG

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
