"""Where agents meet lists: a hierarchy acts, and everything its meta controller met is kept.

As for skills, an episode's last observation is a frame of its own where nothing is decided any
more; the frame after it begins a new episode.
"""

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from errands.agents.deciding import Decision
from errands.agents.hierarchy import Hierarchy, Move
from errands.agents.instructions import bags_of_words
from errands.agents.memory import Tree, each, leaves, restored
from errands.agents.meta import MetaInput, MetaState
from errands.worlds.vector import Worlds


@dataclass(frozen=True)
class MetaFrames:
    """T steps in B worlds; all tensors are (T, B, ...)."""

    given: MetaInput
    decision: Decision
    running: Tensor  # something is decided here: false on an episode's last frame
    log_probabilities: Tensor  # of the decision, when it was made
    values: Tensor
    next_values: Tensor
    rewards: Tensor
    done: Tensor  # the action finished the list
    ended: Tensor  # the action ended the episode, by finishing or by the step limit
    before: MetaState  # what the meta controller carried into each frame

    def worlds(self, index: Tensor) -> "MetaFrames":
        """The same steps of some of the worlds."""
        part = {
            field.name: each(lambda item: item.index_select(1, index), getattr(self, field.name))
            for field in fields(self)
        }
        return replace(self, **part)


@dataclass(frozen=True)
class MetaStatistics:
    """How the agent did while it was watched."""

    episodes: int
    success: float  # share of episodes that did the whole list
    completed: float  # share of their instructions that were done
    reward: float  # mean of an episode
    caught: float  # share of events that were used
    updates: float  # mean of c_t where no subtask had just finished
    updates_at_end: float  # and where one had
    stays: float  # probability of shift 0 where no subtask had just finished
    moves_at_end: float  # probability of shift +1 where one had
    pointer_entropy: float


class MetaRollout:
    """Worlds with lists of instructions, and an agent that continues where it stopped."""

    def __init__(self, worlds: Worlds, steps: int, hierarchy: Hierarchy) -> None:
        self.worlds = worlds
        self.steps = steps
        self.state = hierarchy.initial_state(worlds.count, worlds.longest)
        self.begins = np.ones(worlds.count, np.bool_)
        worlds.reset()

    def collect(
        self, hierarchy: Hierarchy, random: torch.Generator, *, soft: bool
    ) -> tuple[MetaFrames, MetaStatistics]:
        worlds = self.worlds
        moves: list[Move] = []
        before: list[MetaState] = []
        kept: dict[str, list[Tensor]] = {"running": [], "rewards": [], "done": [], "ended": []}
        episodes = []
        for _ in range(self.steps):
            ended_before = worlds.status > 0
            move = self._think(hierarchy, random, soft=soft)
            moves.append(move)
            before.append(self.state.meta)
            self.state = move.state
            worlds.step(move.actions.cpu().numpy(), renew=True)
            ended = (worlds.status > 0) & ~ended_before
            if ended.any():
                statistics = worlds.finished()
                fresh = ended[statistics.world]
                lengths = worlds.mask.sum(axis=1)[statistics.world]
                episodes.append(
                    np.stack(
                        (
                            statistics.success,
                            statistics.completed / lengths,
                            statistics.reward,
                            statistics.events,
                            statistics.events_used,
                        )
                    )[:, fresh]
                )
            frame = {
                "running": ~ended_before,
                "rewards": worlds.rewards.copy(),
                "done": worlds.done & ended,
                "ended": ended,
            }
            for name, value in frame.items():
                kept[name].append(torch.from_numpy(value))
            self.begins = ended_before
        last = self._think(hierarchy, torch.Generator().manual_seed(0), soft=soft).output.value
        values = torch.stack([move.output.value for move in moves])
        frames = MetaFrames(
            **{name: torch.stack(items).to(hierarchy.device) for name, items in kept.items()},
            given=_in_order(move.given for move in moves),
            decision=_in_order(move.output.decision for move in moves),
            log_probabilities=torch.stack([move.output.log_probability for move in moves]),
            values=values,
            next_values=torch.cat((values[1:], last[None])),
            before=_in_order(before),
        )
        ran = np.concatenate(episodes, axis=1) if episodes else np.zeros((5, 0))
        return frames, _statistics(ran, moves, frames.running)

    def _think(self, hierarchy: Hierarchy, random: torch.Generator, *, soft: bool) -> Move:
        worlds, device = self.worlds, hierarchy.device
        tokens = torch.from_numpy(worlds.tokens).to(device)
        return hierarchy.think(
            torch.from_numpy(worlds.images.copy()).to(device),
            bags_of_words(tokens, hierarchy.meta.network.words),
            torch.from_numpy(worlds.mask.copy()).to(device),
            torch.from_numpy(self.begins).to(device),
            self.state,
            soft=soft,
            random=random,
        )

    def snapshot(self) -> dict[str, Tensor]:
        """All that is needed to continue from exactly here."""
        tensors = {f"worlds.{k}": torch.from_numpy(v) for k, v in self.worlds.snapshot().items()}
        tensors |= {name: item.cpu() for name, item in leaves(self.state, "agent")}
        tensors["begins"] = torch.from_numpy(self.begins.copy())
        return tensors

    def restore(self, tensors: dict[str, Tensor]) -> None:
        worlds = {k.removeprefix("worlds."): v for k, v in tensors.items() if "worlds." in k}
        self.worlds.restore({k: v.numpy() for k, v in worlds.items()})
        self.state = restored(self.state, tensors, "agent")
        self.begins = tensors["begins"].numpy().copy()


def _in_order(steps: Iterable[Tree]) -> Tree:
    """Steps of a batch (B, ...) as one (T, B, ...)."""
    return each(lambda *items: torch.stack(items), *steps)


def _statistics(ran: NDArray[np.float64], moves: list[Move], running: Tensor) -> MetaStatistics:
    """`ran`: success, share completed, reward, events, events used (5, episodes)."""
    success, completed, reward, events, used = ran
    given = [move.given for move in moves]
    begins = torch.stack([item.begins for item in given])
    at_end = torch.stack([item.finished for item in given])
    update = torch.stack([move.output.update for move in moves])
    shift = torch.stack([move.output.shift for move in moves])
    pointer = torch.stack([move.output.pointer for move in moves])
    inside = running & ~begins

    def mean(values: Tensor, where: Tensor) -> float:
        return float(values[where].mean()) if where.any() else 0.0

    return MetaStatistics(
        episodes=success.size,
        success=float(success.mean()) if success.size else 0.0,
        completed=float(completed.mean()) if success.size else 0.0,
        reward=float(reward.mean()) if success.size else 0.0,
        caught=float(used.sum() / max(events.sum(), 1)),
        updates=mean(update, inside & ~at_end),
        updates_at_end=mean(update, inside & at_end),
        stays=mean(shift[..., 1], inside & ~at_end),
        moves_at_end=mean(shift[..., 2], inside & at_end),
        pointer_entropy=mean(torch.special.entr(pointer).sum(-1), inside),
    )
