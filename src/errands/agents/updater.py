"""The subtask updater: Algorithm 2 of the paper, in its own symbols and order (section 4.2).

c_t says whether to update or to go on, l_t where the instruction pointer p_t moves, and g_t is the
subtask that follows from the instruction r~_t that is retrieved there.
"""

from collections.abc import Callable
from functools import partial
from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from errands.agents.hints import Advice, Aim
from errands.agents.instructions import STAY, Instructions, shift_pointer, within_list
from errands.agents.layers import Noise, undecided
from errands.agents.memory import Memory, each

GATE_ENTROPY = 0.1  # weight of the gate in the entropy, beside the 1 of subtask and shift [O]
SMALLEST = 1e-8  # probability that a logarithm is taken of

Gate = Literal["learned", "at-termination", "every-step"]
UpdateContext = Callable[
    [Tensor, Tensor, Memory], tuple[Tensor, Memory]
]  # s, h, memory: h~, memory~


class Decision(NamedTuple):
    """What was drawn at one step. Soft updates draw g_t alone."""

    c: Tensor  # (B,) bool
    shift: Tensor  # (B,) index into SHIFTS
    g: Tensor  # (B, parameters)


class Carried(NamedTuple):
    """What Algorithm 2 takes from the step before, and hands to the next: (B, ...) each."""

    p: Tensor  # (B, K) pointer
    h: Tensor  # (B, H) context
    memory: Memory  # of the context, beside h
    g: Tensor  # (B, parameters) what was chosen last


class Update(NamedTuple):
    """One step of Algorithm 2, and how likely it was."""

    carried: Carried
    h_tilde: Tensor  # (B, H)
    decision: Decision
    chance: Tensor  # (B,) of c_t = 1
    free: Tensor  # (B,) whether that was left to the gate
    shift: Tensor  # (B, 3) probabilities of -1, 0, +1
    log_probability: Tensor  # (B,) of the decision
    entropy: Tensor  # (B,) of what there was to decide


