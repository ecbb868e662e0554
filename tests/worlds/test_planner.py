"""Teachers against Dijkstra's search in plain Python, and every generated episode solved."""

from dataclasses import replace

import numpy as np
import pytest

from errands.language.instruction import Instruction, parse_instructions
from errands.language.splits import SCENARIOS
from errands.language.vocabulary import VERBS
from errands.worlds.planner import (
    NEAR_OPTIMAL,
    SHORTEST_PATH,
    UNREACHABLE,
    Plan,
    first_optimal,
)
from errands.worlds.spec import BLOCK, GRID, Rewards, WorldSpec
from errands.worlds.step import DONE, RUNNING
from errands.worlds.tasks import OWN_SCENARIOS, TaskSource, given_list, list_tasks, skill_tasks
from errands.worlds.vector import Worlds
from twins.lockstep import action_names, mixed_actions, read_twin
from twins.own_world import own_world
from twins.planner import plan, plan_list
from twins.scene import scene

WATER_COST = {"grid": 3, "cellar": 2, "block": 1}  # -0.3 against -0.1; the block world is dry
WORLDS = [GRID, BLOCK, own_world("grid"), own_world("block")]
BOTH = pytest.mark.parametrize("spec", WORLDS, ids=lambda spec: f"{spec.name}-{spec.kind}")


def assert_same_plan(
    fast: Plan, i: int, slow: tuple[set[str], int | None], names: list[str]
) -> None:
    best, cost = slow
    assert {names[action] for action in np.flatnonzero(fast.optimal[i])} == best
    assert fast.cost[i] == (UNREACHABLE if cost is None else cost)


@BOTH
def test_optimal_actions_and_costs_of_every_kind_of_subtask(spec: WorldSpec) -> None:
    names = action_names(spec)
    rng = np.random.default_rng(1)
    everything = [(verb, item) for verb in range(len(VERBS)) for item in range(len(spec.objects))]
    worlds = Worlds(spec, 60, skill_tasks(spec, "independent", "train"), spec.skill)
    verbs, out_of_reach = set(), 0
    for episode in range(5):
        density = (0.0, 0.1) if episode % 2 else spec.skill.objects
        worlds.change_setting(replace(spec.skill, objects=density))
        worlds.reset()
        for _ in range(episode):
            worlds.step(mixed_actions(worlds, rng, 0.3))
        chosen = [everything[k] for k in rng.integers(len(everything), size=worlds.count)]
        codes = np.array([(verb, item, 1) for verb, item in chosen], np.int16)
        fast = worlds.plan_subtasks(codes)
        for i, (verb, item) in enumerate(chosen):
            twin = read_twin(worlds, i)
            slow = plan(twin, VERBS[verb], spec.objects[item], names, WATER_COST[spec.name])
            assert_same_plan(fast, i, slow, names)
            verbs.add(VERBS[verb])
            out_of_reach += slow[1] is None
    assert verbs == set(VERBS)
    assert 0 < out_of_reach < 200


@BOTH
def test_list_policies(spec: WorldSpec) -> None:
    names = action_names(spec)
    rng = np.random.default_rng(2)
    drawn = list_tasks(spec, "train", (1, 4))
    named = tuple(Instruction(verb, spec.event.object) for verb in ("pick up", "transform"))
    worlds = Worlds(spec, 40, replace(drawn, pool=drawn.pool + named * 8), spec.lists)
    worlds.reset()
    interrupted = spared = 0
    for _ in range(5):
        for _ in range(8):
            worlds.step(mixed_actions(worlds, rng, 0.5))
            worlds.reset(worlds.status != RUNNING)
        shortest, near_optimal = map(worlds.plan_lists, (SHORTEST_PATH, NEAR_OPTIMAL))
        for i in range(worlds.count):
            twin = read_twin(worlds, i)
            to_goal, best = (
                plan_list(twin, near, names, WATER_COST[spec.name]) for near in (False, True)
            )
            assert_same_plan(shortest, i, to_goal, names)
            assert_same_plan(near_optimal, i, best, names)
            interrupted += best != to_goal
            left = [goal.object for goal in twin.goals[twin.progress :]]
            spared += twin.event is not None and spec.event.object in left
    assert interrupted > 0
    assert spared > 0


