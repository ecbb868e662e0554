"""Runs of a sweep on a Ray cluster: one task a run, and everything gathered in one folder.

Nodes need no common file system. A task works in a folder of its node and sends what changes there
to the `Keeper`, an actor beside the process that asked, which writes it into the sweep's folder.
When a worker or a node dies, Ray starts the task once more elsewhere; it fetches the run's folder
from the keeper, and training resumes from the last checkpoint in it.
"""

import ctypes
import logging
import os
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import ray
from ray.exceptions import RayError, TaskCancelledError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from errands.files import write_together
from errands.sweep import work
from errands.sweep.local import is_ready
from errands.sweep.plan import Evaluation, SweepPlan, SweepRun
from errands.sweep.worker import OVER, Job, Situation, Worker

RETRIES = 20  # of a run whose worker or node dies
SECONDS_BETWEEN_SENDS = 10.0
LEFT_BEHIND = (".unfinished", ".lock")  # how the names of files end that stay on the node
DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG of prctl(2)


class NoCluster(Exception):
    """There is no cluster at the address; the message is one line."""


def connect(address: str) -> None:
    """Join the cluster at an address, or, with "auto", the one of this machine."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    if address.startswith("ray://"):
        raise NoCluster("run the sweep on a node of the cluster, with --ray auto")
    try:
        ray.init(address, log_to_driver=False, logging_level=logging.ERROR)
    except (ConnectionError, RayError, ValueError, RuntimeError) as error:
        reason = " ".join(str(error).split())
        raise NoCluster(f"there is no cluster at '{address}' ({reason:.120})") from None


class Keeper:
    """Has the sweep's folder: gives files of runs to tasks, and writes what tasks send."""

    def __init__(self, root: str) -> None:
        self._root = Path(root)
        self._situations: dict[str, Situation] = {}
        self._is_stopping = False

    def fetch(self, run: SweepRun) -> dict[str, bytes]:
        """All files of a run, by their path in the sweep's folder."""
        return {name: (self._root / name).read_bytes() for name in files_of(self._root, run)}

    def send(self, run: SweepRun, situation: Situation, contents: dict[str, bytes]) -> bool:
        """Write files of a run, each whole or not at all; returns whether the run is to go on."""
        write_together({self._root / name: content for name, content in contents.items()})
        self._situations[run.name] = situation
        return not self._is_stopping

    def stop(self) -> None:
        """Let all runs save and end."""
        self._is_stopping = True

    def situations(self) -> dict[str, Situation]:
        """What runs that have begun are doing."""
        return self._situations


def files_of(root: Path, run: SweepRun) -> list[str]:
    """Files of a run in a sweep's folder: those of its own folder, and its results."""
    found = [path for path in (root / work.RUNS / run.name).rglob("*") if path.is_file()]
    found += root.glob(f"*/{run.name}-*.json")
    return [str(path.relative_to(root)) for path in found if not path.name.endswith(LEFT_BEHIND)]


def carry_out(
    run: SweepRun, needed: list[SweepRun], evaluation: Evaluation, keeper: Any
) -> tuple[Situation, str]:
    """Train and evaluate a run on this node; returns how it ended, and why."""
    with tempfile.TemporaryDirectory(prefix="errands-") as scratch:
        root = Path(scratch)
        for other in (*needed, run):
            fetched: dict[str, bytes] = _answer(keeper.fetch.remote(other))
            write_together({root / name: content for name, content in fetched.items()})
        sender = _Sender(root, run, keeper)
        held = work.claim_run(root, run)
        assert held is not None  # nobody else knows this folder
        job = Job(run)
        worker = Worker(job, root, evaluation, held, before_start=_end_with_parent)
        while job.situation not in OVER:
            if not sender.send(job.situation):
                worker.interrupt()
                while worker.is_alive:
                    time.sleep(0.1)
                worker.put_down()
                break
            _wait(worker)
        sender.send(job.situation)
        return job.situation, job.message


