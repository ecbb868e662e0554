"""What the presets say, where one option changes another's numbers."""

import pytest

from errands.config import Scenario, skill_training


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
