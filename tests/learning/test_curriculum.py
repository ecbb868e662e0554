"""Worlds and lists that grow with the success rate."""

from dataclasses import replace

import pytest

from errands.learning.curriculum import (
    ENOUGH,
    GROW_AT,
    GROW_LISTS_AT,
    PATIENCE,
    SMALLEST,
    Curriculum,
    EventCurriculum,
    ListCurriculum,
    crowded,
    walled,
)
from errands.worlds.spec import BLOCK, GRID, MAP_SIZE
from errands.worlds.tasks import list_tasks
from errands.worlds.vector import Worlds


def good_batches(curriculum: Curriculum, count: int) -> list[bool]:
    return [curriculum.learn(GROW_AT) for _ in range(count)]


def test_begins_small_and_grows_one_size_at_a_time() -> None:
    curriculum = Curriculum(GRID.skill)
    for largest in range(SMALLEST, MAP_SIZE):
        assert curriculum.setting.sizes == (SMALLEST, largest)
        assert good_batches(curriculum, PATIENCE) == [False] * (PATIENCE - 1) + [True]
    assert curriculum.setting.sizes == (SMALLEST, MAP_SIZE)
    assert good_batches(curriculum, 3 * PATIENCE) == [False] * 3 * PATIENCE


def test_only_good_batches_in_a_row_count() -> None:
    curriculum = Curriculum(GRID.skill)
    good_batches(curriculum, PATIENCE - 1)
    assert not curriculum.learn(GROW_AT - 0.01)
    assert good_batches(curriculum, PATIENCE) == [False] * (PATIENCE - 1) + [True]


def test_nothing_but_the_size_changes() -> None:
    sizes = Curriculum(GRID.skill).setting
    assert sizes.objects == GRID.skill.objects
    assert sizes.scattered == GRID.skill.scattered


def test_a_world_of_ones_own_keeps_its_sizes() -> None:
    curriculum = Curriculum(replace(GRID.skill, sizes=(6, 8)))
    drawn = [curriculum.setting.sizes]
    while not curriculum.grown:
        good_batches(curriculum, PATIENCE)
        drawn.append(curriculum.setting.sizes)
    assert drawn == [(6, 6), (6, 7), (6, 8)]


def test_switched_off_it_leaves_the_setting_alone() -> None:
    curriculum = Curriculum(GRID.skill, enabled=False)
    assert curriculum.setting == GRID.skill
    assert not any(good_batches(curriculum, 2 * PATIENCE))
    assert curriculum.setting == GRID.skill


@pytest.mark.parametrize("batches", [1, PATIENCE, PATIENCE + 2])
def test_goes_on_where_it_stopped(batches: int) -> None:
    curriculum, other = Curriculum(GRID.skill), Curriculum(GRID.skill)
    good_batches(curriculum, batches)
    other.restore(curriculum.facts())
    assert other.setting == curriculum.setting
    assert good_batches(other, PATIENCE) == good_batches(curriculum, PATIENCE)


# Lists


def good_lists(curriculum: ListCurriculum, count: int) -> list[bool]:
    return [curriculum.learn(GROW_LISTS_AT) for _ in range(count)]


def test_lists_begin_with_one_instruction_and_grow_by_one() -> None:
    curriculum = ListCurriculum(4)
    for longest in range(1, 4):
        assert curriculum.lengths == (1, longest)
        assert good_lists(curriculum, PATIENCE) == [False] * (PATIENCE - 1) + [True]
    assert curriculum.reached == 4
    good_lists(curriculum, PATIENCE - 1)
    assert not curriculum.mastered
    assert not any(good_lists(curriculum, 3 * PATIENCE))
    assert curriculum.reached == 4
    assert curriculum.mastered
    curriculum.learn(0.0)
    assert curriculum.mastered


def test_only_good_batches_in_a_row_make_lists_longer() -> None:
    curriculum = ListCurriculum(4)
    good_lists(curriculum, PATIENCE - 1)
    assert not curriculum.learn(GROW_LISTS_AT - 0.01)
    assert good_lists(curriculum, PATIENCE) == [False] * (PATIENCE - 1) + [True]


def test_lists_of_one_stay_if_nothing_longer_is_wanted() -> None:
    curriculum = ListCurriculum(1)
    assert not any(good_lists(curriculum, 2 * PATIENCE))
    assert curriculum.reached == 1


@pytest.mark.parametrize("batches", [1, PATIENCE, PATIENCE + 2, 4 * PATIENCE])
def test_lists_go_on_where_they_stopped(batches: int) -> None:
    curriculum, other = ListCurriculum(4), ListCurriculum(4)
    good_lists(curriculum, batches)
    other.restore(curriculum.facts())
    assert (other.reached, other.mastered) == (curriculum.reached, curriculum.mastered)
    assert good_lists(other, PATIENCE) == good_lists(curriculum, PATIENCE)


# Events


def test_events_come_often_while_none_is_used_and_as_in_the_world_when_enough_are() -> None:
    events = EventCurriculum()
    assert events.times(10.0) == 10.0
    told = []
    for _ in range(60):
        events.learn(2 * ENOUGH)
        told.append(events.times(10.0))
    assert told == sorted(told, reverse=True)
    assert told[0] < 10.0
    assert told[-1] == 1.0
    for _ in range(60):
        events.learn(0.0)
    assert events.times(10.0) == pytest.approx(10.0)


def test_half_of_enough_is_half_way() -> None:
    events = EventCurriculum()
    for _ in range(100):
        events.learn(ENOUGH / 2)
    assert events.times(5.0) == pytest.approx(3.0)
    assert events.times(1.0) == 1.0


def test_events_go_on_where_they_stopped() -> None:
    events, other = EventCurriculum(), EventCurriculum()
    events.learn(0.3)
    other.restore(events.facts())
    assert other.times(4.0) == events.times(4.0)


def test_a_crowd_is_of_targets_and_of_what_they_turn_into() -> None:
    setting = crowded(BLOCK, BLOCK.lists, 0.6)
    assert set(setting.scattered) == {*BLOCK.lists.scattered, "ice"}
    assert setting.scattered.count("ice") == len(BLOCK.lists.scattered)
    assert setting.objects == (0.0, 0.6)
    worlds = Worlds(BLOCK, 400, list_tasks(BLOCK, "train", (4, 4)), setting)
    worlds.seed(0)
    worlds.reset()
    placed, ice = worlds.privileged["counts"].sum(1), worlds.privileged["counts"][:, 6]
    assert BLOCK.objects[6] == "ice"
    assert placed.min() < 12
    assert 30 < placed.max() <= 48  # of 64 cells, a quarter stays empty
    assert 0.4 < ice.sum() / placed.sum() < 0.5  # targets of the list come on top


def test_no_crowd_leaves_the_worlds_own_setting() -> None:
    assert crowded(BLOCK, BLOCK.lists, 0.0) is BLOCK.lists
    vanishing = replace(BLOCK, transforms={})
    assert crowded(vanishing, BLOCK.lists, 0.5).scattered == BLOCK.lists.scattered


def test_walls_become_more_and_never_fewer() -> None:
    assert walled(GRID.skill, 0.0) == GRID.skill
    setting = walled(GRID.skill, 0.25)
    assert setting == replace(GRID.skill, walls=(0.0, 0.25))
    shares = []
    for maps in (GRID.skill, setting):
        worlds = Worlds(GRID, 400, list_tasks(GRID, "train", (1, 1)), maps)
        worlds.seed(0)
        worlds.reset()
        shares.append(worlds.images[:, 1, 1:-1, 1:-1].mean())
    assert shares[1] > 1.8 * shares[0]
