"""The worlds as Gymnasium environments: the protocol, determinism, and nothing privileged."""

import copy
import re
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers import RecordEpisodeStatistics

from errands.worlds.gym import ErrandsEnv
from errands.worlds.registration import environments
from errands.worlds.spec import WORLDS
from errands.worlds.state import SUPPLY
from twins.environments import (
    assert_equal,
    make,
    make_vec,
    planned,
    single_rollout,
    vector_rollout,
)

ENVIRONMENTS = environments()
IDS = tuple(ENVIRONMENTS)
EVERY_ID = pytest.mark.parametrize("name", IDS)
ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


@EVERY_ID
def test_gymnasiums_own_checker_has_no_complaint(name: str) -> None:
    check_env(gymnasium.make(name, render_mode="rgb_array").unwrapped)  # warnings are errors here


@EVERY_ID
def test_ids_can_bring_the_package_with_them(name: str) -> None:
    assert isinstance(gymnasium.make(f"errands:{name}").unwrapped, ErrandsEnv)
    assert gymnasium.spec(name).max_episode_steps is None  # the worlds keep their own limits


@EVERY_ID
def test_spaces(name: str) -> None:
    world, skill = ENVIRONMENTS[name]
    env = make(name)
    assert env.action_space.n == {"grid": 13, "block": 9}[world]
    spaces = env.observation_space.spaces
    assert spaces.keys() == ({"image", "task"} if skill else {"image", "tokens", "mask"})
    assert spaces["image"].shape == {"grid": (18, 10, 10), "block": (64, 64, 3)}[world]
    vector = make_vec(name, 4)
    assert vector.single_observation_space == env.observation_space
    assert vector.single_action_space == env.action_space
    assert vector.observation_space["image"].shape == (4, *spaces["image"].shape)
    assert vector.action_space.shape == (4,)
    assert vector.metadata["autoreset_mode"] == AutoresetMode.SAME_STEP


@EVERY_ID
def test_observations_lie_in_their_space(name: str) -> None:
    env, vector = make(name), make_vec(name)
    for told in single_rollout(env, 3, 3, 60):
        assert env.observation_space.contains(told[0])
    for told in vector_rollout(vector, 3, [0, 1, 2], 60):
        assert vector.observation_space.contains(told[0])


@EVERY_ID
def test_the_same_seed_gives_the_same_rollout(name: str) -> None:
    first = single_rollout(make(name), 7, 1, 80)
    assert sum(len(told) == 2 for told in first) > 1  # more than one episode
    assert_equal(first, single_rollout(make(name), 7, 1, 80))
    env = make(name)
    single_rollout(env, 1, 1, 5)
    assert_equal(first, single_rollout(env, 7, 1, 80))  # whatever went before
    with pytest.raises(AssertionError):
        assert_equal(first[0], make(name).reset(seed=8))
    batch = vector_rollout(make_vec(name), 7, [1, 2, 3], 80)
    assert_equal(batch, vector_rollout(make_vec(name), 7, [1, 2, 3], 80))


@EVERY_ID
def test_a_batch_is_its_single_worlds(name: str) -> None:
    """World i of a batch with seed s is the single world with seed s + i, its last steps too."""
    batch = vector_rollout(make_vec(name), 20, [4, 5, 6], 80)
    for i in range(3):
        singles = iter(single_rollout(make(name), 20 + i, 4 + i, 80))
        for together in batch:
            alone = next(singles)
            if len(together) == 2:
                assert_equal({k: v[i] for k, v in together[0].items()}, alone[0])
                continue
            observations, rewards, done, cut_off, info = together
            assert (rewards[i], done[i], cut_off[i]) == alone[1:4]
            observation = {k: v[i] for k, v in observations.items()}
            if done[i] or cut_off[i]:
                assert info["_final_obs"][i]
                assert info["_final_info"][i]
                assert_equal(info["final_obs"][i], alone[0])
                final = {k: info["final_info"][k][i] for k in alone[4]}
                assert final == alone[4]
                assert_equal(observation, next(singles)[0])  # the next episode has begun
            else:
                assert "_final_obs" not in info or not info["_final_obs"][i]
                assert_equal(observation, alone[0])


@EVERY_ID
def test_unseeded_worlds_differ(name: str) -> None:
    with pytest.raises(AssertionError):
        assert_equal(make(name).reset(), make(name).reset())
    with pytest.raises(AssertionError):
        assert_equal(make_vec(name).reset(), make_vec(name).reset())


@EVERY_ID
def test_infos_are_empty_until_the_end(name: str) -> None:
    env = make(name)
    told = single_rollout(env, 2, 2, 100)
    ends = 0
    for part in told:
        info = part[-1]
        if len(part) == 5 and (part[2] or part[3]):
            ends += 1
            assert part[2] != part[3]
            assert info["success"] == part[2]
            assert set(info) == {"reward", "steps", "success", "completed", "events", "events_used"}
        else:
            assert info == {}
    assert ends
    vector = make_vec(name)
    for part in vector_rollout(vector, 2, [1, 2, 3], 60):
        ended = len(part) == 5 and (part[2] | part[3]).any()
        assert set(part[-1]) <= (
            {"final_obs", "_final_obs", "final_info", "_final_info"} if ended else set()
        )


