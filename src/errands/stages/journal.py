"""A training run's folder: its configuration, its log, its checkpoints and its best weights.

config.json                  what was asked for; the same command again resumes the run
log.jsonl                    a line every few seconds: frames, seconds, losses, success
weights.safetensors          the best weights so far, by the validation split (selection.py)
agent.json                   what rebuilds the model around them
resume.safetensors           everything that is needed to resume exactly, and the one before it
events.out.tfevents...       the same curves for TensorBoard
"""

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from torch.utils.tensorboard import SummaryWriter
from torch.utils.tensorboard.summary import hparams

from errands.agents.formats import lift_training
from errands.config import Training
from errands.files import DamagedFile, InUse, lock, naming_what_is_full, write_atomically
from errands.learning import checkpoint, distributed
from errands.records import one_line, parse_json, read_json
from errands.stages.trainer import IterationReport, Trainer

CONFIG, LOG, LOCK = "config.json", "log.jsonl", ".training.lock"
CURVES = "events.out.tfevents"  # how the names of TensorBoard's files begin
BEST_BY = "validation/success"  # the curve that TensorBoard compares runs by
SECONDS_BETWEEN_CHECKPOINTS = 45.0
SECONDS_BETWEEN_LINES = 5.0


class DifferentRun(Exception):
    """The folder contains a run with another configuration."""


class Journal:
    """Writes what a run leaves behind, each thing when it is due."""

    def __init__(self, folder: Path, trainer: Trainer[Any, Any]) -> None:
        self._folder = folder
        self._trainer = trainer
        self._is_first = distributed.rank() == 0  # of several processes, only one writes
        self._board: SummaryWriter | None = None
        if self._is_first:
            # Log and TensorBoard forget what was written after the checkpoint that is resumed.
            _forget_lines_after(folder / LOG, trainer.frames)
            self._board = SummaryWriter(str(folder), purge_step=trainer.frames + 1)
            _write_settings(self._board, trainer.training)
        self._saved_at = self._written_at = time.monotonic()
        self._saved_frames = trainer.frames

    def write(self, report: IterationReport) -> None:
        """Whatever is due after an iteration."""
        if not self._is_first:
            return
        now = time.monotonic()
        if report.is_best:
            assert report.validation is not None
            self._trainer.save_agent(self._folder, report.validation)
        if report.validation or now - self._written_at >= SECONDS_BETWEEN_LINES:
            self._write_line(report)
            self._written_at = now
        if now - self._saved_at >= SECONDS_BETWEEN_CHECKPOINTS:
            self._save()

    def close(self, *, save: bool) -> None:
        if self._is_first:
            if save:
                self._save()
            assert self._board is not None
            with naming_what_is_full(self._folder / CURVES):
                self._board.close()

    def _save(self) -> None:
        if self._trainer.frames != self._saved_frames:
            self._trainer.save(self._folder)
            self._saved_frames = self._trainer.frames
        self._saved_at = time.monotonic()

    def _write_line(self, report: IterationReport) -> None:
        line: dict[str, Any] = {
            "stage": report.stage,
            "frames": report.frames,
            "total_frames": self._trainer.total_frames,
            "seconds": round(self._trainer.seconds, 1),
            "learning_rate": report.learning_rate,
            "rollout": dict(report.rollout),
            "losses": dict(report.losses),
        }
        if report.validation:
            line["validation"] = dict(report.validation)
        path = self._folder / LOG
        with naming_what_is_full(path), open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps(_rounded(line)) + "\n")
        assert self._board is not None
        with naming_what_is_full(self._folder / CURVES):
            for group in ("rollout", "losses", "validation"):
                for name, value in line.get(group, {}).items():
                    self._board.add_scalar(f"{group}/{name}", value, report.frames)


@contextmanager
def sole_use(folder: Path, on_message: Callable[[str], None]) -> Iterator[None]:
    """Keep other processes from training in the folder as long as this one does."""
    if distributed.rank() > 0:
        yield
        return
    folder.mkdir(parents=True, exist_ok=True)
    try:
        held = lock(folder / LOCK)
    except InUse as other:
        raise InUse(
            f"'{folder}' is in use by {other}; wait for it to end, or choose another --out"
        ) from None
    except OSError as error:
        if (folder / LOCK).exists():  # the folder can be written to: what fails is the lock
            on_message(f"no locks in '{folder}' ({error.strerror}): start no second run there")
            yield
            return
        raise
    with held:
        yield


def claim(folder: Path, training: Training) -> None:
    """Make the folder this run's, or make sure that it already is."""
    if distributed.rank() > 0:
        return
    wanted = json.loads(json.dumps(asdict(training)))
    path = folder / CONFIG
    if not path.exists():
        checkpoint.save_json(path, wanted)
        return
    try:
        found = lift_training(read_json(path, {}))
    except DamagedFile as error:
        raise DifferentRun(f"{error}; delete '{folder}' or choose another") from None
    if found != wanted:
        changed = [one_line(key) for key in wanted | found if found.get(key) != wanted.get(key)]
        raise DifferentRun(
            f"'{folder}' contains a run with another {', '.join(changed)}; choose another --out"
        )


def _write_settings(board: SummaryWriter, training: Training) -> None:
    """Let TensorBoard's HPARAMS page compare runs by their settings.

    `SummaryWriter.add_hparams` would make another run of them, in a folder of its own.
    """
    writer: Any = board.file_writer
    settings = _settings(asdict(training))
    experiment, start, _ = hparams(settings, {BEST_BY: 0.0})  # type: ignore[no-untyped-call]
    writer.add_summary(experiment)
    writer.add_summary(start)


def _settings(values: Mapping[str, Any], prefix: str = "") -> dict[str, bool | int | float | str]:
    """Settings by their path: {"network/conv1": 4}."""
    found: dict[str, bool | int | float | str] = {}
    for name, value in values.items():
        if isinstance(value, tuple | list):
            value = {str(k): item for k, item in enumerate(value)}
        if isinstance(value, Mapping):
            found |= _settings(value, f"{prefix}{name}/")
        elif isinstance(value, bool | int | float | str):
            found[prefix + name] = value
    return found


def _forget_lines_after(path: Path, frames: int) -> None:
    """Drop log lines that were written after the checkpoint that is resumed."""
    if not path.exists():
        return
    kept = []
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            if parse_json(line, {"frames": int})["frames"] <= frames:
                kept.append(line + "\n")
        except ValueError:
            continue  # cut short by a power cut
    write_atomically(path, "".join(kept).encode())


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    return float(f"{value:.5g}") if isinstance(value, float) else value