@BOTH
def test_any_optimal_action_lowers_the_cost_by_what_it_costs(spec: WorldSpec) -> None:
    still = replace(spec, walks={})
    tasks = replace(skill_tasks(still, "independent", "all"), step_limit=500)
    worlds = Worlds(still, 200, tasks, still.skill)
    worlds.seed(4)
    worlds.reset()
    rng = np.random.default_rng(4)
    for _ in range(60):
        before = worlds.plan_subtasks()
        running = worlds.status == RUNNING
        assert before.optimal[running].any(axis=1).all()
        # The greatest of random numbers at the optimal actions: any of them, with equal chance.
        actions = (before.optimal * rng.random(before.optimal.shape)).argmax(axis=1)
        worlds.step(actions)
        records = worlds.privileged
        in_water = records["tiles"][range(200), records["row"], records["column"]] == 2
        paid = np.where(in_water & (spec.kind == "grid"), WATER_COST[spec.name], 1)
        left = np.where(worlds.status == DONE, 0, worlds.plan_subtasks().cost)
        np.testing.assert_array_equal(left[running], (before.cost - paid)[running])
        if worlds.done.all():
            return
    raise AssertionError("optimal actions did not finish a subtask in 60 steps")


@BOTH
def test_no_other_action_is_as_good(spec: WorldSpec) -> None:
    """From copies of one state, each action that is not marked leaves more than it should."""
    names = action_names(spec)
    still = replace(spec, walks={})
    worlds = Worlds(still, len(names), skill_tasks(still, "independent", "all"), still.skill)
    for seed in range(20):
        worlds.seed([seed] * worlds.count)
        worlds.reset()
        before = worlds.plan_subtasks()
        target = worlds.subtasks[0, 1]
        there = worlds.privileged["counts"][0, target]
        worlds.step(np.arange(worlds.count))
        after = worlds.plan_subtasks()
        for action in np.flatnonzero(~before.optimal[0]):
            assert worlds.status[action] == RUNNING
            # Handling things may create targets nearer by, which a teacher does not count on.
            if worlds.privileged["counts"][action, target] == there:
                assert after.cost[action] + 1 > before.cost[action]


@pytest.mark.parametrize("spec", [GRID, BLOCK], ids=lambda spec: spec.name)
def test_what_cannot_be_reached_marks_nothing(spec: WorldSpec) -> None:
    name = spec.objects[0]
    island = {(1, 1): name, (1, 2): "wall", (2, 1): "wall"}
    for things in ({}, island, {(5, 5): "wall"} | island):
        worlds = scene(spec, f"visit {name}", things, agent=(7, 7))
        for verb in range(3):
            found = worlds.plan_subtasks(np.array([[verb, 0, 1]], np.int16))
            assert not found.optimal.any()
            assert found.cost[0] == UNREACHABLE
            assert first_optimal(found)[0] == 0


@pytest.mark.parametrize("spec", [GRID, BLOCK], ids=lambda spec: spec.name)
def test_standing_on_the_only_target_one_steps_off_and_back(spec: WorldSpec) -> None:
    name = spec.objects[0]
    worlds = scene(spec, f"visit {name}", {(5, 5): name})
    found = worlds.plan_subtasks()
    moving = {action for action in action_names(spec) if action.startswith("MOVE")}
    assert_same_plan(found, 0, (moving, 2), action_names(spec))


def test_the_grids_teacher_goes_around_water_when_that_pays() -> None:
    pond = dict.fromkeys([(4, 5), (4, 4), (4, 6)], "water")
    worlds = scene(GRID, "visit cow", pond | {(3, 5): "cow"})
    # Through one cell of water: 3 + 1. Around three: 2 + 3 + 1 = 6.
    assert_same_plan(worlds.plan_subtasks(), 0, ({"MOVE_NORTH"}, 4), action_names(GRID))
    worlds = scene(GRID, "visit cow", {(4, 5): "water", (3, 5): "cow"})
    around = {"MOVE_NORTH", "MOVE_WEST", "MOVE_EAST"}  # 1 + 1 + 1 + 1, as good as through
    assert_same_plan(worlds.plan_subtasks(), 0, (around, 4), action_names(GRID))


def test_near_optimal_leaves_an_event_that_is_too_far_or_too_short() -> None:
    for cells, left, goes in ((1, 9, True), (3, 3, True), (3, 2, False), (4, 9, False)):
        worlds = scene(GRID, "visit cow", {(5, 8): "cow", (5 - cells, 5): "enemy"})
        worlds.privileged[0]["event_cell"] = (5 - cells) * 10 + 5
        worlds.privileged[0]["event_left"] = left
        chosen = worlds.plan_lists(NEAR_OPTIMAL).optimal[0]
        north = [
            chosen[action_names(GRID).index(f"{verb}_NORTH")] for verb in ("MOVE", "TRANSFORM")
        ]
        assert any(north) == goes
        assert not worlds.plan_lists(SHORTEST_PATH).optimal[0][1]


