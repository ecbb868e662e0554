"""What is minimised: equations 5, 6 and 8 of the paper (appendix D), side by side.

Each objective is a dict of named terms; their sum is L_RL. Training adds xi L_AM, the analogies'
objective (equations 7 and 9). `losses` has the single terms. Greek letters are the paper's: alpha
weighs the termination signal, eta the penalty on updates.
"""

from typing import Protocol

import torch
from torch import Tensor

from errands.agents.meta import Decision, MetaController, MetaInput, MetaState, Thought
from errands.agents.skill import Skill
from errands.learning import losses
from errands.learning.advantages import Credit
from errands.learning.meta_rollout import MetaFrames
from errands.learning.rollout import SkillFrames

Terms = dict[str, Tensor]


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
    thought = think_again(meta, frames, soft=soft)
    terms = _policy_and_critic(
        frames,
        credit,
        thought.log_probability,
        thought.value,
        thought.entropy,
        clip=clip,
        value_weight=value_weight,
        entropy_weight=entropy_weight,
    )
    if meta.network.gate == "learned":
        # Where an update is the rule, it costs nothing.
        running = frames.running
        free = running & ~frames.given.finished if meta.network.ends_open else running
        terms["updates"] = eta * losses.masked_mean(thought.update, free)
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


def think_again(meta: MetaController, frames: MetaFrames, *, soft: bool) -> Thought:
    """What the meta controller now makes of the decisions that it took: (T, B, ...).

    Soft updates and an LSTM are differentiated through time. Hard updates without an LSTM pass no
    gradient from step to step except through h_(t-1), which only the gate reads: there every frame
    stands alone, and all of them are one batch.
    """
    times, worlds = frames.running.shape
    if soft or meta.recurrent:
        thoughts = []
        state = MetaState(*(item[0] for item in frames.before))
        for t in range(times):
            given = MetaInput(*(item[t] for item in frames.given))
            decided = Decision(*(item[t] for item in frames.decision))
            thought, state = meta.step(given, state, soft=soft, decided=decided)
            thoughts.append(thought)
        parts = [torch.stack(items) for items in zip(*(t[1:] for t in thoughts), strict=True)]
        return Thought(frames.decision, *parts)
    given = MetaInput(*(item.flatten(0, 1) for item in frames.given))
    decided = Decision(*(item.flatten(0, 1) for item in frames.decision))
    before = MetaState(*(item.flatten(0, 1) for item in frames.before))
    thought, _ = meta.step(given, before, soft=False, decided=decided)
    parts = [item.view(times, worlds, *item.shape[1:]) for item in thought[1:]]
    return Thought(frames.decision, *parts)
