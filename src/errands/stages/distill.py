"""Stage: distillation (paper, eq. 5). The student acts, the teacher labels the states it visits."""

from torch import Tensor

from errands.agents.skill import Skill
from errands.config import SkillTraining
from errands.learning import losses
from errands.learning.rollout import SkillFrames


def distillation_losses(
    skill: Skill, frames: SkillFrames, training: SkillTraining
) -> dict[str, Tensor]:
    """KL to the teacher where the student decides, and termination everywhere."""
    output, _ = skill.unroll(frames.images, frames.subtasks, frames.begins, frames.memory)
    # The planner knows no way when a target cannot be reached: nothing to learn there.
    taught = frames.running & (frames.optimal.sum(-1) > 0)
    terms = {
        "kl": losses.distillation(frames.optimal, output.logits, taught),
        "termination": training.termination
        * losses.termination(output.termination, frames.finished, training.positive_weight),
    }
    if output.deed is not output.termination:  # a counter: the teacher says when to count
        terms["deed"] = training.termination * losses.termination(output.deed, frames.deeds)
    return terms
