"""A training run's folder: its configuration, its log, its checkpoints and its best weights.

config.json                  what was asked for; the same command again goes on from here
log.jsonl                    a line every few seconds: frames, seconds, losses, success
weights.safetensors          the best weights so far, by success on the validation split
agent.json                   what rebuilds the model around them
resume.safetensors           everything that is needed to go on exactly, and the one before it
events.out.tfevents...       the same curves for TensorBoard
"""

import json
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar

from torch.utils.tensorboard import SummaryWriter

from errands.agents.formats import lift_training
from errands.config import Training
from errands.files import write_atomically
from errands.learning import checkpoint, distributed
from errands.stages.trainer import Report, Trainer

CONFIG, LOG = "config.json", "log.jsonl"
SECONDS_BETWEEN_CHECKPOINTS = 45.0
SECONDS_BETWEEN_LINES = 5.0


class DifferentRun(Exception):
    """The folder holds a run with another configuration."""


T = TypeVar("T", bound=Trainer)


def train(
    make_trainer: Callable[[], T],
    training: Training,
    folder: Path,
    *,
    on_report: Callable[[T, Report], None],
    on_message: Callable[[str], None],
) -> T:
    """Begin or go on with a run. Ctrl-C ends and saves the iteration before it is passed on."""
    distributed.join()
    is_first = distributed.rank() == 0  # of several processes, one alone writes
    if is_first:
        _claim(folder, training)
    trainer = make_trainer()
    for complaint in trainer.resume(folder):
        on_message(f"{complaint}; going on from the previous checkpoint")
    if trainer.frames:
        on_message(f"going on from frame {trainer.frames:,}")
    if is_first:
        _forget_lines_after(folder / LOG, trainer.frames)
    journal = Journal(folder, trainer)
    between = True  # iterations: half of one could not go on exactly, so it is never saved
    try:
        with _interrupts_wait() as interrupted:
            while not trainer.finished:
                between = False
                report = trainer.iterate()
                between = True
                journal.note(report)
                on_report(trainer, report)
                if interrupted:
                    raise KeyboardInterrupt
    finally:
        journal.close(save=between)
    return trainer


@contextmanager
def _interrupts_wait() -> Iterator[list[int]]:
    """Let the first Ctrl-C only be noted; a second one interrupts at once."""
    interrupted: list[int] = []
    usual = signal.getsignal(signal.SIGINT)
    in_charge = threading.current_thread() is threading.main_thread() and callable(usual)

    def note(number: int, _: FrameType | None) -> None:
        interrupted.append(number)
        signal.signal(signal.SIGINT, usual)

    if in_charge:
        signal.signal(signal.SIGINT, note)
    try:
        yield interrupted
    finally:
        if in_charge:
            signal.signal(signal.SIGINT, usual)


class Journal:
    """Writes what a run should leave behind, each thing when it is due."""

    def __init__(self, folder: Path, trainer: Trainer) -> None:
        self._folder = folder
        self._trainer = trainer
        self._is_first = distributed.rank() == 0
        # TensorBoard, too, forgets what was written after the checkpoint that the run goes on from.
        forgotten = trainer.frames + 1
        self._board = SummaryWriter(str(folder), purge_step=forgotten) if self._is_first else None
        self._saved_at = self._written_at = time.monotonic()
        self._saved_frames = trainer.frames

    def note(self, report: Report) -> None:
        if not self._is_first:
            return
        now = time.monotonic()
        if report.validation and report.validation["success"] >= self._trainer.best:
            self._trainer.best = report.validation["success"]
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
            self._board.close()

    def _save(self) -> None:
        if self._trainer.frames != self._saved_frames:
            self._trainer.save(self._folder)
            self._saved_frames = self._trainer.frames
        self._saved_at = time.monotonic()

    def _write_line(self, report: Report) -> None:
        line: dict[str, Any] = {
            "stage": report.stage,
            "frames": report.frames,
            "seconds": round(self._trainer.seconds, 1),
            "learning_rate": report.learning_rate,
            "rollout": dict(report.rollout),
            "losses": dict(report.losses),
        }
        if report.validation:
            line["validation"] = dict(report.validation)
        with open(self._folder / LOG, "a", encoding="utf-8") as file:
            file.write(json.dumps(_rounded(line)) + "\n")
        assert self._board is not None
        for group in ("rollout", "losses", "validation"):
            for name, value in line.get(group, {}).items():
                self._board.add_scalar(f"{group}/{name}", value, report.frames)


def _claim(folder: Path, training: Training) -> None:
    """Make the folder this run's, or make sure that it already is."""
    wanted = json.loads(json.dumps(asdict(training)))
    path = folder / CONFIG
    if not path.exists():
        checkpoint.write_json(path, wanted)
        return
    try:
        found = lift_training(dict(json.loads(path.read_text())))
    except (ValueError, TypeError):
        raise DifferentRun(f"'{path}' is damaged; delete '{folder}' or choose another") from None
    if found != wanted:
        changed = [key for key in wanted | found if found.get(key) != wanted.get(key)]
        raise DifferentRun(
            f"'{folder}' holds a run with another {', '.join(changed)}; choose another --out"
        )


def _forget_lines_after(path: Path, frames: int) -> None:
    """Drop log lines that a run wrote after the checkpoint it now goes on from."""
    if not path.exists():
        return
    kept = []
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            if json.loads(line)["frames"] <= frames:
                kept.append(line + "\n")
        except (ValueError, KeyError, TypeError):
            continue  # cut short by a power cut
    write_atomically(path, "".join(kept).encode())


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    return float(f"{value:.5g}") if isinstance(value, float) else value
