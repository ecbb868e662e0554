"""Batches of worlds: the same whatever their size and threads, and careful with what they get."""

from dataclasses import replace
from typing import Any

import numba
import numpy as np
import pytest
from numpy.typing import NDArray

from errands.language.instruction import Instruction, encode, parse_instructions
from errands.language.splits import instructions, subtasks
from errands.language.vocabulary import (
    ALL,
    BLOCK_VOCABULARY,
    INTERACT,
    TRANSFORM,
    VERBS,
    VISIT,
)
from errands.worlds.kinds import KINDS
from errands.worlds.planner import NEAR_OPTIMAL, first_optimal
from errands.worlds.spec import BLOCK, GRID, WorldSpec
from errands.worlds.step import RUNNING
from errands.worlds.tasks import TaskSource, given_list, list_tasks, own_instructions, skill_tasks
from errands.worlds.vector import Worlds
from twins.own_world import own_world

BOTH = pytest.mark.parametrize("spec", [GRID, BLOCK], ids=lambda spec: spec.name)
FEW = KINDS["grid"].mechanics.few
History = list[dict[str, NDArray[Any]]]


def build(spec: WorldSpec, task: str, count: int) -> Worlds:
    if task == "skill":
        return Worlds(spec, count, skill_tasks(spec, "object-dependent", "all"), spec.skill)
    tasks = list_tasks(spec, "unseen", (1, 4), step_limit=40)
    return Worlds(spec, count, tasks, spec.forgiving if task == "forgiving" else spec.lists)


def history(worlds: Worlds, seed: int, steps: int = 90) -> History:
    """Several episodes, with own resets. World i acts by chance numbers of seed + i alone."""
    worlds.seed(seed)
    worlds.reset()
    chances = [np.random.default_rng(seed + i) for i in range(worlds.count)]
    told = []
    for _ in range(steps):
        good = first_optimal(worlds.plan_lists(NEAR_OPTIMAL))
        drawn = [(rng.random(), rng.integers(worlds.actions)) for rng in chances]
        random = np.array([action for _, action in drawn])
        worlds.step(np.where([chance < 0.6 for chance, _ in drawn], good, random))
        seen = (worlds.images, worlds.tokens, worlds.mask, worlds.rewards, worlds.status)
        names = ("images", "tokens", "mask", "rewards", "status", "states")
        told.append({n: a.copy() for n, a in zip(names, (*seen, worlds.privileged), strict=True)})
        worlds.reset(worlds.status != RUNNING)
    return told


def assert_same(one: History, other: History, part: slice = slice(None)) -> None:
    """The other history is that of a part of the one's worlds."""
    for here, there in zip(one, other, strict=True):
        for name in here:
            np.testing.assert_array_equal(here[name][part], there[name], err_msg=name)


@BOTH
@pytest.mark.parametrize("task", ["skill", "lists", "forgiving"])
def test_a_world_is_the_same_alone_and_in_any_batch(spec: WorldSpec, task: str) -> None:
    batch = history(build(spec, task, 6), seed=50)
    ended = sum(int((step["status"] != RUNNING).sum()) for step in batch)
    assert ended >= 12  # each world began several episodes
    for i in (0, 3, 5):
        assert_same(batch, history(build(spec, task, 1), seed=50 + i), slice(i, i + 1))
    assert_same(history(build(spec, task, 11), seed=45), batch, slice(5, None))


@BOTH
def test_seeds_repeat_and_differ(spec: WorldSpec) -> None:
    worlds = build(spec, "lists", 5)
    first = history(worlds, seed=1)
    assert_same(first, history(worlds, seed=1))
    assert_same(first, history(build(spec, "lists", 5), seed=1))
    assert (first[0]["states"] != history(worlds, seed=6)[0]["states"]).all()


@BOTH
@pytest.mark.usefixtures("every_thread")
def test_threads_do_not_matter(spec: WorldSpec) -> None:
    told = []
    for threads in (numba.get_num_threads(), 1):
        numba.set_num_threads(threads)
        told.append(history(build(spec, "lists", FEW + 7), seed=9, steps=40))
    assert_same(*told)
    assert_same(told[0], history(build(spec, "lists", 7), seed=9, steps=40), slice(7))


