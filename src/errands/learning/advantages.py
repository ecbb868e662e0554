"""Generalised advantage estimation (Schulman et al., 2016; paper, appendix D)."""

from typing import Protocol

import torch
from torch import Tensor


class Steps(Protocol):
    """What advantages are computed from: tensors (T, B) of what was met, step by step."""

    @property
    def rewards(self) -> Tensor: ...
    @property
    def values(self) -> Tensor: ...
    @property
    def next_values(self) -> Tensor: ...
    @property
    def done(self) -> Tensor: ...
    @property
    def ended(self) -> Tensor: ...
    @property
    def running(self) -> Tensor: ...


def advantages_and_returns(
    frames: Steps, *, discount: float, trace: float
) -> tuple[Tensor, Tensor]:
    """Of a whole batch: advantages scaled to unit variance, and what the critic should say."""
    advantages = generalised_advantages(
        frames.rewards,
        frames.values,
        frames.next_values,
        frames.done,
        frames.ended | ~frames.running,
        discount=discount,
        trace=trace,
    )
    decided = advantages[frames.running]
    scaled = (advantages - decided.mean()) / (decided.std() + 1e-8)
    return scaled, advantages + frames.values


def generalised_advantages(
    rewards: Tensor,
    values: Tensor,
    next_values: Tensor,
    done: Tensor,
    ended: Tensor,
    *,
    discount: float,
    trace: float,
) -> Tensor:
    """A_t = sum over l of (discount * trace)^l * delta_(t+l), each (T, B).

    delta_t = r_t + discount * V(s_(t+1)) - V(s_t), where V counts as zero once the task is `done`.
    `ended` also marks episodes that were cut off: the sum stops there, but V(s_(t+1)) counts.
    """
    deltas = rewards + discount * next_values * (~done) - values
    advantages = torch.zeros_like(rewards)
    following = torch.zeros_like(rewards[0])
    for t in range(rewards.shape[0] - 1, -1, -1):
        following = deltas[t] + discount * trace * following * (~ended[t])
        advantages[t] = following
    return advantages
