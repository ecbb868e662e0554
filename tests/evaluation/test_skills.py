"""How skills are judged, on scripted ones whose every mistake is known."""

from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from errands.agents.load import load_skill
from errands.agents.skill import Skill
from errands.evaluation import skills
from errands.evaluation.skills import (
    SkillEpisodes,
    SkillTest,
    evaluate_skill,
    run_lists,
    run_skill,
)
from errands.language.splits import SCENARIOS
from errands.presets import skill_training
from errands.seeds import TEST_SEEDS
from errands.worlds.spec import GRID, WORLDS
from errands.worlds.tasks import list_tasks, skill_tasks
from errands.worlds.vector import Worlds
from twins.skills import Moment, ScriptedSkill, tell_the_truth

EPISODES, SEED = 24, 500
TASKS = skill_tasks(GRID, "independent", "unseen")
Flags = NDArray[np.bool_]


@pytest.fixture
def judge(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs a scripted skill, which is shown the worlds that the evaluation makes for itself."""

    def run(skill: ScriptedSkill, **options: Any) -> SkillEpisodes:
        class Shown(Worlds):
            def __init__(self, *arguments: Any) -> None:
                super().__init__(*arguments)
                skill.worlds = self

        monkeypatch.setattr(skills, "Worlds", Shown)
        return run_skill(skill, GRID, TASKS, **{"episodes": EPISODES, "seed": SEED, **options})

    return run


def first_optimal(optimal: Flags) -> Flags:
    """A single action, so that nothing is left to chance."""
    return optimal & (optimal.cumsum(axis=1) == 1)


def idle(optimal: Flags) -> Flags:
    return np.broadcast_to(np.arange(optimal.shape[1]) == 0, optimal.shape)


def test_right_actions_and_right_signals_are_successes(judge: Any) -> None:
    ran = judge(ScriptedSkill(first_optimal))
    assert ran.success.all()
    assert ran.finished.all()
    assert (ran.precision, ran.recall) == (1.0, 1.0)
    assert (ran.hits, ran.misses, ran.false_alarms) == (EPISODES, 0, 0)
    assert len(ran.success) == len(ran.steps) == len(ran.reward) == EPISODES


def test_a_signal_that_never_comes_is_no_success(judge: Any) -> None:
    ran = judge(ScriptedSkill(first_optimal, lambda moment: np.zeros_like(moment.finished)))
    assert ran.finished.all()
    assert not ran.success.any()
    assert (ran.precision, ran.recall) == (0.0, 0.0)
    assert (ran.hits, ran.misses, ran.false_alarms) == (0, EPISODES, 0)


def test_a_signal_that_is_always_on_is_no_success(judge: Any) -> None:
    ran = judge(ScriptedSkill(first_optimal, lambda moment: np.ones_like(moment.finished)))
    assert ran.finished.all()
    assert not ran.success.any()
    assert ran.recall == 1.0
    assert (ran.hits, ran.misses, ran.false_alarms) == (EPISODES, 0, ran.steps.sum())


def test_one_false_alarm_is_enough(judge: Any) -> None:
    """On the observation after 3 steps: harmless only to episodes that end by then."""
    ran = judge(ScriptedSkill(first_optimal, lambda moment: moment.finished | (moment.steps == 3)))
    assert ran.finished.all()
    assert np.array_equal(ran.success, ran.steps <= 3)
    assert 0 < ran.success.sum() < EPISODES
    assert ran.false_alarms == (ran.steps > 3).sum()
    assert ran.precision == pytest.approx(EPISODES / (EPISODES + ran.false_alarms))


def test_the_first_observation_counts(judge: Any) -> None:
    ran = judge(ScriptedSkill(first_optimal, lambda moment: moment.finished | (moment.steps == 0)))
    assert not ran.success.any()
    assert ran.false_alarms == EPISODES


def test_one_miss_is_enough(judge: Any) -> None:
    """Finished states after an even number of steps are not recognised."""
    ran = judge(
        ScriptedSkill(first_optimal, lambda moment: moment.finished & (moment.steps % 2 == 1))
    )
    assert ran.finished.all()
    assert np.array_equal(ran.success, ran.steps % 2 == 1)
    assert 0 < ran.success.sum() < EPISODES
    assert ran.misses == (ran.steps % 2 == 0).sum()
    assert ran.recall == pytest.approx(1 - ran.misses / EPISODES)


def test_an_unfinished_task_is_no_success_whatever_is_said(judge: Any) -> None:
    ran = judge(ScriptedSkill(idle))
    assert not ran.finished.any()
    assert not ran.success.any()
    assert (ran.steps == TASKS.step_limit).all()
    assert (ran.hits, ran.misses, ran.false_alarms) == (0, 0, 0)
    ran = judge(ScriptedSkill(idle, lambda moment: moment.over))
    assert not ran.success.any()
    assert ran.false_alarms == EPISODES  # each on the observation that cut the episode off


def test_nothing_counts_after_the_end(judge: Any) -> None:
    """Worlds that are done wait for the others; what is said of them meanwhile is not asked."""

    class ForgetsAtOnce:
        def __init__(self) -> None:
            self.before: Flags | None = None

        def __call__(self, moment: Moment) -> Flags:
            over_before = np.zeros_like(moment.over) if self.before is None else self.before
            self.before = moment.over
            return np.where(over_before, ~moment.finished, moment.finished)

    ran = judge(ScriptedSkill(first_optimal, ForgetsAtOnce()))
    assert len(set(ran.steps)) > 1
    assert ran.success.all()
    assert (ran.hits, ran.misses, ran.false_alarms) == (EPISODES, 0, 0)


def test_episodes_are_those_of_single_worlds(judge: Any) -> None:
    """The plain way: one world after another, each to its end."""
    ran = judge(ScriptedSkill(first_optimal))
    for k in range(EPISODES):
        world = Worlds(GRID, 1, TASKS, GRID.skill)
        world.seed(SEED + k)
        world.reset()
        steps, reward = 0, 0.0
        while not world.status[0]:
            world.step(world.plan_subtasks().optimal.argmax(axis=1))
            steps += 1
            reward += float(world.rewards[0])
        assert (ran.steps[k], ran.reward[k]) == (steps, pytest.approx(reward))


@pytest.mark.parametrize("batch", [1, 7, EPISODES])
def test_batches_make_no_difference(
    batch: int, judge: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = judge(ScriptedSkill(first_optimal))
    monkeypatch.setattr(skills, "BATCH", batch)
    told: list[int] = []
    ran = judge(ScriptedSkill(first_optimal), progress=told.append)
    assert np.array_equal(ran.steps, expected.steps)
    assert np.array_equal(ran.reward, expected.reward)
    assert ran.hits == expected.hits
    assert sum(told) == EPISODES


def test_the_same_seed_gives_the_same_episodes(judge: Any) -> None:
    def wander(optimal: Flags) -> Flags:
        return np.ones_like(optimal)

    first, second, other = (
        judge(ScriptedSkill(wander, tell_the_truth), seed=seed) for seed in (1, 1, 2)
    )
    assert np.array_equal(first.reward, second.reward)
    assert not np.array_equal(first.reward, other.reward)


@pytest.mark.parametrize(
    ("world", "scenario"), [("grid", "inter-extrapolation"), ("block", "object-dependent")]
)
def test_a_record_says_what_was_measured_and_how_to_repeat_it(
    world: str, scenario: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seeds = []
    seed_worlds = Worlds.seed
    monkeypatch.setattr(
        Worlds, "seed", lambda self, seed: (seeds.append(seed), seed_worlds(self, seed))
    )
    torch.manual_seed(0)
    skill = Skill(skill_training(world, scenario, "debug").network)
    test = SkillTest(f"{world}/mine", world, scenario, "unseen", episodes=3, seed=11)
    record = evaluate_skill(skill, test)
    assert seeds[-1] == TEST_SEEDS + 11
    for name in ("success", "finished", "reward", "steps"):
        assert record[name].keys() == {"mean", "stderr"}
    assert record["success"]["mean"] <= record["finished"]["mean"]
    assert record["termination"].keys() == {"precision", "recall"}
    assert record["steps"]["mean"] <= skill_tasks(WORLDS[world], scenario, "unseen").step_limit
    told = ("agent", "world", "scenario", "split", "episodes", "seed")
    assert [record[name] for name in told] == [f"{world}/mine", world, scenario, "unseen", 3, 11]
    assert record["seconds"] > 0
    assert record["version"]


@pytest.mark.parametrize("world", ["grid", "block"])
def test_a_perfect_skill_carries_out_lists_when_it_is_told_the_subtasks(world: str) -> None:
    lists = list_tasks(WORLDS[world], "train", (3, 3))
    worlds = Worlds(WORLDS[world], EPISODES, lists)
    worlds.seed(SEED)
    worlds.reset()
    skill = ScriptedSkill(first_optimal)
    skill.worlds = worlds
    assert run_lists(skill, worlds, seed=0).all()


def test_lists_are_not_carried_out_by_waiting() -> None:
    worlds = Worlds(GRID, EPISODES, list_tasks(GRID, "train", (2, 2), step_limit=12))
    worlds.reset()
    skill = ScriptedSkill(idle)
    skill.worlds = worlds
    assert not run_lists(skill, worlds, seed=0).any()
    assert worlds.cut_off.all()


@pytest.mark.parametrize(
    ("world", "scenario", "enough"),
    [*(("grid", scenario, 0.99) for scenario in SCENARIOS), ("block", "independent", 0.98)],
)
def test_a_shipped_skill_does_what_it_never_saw(world: str, scenario: str, enough: float) -> None:
    """Small, with seeds apart from those of the results; the large one is in results/skills."""
    name = f"{world}/skill-{scenario}"
    test = SkillTest(name, world, scenario, "unseen", episodes=200, seed=10**6)
    measured = evaluate_skill(load_skill(test.agent).skill, test)
    assert measured["success"]["mean"] > enough
