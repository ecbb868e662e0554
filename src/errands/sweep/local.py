"""Runs of a sweep on this machine: one process each, as many at once as there are cores."""

import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal

from errands.sweep import work
from errands.sweep.plan import Plan, Run
from errands.sweep.work import Step

Situation = Literal["waiting", "training", "evaluating", "elsewhere", "done", "failed"]
OVER = ("done", "failed")
SECONDS_TO_SAVE = 600.0  # that an interrupted iteration may take before its process is killed


@dataclass
class Job:
    """A run, and what is happening to it."""

    run: Run
    situation: Situation = "waiting"
    message: str = ""  # why it failed, or what it waits for


class LocalSweep:
    """Starts the commands of all runs, and never lets one run stop another."""

    def __init__(self, plan: Plan, root: Path, at_once: int) -> None:
        self.plan = plan
        self.root = root
        self.jobs = {run.name: Job(run) for run in plan.runs}
        for job in self.jobs.values():
            if not work.steps_left(root, job.run, plan.evaluation):
                job.situation = "done"
        self._at_once = at_once
        self._working: dict[str, _Worker] = {}

    def poll(self) -> bool:
        """Attend to every run once; returns whether any is left."""
        for name, worker in list(self._working.items()):
            worker.poll()
            if worker.job.situation in OVER:
                del self._working[name]
        for job in self.jobs.values():
            if job.situation in ("waiting", "elsewhere") and len(self._working) < self._at_once:
                self._begin(job)
        return any(job.situation not in OVER for job in self.jobs.values())

    def _begin(self, job: Job) -> None:
        """Begin a run, unless it is finished, has to wait, or another sweep is at it."""
        if not work.steps_left(self.root, job.run, self.plan.evaluation):
            job.situation, job.message = "done", ""
            return
        needed = [self.jobs[name] for name in job.run.needs]
        failed = [other.run.name for other in needed if other.situation == "failed"]
        if failed:
            job.situation, job.message = "failed", f"{failed[0]} failed, which it needs"
            return
        # Its agent is needed, not its evaluation.
        missing = [other.run for other in needed if not work.is_trained(self.root, other.run)]
        if missing:
            job.message = f"for {missing[0].name}"
            return
        held = work.lock(self.root, job.run)
        if held is None:
            job.situation, job.message = "elsewhere", "another process is training it"
            return
        self._working[job.run.name] = _Worker(job, self.root, self.plan, held)

    def stop(self) -> Iterator[None]:
        """Let every training run save and end; yields while that takes."""
        for worker in self._working.values():
            worker.interrupt()
        deadline = time.monotonic() + SECONDS_TO_SAVE
        while any(worker.is_alive for worker in self._working.values()):
            if time.monotonic() > deadline:
                self.kill()
            yield
        for worker in self._working.values():
            worker.put_down()
        self._working.clear()

    def kill(self) -> None:
        for worker in self._working.values():
            worker.kill()


class _Worker:
    """The commands of one run, one after the other."""

    def __init__(self, job: Job, root: Path, plan: Plan, held: IO[bytes]) -> None:
        self.job = job
        self._root = root
        self._evaluation = plan.evaluation
        self._held = held
        self._process: subprocess.Popen[bytes] | None = None
        self._step: Step | None = None
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
            work.collect(self._root, self.job.run)
            self._end("done")
        elif left[0] == self._step:
            self._end("failed", f"errands {' '.join(left[0].arguments[:2])} left nothing behind")
        else:
            self._step = left[0]
            self._process = work.start(self._root, self.job.run, left[0], self._held)
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