@BOTH
def test_seeds_can_be_given_one_by_one(spec: WorldSpec) -> None:
    worlds = build(spec, "skill", 4)
    for seeds in ([8, 3, 8, 2**63], np.array([8, 3, 8, 5])):
        worlds.seed(seeds)
        worlds.reset()
        states = worlds.privileged.copy()
        assert states[0] == states[2]
        assert states[0] != states[1]
        for i in range(4):
            alone = build(spec, "skill", 1)
            alone.seed(seeds[i])
            alone.reset()
            assert alone.privileged[0] == states[i]
    worlds.seed(1)
    worlds.seed(99, np.array([False, True, False, False]))
    fresh = build(spec, "skill", 4)
    fresh.seed([1, 100, 3, 4])
    assert worlds.privileged["random"].tolist() == fresh.privileged["random"].tolist()


def test_a_reset_touches_only_what_it_is_asked_to() -> None:
    worlds = build(GRID, "lists", 6)
    worlds.reset()
    for _ in range(3):
        worlds.step(np.ones(6, np.int64))
    buffers = (worlds.images, worlds.tokens, worlds.mask, worlds.rewards, worlds.privileged)
    before = [buffer.copy() for buffer in buffers]
    mask = np.array([True, False, False, True, False, False])
    worlds.reset(mask)
    for old, buffer in zip(before, buffers, strict=True):
        np.testing.assert_array_equal(buffer[~mask], old[~mask])
    assert worlds.privileged["steps"].tolist() == [0, 3, 3, 0, 3, 3]
    worlds.reset(np.zeros(6, np.bool_))
    assert worlds.privileged["steps"].tolist() == [0, 3, 3, 0, 3, 3]


@BOTH
def test_tokens_are_the_words_of_the_list(spec: WorldSpec) -> None:
    worlds = build(spec, "lists", 40)
    worlds.reset()
    for i in range(40):
        length = int(worlds.privileged["length"][i])
        goals = worlds.privileged_goals[i, :length, :3]
        listed = [Instruction.from_code(code, spec.vocabulary) for code in goals]
        codes, tokens = encode(listed, spec.vocabulary)
        np.testing.assert_array_equal(goals, codes)
        np.testing.assert_array_equal(worlds.tokens[i, :length], tokens)
        assert not worlds.tokens[i, length:].any()
        assert worlds.mask[i].tolist() == [True] * length + [False] * (4 - length)


def test_subtasks_are_the_skills_parameters() -> None:
    worlds = build(BLOCK, "skill", 30)
    worlds.reset()
    pool = subtasks("block", "object-dependent", "all")
    asked = {Instruction.from_code(code, BLOCK.vocabulary) for code in worlds.subtasks}
    assert asked <= set(pool)
    assert {item.verb for item in asked} == {"visit", "pick up", "transform", "interact with"}


def test_tasks_and_settings_change_with_the_next_reset() -> None:
    worlds = build(GRID, "lists", 20)
    worlds.reset()
    pool = instructions("grid", "train")
    worlds.change_tasks(TaskSource(pool, (2, 2), step_limit=7))
    worlds.change_setting(replace(GRID.lists, sizes=(5, 5)))
    assert set(worlds.privileged["step_limit"]) == {40}
    worlds.reset(np.arange(20) < 10)
    assert set(worlds.privileged["step_limit"][:10]) == {7}
    assert set(worlds.privileged["length"][:10]) == {2}
    assert ((worlds.privileged["tiles"][:10] != 1).sum(axis=(1, 2)) <= 9).all()
    assert set(worlds.privileged["step_limit"][10:]) == {40}


def test_the_true_subtask_is_the_current_instruction() -> None:
    worlds = build(BLOCK, "lists", 10)
    worlds.reset()
    for progress in range(3):
        worlds.privileged["progress"] = progress
        for i, code in enumerate(worlds.privileged_subtasks()):
            index = min(progress, int(worlds.privileged["length"][i]) - 1)
            assert code.tolist() == worlds.privileged_goals[i, index, :3].tolist()


