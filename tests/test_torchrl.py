"""TorchRL's wrapper around a batch of worlds returns what single worlds return."""

import subprocess
import sys

import pytest

from errands.worlds.registration import environments

ROLLOUT = """
import sys

import gymnasium
import numpy as np
from torchrl.envs import GymWrapper

for name in sys.argv[1:]:
    batch = gymnasium.make_vec(name, num_envs=2, autoreset_mode="disabled")
    env = GymWrapper(batch, categorical_action_encoding=True)
    env.set_seed(7)
    told = env.rollout(100, break_when_any_done=False)
    ends = 0
    for i in range(2):
        single = gymnasium.make(name)
        single.reset(seed=7 + i)  # TorchRL seeds by a reset,
        seen, _ = single.reset()  # and resets again
        for t in range(100):
            for key, value in seen.items():
                np.testing.assert_array_equal(told[key][i, t].numpy().astype(value.dtype), value)
            seen, reward, done, cut_off, _ = single.step(int(told["action"][i, t]))
            following = told["next"][i, t]
            for key, value in seen.items():  # the last observation of an episode, too
                np.testing.assert_array_equal(following[key].numpy().astype(value.dtype), value)
            assert abs(float(following["reward"]) - reward) < 1e-6
            assert bool(following["done"]) == (done or cut_off)
            if done or cut_off:
                ends += 1
                seen, _ = single.reset()
    assert ends >= 2
"""


@pytest.mark.slow
def test_a_rollout_is_that_of_single_worlds() -> None:
    """In a process of its own: importing TorchRL warns of what it will change."""
    names = [f"errands:{name}" for name in environments()]
    command = [sys.executable, "-W", "ignore", "-c", ROLLOUT, *names]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
