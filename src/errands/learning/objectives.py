"""What is minimised: equations 5, 6 and 8 of the paper (appendix D), side by side.

Each objective is a dict of named terms; their sum is L_RL. Training adds xi L_AM, the analogies'
objective (equations 7 and 9). `losses` has the single terms. Greek letters are the paper's: alpha
weighs the termination signal, eta the penalty on updates.
"""

from typing import Protocol

import torch
from torch import Tensor

from errands.agents.meta import MetaController
from errands.agents.skill import Skill
from errands.learning import losses
from errands.learning.advantages import Credit
from errands.learning.meta_rollout import MetaFrames
from errands.learning.rollout import SkillFrames

Terms = dict[str, Tensor]
CONTRAST_EVERY = 4  # steps, with a map: one in four is enough, and saves time


def distillation(
    skill: Skill, frames: SkillFrames, *, alpha: float, positive_weight: float
) -> Terms:
    """Equation 5: KL(teacher || skill) in the states that the skill visits, and termination."""
    output, _ = skill.unroll(frames.images, frames.subtasks, frames.begins, frames.memory)
    # Where a target cannot be reached, the planner has no advice and there is nothing to learn.
    taught = frames.running & (frames.optimal.sum(-1) > 0)
    terms = {
        "kl": losses.distillation(frames.optimal, output.logits, taught),
        "termination": alpha
        * losses.termination(output.termination, frames.finished, positive_weight),
    }
    if output.deed is not output.termination:  # a counter: the teacher says when to count
        terms["deed"] = alpha * losses.termination(output.deed, frames.deeds)
    return terms


def contrast(
    skill: Skill, frames: SkillFrames, others: Tensor, meant: Tensor, *, positive_weight: float
) -> Tensor:
    """Termination where other subtasks (T, B, 3) had been given; `meant` (T, B, 2) finishes them.

    Ours. A skill that is asked to transform a horse never picks one up: what tells the two apart is
    not in its own frames, and whatever it takes for the difference, it also takes for the
    difference where a pair was never trained.
    """
    # A map shows the step before beside this one; what else a skill remembers needs every step.
    some = slice(None, None, CONTRAST_EVERY if skill.network.maps else 1)
    begins, finished = frames.begins[some], (frames.did[some] == meant[some]).all(dim=-1)
    output, _ = skill.unroll(frames.images[some], others[some], begins, frames.memory)
    return losses.termination(output.termination, finished, positive_weight)


def actor_critic(
    skill: Skill,
    frames: SkillFrames,
    credit: Credit,
    *,
    alpha: float,
    positive_weight: float,
    clip: float,
    value_weight: float,
    entropy_weight: float,
) -> Terms:
    """Equation 6: actor-critic with generalised advantages, and termination."""
    output, _ = skill.unroll(frames.images, frames.subtasks, frames.begins, frames.memory)
    log_pi = torch.log_softmax(output.logits, dim=-1)
    chosen = log_pi.gather(-1, frames.actions[..., None]).squeeze(-1)
    # Not from log_pi: gradients are then summed in the order of the runs that are committed.
    entropies = losses.uncertainty(torch.log_softmax(output.logits, dim=-1))
    terms = _policy_and_critic(
        frames,
        credit,
        chosen,
        output.value,
        entropies,
        clip=clip,
        value_weight=value_weight,
        entropy_weight=entropy_weight,
    )
    terms["termination"] = alpha * losses.termination(
        output.termination, frames.finished, positive_weight
    )
    return terms


def meta_actor_critic(
    meta: MetaController,
    frames: MetaFrames,
    credit: Credit,
    *,
    soft: bool,
    eta: float,
    clip: float,
    value_weight: float,
    entropy_weight: float,
) -> Terms:
    """Equation 8, soft or hard: actor-critic on g_t, c_t and l_t, and a penalty on updates."""
    output = meta.reconsider(frames.given, frames.before, frames.decision, soft=soft)
    terms = _policy_and_critic(
        frames,
        credit,
        output.log_probability,
        output.value,
        output.entropy,
        clip=clip,
        value_weight=value_weight,
        entropy_weight=entropy_weight,
    )
    if meta.network.gate == "learned":
        # Where an update is the rule, it costs nothing.
        free = frames.running & output.free
        terms["updates"] = eta * losses.masked_mean(output.update, free)
    return terms


class _Decided(Protocol):
    """Frames (T, B) in which something was decided."""

    @property
    def running(self) -> Tensor: ...
    @property
    def log_probabilities(self) -> Tensor: ...


def _policy_and_critic(
    frames: _Decided,
    credit: Credit,
    log_probabilities: Tensor,
    values: Tensor,
    entropies: Tensor,
    *,
    clip: float,
    value_weight: float,
    entropy_weight: float,
) -> Terms:
    """What equations 6 and 8 share: -log pi(a) A, in the clipped form that serves several updates,
    the critic's error, and the policy's entropy."""
    running = frames.running
    return {
        "policy": losses.policy_gradient(
            log_probabilities, frames.log_probabilities, credit.advantages, running, clip
        ),
        "value": value_weight * losses.value_error(values, credit.returns, running),
        "entropy": -entropy_weight * losses.masked_mean(entropies, running),
    }
