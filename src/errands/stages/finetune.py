"""Stage: fine-tuning (paper, eq. 6). Actor-critic with generalised advantages, and termination."""

import torch
from torch import Tensor

from errands.agents.skill import Skill
from errands.config import SkillTraining
from errands.learning import losses
from errands.learning.rollout import SkillFrames


def actor_critic_losses(
    skill: Skill,
    frames: SkillFrames,
    advantages: Tensor,
    returns: Tensor,
    training: SkillTraining,
    entropy_weight: float,
) -> dict[str, Tensor]:
    output, _ = skill.unroll(frames.images, frames.subtasks, frames.begins, frames.memory)
    log_probabilities = torch.log_softmax(output.logits, dim=-1)
    chosen = log_probabilities.gather(-1, frames.actions[..., None]).squeeze(-1)
    return {
        "policy": losses.policy_gradient(
            chosen, frames.log_probabilities, advantages, frames.running, training.clip
        ),
        "value": training.value * losses.value_error(output.value, returns, frames.running),
        "entropy": -entropy_weight * losses.entropy(output.logits, frames.running),
        "termination": training.termination
        * losses.termination(output.termination, frames.finished, training.positive_weight),
    }