def test_the_papers_pools_and_limits() -> None:
    assert skill_tasks(GRID, "independent", "train").pool == subtasks(
        "grid", "independent", "train"
    )
    assert skill_tasks(GRID, "independent", "train").step_limit == 50
    assert skill_tasks(BLOCK, "inter-extrapolation", "train").step_limit == 70
    assert list_tasks(GRID, "train", (1, 4)).step_limit == 60
    assert list_tasks(GRID, "unseen", (20, 20)).step_limit == 250
    without = list_tasks(GRID, "unseen", (20, 20), with_all=False)
    assert without.step_limit == 200
    assert all(item.quantity != ALL for item in without.pool)
    assert list_tasks(BLOCK, "train", (1, 4)).step_limit == 80
    assert list_tasks(BLOCK, "seen", (20, 20)).step_limit == 600


def test_splits_go_by_the_words_of_a_world() -> None:
    """The grid's objects seen as blocks are still the grid's."""
    spec = replace(GRID, kind="block")
    expected = subtasks("grid", "independent", "unseen")
    assert skill_tasks(spec, "independent", "unseen").pool == expected
    assert list_tasks(spec, "train", (1, 1)).pool == instructions("grid", "train")


@BOTH
def test_a_world_in_the_papers_words_can_hold_out_others(spec: WorldSpec) -> None:
    own = replace(spec, held_out=(("visit", "pig"), ("pick up", "cat" if spec is BLOCK else "cow")))
    pairs = set(own.held_out)
    for tasks in (skill_tasks(own, "independent", "unseen"), list_tasks(own, "unseen", (1, 4))):
        assert {(item.verb, item.object) for item in tasks.pool} == pairs
    for tasks in (skill_tasks(own, "independent", "train"), list_tasks(own, "train", (1, 4))):
        assert not {(item.verb, item.object) for item in tasks.pool} & pairs
        assert {item.object for item in tasks.pool} == set(spec.objects) - {spec.event.object}


def test_what_can_never_be_done_is_not_asked_for() -> None:
    words = replace(BLOCK_VOCABULARY, quantities=(1, 2, ALL), countable=VERBS)
    spec = replace(BLOCK, vocabulary=words, interact=BLOCK.interact | {"ice": "transform"})
    asked = {str(item) for item in own_instructions(spec, "all", (1, 2, ALL))}
    endless = {"transform all ice", "interact with all ice", "visit all pigs", "visit all ice"}
    assert not endless & asked
    assert {"transform 2 ice", "pick up all ice", "transform all pigs", "visit 2 pigs"} <= asked
    for sentence in endless:
        with pytest.raises(ValueError, match=f"^'{sentence}' can never be done: .*before$"):
            given_list(spec, parse_instructions(f"visit pig, {sentence}", words))
    given = parse_instructions("interact with all pigs, transform 2 ice, pick up all ice", words)
    assert given_list(spec, given).pool == tuple(given)


def test_a_users_world_holds_out_what_it_names() -> None:
    spec = own_world("grid")
    unseen = own_instructions(spec, "unseen", (1, ALL))
    assert set(unseen) == {
        Instruction("pick up", "oil lamp"),
        Instruction("pick up", "oil lamp", ALL),
        Instruction("visit", "gem"),
    }
    train = own_instructions(spec, "train", (1, ALL))
    assert not set(train) & set(unseen)
    assert set(train) | set(unseen) == set(own_instructions(spec, "all", (1, ALL)))
    assert own_instructions(spec, "seen", (1, ALL)) == train
    assert all(item.object != "ghost" for item in train)  # the event is nobody's errand
    assert Instruction("interact with", "mouse", ALL) in train
    without = own_instructions(replace(spec, interact={}), "all", (1,))
    assert {item.verb for item in without} == {"visit", "pick up", "transform"}
    with pytest.raises(ValueError, match="'cellar' has no split 'validation'"):
        own_instructions(spec, "validation", (1,))


