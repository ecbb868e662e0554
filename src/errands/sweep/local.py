"""Runs of a sweep on this machine: one process each, as many at once as there are cores."""

import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from errands.sweep import work
from errands.sweep.plan import Evaluation, SweepPlan
from errands.sweep.worker import OVER, Job, Worker

SECONDS_TO_SAVE = 600.0  # that an interrupted iteration may take before its process is killed


class LocalSweep:
    """Starts the commands of all runs, and never lets one run stop another."""

    def __init__(self, plan: SweepPlan, root: Path, at_once: int) -> None:
        self.plan = plan
        self.root = root
        self.jobs = {run.name: Job(run) for run in plan.runs}
        for job in self.jobs.values():
            if not work.steps_left(root, job.run, plan.evaluation):
                job.situation = "done"
        self._at_once = at_once
        self._working: dict[str, Worker] = {}

    def poll(self) -> bool:
        """Attend to every run once; returns whether any is left."""
        for name, worker in list(self._working.items()):
            worker.poll()
            if worker.job.situation in OVER:
                del self._working[name]
            if worker.job.situation == "done":
                work.collect(self.root, worker.job.run)
        for job in self.jobs.values():
            if job.situation in ("waiting", "elsewhere") and len(self._working) < self._at_once:
                self._begin(job)
        return any(job.situation not in OVER for job in self.jobs.values())

    def _begin(self, job: Job) -> None:
        """Begin a run, unless it is finished, has to wait, or another sweep is at it."""
        if not is_ready(job, self.jobs, self.root, self.plan.evaluation):
            return
        held = work.claim_run(self.root, job.run)
        if held is None:
            job.situation, job.message = "elsewhere", "another process is training it"
            return
        self._working[job.run.name] = Worker(job, self.root, self.plan.evaluation, held)

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


def is_ready(job: Job, jobs: Mapping[str, Job], root: Path, evaluation: Evaluation) -> bool:
    """Whether a run can begin; if not, the job says why."""
    if not work.steps_left(root, job.run, evaluation):
        job.situation, job.message = "done", ""
        return False
    needed = [jobs[name] for name in job.run.needs]
    failed = [other.run.name for other in needed if other.situation == "failed"]
    if failed:
        job.situation, job.message = "failed", f"{failed[0]} failed, which it needs"
        return False
    # Its agent is needed, not its evaluation.
    missing = [other.run for other in needed if not work.is_trained(root, other.run)]
    if missing:
        job.message = f"for {missing[0].name}"
    return not missing
