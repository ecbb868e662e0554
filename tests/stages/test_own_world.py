"""Skills and meta controllers are trained in a user's own world, too."""

from pathlib import Path

from errands.agents.files import save_agent
from errands.presets import meta_training, skill_training
from errands.stages.meta import MetaTrainer
from errands.stages.run import iterate
from errands.stages.skill import SkillTrainer
from twins.own_world import own_world

CELLAR = own_world("grid")


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
