"""Decisions of a meta controller: when the gate opens, how they are drawn, and what they cost."""

from collections.abc import Callable
from typing import Literal, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

GATE_ENTROPY = 0.1  # weight of the gate in the entropy, beside the 1 of subtask and shift [O]
LEAST_CHANCE = 1e-8  # probability that a logarithm is taken of

Gate = Literal["learned", "at-termination", "every-step"]


class Decision(NamedTuple):
    """What was drawn at one step. Soft updates draw g_t alone."""

    c: Tensor  # (B,) bool
    shift: Tensor  # (B,) index into SHIFTS
    g: Tensor  # (B, parameters)


# Gates: the chance of c_t = 1 from its logit and b_t, and where it is a decision at all.


def learned(logit: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """Dynamic: it learns when."""
    return torch.sigmoid(logit), torch.ones_like(b, dtype=torch.bool)


def at_termination(logit: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """Long: when the last subtask has terminated."""
    return b, torch.zeros_like(b, dtype=torch.bool)


def every_step(logit: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """Short and Flat."""
    return torch.ones_like(b), torch.zeros_like(b, dtype=torch.bool)


GATES: dict[Gate, Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]] = {
    "learned": learned,
    "at-termination": at_termination,
    "every-step": every_step,
}


def gate_terms(logit: Tensor, c: Tensor, free: Tensor) -> tuple[Tensor, Tensor]:
    """log P(c_t) and its entropy, weighed, where it was free to be decided."""
    weight = free.to(logit.dtype)
    log_probability = weight * F.logsigmoid(torch.where(c, logit, -logit))
    q = torch.sigmoid(logit)
    entropy = -(q * F.logsigmoid(logit) + (1 - q) * F.logsigmoid(-logit))
    return log_probability, GATE_ENTROPY * weight * entropy


def shift_terms(shift: Tensor, shifted: Tensor, moves: Tensor) -> tuple[Tensor, Tensor]:
    """log P(l_t) and its entropy, where the pointer may move."""
    log_shift = torch.log(shift.clamp(min=LEAST_CHANCE))
    weight = moves.to(shift.dtype)
    log_probability = weight * log_shift.gather(1, shifted[:, None]).squeeze(1)
    return log_probability, -weight * (shift * log_shift).sum(1)


class Choice:
    """How decisions are taken: as they were before, or drawn, or without `random` the likeliest.

    Without `random`, the gate opens where its chance is more than `opens`.
    """

    def __init__(
        self, decided: Decision | None, random: torch.Generator | None, opens: float = 0.5
    ) -> None:
        self._decided, self._random, self._opens = decided, random, opens

    def of_gate(self, chance: Tensor) -> Tensor:
        if self._decided is not None:
            return self._decided.c
        if self._random is None:
            return chance > self._opens
        return draw(torch.stack((1 - chance, chance), dim=1), self._random).bool()

    def of_shift(self, chances: Tensor) -> Tensor:
        return draw(chances, self._random) if self._decided is None else self._decided.shift

    def of_parameter(self, k: int, chances: Tensor) -> Tensor:
        return draw(chances, self._random) if self._decided is None else self._decided.g[:, k]


def draw(probabilities: Tensor, random: torch.Generator | None) -> Tensor:
    """Indices (B,) drawn from rows (B, N) on the CPU, or without `random` the likeliest."""
    if random is None:
        return probabilities.argmax(dim=1)
    drawn = torch.multinomial(probabilities.detach().cpu(), 1, generator=random)
    return drawn[:, 0].to(probabilities.device)