class SubtaskUpdater(nn.Module):
    """phi^update, phi^shift and phi^goal, and what Algorithm 2 does with them."""

    def __init__(
        self,
        noise: Noise,
        *,
        summary: int,
        context: int,
        shift_inputs: int,
        sentence: int,
        hidden: int,
        parameters: tuple[int, ...],
        gate: Gate,
        low: int,
    ) -> None:
        super().__init__()
        self.noise, self.gate, self.low = noise, GATES[gate], low
        self.update = undecided(nn.Linear(summary + context, 1))
        last = undecided(nn.Linear(hidden, 3))
        into_shift = nn.Linear(shift_inputs, hidden)
        self.shift = nn.Sequential(into_shift, nn.ReLU(), last)
        self.goal_hidden = nn.Linear(sentence + context, hidden)
        self.goals = nn.ModuleList(undecided(nn.Linear(hidden, size)) for size in parameters)

    def forward(
        self,
        s: Tensor,
        before: Carried,
        M: Instructions,
        context: "UpdateContext",
        advice: Advice,
        choice: "Choice",
        *,
        soft: bool,
    ) -> Update:
        """Algorithm 2. `soft` weighs by c_t and l_t; otherwise they are drawn, and are 0 or 1."""
        b, begins = advice.moment.b, advice.moment.begins
        # Decide update weight. An episode begins with an update, on the first instruction.
        logit = advice.update_logit(self._phi_update(s, before.h))
        chance, free = self.gate(logit, b)
        free = free & ~advice.opens()
        chance = torch.where(begins | advice.opens(), torch.ones_like(chance), chance)
        c_drawn = choice.of_gate(chance)
        c = chance if soft else c_drawn.to(s.dtype)
        # Update the context
        h_tilde, memory_tilde = context(s, before.h, before.memory)
        # Decide shift operation
        logits = self.shift(advice.for_shift(h_tilde))
        shift = torch.softmax(advice.shift_logits(logits), dim=1)
        shift = torch.where(begins[:, None], F.one_hot(_stay(begins), 3).to(shift.dtype), shift)
        shift = shift if soft else within_list(shift, before.p, M.mask)
        l_drawn = choice.of_shift(shift)
        l = shift if soft else F.one_hot(l_drawn, 3).to(s.dtype)  # noqa: E741
        # Shift the instruction pointer
        p_tilde = shift_pointer(before.p, l, M.mask)
        # Retrieve instruction
        words_tilde = M.read(p_tilde)
        r_tilde = M.retrieve(words_tilde)
        # Merge two scenarios (update/copy) using c_t as weight. r_t is M p_t: no need to carry it.
        p = merge(c, p_tilde, before.p)
        h, memory = self.merge_context(c, (h_tilde, memory_tilde), (before.h, before.memory))
        # g_t ~ c_t pi(g_t | h~_t, r~_t) + (1 - c_t) g_(t-1), for each parameter
        aim = Aim(words_tilde, r_tilde, self.hidden(r_tilde, h_tilde))
        g, log_probability, entropy = self._choose(aim, c, before.g, advice, choice)
        if not soft:
            log_c, open_c = _gate_terms(logit, c_drawn, free & ~begins)
            log_l, open_l = _shift_terms(shift, l_drawn, c_drawn & ~begins)
            log_probability = log_probability + (log_l + log_c)
            entropy = entropy + (open_l + open_c)
        decision = Decision(c_drawn, l_drawn, g)
        carried = Carried(p, h, memory, g)
        return Update(carried, h_tilde, decision, chance, free, shift, log_probability, entropy)

    def merge_context(
        self, c: Tensor, new: tuple[Tensor, Memory], old: tuple[Tensor, Memory]
    ) -> tuple[Tensor, Memory]:
        """h_t and the memory beside it; of a hierarchical RNN's units the low ones are always new.

        The paper proposes those as an option (section 4.2), which `low` units are.
        """
        low = self.low

        def merged(new: Tensor, old: Tensor) -> Tensor:
            return torch.cat((new[:, :low], merge(c, new[:, low:], old[:, low:])), dim=1)

        return each(merged if low else partial(merge, c), new, old)

    def _phi_update(self, s: Tensor, h: Tensor) -> Tensor:
        logit: Tensor = self.update(torch.cat((s, h), dim=1)).squeeze(1)
        return logit

    def hidden(self, r: Tensor, h: Tensor) -> Tensor:
        """The hidden layer of phi^goal, which the baseline reads as well (appendix E)."""
        return F.relu(self.goal_hidden(torch.cat((self.noise(r), h), dim=1)))

    def _choose(
        self, aim: Aim, c: Tensor, before: Tensor, advice: Advice, choice: "Choice"
    ) -> tuple[Tensor, Tensor, Tensor]:
        """g_t (eq. 4), the object first; its log-probability; the entropy of what c_t leaves open.

        An action (Flat) is not carried on: the gate is always open there.
        """
        chosen: list[Tensor] = []
        log_probability, entropy = torch.zeros_like(c), torch.zeros_like(c)
        for k in reversed(range(len(self.goals))):
            log_pi = F.log_softmax(
                advice.goal_logits(self.goals[k](aim.hidden), aim, chosen), dim=1
            )
            pi = log_pi.exp()
            copied = F.one_hot(before[:, k], pi.shape[1]).to(pi.dtype)
            mixed = merge(c, pi, copied)
            g = choice.of_parameter(k, mixed)
            chosen.append(g)
            taken = mixed.gather(1, g[:, None]).squeeze(1)
            log_probability = log_probability + torch.log(taken.clamp(min=SMALLEST))
            entropy = entropy - (pi * log_pi).sum(1)
        return torch.stack(chosen[::-1], dim=1), log_probability, c.detach() * entropy


def merge(c: Tensor, new: Tensor, old: Tensor) -> Tensor:
    """c new + (1 - c) old, (B,) and (B, ...)."""
    return c[:, None] * new + (1 - c)[:, None] * old


def _stay(begins: Tensor) -> Tensor:
    return torch.full_like(begins, STAY, dtype=torch.int64)


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


def _gate_terms(logit: Tensor, c: Tensor, free: Tensor) -> tuple[Tensor, Tensor]:
    """log P(c_t) and its entropy, weighed, where it was free to be decided."""
    weight = free.to(logit.dtype)
    log_probability = weight * F.logsigmoid(torch.where(c, logit, -logit))
    q = torch.sigmoid(logit)
    entropy = -(q * F.logsigmoid(logit) + (1 - q) * F.logsigmoid(-logit))
    return log_probability, GATE_ENTROPY * weight * entropy


def _shift_terms(shift: Tensor, shifted: Tensor, moves: Tensor) -> tuple[Tensor, Tensor]:
    """log P(l_t) and its entropy, where the pointer may move."""
    log_shift = torch.log(shift.clamp(min=SMALLEST))
    weight = moves.to(shift.dtype)
    log_probability = weight * log_shift.gather(1, shifted[:, None]).squeeze(1)
    return log_probability, -weight * (shift * log_shift).sum(1)


class Choice:
    """How decisions are taken: as they were before, or drawn, or without `random` the likeliest."""

    def __init__(self, decided: Decision | None, random: torch.Generator | None) -> None:
        self._decided, self._random = decided, random

    def of_gate(self, chance: Tensor) -> Tensor:
        if self._decided is not None:
            return self._decided.c
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
