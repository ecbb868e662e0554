"""Worlds in other processes: small batches use no OpenMP, which does not survive a fork."""

import os
import subprocess
import sys

import pytest

BEGIN = """
import multiprocessing

import gymnasium

import errands
from errands.worlds.registration import environments


def step(name):
    env = gymnasium.make(name)
    env.reset(seed=1)
    env.step(0)
    return env


IDS = list(environments())
parents = [step(name) for name in IDS]
"""
END = """
print("every worker has worked")
"""

ASYNC = """
for name in IDS:
    envs = gymnasium.vector.AsyncVectorEnv([lambda: gymnasium.make(name)] * 2, context="fork")
    envs.reset(seed=1)
    envs.step([0, 0])
    envs.close()
"""
FORKED = """
forked = multiprocessing.get_context("fork")
for name in IDS:
    worker = forked.Process(target=step, args=[name])
    worker.start()
    worker.join(60)
    assert worker.exitcode == 0, (name, worker.exitcode)
"""
SUBPROC = """
from stable_baselines3.common.vec_env import SubprocVecEnv

for name in IDS:
    envs = SubprocVecEnv([lambda: gymnasium.make(name)] * 2, start_method="fork")
    envs.reset()
    envs.step([0, 0])
    envs.close()
"""
# The parent's worlds go on in the worker, and so does its planner.
INHERITED = """
from errands.worlds.planner import first_optimal


def act(env):
    worlds = env.unwrapped.privileged_worlds()
    for _ in range(100):
        action = first_optimal(worlds.plan_lists("near-optimal"))[0]
        *_, done, cut_off, _ = env.step(action)
        if done or cut_off:
            env.reset()


forked = multiprocessing.get_context("fork")
for env in parents:
    act(env)
    worker = forked.Process(target=act, args=[env])
    worker.start()
    worker.join(60)
    assert worker.exitcode == 0, (env, worker.exitcode)
"""


SCRIPTS = {"async": ASYNC, "subproc": SUBPROC, "forked": FORKED, "inherited": INHERITED}


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS.values(), ids=SCRIPTS)
def test_workers_can_be_forked_after_a_reset_in_the_parent(script: str) -> None:
    """In a process of its own: what other tests have started does not matter there."""
    environment = os.environ | {"NUMBA_NUM_THREADS": "2", "OMP_NUM_THREADS": "2"}
    run = subprocess.run(
        [sys.executable, "-c", BEGIN + script + END],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout == "every worker has worked\n"
