"""Sweeps on a Ray cluster of two nodes on this machine, one of which dies under way."""

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import ray
from ray.cluster_utils import Cluster

from errands.sweep import cluster as on_cluster
from errands.sweep import work
from errands.sweep.cluster import Keeper, NoCluster, RaySweep, connect, files_of
from errands.sweep.plan import SweepPlan, make_plan
from twins import sweeping

# Ray leaves sockets and pipes of its processes to the garbage collector.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


def plan_of(*groups: dict[str, object]) -> SweepPlan:
    return make_plan(groups, {"episodes": 5})


@pytest.fixture
def two_nodes(monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    """A head without cores for runs, and two nodes with one core each; runs are small ones."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path for path in sys.path if path))
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    monkeypatch.setenv("SECONDS_A_FRAME", "0.8")
    program = (sys.executable, sweeping.__file__)

    def use_small_program() -> None:
        work.PROGRAM = program
        on_cluster.SECONDS_BETWEEN_SENDS = 0.5

    cluster = Cluster(
        initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False}
    )
    try:
        ray.init(
            cluster.address,
            log_to_driver=False,
            runtime_env={"worker_process_setup_hook": use_small_program},
        )
        yield cluster
    finally:
        ray.shutdown()
        cluster.shutdown()


def wait_for(sweep: RaySweep, name: str, frames: int, seconds: float = 120.0) -> None:
    """Poll until the keeper has the log of a run up to some frame."""
    deadline = time.monotonic() + seconds
    while True:
        sweep.poll()
        now = work.progress(sweep.root, sweep.jobs[name].run)
        if now is not None and now.frames >= frames:
            return
        assert time.monotonic() < deadline, sweep.jobs[name]
        time.sleep(0.05)


def finish(sweep: RaySweep, seconds: float = 240.0) -> None:
    deadline = time.monotonic() + seconds
    while sweep.poll():
        assert time.monotonic() < deadline, sweep.jobs
        time.sleep(0.1)


def starts(root: Path, name: str) -> list[int]:
    return [int(text) for text in (root / "runs" / name / "starts.txt").read_text().split()]


@pytest.mark.slow
def test_a_node_that_dies_loses_no_run(two_nodes: Cluster, tmp_path: Path) -> None:
    """Its run resumes from its last checkpoint on the other node, and all results are gathered.

    A meta controller waits for its skill, which it gets without a common file system; a run that
    fails stops no other.
    """
    doomed: Any = two_nodes.add_node(num_cpus=1)
    skill = "grid-skill-independent-seed-0"
    plan = plan_of({"stage": "skill"}, {"skill": skill}, {"agent": "flat", "without": "fails"})
    sweep = RaySweep(plan, tmp_path)
    wait_for(sweep, skill, 3)
    assert sweep.jobs[skill].situation == "training"
    assert sweep.jobs["grid-dynamic-seed-0"].message == f"for {skill}"
    two_nodes.remove_node(doomed, allow_graceful=False)
    two_nodes.add_node(num_cpus=1)
    finish(sweep)
    assert {name: job.situation for name, job in sweep.jobs.items()} == {
        skill: "done",
        "grid-dynamic-seed-0": "done",
        "grid-flat-without-fails-seed-0": "failed",
    }
    assert sweep.jobs["grid-flat-without-fails-seed-0"].message == "it cannot be trained"
    first, second = starts(tmp_path, skill)
    assert first == 0 < second < sweeping.FRAMES
    assert (tmp_path / "instructions" / "grid-dynamic-seed-0-unseen.json").is_file()
    assert len((tmp_path / "results.csv").read_text().splitlines()) == 1 + 2 + 3


@pytest.mark.slow
def test_stopping_gathers_what_was_saved(two_nodes: Cluster, tmp_path: Path) -> None:
    """Runs under way save and end; those that have not begun never do."""
    two_nodes.add_node(num_cpus=1)
    name = "grid-dynamic-seed-0"
    sweep = RaySweep(plan_of({"seed": "0..1"}), tmp_path)
    wait_for(sweep, name, 2)
    for _ in sweep.stop():
        time.sleep(0.05)
    saved = int((tmp_path / "runs" / name / "resume.json").read_text())
    assert 2 <= saved < sweeping.FRAMES
    assert not (tmp_path / "runs" / "grid-dynamic-seed-1").exists()
    again = RaySweep(sweep.plan, tmp_path)
    wait_for(again, name, sweeping.FRAMES)
    assert starts(tmp_path, name) == [0, saved]
    assert not (tmp_path / "runs" / "grid-dynamic-seed-1").exists()  # there is one core


@pytest.mark.slow
def test_a_run_that_waits_for_the_keeper_keeps_its_core(two_nodes: Cluster) -> None:
    """A task that waits in its main thread would lend it to the next run."""
    two_nodes.add_node(num_cpus=1)

    class Slow:
        def answer(self) -> None:
            time.sleep(12)  # long enough for Ray to start another task

    def ask(slow: Any) -> tuple[float, float]:
        began = time.time()
        on_cluster._answer(slow.answer.remote())
        return began, time.time()

    slow: Any = ray.remote(Slow).options(num_cpus=0, max_concurrency=2).remote()
    task: Any = ray.remote(num_cpus=1)(ask)
    first, second = sorted(ray.get([task.remote(slow), task.remote(slow)]))
    assert second[0] >= first[1]


def test_the_keeper_gives_and_takes_files_of_a_run(tmp_path: Path) -> None:
    """Those of a run whose name begins like it are not among them."""
    short, _ = plan_of({"agent": "short", "seed": [1, 10]}).runs
    keeper = Keeper(str(tmp_path))
    assert keeper.fetch(short) == {}
    mine = {
        "runs/grid-short-seed-1/skill/agent.json": b"{}",
        "instructions/grid-short-seed-1-seen.json": b"[]",
    }
    keeper.send(short, "training", mine)
    assert keeper.situations() == {"grid-short-seed-1": "training"}
    for name in (
        "runs/grid-short-seed-10/agent.json",
        "instructions/grid-short-seed-10-seen.json",
        "runs/grid-short-seed-1/.lock",
        "runs/grid-short-seed-1/.log.jsonl.12.unfinished",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    assert keeper.fetch(short) == mine
    assert sorted(files_of(tmp_path, short)) == sorted(mine)


def test_addresses_that_lead_nowhere_get_one_line() -> None:
    with pytest.raises(NoCluster, match="with --ray auto"):
        connect("ray://127.0.0.1:10001")
    with pytest.raises(NoCluster, match="there is no cluster at 'nonsense'"):
        connect("nonsense")