def test_statistics_count_every_ended_episode() -> None:
    worlds = build(GRID, "lists", 50)
    worlds.seed(0)
    worlds.reset()
    returns = np.zeros(50)
    ended_once = False
    for _ in range(60):
        worlds.step(first_optimal(worlds.plan_lists(NEAR_OPTIMAL)))
        returns += worlds.rewards
        ended = worlds.finished()
        assert ended.world.tolist() == np.flatnonzero(worlds.done | worlds.cut_off).tolist()
        np.testing.assert_allclose(ended.reward, returns[ended.world])
        assert (ended.success == worlds.done[ended.world]).all()
        lengths = worlds.privileged["length"][ended.world]
        assert ((ended.completed == lengths) == ended.success).all()
        assert (ended.events_used <= ended.events).all()
        returns[ended.world] = 0.0
        ended_once |= bool(ended.world.size)
        worlds.reset(worlds.status != RUNNING)
    assert ended_once


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda worlds: worlds.step(np.zeros(3, np.int64)), r"shape \(3,\), not \(2,\)"),
        (lambda worlds: worlds.step(np.array(0)), r"shape \(\), not \(2,\)"),
        (lambda worlds: worlds.step(np.array([0, 13])), r"actions must be within 0\.\.12"),
        (lambda worlds: worlds.step(np.array([0, -1])), r"actions must be within 0\.\.12"),
        (lambda worlds: worlds.follow(np.zeros(2, np.int64)), r"shape \(2,\), not \(steps, 2\)"),
        (lambda worlds: worlds.follow(np.zeros((2, 3), np.int64)), r"\(2, 3\), not \(steps, 2\)"),
        (lambda worlds: worlds.follow(np.zeros((0, 2), np.int64)), r"\(0, 2\), not \(steps, 2\)"),
        (lambda worlds: worlds.follow(np.array([[0, 0], [0, 13]])), r"within 0\.\.12"),
        (lambda worlds: worlds.seed([1, 2, 3]), "3 seeds for 2 worlds"),
        (lambda worlds: worlds.reset(np.ones(5, np.bool_)), r"mask has shape \(5,\), not \(2,\)"),
        (lambda worlds: worlds.subtasks, "no single subtask"),
        (lambda worlds: worlds.change_tasks(list_tasks(GRID, "train", (1, 9))), "do not fit"),
        (lambda worlds: Worlds(GRID, 0, worlds.tasks), "at least one world, not 0"),
        (lambda worlds: TaskSource(()), "at least one instruction"),
        (lambda worlds: TaskSource(worlds.tasks.pool, (0, 2)), "must be at least 1 and in order"),
        (lambda worlds: TaskSource(worlds.tasks.pool, (3, 2)), "must be at least 1 and in order"),
        (lambda worlds: TaskSource(worlds.tasks.pool, step_limit=0), "at least 1, not 0"),
        (lambda worlds: TaskSource(worlds.tasks.pool, (2, 2), in_order=True), "given in order"),
        (lambda worlds: given_list(GRID, [], 10), "at least one instruction"),
        (lambda worlds: given_list(GRID, worlds.tasks.pool, -1), "at least 1, not -1"),
        (lambda worlds: list_tasks(GRID, "train", (1, 1), step_limit=0), "at least 1, not 0"),
        (lambda worlds: list_tasks(GRID, "train", (1, 2**15)), "of 32768 is longer than 32767"),
        (lambda worlds: given_list(GRID, worlds.tasks.pool * 9999), "is longer than 32767"),
        (lambda worlds: TaskSource(worlds.tasks.pool, step_limit=2**31), "at most 2147483647, not"),
    ],
)
def test_wrong_values_are_refused_in_one_line(change: Any, message: str) -> None:
    worlds = build(GRID, "lists", 2)
    worlds.reset()
    with pytest.raises(ValueError, match=message) as refusal:
        change(worlds)
    assert "\n" not in str(refusal.value)


@BOTH
def test_a_snapshot_goes_on_exactly_where_it_was_taken(spec: WorldSpec) -> None:
    worlds = build(spec, "lists", 8)
    worlds.seed(3)
    worlds.reset()

    def go_on(steps: int) -> History:
        told = []
        for _ in range(steps):
            worlds.step(first_optimal(worlds.plan_lists(NEAR_OPTIMAL)))
            told.append({"rewards": worlds.rewards.copy(), "states": worlds.privileged.copy()})
            told.append({"images": worlds.images.copy(), "returns": worlds.finished().reward})
            worlds.reset(worlds.status != RUNNING)
        return told

    go_on(7)
    kept = worlds.snapshot()
    first = go_on(60)
    worlds.restore(kept)
    assert_same(first, go_on(60))


