"""The worlds as Gymnasium environments: the protocol, determinism, and nothing privileged."""

import re
from dataclasses import replace
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers import RecordEpisodeStatistics

import errands  # noqa: F401  (registers the ids)
from errands.language.splits import instructions, subtasks
from errands.language.vocabulary import ALL
from errands.worlds.gym import ErrandsEnv, ErrandsVectorEnv, instruction_worlds, skill_worlds
from errands.worlds.planner import SHORTEST_PATH, first_optimal
from errands.worlds.registration import ENVIRONMENTS
from errands.worlds.spec import BLOCK, GRID, WORLDS, WorldKind
from errands.worlds.state import SUPPLY
from twins.own_world import own_world

IDS = tuple(ENVIRONMENTS)
EVERY_ID = pytest.mark.parametrize("name", IDS)
LISTS = pytest.mark.parametrize("name", [name for name in IDS if "Instructions" in name])
SKILLS = pytest.mark.parametrize("name", [name for name in IDS if "Skill" in name])
ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


def make(name: str, **options: Any) -> ErrandsEnv:
    env = gymnasium.make(name, **options).unwrapped
    assert isinstance(env, ErrandsEnv)
    return env


def make_vec(name: str, count: int = 3, **options: Any) -> ErrandsVectorEnv:
    env = gymnasium.make_vec(name, num_envs=count, **options)
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


@SKILLS
@pytest.mark.parametrize("scenario", ["independent", "object-dependent", "inter-extrapolation"])
@pytest.mark.parametrize("split", ["train", "unseen", "validation"])
def test_scenarios_and_splits_of_skills(name: str, scenario: str, split: str) -> None:
    world, _ = ENVIRONMENTS[name]
    env = make_vec(name, 40, scenario=scenario, split=split)
    observation, _ = env.reset(seed=0)
    assert env.observation_space.contains(observation)
    codes = {item.code(WORLDS[world].vocabulary) for item in subtasks(world, scenario, split)}
    assert {tuple(task) for task in observation["task"].tolist()} <= codes
    limit = 70 if scenario == "inter-extrapolation" else 50
    assert set(env.privileged_worlds().privileged["step_limit"]) == {limit}


@LISTS
@pytest.mark.parametrize("split", ["train", "seen", "unseen", "validation"])
@pytest.mark.parametrize("length", [1, 7, 20, (2, 5)])
def test_splits_and_lengths_of_lists(name: str, split: str, length: int | tuple[int, int]) -> None:
    world, _ = ENVIRONMENTS[name]
    spec = WORLDS[world]
    env = make_vec(name, 20, split=split, length=length)
    observation, _ = env.reset(seed=0)
    assert env.observation_space.contains(observation)
    tokens = {item.tokens(spec.vocabulary) for item in instructions(world, split)}
    told = observation["tokens"][observation["mask"] == 1]
    assert {tuple(item) for item in told.tolist()} <= tokens
    lengths = set(observation["mask"].sum(axis=1).tolist())
    assert lengths == (set(range(2, 6)) if isinstance(length, tuple) else {length})
    longest = length[1] if isinstance(length, tuple) else length
    limit = spec.step_limit(longest, split)
    assert set(env.privileged_worlds().privileged["step_limit"]) == {limit}


def test_lists_without_all() -> None:
    env = make_vec("errands/GridInstructions-v0", 200, split="unseen", length=20, with_all=False)
    env.reset(seed=0)
    assert (env.privileged_worlds().privileged_goals[..., 2] != ALL).all()
    assert set(env.privileged_worlds().privileged["step_limit"]) == {200}


@LISTS
def test_a_list_in_words(name: str) -> None:
    words = "visit pig, then pick up two boxes; transform the pig"
    env = make(name, instructions=words, step_limit=123)
    observation, _ = env.reset(seed=0)
    spec = env.privileged_worlds().spec
    said = [spec.vocabulary.token_words[token] for token in observation["tokens"].ravel() if token]
    grid = ["visit", "pig", "pick up", "box", "pick up", "box", "transform", "pig"]
    block = ["visit", "pig", "pick up", "2", "box", "transform", "pig"]
    assert said == (grid if spec is GRID else block)
    assert env.privileged_worlds().privileged["step_limit"][0] == 123


