"""The subtask updater: Algorithm 2 of the paper, in its own symbols and order (section 4.2).

c_t says whether to update or to go on, l_t where the instruction pointer p_t moves, and g_t is the
subtask that follows from the instruction r~_t that is retrieved there. `advice` is what hints add;
without hints it adds nothing.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from errands.agents.advice import Advice
from errands.agents.deciding import (
    GATES,
    LEAST_CHANCE,
    Choice,
    Decision,
    Gate,
    gate_terms,
    shift_terms,
)
from errands.agents.hint import Aim
from errands.agents.instructions import STAY, Instructions, shift_pointer, within_list
from errands.agents.layers import Noise, undecided
from errands.agents.memory import Memory, each
from errands.agents.products import Linear

UpdateContext = Callable[[Tensor, Tensor, Memory], tuple[Tensor, Memory]]  # of s, h and memory


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
        self.update = undecided(Linear(summary + context, 1))
        last = undecided(Linear(hidden, 3))
        self.shift = nn.Sequential(Linear(shift_inputs, hidden), nn.ReLU(), last)
        self.goal_hidden = Linear(sentence + context, hidden)
        self.goals = nn.ModuleList(undecided(Linear(hidden, size)) for size in parameters)

    def forward(
        self,
        s: Tensor,
        before: Carried,
        M: Instructions,
        context: UpdateContext,
        advice: Advice,
        choice: Choice,
        *,
        soft: bool,
    ) -> Update:
        """Algorithm 2. `soft` weighs by c_t and l_t; otherwise they are drawn, and are 0 or 1."""
        # Decide update weight
        c_logit = self.phi_update(s, before.h, advice)
        c_chance, free = self._gate(c_logit, advice)
        c_drawn = choice.of_gate(c_chance)
        c = c_chance if soft else c_drawn.to(s.dtype)
        # Update the context
        h_tilde, memory_tilde = context(s, before.h, before.memory)
        # Decide shift operation
        l_chance = self.phi_shift(h_tilde, advice)
        l_chance = l_chance if soft else within_list(l_chance, before.p, M.mask)
        l_drawn = choice.of_shift(l_chance)
        l = l_chance if soft else F.one_hot(l_drawn, 3).to(s.dtype)  # noqa: E741
        # Shift the instruction pointer
        p_tilde = shift_pointer(before.p, l, M.mask)
        # Retrieve instruction
        words_tilde = M.read(p_tilde)
        r_tilde = M.retrieve(words_tilde)
        # Merge two scenarios (update/copy) using c_t as weight. r_t is M p_t: it is not carried.
        p = merge(c, p_tilde, before.p)
        h, memory = self.merge_context(c, (h_tilde, memory_tilde), (before.h, before.memory))
        # g_t ~ c_t pi(g_t | h~_t, r~_t) + (1 - c_t) g_(t-1), for each parameter
        aim = Aim(words_tilde, r_tilde, self.hidden(r_tilde, h_tilde))
        g, log_probability, entropy = self._choose(aim, c, before.g, advice, choice)

        begins = advice.moment.begins
        if not soft:  # c_t and l_t are decisions as well, but where an episode begins
            log_c, open_c = gate_terms(c_logit, c_drawn, free & ~begins)
            log_l, open_l = shift_terms(l_chance, l_drawn, c_drawn & ~begins)
            log_probability = log_probability + (log_l + log_c)
            entropy = entropy + (open_l + open_c)
        return Update(
            Carried(p, h, memory, g),
            h_tilde,
            Decision(c_drawn, l_drawn, g),
            c_chance,
            free,
            l_chance,
            log_probability,
            entropy,
        )

    def phi_update(self, s: Tensor, h: Tensor, advice: Advice) -> Tensor:
        """The logit of c_t (B,)."""
        return advice.update_logit(self.update(torch.cat((s, h), dim=1)).squeeze(1))

    def _gate(self, logit: Tensor, advice: Advice) -> tuple[Tensor, Tensor]:
        """The chance of c_t = 1, and whether it is left to the gate; an episode begins with one."""
        chance, free = self.gate(logit, advice.moment.b)
        opens = advice.opens()
        certain = advice.moment.begins | opens
        return torch.where(certain, torch.ones_like(chance), chance), free & ~opens

    def phi_shift(self, h_tilde: Tensor, advice: Advice) -> Tensor:
        """Softmax of phi^shift (B, 3). An episode begins on the first instruction, and stays."""
        chances = torch.softmax(advice.shift_logits(self.shift(advice.for_shift(h_tilde))), dim=1)
        begins = advice.moment.begins
        stay = F.one_hot(torch.full_like(begins, STAY, dtype=torch.int64), 3)
        return torch.where(begins[:, None], stay.to(chances.dtype), chances)

    def hidden(self, r: Tensor, h: Tensor) -> Tensor:
        """The hidden layer of phi^goal, which the baseline reads as well (appendix E)."""
        return F.relu(self.goal_hidden(torch.cat((self.noise(r), h), dim=1)))

    def _choose(
        self, aim: Aim, c: Tensor, before: Tensor, advice: Advice, choice: Choice
    ) -> tuple[Tensor, Tensor, Tensor]:
        """g_t (eq. 4), the object first; its log-probability; the entropy of what c_t leaves open.

        An action (Flat) is not carried on: the gate is always open there.
        """
        chosen: list[Tensor] = []
        log_probability, entropy = torch.zeros_like(c), torch.zeros_like(c)
        for k in reversed(range(len(self.goals))):
            logits = advice.goal_logits(self.goals[k](aim.hidden), aim, chosen)
            log_pi = F.log_softmax(logits, dim=1)
            pi = log_pi.exp()
            copied = F.one_hot(before[:, k], pi.shape[1]).to(pi.dtype)
            mixed = merge(c, pi, copied)
            g = choice.of_parameter(k, mixed)
            chosen.append(g)
            taken = mixed.gather(1, g[:, None]).squeeze(1)
            log_probability = log_probability + torch.log(taken.clamp(min=LEAST_CHANCE))
            entropy = entropy - (pi * log_pi).sum(1)
        return torch.stack(chosen[::-1], dim=1), log_probability, c.detach() * entropy

    def merge_context(
        self, c: Tensor, new: tuple[Tensor, Memory], old: tuple[Tensor, Memory]
    ) -> tuple[Tensor, Memory]:
        """h_t and the memory beside it.

        The paper's hierarchical RNN, which it proposes as an option: of all units the first `low`
        update at every step, whatever c_t is.
        """
        low = self.low

        def merged(new: Tensor, old: Tensor) -> Tensor:
            return torch.cat((new[:, :low], merge(c, new[:, low:], old[:, low:])), dim=1)

        return each(merged if low else partial(merge, c), new, old)


def merge(c: Tensor, new: Tensor, old: Tensor) -> Tensor:
    """c new + (1 - c) old, (B,) and (B, ...)."""
    return c[:, None] * new + (1 - c)[:, None] * old
