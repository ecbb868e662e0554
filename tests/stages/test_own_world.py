"""Skills and meta controllers are trained in a user's own world, too."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from errands.agents.files import save_agent
from errands.presets import eyes_training, meta_training, skill_training
from errands.stages.eyes import EyesTrainer
from errands.stages.meta import MetaTrainer
from errands.stages.run import iterate
from errands.stages.skill import SkillTrainer
from twins.own_world import own_world
from twins.training import tiny

CELLAR = own_world("grid")


def test_a_skill_with_a_map_needs_eyes_that_know_its_world(tmp_path: Path) -> None:
    cellar = own_world("block")
    with pytest.raises(ValueError, match="know 7 kinds of object, and this world has 5"):
        SkillTrainer(tiny("block"), spec=cellar)
    short = {"worlds": 8, "minibatch": 8, "validation_episodes": 4}
    eyes = EyesTrainer(replace(eyes_training("block", "debug"), **short), spec=cellar)
    assert iterate(eyes).losses.keys() == {"recognition"}
    save_agent(tmp_path, eyes.average, eyes.description())
    trainer = SkillTrainer(tiny("block", eyes=str(tmp_path)), spec=cellar)
    assert "analogy" in iterate(trainer).losses
    assert torch.equal(trainer.skill.eyes.recogniser.name.weight, eyes.average.name.weight)


@pytest.mark.slow
def test_a_skill_and_a_meta_controller_learn_in_a_users_own_world(tmp_path: Path) -> None:
    trainer = SkillTrainer(skill_training("grid", "independent", "debug"), spec=CELLAR)
    assert "analogy" in iterate(trainer).losses
    save_agent(tmp_path, trainer.average, trainer.description())
    training = meta_training("grid", "dynamic", "debug", skill=str(tmp_path))
    meta = MetaTrainer(training, spec=CELLAR)
    assert "analogy" in iterate(meta).losses
    assert meta.description()["training"]["world"] == "cellar"
    assert meta._setting().sizes == (6, 6)  # its own smallest
    assert set(meta.validate(meta.phase())) >= {"success", "caught"}