@LISTS
def test_the_forgiving_world(name: str) -> None:
    for forgiving in (False, True):
        env = make_vec(name, 30, forgiving=forgiving, length=1)
        env.reset(seed=0)
        worlds = env.privileged_worlds()
        assert worlds.setting.forgiving == forgiving
        targets = worlds.privileged_goals[:, 0, 1]
        worlds.privileged["tiles"][worlds.privileged["tiles"] >= 3] = 0
        worlds.privileged["counts"] = 0
        env.step(np.zeros(30, np.int64))
        assert (worlds.privileged["counts"][range(30), targets] == forgiving).all()


@pytest.mark.parametrize("kind", ["grid", "block"])
@pytest.mark.parametrize("skill", [True, False])
def test_a_users_own_world(kind: WorldKind, skill: bool) -> None:
    name = f"errands/{kind.capitalize()}{'Skill' if skill else 'Instructions'}-v0"
    spec = own_world(kind)
    for split in ("train", "unseen", "all"):
        env = make(name, spec=spec, split=split, render_mode="rgb_array")
        check_env(env)
        assert env.render().shape[0] == 320
        vector = make_vec(name, 50, spec=spec, split=split)
        observation, _ = vector.reset(seed=3)
        assert vector.observation_space.contains(observation)
        finished = np.zeros(50, np.bool_)
        for _ in range(120):
            finished |= vector.step(planned(vector))[2]
        assert finished.all()
    ansi = make(name, spec=spec, render_mode="ansi")
    ansi.reset(seed=0)
    assert len(ansi.render().splitlines()) == 10


def test_a_users_list_in_a_users_words() -> None:
    words = "interact with all mice, transform 2 oil lamps and visit the dust"
    env = make("errands/GridInstructions-v0", spec=own_world("grid"), instructions=words)
    env.reset(seed=0)
    done = cut_off = False
    while not done:
        assert not cut_off
        *_, done, cut_off, info = env.step(planned(env)[0])
    assert info["completed"] == 3


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        (IDS[0], {"scenario": "independant"}, "unknown scenario 'independant'"),
        (IDS[0], {"split": "tests"}, "unknown split 'tests'"),
        (IDS[1], {"split": "all"}, "unknown split 'all'"),
        (IDS[1], {"length": 0}, r"list lengths \(0, 0\)"),
        (IDS[1], {"length": (3, 2)}, r"list lengths \(3, 2\)"),
        (IDS[1], {"instructions": ""}, "no instruction found"),
        (IDS[1], {"instructions": "fly to the moon"}, "'fly' is not a verb"),
        (IDS[3], {"instructions": "pick up all pigs"}, "'all' is not understood"),
        (IDS[1], {"step_limit": 0}, "at least 1, not 0"),
        (IDS[0], {"render_mode": "human"}, "no render mode 'human'; there are rgb_array, ansi"),
        (IDS[0], {"spec": own_world("grid"), "split": "validation"}, "'cellar' has no split"),
        (
            IDS[0],
            {"spec": replace(own_world("grid"), held_out=()), "split": "unseen"},
            "at least one instruction",
        ),
    ],
)
def test_wrong_options_are_refused_in_one_line(
    name: str, options: dict[str, Any], message: str
) -> None:
    for build in (gymnasium.make, gymnasium.make_vec):
        with pytest.raises(ValueError, match=message) as refusal:
            build(name, **options)
        assert "\n" not in str(refusal.value)


def test_worlds_are_called_by_name() -> None:
    assert skill_worlds("grid", 2).spec is GRID
    assert instruction_worlds("block", 2).spec is BLOCK
    for build in (skill_worlds, instruction_worlds):
        with pytest.raises(ValueError, match=r"^no world 'gird'; there are grid, block$"):
            build("gird", 1)


@EVERY_ID
def test_a_wrong_action_is_refused(name: str) -> None:
    env = make(name)
    env.reset(seed=0)
    with pytest.raises(ValueError, match="actions must be within"):
        env.step(env.action_space.n)
    with pytest.raises(ValueError, match="actions must be within"):
        env.step(-1)