@EVERY_ID
def test_terminated_when_done_truncated_when_out_of_steps(name: str) -> None:
    env = make(name)
    env.reset(seed=0)
    steps, done = 0, False
    while not done:
        *_, done, cut_off, info = env.step(planned(env)[0])
        steps += 1
        assert not cut_off
    assert info["steps"] == steps
    assert info["reward"] > 1 - 0.3 * steps - 0.01
    env.reset(seed=0)
    limit = int(env.privileged_worlds().privileged["step_limit"][0])
    idle = 0 if "Grid" in name else 8
    for step in range(1, limit + 1):
        *_, reward, done, cut_off, info = env.step(idle)
        assert reward < 0
        assert (done, cut_off) == (False, step == limit)
    assert (info["steps"], info["completed"], info["success"]) == (limit, 0, False)
    world, skill = ENVIRONMENTS[name]
    assert limit == (50 if skill else WORLDS[world].limits.train)


@EVERY_ID
def test_progress_is_nowhere_in_an_observation(name: str) -> None:
    """Two worlds that differ in nothing but how far the list is look and read alike."""
    one, other = make(name), make(name)
    for env in (one, other):
        env.reset(seed=5)
        env.privileged_worlds().privileged_goals[..., SUPPLY] = 0  # what appears, all can see
    behind, ahead = (env.privileged_worlds().privileged for env in (one, other))
    ahead["achieved"] = 1
    ahead["progress"] = ahead["length"] - 1
    for action in (0, 1, 2, 3, 0):
        assert_equal(one.step(action), other.step(action))
    assert (behind["achieved"] != ahead["achieved"]).all()
    assert ((behind["progress"] != ahead["progress"]) == ("Instructions" in name)).all()


@EVERY_ID
def test_observations_are_the_callers_own(name: str) -> None:
    env, vector = make(name), make_vec(name)
    for target, action in ((env, 1), (vector, np.ones(3, np.int64))):
        observation, _ = target.reset(seed=0)
        kept = {key: value.copy() for key, value in observation.items()}
        for _ in range(5):
            target.step(action)
        assert_equal(observation, kept)


def test_a_masked_reset_leaves_the_other_worlds_alone() -> None:
    env, same = make_vec(IDS[0], 4), make_vec(IDS[0], 4)
    for target in (env, same):
        target.reset(seed=1)
        target.step(np.array([1, 2, 3, 4]))
    mask = np.array([False, True, False, True])
    begun, info = env.reset(options={"reset_mask": mask})
    assert info == {}
    went_on = same.step(np.zeros(4, np.int64))[0]
    observation = env.step(np.zeros(4, np.int64))[0]
    for key in begun:
        np.testing.assert_array_equal(observation[key][~mask], went_on[key][~mask])
    assert (env.privileged_worlds().privileged["steps"] == [2, 1, 2, 1]).all()
    env.reset(seed=30, options={"reset_mask": mask})
    for i, seed in ((1, 31), (3, 33)):
        alone, _ = make(IDS[0]).reset(seed=seed)
        np.testing.assert_array_equal(env.privileged_worlds().images[i], alone["image"])
    assert env.privileged_worlds().privileged["steps"].tolist() == [2, 0, 2, 0]
    with pytest.raises(ValueError, match=r"mask has shape \(3,\), not \(4,\)"):
        env.reset(options={"reset_mask": np.ones(3, np.bool_)})


def test_a_vector_of_worlds_takes_a_list_of_seeds() -> None:
    env = make_vec(IDS[1], 3)
    observation, _ = env.reset(seed=[5, 1, 5])
    for i, seed in enumerate([5, 1, 5]):
        assert_equal({k: v[i] for k, v in observation.items()}, make(IDS[1]).reset(seed=seed)[0])
    with pytest.raises(ValueError, match="2 seeds for 3 worlds"):
        env.reset(seed=[1, 2])


def test_worlds_without_a_seed_go_on_with_their_own_numbers() -> None:
    env, same = make_vec(IDS[1], 3), make_vec(IDS[1], 3)
    for target in (env, same):
        target.reset(seed=[5, 1, 5])
    observation, _ = env.reset(seed=[3, None, 9])
    went_on, _ = same.reset()
    assert_equal({k: v[1] for k, v in observation.items()}, {k: v[1] for k, v in went_on.items()})
    for i, seed in ((0, 3), (2, 9)):
        alone, _ = make(IDS[1]).reset(seed=seed)
        assert_equal({k: v[i] for k, v in observation.items()}, alone)
    one, other = (make_vec(IDS[1], 3).reset(seed=[3, None, 9])[0]["image"] for _ in "ab")
    assert [bool((one[i] == other[i]).all()) for i in range(3)] == [True, False, True]


