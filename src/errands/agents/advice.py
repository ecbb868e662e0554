"""All hints of a meta controller, as the one that they amount to."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import torch
from torch import Tensor, nn

from errands.agents.eyes import Eyes
from errands.agents.hint import Aim, Hint, Moment, Numbers
from errands.agents.hints import HINTS
from errands.agents.layers import Noise
from errands.agents.memory import Memory
from errands.language.vocabulary import suggest

if TYPE_CHECKING:
    from errands.agents.meta import MetaNetwork


class Hints(nn.ModuleDict):
    """The hints by name, and what they let others read and remember."""

    def __init__(self, network: "MetaNetwork", eyes: Eyes, noise: Noise) -> None:
        built: dict[str, nn.Module] = {}
        for name, numbers in network.hints.items():
            check_hint(name, numbers)
            make: Any = HINTS[name]
            if make.reads_kinds and not eyes.views:
                raise ValueError(f"the hint '{name}' needs eyes that tell kinds of object apart")
            built[name] = make(network, noise=noise, eyes=eyes, **numbers)
        super().__init__(built)
        self.reads_kinds = any(hint.reads_kinds for hint in self.every)
        self.adds_to_context = any(hint.adds_to_context for hint in self.every)
        self.context_inputs = sum(hint.context_inputs for hint in self.every)
        self.shift_inputs = sum(hint.shift_inputs for hint in self.every)
        self.critic_inputs = sum(hint.critic_inputs for hint in self.every)

    @property
    def every(self) -> tuple[Hint, ...]:
        return cast(tuple[Hint, ...], tuple(self.values()))

    def for_context(self, x: Tensor, moment: Moment) -> Tensor:
        """The features (B, ...), and what hints let the context read beside them."""
        extra = [hint.for_context(moment) for hint in self.every if hint.context_inputs]
        return torch.cat((x, *extra), dim=1) if extra else x

    def to_context(self, moment: Moment) -> Tensor:
        """What hints add to the context, if any does."""
        added = [hint.to_context(moment) for hint in self.every if hint.adds_to_context]
        return torch.stack(added).sum(dim=0) if len(added) > 1 else added[0]

    def initial_memory(self, worlds: int, device: torch.device) -> Memory:
        return tuple(hint.initial_memory(worlds, device) for hint in self.every)

    def notice(self, moment: Moment, memory: Memory) -> Memory:
        pairs = zip(self.every, memory, strict=True)
        return tuple(hint.notice(moment, own) for hint, own in pairs)

    def settle(self, memory: Memory, moved: Tensor) -> Memory:
        pairs = zip(self.every, memory, strict=True)
        return tuple(hint.settle(own, moved) for hint, own in pairs)


class Advice:
    """What all hints say at one moment, with what they remember."""

    def __init__(self, hints: Hints, moment: Moment, memory: Memory) -> None:
        self.moment = moment
        self._hints = tuple(zip(hints.every, memory, strict=True))

    def for_shift(self, h_tilde: Tensor) -> Tensor:
        """The context, and what hints let the shift read beside it."""
        if any(hint.blinds_shift for hint, _ in self._hints):
            h_tilde = torch.zeros_like(h_tilde)
        extra = [hint.for_shift(self.moment) for hint, _ in self._hints if hint.shift_inputs]
        return torch.cat((h_tilde, *extra), dim=1) if extra else h_tilde

    def for_critic(self, known: Tensor) -> Tensor:
        """The paper's inputs of the critic, and what hints let it read beside them."""
        extra = [hint.for_critic(memory) for hint, memory in self._hints if hint.critic_inputs]
        return torch.cat((known, *extra), dim=1) if extra else known

    def opens(self) -> Tensor:
        """Where (B,) some hint leaves the gate no choice."""
        opens = torch.zeros_like(self.moment.begins)
        for hint, _ in self._hints:
            opens = opens | hint.opens(self.moment)
        return opens

    def update_logit(self, logit: Tensor) -> Tensor:
        for hint, _ in self._hints:
            logit = hint.update_logit(logit, self.moment)
        return logit

    def shift_logits(self, logits: Tensor) -> Tensor:
        for hint, memory in self._hints:
            logits = hint.shift_logits(logits, self.moment, memory)
        return logits

    def goal_logits(self, logits: Tensor, aim: Aim, chosen: Sequence[Tensor]) -> Tensor:
        for hint, _ in self._hints:
            logits = hint.goal_logits(logits, aim, chosen, self.moment)
        return logits


def check_hint(name: str, numbers: Numbers) -> None:
    """Refuse an unknown hint, or numbers that a hint does not have."""
    if name not in HINTS:
        raise ValueError(f"unknown hint '{name}'; {suggest(name, tuple(HINTS))}")
    usual = HINTS[name].numbers
    if not isinstance(numbers, dict) or numbers.keys() != usual.keys():
        raise ValueError(f"the hint '{name}' has these numbers: {', '.join(usual) or 'none'}")
    for key, value in numbers.items():
        if not _alike(value, usual[key]):
            raise ValueError(f"{key} of the hint '{name}' is {value!r:.60}")


def _alike(value: Any, usual: Any) -> bool:
    """Whether a value has the type and the shape of the usual one."""
    if isinstance(usual, list):
        same = isinstance(value, list) and len(value) == len(usual)
        return same and all(map(_alike, value, usual))
    if isinstance(usual, float):
        return isinstance(value, int | float) and not isinstance(value, bool)
    return type(value) is type(usual)