def test_a_world_whose_steps_cost_nothing_can_be_planned_in() -> None:
    spec = replace(GRID, rewards=Rewards(step=0.0))
    worlds = scene(spec, "visit cow", {(5, 7): "cow"})
    assert_same_plan(worlds.plan_subtasks(), 0, ({"MOVE_EAST"}, 2), action_names(GRID))


def test_an_unknown_policy_is_refused() -> None:
    worlds = scene(GRID, "visit cow", {})
    with pytest.raises(ValueError, match=r"^no planner 'greedy'; there are near-optimal, shortes"):
        worlds.plan_lists("greedy")


def solve(worlds: Worlds, episodes: int, seed: int, policy: str = SHORTEST_PATH) -> int:
    """Play so many episodes with a planner; returns how many it finished."""
    worlds.seed(seed)
    worlds.reset()
    to_begin = np.full(worlds.count, episodes // worlds.count - 1)
    finished = 0
    running = np.ones(worlds.count, np.bool_)
    while running.any():
        worlds.step(first_optimal(worlds.plan_lists(policy)))
        ended = running & (worlds.status != RUNNING)
        finished += int((worlds.done & ended).sum())
        again = ended & (to_begin > 0)
        to_begin -= again
        running &= ~ended | again
        worlds.reset(again)
    return finished


@pytest.mark.slow
@pytest.mark.parametrize("spec", [GRID, BLOCK], ids=lambda spec: spec.name)
@pytest.mark.parametrize(
    ("split", "lengths", "forgiving", "policy", "episodes"),
    [  # 10,000 in each world
        ("train", (1, 4), False, SHORTEST_PATH, 4500),
        ("unseen", (1, 4), False, SHORTEST_PATH, 3000),
        ("seen", (20, 20), False, SHORTEST_PATH, 250),
        ("unseen", (20, 20), False, SHORTEST_PATH, 250),
        ("validation", (7, 7), False, NEAR_OPTIMAL, 1000),
        ("unseen", (1, 4), True, SHORTEST_PATH, 1000),
    ],
)
def test_every_list_can_be_done(
    spec: WorldSpec,
    split: str,
    lengths: tuple[int, int],
    forgiving: bool,
    policy: str,
    episodes: int,
) -> None:
    tasks = list_tasks(spec, split, lengths, step_limit=2000)
    worlds = Worlds(spec, 250, tasks, spec.forgiving if forgiving else spec.lists)
    assert solve(worlds, episodes, seed=100, policy=policy) == episodes


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (GRID, "pick up enemy"),
        (GRID, "pick up 2 enemies, visit cow, then visit enemy"),
        (GRID, "transform all enemies, visit enemy"),
        (BLOCK, "pick up box"),
        (BLOCK, "pick up 3 boxes"),
        (BLOCK, "visit pig, transform 2 boxes, then visit box"),
    ],
)
@pytest.mark.parametrize("policy", [SHORTEST_PATH, NEAR_OPTIMAL])
def test_lists_that_name_the_events_object_can_be_done(
    spec: WorldSpec, words: str, policy: str
) -> None:
    tasks = given_list(spec, parse_instructions(words, spec.vocabulary))
    worlds = Worlds(spec, 300, tasks, spec.lists)
    assert solve(worlds, 300, seed=400, policy=policy) == 300


@BOTH
def test_every_subtask_can_be_done(spec: WorldSpec) -> None:
    scenarios = OWN_SCENARIOS if spec.name == "cellar" else SCENARIOS
    pools = [skill_tasks(spec, scenario, "all").pool for scenario in scenarios]
    assert spec.name == "cellar" or max(task.quantity for task in pools[-1]) == 7
    for pool in pools:
        worlds = Worlds(spec, 1000, TaskSource(pool, step_limit=2000), spec.skill)
        assert solve(worlds, 1000, seed=200) == 1000


@BOTH
def test_every_list_can_be_done_on_small_and_crowded_maps(spec: WorldSpec) -> None:
    crowded = replace(spec.lists, sizes=(5, 7), objects=(0.0, 0.8))
    split = "all" if spec.name == "cellar" else "train"
    worlds = Worlds(spec, 500, list_tasks(spec, split, (1, 12), step_limit=2000), crowded)
    assert solve(worlds, 500, seed=300) == 500
