"""A run's folder: what it leaves behind, and what is refused, repaired or said of it."""

import errno
import json
import os
import socket
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData

from errands import files
from errands.agents.load import load
from errands.config import SkillTraining
from errands.files import DamagedFile, InUse
from errands.learning import distributed
from errands.learning.checkpoint import PREVIOUS, RESUME
from errands.stages.journal import CONFIG, LOCK, LOG, DifferentRun
from errands.stages.skill import SkillTrainer
from errands.stages.trainer import IterationReport
from twins.runs import lines_of, run, stop_after
from twins.training import ITERATION, LENGTH, assert_same, tiny

pytestmark = pytest.mark.usefixtures("always_due")


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
    assert trainer.selection.best == 0.7
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
