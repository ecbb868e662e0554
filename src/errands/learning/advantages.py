"""Generalised advantage estimation (Schulman et al., 2016; paper, appendix D)."""

from typing import NamedTuple, Protocol

import torch
from torch import Tensor


class RewardedFrames(Protocol):
    """What advantages are computed from: tensors (T, B)."""

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


class Credit(NamedTuple):
    """What each decision of a batch was worth, (T, B) each."""

    advantages: Tensor  # scaled to zero mean and unit variance, for the policy
    returns: Tensor  # what the critic should have said

    def worlds(self, index: Tensor) -> "Credit":
        """The same steps of some of the worlds."""
        return Credit(self.advantages[:, index], self.returns[:, index])

    def to(self, device: torch.device) -> "Credit":
        return Credit(self.advantages.to(device), self.returns.to(device))


def assign_credit(
    frames: RewardedFrames, *, discount: float, trace: float, decides: Tensor | None = None
) -> Credit:
    """The credit of a whole batch, scaled over all frames in which something was decided."""
    advantages = generalised_advantages(
        frames.rewards,
        frames.values,
        frames.next_values,
        frames.done,
        frames.ended | ~frames.running,
        discount=discount,
        trace=trace,
        decides=decides,
    )
    decided = advantages[frames.running]
    scaled = (advantages - decided.mean()) / (decided.std() + 1e-8)
    return Credit(scaled, advantages + frames.values)


def generalised_advantages(
    rewards: Tensor,
    values: Tensor,
    next_values: Tensor,
    done: Tensor,
    ended: Tensor,
    *,
    discount: float,
    trace: float,
    decides: Tensor | None = None,
) -> Tensor:
    """A_t = sum over l of (discount * trace)^l * delta_(t+l), each (T, B).

    delta_t = r_t + discount * V(s_(t+1)) - V(s_t), where V counts as zero once the task is `done`.
    `ended` also marks episodes that were cut off: the sum stops there, but V(s_(t+1)) counts.

    With `decides` (T, B), credit is assigned by decision: the trace fades only from a step to one
    that decides, so a decision gets the full credit for all steps until the next one, however many
    they are. Without it, every step decides.
    """
    deltas = rewards + discount * next_values * (~done) - values
    advantages = torch.zeros_like(rewards)
    following = torch.zeros_like(rewards[0])
    fade: float | Tensor = trace  # from step t to step t + 1; after the last step nothing follows
    for t in range(rewards.shape[0] - 1, -1, -1):
        following = deltas[t] + discount * fade * following * (~ended[t])
        advantages[t] = following
        if decides is not None:
            fade = torch.ones_like(following).masked_fill(decides[t], trace)
    return advantages
