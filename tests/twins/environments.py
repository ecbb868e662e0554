"""Gymnasium environments under test, and what an agent is told by them."""

from typing import Any

import gymnasium
import numpy as np

import errands  # noqa: F401  (registers the ids)
from errands.worlds.gym import ErrandsEnv
from errands.worlds.gym_vector import ErrandsVectorEnv
from errands.worlds.planner import SHORTEST_PATH, first_optimal


def make(name: str, **options: Any) -> ErrandsEnv:
    env = gymnasium.make(name, **options).unwrapped
    assert isinstance(env, ErrandsEnv)
    return env


def make_vec(name: str, count: int = 3, **options: Any) -> ErrandsVectorEnv:
    """Episodes follow each other in the same step, so that every step is one of an episode."""
    env = gymnasium.make_vec(name, num_envs=count, **{"autoreset_mode": "same-step"} | options)
    assert isinstance(env, ErrandsVectorEnv)
    return env


def planned(env: ErrandsEnv | ErrandsVectorEnv) -> np.ndarray[Any, np.dtype[np.intp]]:
    """The first optimal action of each world."""
    return first_optimal(env.privileged_worlds().plan_lists(SHORTEST_PATH))


def assert_equal(one: Any, other: Any) -> None:
    """Observations, rewards and infos are the same, to the last bit."""
    assert type(one) is type(other)
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        for key in one:
            assert_equal(one[key], other[key])
    elif isinstance(one, np.ndarray) and one.dtype == object:
        for a, b in zip(one, other, strict=True):
            assert_equal(a, b)
    elif isinstance(one, list | tuple):
        assert len(one) == len(other)
        for a, b in zip(one, other, strict=True):
            assert_equal(a, b)
    else:
        np.testing.assert_array_equal(one, other)


def single_rollout(env: ErrandsEnv, seed: int, chance: int, steps: int) -> list[Any]:
    """What an agent gets over several episodes; each begins where the last one has ended."""
    rng = np.random.default_rng(chance)
    told: list[Any] = [env.reset(seed=seed)]
    for _ in range(steps):
        good, random = planned(env)[0], rng.integers(env.action_space.n)
        told.append(env.step(good if rng.random() < 0.7 else random))
        if told[-1][2] or told[-1][3]:
            told.append(env.reset())
    return told


def vector_rollout(env: ErrandsVectorEnv, seed: int, chances: list[int], steps: int) -> list[Any]:
    rngs = [np.random.default_rng(chance) for chance in chances]
    told: list[Any] = [env.reset(seed=seed)]
    for _ in range(steps):
        actions = planned(env)
        for i, rng in enumerate(rngs):
            random = rng.integers(env.single_action_space.n)
            actions[i] = actions[i] if rng.random() < 0.7 else random
        told.append(env.step(actions))
    return told
