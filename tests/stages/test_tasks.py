"""What worlds ask for in training: the paper's splits unchanged, and those of one's own world."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from errands.agents.skill import Skill
from errands.config import meta_training, skill_training
from errands.language.analogies import Analogies
from errands.stages import tasks
from errands.stages.meta import MetaTrainer
from errands.stages.run import iterate
from errands.stages.skill import SkillTrainer
from errands.worlds.spec import BLOCK, GRID
from errands.worlds.tasks import list_tasks, skill_tasks
from twins.own_world import own_world

CELLAR = own_world("grid")


@pytest.mark.parametrize("spec", [GRID, BLOCK], ids=lambda spec: spec.name)
@pytest.mark.parametrize("scenario", ["independent", "object-dependent", "inter-extrapolation"])
def test_the_papers_worlds_keep_their_splits_and_analogies(spec: Any, scenario: str) -> None:
    for split in ("train", "validation"):
        assert tasks.subtasks(spec, scenario, split) == skill_tasks(spec, scenario, split)
        assert tasks.lists(spec, split, (2, 4)) == list_tasks(spec, split, (2, 4))
    expected, found = Analogies.of(spec.name, scenario), tasks.analogies(spec, scenario)
    assert np.array_equal(found.codes, expected.codes)
    draws = [each.sample("sim", 50, np.random.default_rng(0)) for each in (expected, found)]
    assert np.array_equal(*draws)


def test_training_for_the_papers_worlds_stays_as_it_is() -> None:
    training = skill_training("grid", "independent")
    assert tasks.fitted(training, GRID) is training


def test_ones_own_world_trains_what_it_does_not_hold_out() -> None:
    trained = {str(item) for item in tasks.subtasks(CELLAR, "independent", "train").pool}
    assert {"visit oil lamp", "interact with gem", "transform ghost"} <= trained
    assert not {"pick up oil lamp", "visit gem"} & trained
    unseen = {str(item) for item in tasks.subtasks(CELLAR, "independent", "unseen").pool}
    assert unseen == {"pick up oil lamp", "visit gem"}
    validation = tasks.subtasks(CELLAR, "independent", "validation")
    assert {str(item) for item in validation.pool} == trained
    asked = {item.object for item in tasks.lists(CELLAR, "validation", (3, 3)).pool}
    assert "ghost" not in asked
    codes = tasks.analogies(CELLAR, "independent").codes
    assert len(codes) == 4 * 5  # all verbs with all objects, the unseen ones too


def test_the_papers_words_with_other_subtasks_held_out_are_ones_own_world() -> None:
    spec = replace(GRID, held_out=(("visit", "cow"),))
    for split in ("train", "validation"):
        pool = {str(item) for item in tasks.subtasks(spec, "independent", split).pool}
        assert "visit cow" not in pool
        assert {"pick up cow", "transform enemy"} <= pool
        assert "visit cow" not in {str(item) for item in tasks.lists(spec, split, (2, 2)).pool}


@pytest.mark.parametrize("kind", ["grid", "block"])
def test_networks_take_their_sizes_from_the_world(kind: Any) -> None:
    spec = own_world(kind)
    skill = tasks.fitted(skill_training(kind, "independent", "debug"), spec)
    assert skill.world == "cellar"
    assert (skill.network.world, skill.network.objects, skill.network.verbs) == (kind, 5, 4)
    meta = tasks.fitted(meta_training(kind, "dynamic", "debug"), spec)
    assert meta.network.words == spec.vocabulary.token_count
    assert meta.network.actions == {"grid": 13, "block": 9}[kind]
    assert Skill(skill.network).network.actions == meta.network.actions


def test_a_skill_and_a_meta_controller_learn_in_ones_own_world(tmp_path: Any) -> None:
    from errands.agents.files import save_agent

    trainer = SkillTrainer(skill_training("grid", "independent", "debug"), spec=CELLAR)
    assert "analogy" in iterate(trainer).losses
    save_agent(tmp_path, trainer.average, trainer.description())
    training = meta_training("grid", "dynamic", "debug", skill=str(tmp_path))
    meta = MetaTrainer(training, spec=CELLAR)
    assert "analogy" in iterate(meta).losses
    assert meta.description()["training"]["world"] == "cellar"
    assert meta._setting().sizes == (6, 6)  # its own smallest
    assert set(meta.validate(meta.phase())) >= {"success", "caught"}
