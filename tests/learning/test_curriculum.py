"""Worlds that grow with the success rate."""

import pytest

from errands.learning.curriculum import GROW_AT, PATIENCE, SMALLEST, Curriculum
from errands.worlds.spec import GRID, MAP_SIZE


def good_batches(curriculum: Curriculum, count: int) -> list[bool]:
    return [curriculum.learn(GROW_AT) for _ in range(count)]


def test_begins_small_and_grows_one_size_at_a_time() -> None:
    curriculum = Curriculum(enabled=True)
    for largest in range(SMALLEST, MAP_SIZE):
        assert curriculum.setting(GRID.skill).sizes == (SMALLEST, largest)
        assert good_batches(curriculum, PATIENCE) == [False] * (PATIENCE - 1) + [True]
    assert curriculum.setting(GRID.skill).sizes == (SMALLEST, MAP_SIZE)
    assert good_batches(curriculum, 3 * PATIENCE) == [False] * 3 * PATIENCE


def test_only_good_batches_in_a_row_count() -> None:
    curriculum = Curriculum(enabled=True)
    good_batches(curriculum, PATIENCE - 1)
    assert not curriculum.learn(GROW_AT - 0.01)
    assert good_batches(curriculum, PATIENCE) == [False] * (PATIENCE - 1) + [True]


def test_nothing_but_the_size_changes() -> None:
    sizes = Curriculum(enabled=True).setting(GRID.skill)
    assert sizes.objects == GRID.skill.objects
    assert sizes.scattered == GRID.skill.scattered


def test_switched_off_it_leaves_the_setting_alone() -> None:
    curriculum = Curriculum(enabled=False)
    assert curriculum.setting(GRID.skill) == GRID.skill
    assert not any(good_batches(curriculum, 2 * PATIENCE))
    assert curriculum.setting(GRID.skill) == GRID.skill


@pytest.mark.parametrize("batches", [1, PATIENCE, PATIENCE + 2])
def test_goes_on_where_it_stopped(batches: int) -> None:
    curriculum, other = Curriculum(enabled=True), Curriculum(enabled=True)
    good_batches(curriculum, batches)
    other.restore(curriculum.facts())
    assert other.setting(GRID.skill) == curriculum.setting(GRID.skill)
    assert good_batches(other, PATIENCE) == good_batches(curriculum, PATIENCE)
