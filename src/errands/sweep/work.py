"""One run of a sweep: the commands that train and evaluate it, and how far it has come.

A sweep's folder has the layout of `results/`, so that `errands report --results FOLDER` reads it:

runs/NAME/           checkpoints, log and best weights of the run, and what its commands printed
instructions/, skills/   results of `errands evaluate`, one file for each run and split
logs/NAME.jsonl      the log of each finished run
results.csv          all results, one row for each run and cell
"""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from errands.evaluation.tidy import write_tidy
from errands.files import InUse, lock, write_atomically
from errands.records import Maybe, parse_json
from errands.sweep.plan import FROM_RUNS, JOINT, WITHOUT, Evaluation, SweepRun

RUNS, LOGS, LOG, OUTPUT, LOCK = "runs", "logs", "log.jsonl", "output.txt", ".lock"
TRAIN_LENGTH = 4
PROGRAM = (sys.executable, "-P", "-m", "errands.cli")  # -P: no module comes from the sweep's folder
LINE = {
    "frames": int,
    "total_frames": int,
    "seconds": float,
    "validation": Maybe({"success": float}),
}
TAIL = 1 << 16  # bytes at the end of a log in which its last line is found


@dataclass(frozen=True)
class SweepStep:
    """One command of a run."""

    arguments: tuple[str, ...]  # of `errands`
    result: str = ""  # the file that it writes, in the sweep's folder; "" for training


@dataclass(frozen=True)
class Progress:
    """How far the training of a run has come, from the last line of its log."""

    frames: int
    total: int
    seconds: float  # of training, so far
    success: float | None  # on the validation split, last time

    @property
    def seconds_left(self) -> float:
        return self.seconds * (self.total / max(self.frames, 1) - 1)


def steps(run: SweepRun, evaluation: Evaluation) -> list[SweepStep]:
    """The commands of a run in their order, relative to the sweep's folder.

    A run can then move to another machine: its configuration names no place.
    """
    folder = f"{RUNS}/{run.name}"
    train = ["train", run.stage]
    for name, value in run.options.items():
        if name == WITHOUT:
            train += [part for hint in str(value).split(JOINT) for part in ("--without", hint)]
        elif name in FROM_RUNS and value in run.needs:
            train += [f"--{name}", f"{RUNS}/{value}"]
        else:
            train += [f"--{name}"] if value is True else [f"--{name}", str(value)]
    found = [SweepStep((*train, "--threads", "1", "--out", folder))]
    about = ["--world", run.option("world", "grid"), "--weights", folder]
    about += ["--episodes", str(evaluation.episodes), "--seed", str(evaluation.seed)]
    if run.stage == "skill":
        for split in ("train", "unseen"):
            result = f"skills/{run.name}-{split}.json"
            options = ["--scenario", run.option("scenario", "independent"), "--split", split]
            found.append(_evaluation("skill", [*options, *about], result))
    if run.stage == "meta":
        for split in ("train", "seen", "unseen"):
            lengths = str(TRAIN_LENGTH) if split == "train" else evaluation.lengths
            result = f"instructions/{run.name}-{split}.json"
            options = ["--split", split, "--lengths", lengths]
            found.append(_evaluation("instructions", [*options, *about], result))
    return found


def _evaluation(what: str, options: list[str], result: str) -> SweepStep:
    return SweepStep(("evaluate", what, *options, "--json", result), result)


def progress(root: Path, run: SweepRun) -> Progress | None:
    """How far training has come; None before its first line."""
    try:
        with open(root / RUNS / run.name / LOG, "rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - TAIL))
            lines = file.read().decode(errors="replace").splitlines()
    except FileNotFoundError:
        return None
    latest, success = None, None
    for text in reversed(lines):
        try:
            line = parse_json(text, LINE)
        except ValueError:
            continue  # half a line: being written, or cut off
        latest = latest or line
        if line.get("validation"):
            success = line["validation"]["success"]
            break
    if latest is None:
        return None
    return Progress(latest["frames"], latest["total_frames"], latest["seconds"], success)


def is_trained(root: Path, run: SweepRun) -> bool:
    """Whether training has reached its last frame, or used its hours."""
    now = progress(root, run)
    return now is not None and (now.frames >= now.total or is_out_of_time(run, now))


def is_out_of_time(run: SweepRun, now: Progress | None) -> bool:
    return run.hours is not None and now is not None and now.seconds >= 3600 * run.hours


def steps_left(root: Path, run: SweepRun, evaluation: Evaluation) -> list[SweepStep]:
    """The commands that have not been finished yet."""
    trained = is_trained(root, run)
    return [
        step
        for step in steps(run, evaluation)
        if not ((root / step.result).is_file() if step.result else trained)
    ]


def collect(root: Path, run: SweepRun) -> None:
    """Put what a finished run leaves beside the results of the others."""
    log = root / RUNS / run.name / LOG
    if log.is_file():
        write_atomically(root / LOGS / f"{run.name}.jsonl", log.read_bytes())
    write_tidy(root)


def claim_run(root: Path, run: SweepRun) -> IO[bytes] | None:
    """Claim a run's folder; None if another sweep is at work in it.

    Commands inherit the lock, so that it is held as long as any of them lives.
    """
    folder = root / RUNS / run.name
    folder.mkdir(parents=True, exist_ok=True)
    try:
        return lock(folder / LOCK)
    except (InUse, OSError):
        return None


def start(
    root: Path,
    run: SweepRun,
    step: SweepStep,
    held: IO[bytes],
    before_start: Callable[[], None] | None = None,
) -> subprocess.Popen[bytes]:
    """Start a command with one thread, in its own session: Ctrl-C reaches the sweep alone."""
    if step.result:
        (root / step.result).parent.mkdir(parents=True, exist_ok=True)
    environment = dict(os.environ)
    for name in ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "MKL_NUM_THREADS"):
        environment[name] = "1"
    environment["OMP_WAIT_POLICY"] = "PASSIVE"
    paths = [str(Path(path).resolve()) for path in sys.path if path]
    environment["PYTHONPATH"] = os.pathsep.join(paths)
    with open(root / RUNS / run.name / OUTPUT, "ab") as output:
        output.write(f"$ errands {' '.join(step.arguments)}\n".encode())
        output.flush()
        return subprocess.Popen(
            [*PROGRAM, *step.arguments],
            cwd=root,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
            pass_fds=(held.fileno(),),
            preexec_fn=before_start,
        )


def complaint(root: Path, run: SweepRun, code: int) -> str:
    """Why a command failed: the last line that it printed, or the signal that ended it."""
    if code < 0:
        return f"ended by {signal.Signals(-code).name}"
    text = (root / RUNS / run.name / OUTPUT).read_text(encoding="utf-8", errors="replace")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1].removeprefix("errands: ") if lines else f"exit code {code}"
