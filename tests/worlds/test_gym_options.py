"""What `gymnasium.make` takes: scenarios, splits, lengths, lists in words, a user's own world."""

from dataclasses import replace
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from errands.language.splits import instructions, subtasks
from errands.language.vocabulary import ALL
from errands.worlds.gym import instruction_worlds, skill_worlds
from errands.worlds.registration import environments
from errands.worlds.spec import BLOCK, GRID, WORLDS
from twins.environments import make, make_vec, planned
from twins.own_world import own_world

ENVIRONMENTS = environments()
IDS = tuple(ENVIRONMENTS)
LISTS = pytest.mark.parametrize("name", [name for name in IDS if "Instructions" in name])
SKILLS = pytest.mark.parametrize("name", [name for name in IDS if "Skill" in name])


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
    told = observation["tokens"].reshape(20, -1, 3)[observation["mask"] == 1]
    assert {tuple(item) for item in told.tolist()} <= tokens
    lengths = set(observation["mask"].sum(axis=1).tolist())
    assert lengths == (set(range(2, 6)) if isinstance(length, tuple) else {length})
    longest = length[1] if isinstance(length, tuple) else length
    limit = spec.step_limit(longest, split)
    assert set(env.privileged_worlds().privileged["step_limit"]) == {limit}


@pytest.mark.parametrize("length", [np.int64(3), (np.int64(3), np.int8(3)), [3, 3]])
def test_lengths_are_whole_numbers_of_any_kind(length: Any) -> None:
    env = make("errands/GridInstructions-v0", length=length)
    assert env.reset(seed=0)[0]["mask"].tolist() == [1, 1, 1]


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
def test_a_users_own_world(kind: str, skill: bool) -> None:
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
        (IDS[1], {"length": 2.5}, "length is 2.5, not a whole number"),
        (IDS[1], {"length": (1, 2.5)}, r"length is \(1, 2\.5\), not a whole number"),
        (IDS[1], {"length": (1, 2, 3)}, r"length is \(1, 2, 3\), not a whole number"),
        (IDS[1], {"length": "3"}, "length is '3', not a whole number"),
        (IDS[1], {"length": (3, 2)}, r"list lengths \(3, 2\)"),
        (IDS[1], {"instructions": ""}, "no instruction found"),
        (IDS[1], {"instructions": "fly to the moon"}, "'fly' is not a verb"),
        (IDS[3], {"instructions": "pick up all pigs"}, "'all' is not understood"),
        (IDS[1], {"step_limit": 0}, "at least 1, not 0"),
        (IDS[0], {"render_mode": "rgb"}, "no render mode 'rgb'; there are .*rgb_array, ansi"),
        (IDS[0], {"spec": own_world("grid"), "split": "validation"}, "'cellar' has no split"),
        (
            IDS[0],
            {"spec": own_world("grid"), "scenario": "inter-extrapolation"},
            "'cellar' has no scenario 'inter-extrapolation': independent or object-dependent",
        ),
        (IDS[2], {"spec": own_world("block"), "scenario": "dependent"}, "no scenario 'dependent'"),
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
