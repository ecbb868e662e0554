"""How the next episode of a batch begins, what is copied, and what other libraries make of it."""

import sys
from importlib import metadata
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers.vector import RecordEpisodeStatistics

from errands.worlds.gym import METADATA
from errands.worlds.gym_vector import AUTORESET_MODES
from errands.worlds.registration import environments
from twins.environments import assert_equal, make, make_vec, planned

IDS = tuple(environments())
EVERY_ID = pytest.mark.parametrize("name", IDS)
WORLDS, STEPS, SEED = 3, 100, 11
# Below this, Gymnasium's vector statistics leave out the step after an episode's last one, although
# "same-step" has no such step to leave out.
COUNTS_SAME_STEP = tuple(map(int, metadata.version("gymnasium").split(".")[:2])) >= (1, 4)


def many_actions(name: str, steps: int = STEPS) -> np.ndarray[Any, Any]:
    choices = 13 if "Grid" in name else 9
    return np.random.default_rng(5).integers(0, choices, (steps, WORLDS))


@EVERY_ID
@pytest.mark.parametrize("mode", ["next-step", "same-step"])
def test_a_batch_does_what_gymnasiums_own_vector_of_single_worlds_does(
    name: str, mode: str
) -> None:
    """Observations, rewards, ends and infos, to the last bit."""
    wanted = AUTORESET_MODES[mode]
    envs = [lambda: gymnasium.make(name)] * WORLDS
    slow = SyncVectorEnv(envs, autoreset_mode=wanted)
    fast = gymnasium.make_vec(name, num_envs=WORLDS, autoreset_mode=mode)
    assert_equal(fast.reset(seed=SEED), slow.reset(seed=SEED))
    ends = 0
    for actions in many_actions(name, 130):
        expected, found = slow.step(actions), fast.step(actions)
        assert_equal(found[:4], expected[:4])
        assert_equal(found[4], expected[4])
        ends += int((found[2] | found[3]).sum())
    assert ends >= 3


@EVERY_ID
def test_without_autoreset_the_caller_resets(name: str) -> None:
    env = make_vec(name, WORLDS, autoreset_mode=AutoresetMode.DISABLED)
    env.reset(seed=SEED)
    done = np.zeros(WORLDS, np.bool_)
    actions = iter(many_actions(name))
    env.privileged_worlds().privileged["steps"] = [0, 10, 20]  # they end one after another
    while not done.any():
        _, _, terminated, truncated, info = env.step(next(actions))
        done = terminated | truncated
    assert not done.all()
    assert info["_steps"].tolist() == done.tolist()
    where = int(np.flatnonzero(done)[0])
    with pytest.raises(gymnasium.error.ResetNeeded, match=f"episode has ended: {where}$"):
        env.step(np.zeros(WORLDS, np.int64))
    env.reset(options={"reset_mask": done})
    assert (env.privileged_worlds().privileged["steps"][done] == 0).all()
    env.step(np.zeros(WORLDS, np.int64))


def test_modes_are_names_or_gymnasiums_own() -> None:
    assert gymnasium.make_vec(IDS[0]).metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    for mode in (AutoresetMode.SAME_STEP, "same-step"):
        env = make_vec(IDS[0], autoreset_mode=mode)
        assert env.autoreset_mode is env.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    with pytest.raises(ValueError, match="no autoreset mode 'later'; there are next-step, same-"):
        make_vec(IDS[0], autoreset_mode="later")


@EVERY_ID
@pytest.mark.parametrize("mode", ["next-step", "same-step"])
def test_gymnasiums_statistics_are_those_of_the_worlds(name: str, mode: str) -> None:
    env = RecordEpisodeStatistics(make_vec(name, WORLDS, autoreset_mode=mode))
    env.reset(seed=1)
    told: list[tuple[float, int]] = []
    recorded: list[tuple[float, int]] = []
    for _ in range(150):
        *_, info = env.step(planned(env.unwrapped))  # type: ignore[arg-type]
        if "_episode" in info:
            where = info["_episode"]
            ended = info if mode == "next-step" else info["final_info"]
            told += zip(ended["reward"][where], ended["steps"][where], strict=True)
            recorded += zip(info["episode"]["r"][where], info["episode"]["l"][where], strict=True)
    assert len(told) > 2 * WORLDS
    right = np.allclose(np.array(told), np.array(recorded), atol=1e-3)
    assert right == (mode == "next-step" or COUNTS_SAME_STEP)


@EVERY_ID
@pytest.mark.parametrize("mode", AUTORESET_MODES)
def test_without_copies_observations_are_the_worlds_own(name: str, mode: str) -> None:
    env, copied = (make_vec(name, WORLDS, autoreset_mode=mode, copy=copy) for copy in (False, True))
    seen, _ = env.reset(seed=SEED)
    assert_equal(seen, copied.reset(seed=SEED)[0])
    for actions in many_actions(name, 40):
        found, expected = env.step(actions), copied.step(actions)
        assert_equal(found, expected)
        assert found[0]["image"] is env.privileged_worlds().images
        assert expected[0]["image"] is not copied.privileged_worlds().images
        if mode == "disabled":
            mask = found[2] | found[3]
            if mask.any():
                env.reset(options={"reset_mask": mask})
                copied.reset(options={"reset_mask": mask})
    assert np.shares_memory(seen["image"], found[0]["image"])


@EVERY_ID
def test_a_window_shows_every_step(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    import pygame

    monkeypatch.setitem(METADATA, "render_fps", 1000)
    env, silent = make(name, render_mode="human"), make(name, render_mode="rgb_array")
    for action in (None, 1, 2):
        for each in (env, silent):
            each.reset(seed=2) if action is None else each.step(action)
        shown = pygame.surfarray.array3d(pygame.display.get_surface()).swapaxes(0, 1)
        np.testing.assert_array_equal(shown, silent.render())
    assert env.render() is None
    env.close()
    assert not pygame.display.get_init()
    with pytest.raises(ValueError, match="no render mode 'human'; there are rgb_array, ansi"):
        make_vec(name, render_mode="human")


def test_a_window_says_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pygame", None)
    with pytest.raises(gymnasium.error.DependencyNotInstalled, match=r"errands\[human\]"):
        make(IDS[0], render_mode="human")
