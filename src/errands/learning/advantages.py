"""Generalised advantage estimation (Schulman et al., 2016; paper, appendix D)."""

import torch
from torch import Tensor


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
