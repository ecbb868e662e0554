"""What a hint may read and change; hints.py has the hints themselves."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor, nn

from errands.agents.memory import Memory

Numbers = Mapping[str, Any]  # of one hint, by name, as they are in an agent's file


class Moment(NamedTuple):
    """What is known at a step before anything is decided, (B, ...) each."""

    begins: Tensor  # (B,) an episode begins: nothing earlier counts
    keep: Tensor  # (B, 1) 0 there, else 1
    b: Tensor  # (B,) 1 where g_(t-1) has terminated
    g: Tensor  # (B, parameters) g_(t-1)
    words: Tensor  # (B, words) that p_(t-1) is on
    r: Tensor  # (B, sentence) r_(t-1)
    condition: Tensor  # (B, E)
    kinds: Tensor  # (B, views, C) of the eyes; (B, 0, 0) where no hint reads it


class Aim(NamedTuple):
    """What a subtask is chosen from, (B, ...) each."""

    words: Tensor  # (B, words) that p~_t is on
    r: Tensor  # (B, sentence) r~_t
    hidden: Tensor  # (B, hidden) layer of phi^goal


class Hint(nn.Module):
    """An addition that adds nothing yet."""

    numbers: ClassVar[dict[str, Any]] = {}  # that shape it, with their usual values
    for_flat = True  # whether an agent without subtasks can have it
    reads_kinds = False
    blinds_shift = False  # the context is kept from the shift
    adds_to_context = False
    context_inputs = shift_inputs = critic_inputs = 0  # what it lets them read beside the paper's

    def for_context(self, moment: Moment) -> Tensor:
        """(B, context_inputs)"""
        raise NotImplementedError

    def to_context(self, moment: Moment) -> Tensor:
        """Added to h~_t before its nonlinearity: (B, hidden)."""
        raise NotImplementedError

    def for_shift(self, moment: Moment) -> Tensor:
        """(B, shift_inputs)"""
        raise NotImplementedError

    def for_critic(self, memory: Memory) -> Tensor:
        """(B, critic_inputs)"""
        raise NotImplementedError

    def opens(self, moment: Moment) -> Tensor:
        """Where (B,) the gate has no choice but to open."""
        return torch.zeros_like(moment.begins)

    def update_logit(self, logit: Tensor, moment: Moment) -> Tensor:
        """The logit of the update (B,), with what the hint adds."""
        return logit

    def shift_logits(self, logits: Tensor, moment: Moment, memory: Memory) -> Tensor:
        """The logits of the shifts (B, 3), with what the hint adds."""
        return logits

    def goal_logits(
        self, logits: Tensor, aim: Aim, chosen: Sequence[Tensor], moment: Moment
    ) -> Tensor:
        """The logits of a parameter of the subtask, after those that are `chosen` (B,) each."""
        return logits

    def initial_memory(self, worlds: int, device: torch.device) -> Memory:
        return ()

    def notice(self, moment: Moment, memory: Memory) -> Memory:
        """What it remembers when a step begins."""
        return memory

    def settle(self, memory: Memory, moved: Tensor) -> Memory:
        """What it remembers when a share (B,) of the pointer has moved on."""
        return memory
