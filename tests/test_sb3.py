"""Stable-Baselines3 on every environment: single worlds, batches, and what it logs."""

import gymnasium
import numpy as np
import pytest
from stable_baselines3 import DQN, PPO
from stable_baselines3.common.env_checker import check_env
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.vec_env import DummyVecEnv

from errands.sb3 import ErrandsVecEnv, make_vec_env
from errands.worlds.registration import environments
from twins.environments import assert_equal, make_vec

IDS = tuple(environments())
EVERY_ID = pytest.mark.parametrize("name", IDS)


@EVERY_ID
def test_its_own_checker_has_no_complaint(name: str) -> None:
    check_env(gymnasium.make(name), warn=False)  # it would advise to make an image of the planes


@EVERY_ID
def test_ppo_learns_from_a_single_world(name: str) -> None:
    agent = PPO("MultiInputPolicy", gymnasium.make(name), n_steps=16, batch_size=8, n_epochs=1)
    before = [weights.clone() for weights in agent.policy.parameters()]
    agent.learn(16)
    after = list(agent.policy.parameters())
    assert any((a != b).any() for a, b in zip(before, after, strict=True))


def test_dqn_learns_from_lists() -> None:
    env = gymnasium.make("errands/GridInstructions-v0")
    agent = DQN("MultiInputPolicy", env, buffer_size=50, learning_starts=8, batch_size=4)
    agent.learn(24)
    assert agent.num_timesteps == 24


@EVERY_ID
def test_a_batch_is_a_dummy_of_single_worlds(name: str) -> None:
    """Observations, rewards, ends and last observations, to the last bit."""
    slow = DummyVecEnv([lambda: gymnasium.make(name)] * 3)
    fast = make_vec_env(name, 3, seed=5)
    slow.seed(5)
    assert_equal(dict(slow.reset()), fast.reset())
    ends = 0
    for actions in np.random.default_rng(0).integers(0, 9, (120, 3)):
        seen, rewards, done, infos = fast.step(actions)
        expected = slow.step(actions)
        assert_equal(seen, dict(expected[0]))
        assert_equal([rewards, done], [expected[1], expected[2]])
        for info, other in zip(infos, expected[3], strict=True):
            assert other.keys() <= info.keys()
            assert info["TimeLimit.truncated"] == other["TimeLimit.truncated"]
            if "terminal_observation" in other:
                ends += 1
                assert_equal(info["terminal_observation"], other["terminal_observation"])
                assert info["episode"]["r"] == pytest.approx(other["reward"])
                assert info["episode"]["l"] == other["steps"]
                assert info["is_success"] == other["success"]
    assert ends >= 3


@pytest.mark.slow
@EVERY_ID
def test_ppo_learns_from_a_batch_and_logs_its_success(name: str) -> None:
    envs = make_vec_env(name, 4, seed=1)
    agent = PPO("MultiInputPolicy", envs, n_steps=88, batch_size=88, n_epochs=1)
    agent.learn(4 * 88)  # longer than any episode
    assert len(agent.ep_info_buffer or ()) >= 4
    assert len(agent.ep_success_buffer or ()) >= 4
    rewards, steps = evaluate_policy(agent, envs, 4, return_episode_rewards=True)
    assert len(rewards) >= 4
    assert all(1 <= length <= 80 for length in steps)


def test_pictures_of_a_batch_are_tiled() -> None:
    envs = make_vec_env("errands/GridSkill-v0", 4, render_mode="rgb_array")
    envs.reset()
    assert envs.render().shape == (640, 640, 3)


def test_what_a_batch_cannot_do_is_refused() -> None:
    envs = make_vec_env("errands:errands/GridSkill-v0", 3)
    assert envs.get_attr("num_envs", [0, 2]) == [3, 3]
    assert not envs.has_attr("action_masks")
    for refused in (lambda: envs.set_attr("x", 1), lambda: envs.env_method("fly")):
        with pytest.raises(AttributeError, match="of their own"):
            refused()
    with pytest.raises(ValueError, match="needs autoreset_mode='same-step'"):
        ErrandsVecEnv(make_vec("errands/GridSkill-v0", autoreset_mode="next-step"))