def _answer(reference: Any) -> Any:
    """What the keeper answers. A task that waits in its main thread lends its core to others."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(ray.get, reference).result()


def _wait(worker: Worker) -> None:
    """Attend to the worker until files are due to be sent, or the run is over."""
    due = time.monotonic() + SECONDS_BETWEEN_SENDS
    situation = worker.job.situation
    while time.monotonic() < due and worker.job.situation == situation:
        worker.poll()
        time.sleep(0.2)


class _Sender:
    """Sends the files of a run that have changed since it sent them last."""

    def __init__(self, root: Path, run: SweepRun, keeper: Any) -> None:
        self._root, self._run, self._keeper = root, run, keeper
        self._sent = {name: self._version(name) for name in files_of(root, run)}

    def _version(self, name: str) -> tuple[int, int]:
        about = (self._root / name).stat()
        return about.st_mtime_ns, about.st_size

    def send(self, situation: Situation) -> bool:
        """Returns whether the run is to go on."""
        changed: dict[str, bytes] = {}
        for name in files_of(self._root, self._run):
            try:
                version = self._version(name)
                if self._sent.get(name) != version:
                    changed[name] = (self._root / name).read_bytes()
                    self._sent[name] = version
            except FileNotFoundError:  # replaced at this moment: the next time
                continue
        goes_on: bool = _answer(self._keeper.send.remote(self._run, situation, changed))
        return goes_on


def _end_with_parent() -> None:
    """Let a command end with its worker, however that ends; and let an interrupt reach it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(DIE_WITH_PARENT, signal.SIGKILL)


class RaySweep:
    """Gives every run that can begin to the cluster, and never lets one run stop another."""

    def __init__(self, plan: SweepPlan, root: Path) -> None:
        self.plan = plan
        self.root = root
        self.jobs = {run.name: Job(run) for run in plan.runs}
        here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
        keeper = ray.remote(Keeper).options(num_cpus=0, scheduling_strategy=here)
        self._keeper: Any = keeper.remote(str(root))
        self._carry_out: Any = ray.remote(num_cpus=1, max_retries=RETRIES)(carry_out)
        self._given: dict[Any, Job] = {}  # by the reference to what the task will return

    @property
    def cores(self) -> int:
        resources: dict[str, float] = ray.cluster_resources()  # type: ignore[no-untyped-call]
        return max(1, int(resources.get("CPU", 1)))

    def poll(self) -> bool:
        """Attend to every run once; returns whether any is left."""
        given = list(self._given)
        ended = ray.wait(given, num_returns=len(given), timeout=0)[0] if given else []
        for reference in ended:
            self._end(self._given.pop(reference), reference)
        known: Mapping[str, Situation] = ray.get(self._keeper.situations.remote())
        for job in self._given.values():
            if known.get(job.run.name) in ("training", "evaluating"):
                job.situation, job.message = known[job.run.name], ""
        at_work = {job.run.name for job in self._given.values()}
        for name, job in self.jobs.items():
            if job.situation == "waiting" and name not in at_work:
                self._begin(job)
        return any(job.situation not in OVER for job in self.jobs.values())

    def _begin(self, job: Job) -> None:
        if not is_ready(job, self.jobs, self.root, self.plan.evaluation):
            return
        needed = [self.jobs[name].run for name in job.run.needs]
        task = self._carry_out.options(name=job.run.name)
        reference = task.remote(job.run, needed, self.plan.evaluation, self._keeper)
        self._given[reference] = job
        job.message = "for a free core"

    def _end(self, job: Job, reference: Any) -> None:
        try:
            job.situation, job.message = ray.get(reference)
        except RayError as error:
            reason = str(error).strip().splitlines()[-1]
            job.situation, job.message = "failed", f"{type(error).__name__}: {reason}"
        if job.situation == "done":
            work.collect(self.root, job.run)

    def stop(self) -> Iterator[None]:
        """Let every run save and end, and gather what they saved; yields while that takes."""
        ray.get(self._keeper.stop.remote())
        for reference, job in self._given.items():
            if job.situation == "waiting":  # for a free core
                ray.cancel(reference)
        while self._given:
            for reference in ray.wait(list(self._given), timeout=0)[0]:
                job = self._given.pop(reference)
                try:
                    job.situation, job.message = ray.get(reference)
                except TaskCancelledError:  # it had not begun
                    job.situation = "waiting"
                except RayError:
                    job.situation = "failed"
            yield

    def kill(self) -> None:
        for reference in self._given:
            ray.cancel(reference, force=True)
