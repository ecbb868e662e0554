"""The commands of one run, one after the other, in processes that end when the run should."""

import signal
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal

from errands.sweep import work
from errands.sweep.plan import Evaluation, SweepRun
from errands.sweep.work import SweepStep

Situation = Literal["waiting", "training", "evaluating", "elsewhere", "done", "failed"]
OVER = ("done", "failed")


@dataclass
class Job:
    """A run, and what is happening to it."""

    run: SweepRun
    situation: Situation = "waiting"
    message: str = ""  # why it failed, or what it waits for


class Worker:
    """The commands of one run, one after the other."""

    def __init__(
        self,
        job: Job,
        root: Path,
        evaluation: Evaluation,
        held: IO[bytes],
        before_start: Callable[[], None] | None = None,
    ) -> None:
        """`held` is the lock of the run's folder, which is given back at the end.

        Each command calls `before_start` in its own process before it starts.
        """
        self.job = job
        self._root = root
        self._evaluation = evaluation
        self._held = held
        self._before_start = before_start
        self._process: subprocess.Popen[bytes] | None = None
        self._step: SweepStep | None = None
        self._is_cut_short = False
        self._next()

    @property
    def is_alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def poll(self) -> None:
        """Go on to the next command where one has ended."""
        assert self._process is not None
        run = self.job.run
        code = self._process.poll()
        if code is None:
            in_training = self.job.situation == "training"
            if in_training and work.is_out_of_time(run, work.progress(self._root, run)):
                self._cut_short()
        elif code == 0 or self._is_cut_short:
            self._next()
        else:
            self._end("failed", work.complaint(self._root, run, code))

    def _next(self) -> None:
        left = work.steps_left(self._root, self.job.run, self._evaluation)
        if not left:
            self._end("done")
        elif left[0] == self._step:
            self._end("failed", f"errands {' '.join(left[0].arguments[:2])} left nothing behind")
        else:
            self._step = left[0]
            self._process = work.start(
                self._root, self.job.run, left[0], self._held, self._before_start
            )
            self.job.situation = "evaluating" if left[0].result else "training"
            self.job.message = ""

    def _end(self, situation: Situation, message: str = "") -> None:
        self.job.situation, self.job.message = situation, message
        self._held.close()

    def _cut_short(self) -> None:
        """End training whose hours are over; it saves, and its best agent is evaluated."""
        if not self._is_cut_short:
            self._is_cut_short = True
            self.interrupt()

    def put_down(self) -> None:
        """Leave the run to whoever resumes it."""
        self._end("waiting")

    def interrupt(self) -> None:
        if self.is_alive:
            assert self._process is not None
            self._process.send_signal(signal.SIGINT)

    def kill(self) -> None:
        if self.is_alive:
            assert self._process is not None
            self._process.kill()
