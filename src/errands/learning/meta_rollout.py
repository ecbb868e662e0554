"""Where agents meet lists: a hierarchy acts, and everything its meta controller met is kept.

As for skills, an episode's last observation is a frame of its own where nothing is decided any
more; the frame after it begins a new episode.
"""

from dataclasses import dataclass, fields, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from errands.agents.hierarchy import Hierarchy, HierarchyState, Move
from errands.agents.meta import Decision, MetaInput, MetaState, bags_of_words
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
            field.name: getattr(self, field.name)[:, index]
            for field in fields(self)
            if field.name not in ("given", "decision", "before")
        }
        given = MetaInput(*(item[:, index] for item in self.given))
        decision = Decision(*(item[:, index] for item in self.decision))
        before = MetaState(*(item[:, index] for item in self.before))
        return replace(self, **part, given=given, decision=decision, before=before)


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
    """Worlds with lists of instructions, and an agent that goes on where it stopped."""

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
        last = self._think(hierarchy, torch.Generator().manual_seed(0), soft=soft).thought.value
        values = torch.stack([move.thought.value for move in moves])
        frames = MetaFrames(
            **{name: torch.stack(items).to(hierarchy.device) for name, items in kept.items()},
            given=MetaInput(*map(torch.stack, zip(*(move.given for move in moves), strict=True))),
            decision=Decision(
                *map(torch.stack, zip(*(move.thought.decision for move in moves), strict=True))
            ),
            log_probabilities=torch.stack([move.thought.log_probability for move in moves]),
            values=values,
            next_values=torch.cat((values[1:], last[None])),
            before=MetaState(*map(torch.stack, zip(*before, strict=True))),
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
        """All that is needed to go on from exactly here."""
        tensors = {f"worlds.{k}": torch.from_numpy(v) for k, v in self.worlds.snapshot().items()}
        tensors |= {f"meta.{k}": v.cpu() for k, v in self.state.meta._asdict().items()}
        tensors |= {f"skill.{k}": item.cpu() for k, item in enumerate(self.state.skill)}
        tensors |= {f"sight.{k}": item.cpu() for k, item in enumerate(self.state.sight)}
        tensors["action"] = self.state.action.cpu()
        tensors["begins"] = torch.from_numpy(self.begins.copy())
        return tensors

    def restore(self, tensors: dict[str, Tensor]) -> None:
        worlds = {k.removeprefix("worlds."): v for k, v in tensors.items() if "worlds." in k}
        self.worlds.restore({k: v.numpy() for k, v in worlds.items()})
        meta, skill, sight, action = self.state
        self.state = HierarchyState(
            MetaState(**{k: tensors[f"meta.{k}"].to(v.device) for k, v in meta._asdict().items()}),
            tuple(tensors[f"skill.{k}"].to(item.device) for k, item in enumerate(skill)),
            tuple(tensors[f"sight.{k}"].to(item.device) for k, item in enumerate(sight)),
            tensors["action"].to(action.device),
        )
        self.begins = tensors["begins"].numpy().copy()


def _statistics(ran: NDArray[np.float64], moves: list[Move], running: Tensor) -> MetaStatistics:
    """`ran`: success, share completed, reward, events, events used (5, episodes)."""
    success, completed, reward, events, used = ran
    given = [move.given for move in moves]
    begins = torch.stack([item.begins for item in given])
    at_end = torch.stack([item.finished for item in given])
    update = torch.stack([move.thought.update for move in moves])
    shift = torch.stack([move.thought.shift for move in moves])
    pointer = torch.stack([move.thought.pointer for move in moves])
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
