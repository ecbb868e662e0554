"""What the presets say, where one option changes another's numbers."""

import pytest

from errands.config import Scenario, meta_training, skill_training


@pytest.mark.parametrize("scenario", ["independent", "inter-extrapolation"])
def test_rl_teachers_give_a_start_and_rewards_do_the_rest(scenario: Scenario) -> None:
    plain = skill_training("grid", scenario)
    taught = skill_training("grid", scenario, teacher="rl")
    assert taught.distill.frames < plain.distill.frames / 5
    assert taught.finetune.frames > plain.distill.frames + plain.finetune.frames
    assert taught.teachers.frames == 3_000_000


def test_without_a_teacher_nothing_is_distilled() -> None:
    plain, alone = (skill_training("grid", "independent", teacher=t) for t in ("planner", "none"))
    assert alone.distill.frames == 0
    assert alone.finetune.frames == 2 * (plain.distill.frames + plain.finetune.frames)
    assert (alone.epochs, alone.curriculum) == (2, True)


def test_the_papers_teacher_takes_no_step() -> None:
    fast, paper = (skill_training("block", "independent", preset) for preset in ("fast", "paper"))
    assert (fast.guided, paper.guided) == (0.9, 0.0)
    assert (fast.guidance(0.0), fast.guidance(0.1), fast.guidance(0.2)) == (0.9, 0.45, 0.0)


def test_batches_of_the_block_world_contain_whole_lists_and_credit_decisions() -> None:
    fast = meta_training("block", "dynamic")
    assert (fast.worlds, fast.steps, fast.minibatch, fast.credit) == (128, 128, 16, "decision")
    assert fast.frames_per_iteration == meta_training("grid", "dynamic").frames_per_iteration
    for world, preset in (("grid", "fast"), ("grid", "paper"), ("block", "paper")):
        plain = meta_training(world, "dynamic", preset)
        assert (plain.worlds, plain.steps, plain.credit) == (512, 32, "step")
