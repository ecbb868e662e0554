"""One execution path for every trained agent: a meta controller over a fixed skill, or Flat alone.

`Hierarchy.act` is what evaluation, the terminal, the page, figures and tests call; what it returns
shows what the agent thought. Learning calls `think`, which also keeps what gradients need.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from errands.agents.deciding import draw
from errands.agents.instructions import STAY, bags_of_words
from errands.agents.memory import Memory, each
from errands.agents.meta import MetaController, MetaInput, MetaNetwork, MetaOutput, MetaState
from errands.agents.skill import Skill, SkillNetwork


class Trace(NamedTuple):
    """What a batch of agents did in one step and why, as plain arrays."""

    pointer: NDArray[np.float32]  # (B, K) over the list
    shift: NDArray[np.float32]  # (B, 3) probabilities of -1, 0, +1
    shifted: NDArray[np.int64]  # (B,) the shift that was drawn: -1, 0, +1
    update: NDArray[np.float32]  # (B,) probability of the gate being open, c_t
    updated: NDArray[np.bool_]  # (B,) whether it was
    subtask: NDArray[np.int64]  # (B, 3) verb, object, 1; all -1 for Flat
    termination: NDArray[np.float32]  # (B,) probability that the last subtask was finished
    finished: NDArray[np.bool_]  # (B,) whether it was taken for finished, b_t
    action: NDArray[np.int64]  # (B,) for `step` of an environment


class HierarchyState(NamedTuple):
    """What an agent carries from step to step."""

    meta: MetaState
    skill: Memory
    eyes: Memory
    action: Tensor  # (B,) the last one, which eyes with a memory have to know


class Move(NamedTuple):
    """One step, as learning wants it."""

    output: MetaOutput
    given: MetaInput
    termination: Tensor  # (B,) probability
    actions: Tensor  # (B,)
    state: HierarchyState


class Hierarchy:
    """A meta controller and the skill that it commands (None: Flat, which acts itself)."""

    def __init__(self, meta: MetaController, skill: Skill | None) -> None:
        if (skill is None) != meta.network.flat:
            raise ValueError("a flat agent has no skill, and every other needs one")
        if skill:
            _check_fit(meta.network, skill.network)
        self.meta = meta
        self.skill = skill
        self.eyes = skill.eyes if skill else meta.eyes

    @property
    def device(self) -> torch.device:
        return self.meta.words.device

    def initial_state(self, worlds: int, longest: int) -> HierarchyState:
        return HierarchyState(
            meta=self.meta.initial_state(worlds, longest),
            skill=self.skill.initial_memory(worlds) if self.skill else (),
            eyes=self.eyes.initial_memory(worlds),
            action=torch.zeros(worlds, dtype=torch.int64, device=self.device),
        )

    def act(
        self,
        observation: Mapping[str, NDArray[Any]],
        state: HierarchyState | None = None,
        *,
        begins: NDArray[np.bool_] | None = None,
        random: torch.Generator | None = None,
        soft: bool = False,
    ) -> tuple[Trace, HierarchyState]:
        """Decide for a batch: `image`, `tokens` (B, 3 K) and `mask` (B, K), as Gymnasium has them.

        Hand the state back at the next step, and say with `begins` where a new episode has begun
        since (no state: everywhere). The meta controller takes what it finds likeliest; actions of
        the skill, and all that Flat does, are drawn, from `random` or from PyTorch's own generator.
        """
        image = torch.from_numpy(np.ascontiguousarray(observation["image"])).to(self.device)
        tokens = torch.from_numpy(np.asarray(observation["tokens"], np.int64)).to(self.device)
        mask = torch.from_numpy(np.asarray(observation["mask"], np.bool_)).to(self.device)
        if state is None:
            state = self.initial_state(*mask.shape)
            begins = np.ones(mask.shape[0], np.bool_)
        elif begins is None:
            begins = np.zeros(mask.shape[0], np.bool_)
        starts = torch.from_numpy(np.asarray(begins, np.bool_)).to(self.device)
        bags = bags_of_words(tokens.view(*mask.shape, 3), self.meta.network.words)
        random = random or torch.default_generator
        move = self.think(image, bags, mask, starts, state, soft=soft, random=random, greedy=True)
        return _trace(move, flat=self.meta.network.flat), move.state

    @torch.no_grad()
    def think(
        self,
        image: Tensor,
        bags: Tensor,
        mask: Tensor,
        begins: Tensor,
        state: HierarchyState,
        *,
        soft: bool,
        random: torch.Generator,
        greedy: bool = False,
    ) -> Move:
        """One step of everything. `greedy` makes the meta controller take the likeliest."""
        looked, eyes = self.eyes.look(image, state.action, begins, state.eyes)
        if self.skill is None:
            # It learned to draw its actions and its shifts alike: the likeliest may never end.
            never = torch.zeros(begins.shape, device=self.device)
            given = MetaInput(looked, bags, mask, never > 0, begins)
            output, meta = self.meta.step(given, state.meta, soft=soft, random=random)
            action = output.decision.g[:, 0].clone()
            return Move(output, given, never, action, HierarchyState(meta, (), eyes, action))
        before = state.meta.carried.g
        seen = self.skill.see(looked)
        said, memory = self.skill.step_seen(seen, before, begins, state.skill)
        beta = torch.sigmoid(said.termination)
        finished = (beta > self.meta.network.threshold) & ~begins
        shown = seen if self.meta.network.shares_eyes else image
        given = MetaInput(shown, bags, mask, finished, begins)
        drawn = None if greedy else random
        output, meta = self.meta.step(given, state.meta, soft=soft, random=drawn)
        # A subtask starts again where it is another one, and where it was just finished.
        g = output.decision.g
        starts = begins | finished | (g != before).any(dim=1)
        logits, memory = restart(self.skill, seen, g, begins, starts, said.logits, memory)
        action = draw(torch.softmax(self.meta.network.sharpness * logits, dim=1), random)
        return Move(output, given, beta, action, HierarchyState(meta, memory, eyes, action))


def restart(
    skill: Skill,
    seen: Tensor,
    subtasks: Tensor,
    begins: Tensor,
    starts: Tensor,
    logits: Tensor,
    memory: Memory,
) -> tuple[Tensor, Memory]:
    """What a skill would do, and remember, once other subtasks have begun where `starts` is true.

    Logits and memory are of this observation and the subtasks before. Some skills remember what
    they saw while they did those; the others forget it.
    """
    where = torch.nonzero(starts)[:, 0]
    if not where.numel():
        return logits, memory
    forgets = begins[where] if skill.network.remembers else torch.ones_like(begins[where])
    own = each(lambda item: item[where], memory)
    said, fresh = skill.step_seen(seen[where], subtasks[where], forgets, own)
    logits = logits.index_copy(0, where, said.logits)
    return logits, each(lambda item, new: item.index_copy(0, where, new), memory, fresh)


def _check_fit(meta: MetaNetwork, skill: SkillNetwork) -> None:
    """Refuse a skill that cannot do, or cannot see, what the meta controller chooses from."""
    if skill.world != meta.world:
        raise ValueError(f"a skill of the {skill.world} world cannot act in the {meta.world}")
    if meta.maps and (skill.maps is None or skill.maps.window != meta.maps.window):
        raise ValueError("the meta controller reads a map that the skill does not build")
    if meta.eyes == "skill" and not meta.maps and skill.filters[1] != meta.filters[1]:
        raise ValueError(
            f"the skill's eyes show {skill.filters[1]} channels, not {meta.filters[1]}"
        )
    if skill.counted:
        raise ValueError("a skill that counts does not take subtasks of verb and object alone")
    if skill.objects != meta.objects:
        raise ValueError(
            f"a skill for {skill.objects} kinds of object cannot act in a world of {meta.objects}"
        )
    if skill.verbs < meta.verbs:
        raise ValueError(f"a skill of {skill.verbs} verbs cannot do all {meta.verbs}")


def _trace(move: Move, *, flat: bool) -> Trace:
    output = move.output
    count = output.update.shape[0]
    subtask = np.full((count, 3), -1)
    if not flat:
        subtask = np.concatenate(
            (output.decision.g.cpu().numpy(), np.ones((count, 1), np.int64)), axis=1
        )
    return Trace(
        pointer=output.pointer.cpu().numpy(),
        shift=output.shift.cpu().numpy(),
        shifted=output.decision.shift.cpu().numpy() - STAY,
        update=output.update.cpu().numpy(),
        updated=output.decision.c.cpu().numpy(),
        subtask=subtask,
        termination=move.termination.cpu().numpy(),
        finished=move.given.finished.cpu().numpy(),
        action=move.actions.cpu().numpy(),
    )
