"""What worlds ask for in training: the paper's splits, and those of a user's own world."""

from dataclasses import replace
from typing import Any

import pytest

from errands.worlds.spec import BLOCK, GRID
from errands.worlds.tasks import (
    analogies,
    list_tasks,
    skill_tasks,
    training_lists,
    training_subtasks,
)
from twins.own_world import own_world

CELLAR = own_world("grid")


@pytest.mark.parametrize("spec", [GRID, BLOCK], ids=lambda spec: spec.name)
@pytest.mark.parametrize("scenario", ["independent", "object-dependent", "inter-extrapolation"])
def test_the_papers_worlds_keep_their_splits(spec: Any, scenario: str) -> None:
    for split in ("train", "validation"):
        assert training_subtasks(spec, scenario, split) == skill_tasks(spec, scenario, split)
        assert training_lists(spec, split, (2, 4)) == list_tasks(spec, split, (2, 4))


def test_ones_own_world_trains_what_it_does_not_hold_out() -> None:
    trained = {str(item) for item in training_subtasks(CELLAR, "independent", "train").pool}
    assert {"visit oil lamp", "interact with gem", "transform ghost"} <= trained
    assert not {"pick up oil lamp", "visit gem"} & trained
    unseen = {str(item) for item in training_subtasks(CELLAR, "independent", "unseen").pool}
    assert unseen == {"pick up oil lamp", "visit gem"}
    validation = training_subtasks(CELLAR, "independent", "validation")
    assert {str(item) for item in validation.pool} == trained
    asked = {item.object for item in training_lists(CELLAR, "validation", (3, 3)).pool}
    assert "ghost" not in asked
    codes = analogies(CELLAR, "independent").codes
    assert len(codes) == 4 * 5  # all verbs with all objects, the unseen ones too


def test_the_papers_words_with_other_subtasks_held_out_are_ones_own_world() -> None:
    spec = replace(GRID, held_out=(("visit", "cow"),))
    for split in ("train", "validation"):
        pool = {str(item) for item in training_subtasks(spec, "independent", split).pool}
        assert "visit cow" not in pool
        assert {"pick up cow", "transform enemy"} <= pool
        assert "visit cow" not in {str(item) for item in training_lists(spec, split, (2, 2)).pool}