def test_renewing_steps_and_resets_in_one_call() -> None:
    """A batch that renews itself sees what one that is reset after each end sees."""
    once, twice = (Worlds(GRID, 50, list_tasks(GRID, "train", (1, 2), step_limit=7)) for _ in "ab")
    for worlds in (once, twice):
        worlds.seed(3)
        worlds.reset()
    draw = np.random.default_rng(0)
    renewed = 0
    for _ in range(40):
        actions = draw.integers(0, 13, 50)
        over = twice.status > 0
        renewed += int(over.sum())
        once.step(actions, renew=True)
        twice.step(actions)
        twice.reset(over)
        for name in ("images", "tokens", "mask", "rewards", "status"):
            assert (getattr(once, name) == getattr(twice, name)).all(), name
        assert (once.privileged == twice.privileged).all()
        assert (once.finished().reward == twice.finished().reward).all()
    assert renewed > 100


@BOTH
@pytest.mark.parametrize("renew", [False, True])
@pytest.mark.parametrize("count", [5, FEW + 1])
def test_many_steps_in_one_call_are_those_steps(spec: WorldSpec, renew: bool, count: int) -> None:
    once, twice = (build(spec, "lists", count) for _ in "ab")
    for worlds in (once, twice):
        worlds.seed(3)
        worlds.reset()
    actions = np.random.default_rng(0).integers(0, once.actions, (100, count))
    for part in (actions[:60], actions[60:]):
        rewards, status = once.follow(part, renew=renew)
        for k, chosen in enumerate(part):
            twice.step(chosen, renew=renew)
            assert (rewards[k] == twice.rewards).all()
            assert (status[k] == twice.status).all()
        assert_same([once.snapshot()], [twice.snapshot()])
        assert (status != RUNNING).any()  # episodes ended on the way


@BOTH
@pytest.mark.parametrize("wrong", [-1, 13, 2**63 - 1])
def test_a_wrong_action_changes_nothing(spec: WorldSpec, wrong: int) -> None:
    worlds = build(spec, "lists", 5)
    worlds.reset()
    before = worlds.snapshot()
    with pytest.raises(ValueError, match="must be within"):
        worlds.step(np.array([1, 1, 1, 1, wrong]), renew=True)
    with pytest.raises(ValueError, match="must be within"):
        worlds.follow(np.array([[1, 1, 1, 1, 1], [1, 1, 1, 1, wrong]]))
    assert_same([before], [worlds.snapshot()])


def test_a_step_needs_an_episode() -> None:
    worlds = build(GRID, "lists", 2)
    with pytest.raises(ValueError, match="call reset"):
        worlds.step(np.zeros(2, np.int64))
    worlds.reset(np.array([True, False]))
    with pytest.raises(ValueError, match="call reset"):
        worlds.follow(np.zeros((3, 2), np.int64))
    worlds.reset()
    worlds.step(np.zeros(2, np.int64))


@pytest.mark.parametrize("wrong", [[0.0, 1.0], ["0", "1"], [True, False], [None, 0]])
def test_actions_and_seeds_are_whole_numbers(wrong: Any) -> None:
    worlds = build(GRID, "lists", 2)
    worlds.reset()
    with pytest.raises(TypeError, match="actions are whole numbers"):
        worlds.step(wrong)
    if None not in wrong:
        with pytest.raises(TypeError, match="a seed is a whole number"):
            worlds.seed(wrong)


def test_interact_with_is_read_as_what_it_means_for_the_object() -> None:
    worlds = build(GRID, "skill", 1)
    codes = np.array([[INTERACT, k, 1] for k in range(len(GRID.objects))])
    others = np.array([[VISIT, 0, 1], [TRANSFORM, 3, 2]])
    meant = worlds.meant(np.concatenate((codes, others)))
    expected = [VERBS.index(GRID.interact.get(name, "pick up")) for name in GRID.objects]
    assert meant[: len(codes), 0].tolist() == expected
    assert (meant[: len(codes), 1:] == codes[:, 1:]).all()
    assert (meant[len(codes) :] == others).all()
    assert (codes[:, 0] == INTERACT).all()  # what was given stays as it was