def test_seeds_below_zero_are_refused() -> None:
    env = make_vec(IDS[0], 3)
    for target, seed in ((make(IDS[0]), -1), (env, -1), (env, [1, None, -2])):
        with pytest.raises(gymnasium.error.Error):
            target.reset(seed=seed)
    with pytest.raises(gymnasium.error.ResetNeeded):  # nothing has begun
        env.step(np.zeros(3, np.int64))


@EVERY_ID
def test_no_step_follows_close(name: str) -> None:
    single, batch = make(name).unwrapped, make_vec(name, 2)
    for env, action in ((single, 0), (batch, np.zeros(2, np.int64))):
        env.reset(seed=0)
        env.step(action)
        env.close()
        with pytest.raises(gymnasium.error.ClosedEnvironmentError, match="after close"):
            env.step(action)


def test_one_world_without_wrappers_needs_a_reset_first() -> None:
    env = make(IDS[0]).unwrapped
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(0)


@pytest.mark.parametrize("wrong", [2.7, "1", float("nan"), True, None, np.float64(1.0)])
def test_actions_are_whole_numbers(wrong: Any) -> None:
    single, batch = make(IDS[0]).unwrapped, make_vec(IDS[0], 2)
    single.reset(seed=0)
    batch.reset(seed=0)
    with pytest.raises(TypeError, match="actions are whole numbers, not"):
        single.step(wrong)
    with pytest.raises(TypeError, match="actions are whole numbers, not"):
        batch.step([wrong, wrong])


@pytest.mark.parametrize("wrong", [2.7, "12", [0, 2.7], [0, "1"], [True, 0], np.array([0.0, 1.0])])
def test_seeds_are_whole_numbers(wrong: Any) -> None:
    batch = make_vec(IDS[0], 2)
    with pytest.raises(TypeError, match="a seed is a whole number, not"):
        batch.reset(seed=wrong)
    batch.reset(seed=np.array([3, 4]))


@EVERY_ID
def test_a_step_needs_a_reset_before_it(name: str) -> None:
    for env, action in ((gymnasium.make(name), 0), (make_vec(name), np.zeros(3, np.int64))):
        with pytest.raises(gymnasium.error.ResetNeeded):
            env.step(action)
    env = make_vec(name)
    env.reset(seed=4, options={"reset_mask": np.array([False, True, False])})
    assert (env.privileged_worlds().privileged["length"] > 0).all()  # the first begins them all
    assert_equal(env.reset(seed=4), make_vec(name).reset(seed=4))


@EVERY_ID
def test_a_copy_goes_on_by_itself(name: str) -> None:
    for env, action in ((make(name), 1), (make_vec(name), np.ones(3, np.int64))):
        env.reset(seed=6)
        env.step(action)
        copied, again = copy.deepcopy(env), copy.deepcopy(env)
        expected = [env.step(action) for _ in range(12)]
        assert_equal([copied.step(action) for _ in range(12)], expected)  # whatever env has done
        assert_equal([again.step(action) for _ in range(12)], expected)
        assert_equal(copied.reset(), env.reset())


@EVERY_ID
def test_rendering(name: str) -> None:
    world, _ = ENVIRONMENTS[name]
    for count in (1, 2):
        pictures: dict[str, Any] = {}
        for mode in ("rgb_array", "ansi"):
            env = (
                make(name, render_mode=mode) if count == 1 else make_vec(name, 2, render_mode=mode)
            )
            env.reset(seed=4)
            drawn = env.render()
            pictures[mode] = (drawn,) if count == 1 else drawn
            assert len(pictures[mode]) == count
        for picture in pictures["rgb_array"]:
            assert picture.dtype == np.uint8
            assert picture.shape[0] == 320
            assert picture.shape[1] == 320 if world == "grid" else picture.shape[1] > 640
        for text in pictures["ansi"]:
            lines = ESCAPE.sub("", text).splitlines()
            assert [len(line) for line in lines] == [20] * 10
            assert ("@" in text) == (world == "grid")
    silent = make(name)
    silent.reset(seed=0)
    assert silent.render() is None


@EVERY_ID
def test_gymnasiums_statistics_can_be_recorded(name: str) -> None:
    env = RecordEpisodeStatistics(gymnasium.make(name))
    env.reset(seed=1)
    done = False
    while not done:
        *_, done, cut_off, info = env.step(planned(env.unwrapped)[0])
        assert not cut_off
    assert info["episode"]["l"] == info["steps"]
    assert info["episode"]["r"] == pytest.approx(info["reward"])
    vector = gymnasium.wrappers.vector.RecordEpisodeStatistics(make_vec(name))
    vector.reset(seed=1)
    for _ in range(60):
        vector.step(planned(vector.unwrapped))
    assert vector.episode_count > 0


@EVERY_ID
def test_a_wrong_action_is_refused(name: str) -> None:
    env = make(name)
    env.reset(seed=0)
    with pytest.raises(ValueError, match="actions must be within"):
        env.step(env.action_space.n)
    with pytest.raises(ValueError, match="actions must be within"):
        env.step(-1)
