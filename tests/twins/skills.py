"""A skill that follows a script: it sees the true state, so its mistakes are chosen ones."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from errands.agents.memory import Memory
from errands.agents.skill import Skill, SkillNetwork, SkillOutput
from errands.worlds.vector import Worlds

Choice = Callable[[NDArray[np.bool_]], NDArray[np.bool_]]  # from optimal actions to allowed ones
Signal = Callable[["Moment"], NDArray[np.bool_]]


@dataclass(frozen=True)
class Moment:
    """What a script may look at, one entry a world."""

    steps: NDArray[np.int64]  # since the episode began
    finished: NDArray[np.bool_]
    over: NDArray[np.bool_]


def act_optimally(optimal: NDArray[np.bool_]) -> NDArray[np.bool_]:
    return optimal


def optimal_or_idle(optimal: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The planner's actions, with a pause now and then (the grid's action 0)."""
    allowed = optimal.copy()
    allowed[:, 0] = True
    return allowed


def tell_the_truth(moment: Moment) -> NDArray[np.bool_]:
    return moment.finished


class ScriptedSkill(Skill):
    """Draws from allowed actions alone; its value is the number of steps since it began."""

    def __init__(
        self,
        choice: Choice = act_optimally,
        signal: Signal = tell_the_truth,
        *,
        counted: bool = False,
    ) -> None:
        super().__init__(SkillNetwork(embedding=1, counted=counted))
        self.choice = choice
        self.signal = signal
        self.worlds: Worlds | None = None
        self.said: list[NDArray[np.bool_]] = []  # termination signals, one row a step

    def initial_memory(self, worlds: int) -> Memory:
        return torch.full((worlds,), -1.0), torch.arange(worlds)  # and which world it is in

    def step_seen(
        self, seen: Tensor, subtasks: Tensor, begins: Tensor, memory: Memory
    ) -> tuple[SkillOutput, Memory]:
        worlds = self.worlds
        assert worlds is not None
        steps = torch.where(begins, 0.0, memory[0] + 1.0)
        which = memory[1].numpy()
        allowed = self.choice(worlds.plan_subtasks().optimal[which])
        allowed = allowed | ~allowed.any(axis=1, keepdims=True)  # no way: anything
        logits = torch.where(torch.from_numpy(allowed), 0.0, -1e9)
        moment = Moment(
            steps.numpy().astype(np.int64), worlds.done[which], worlds.status[which] > 0
        )
        says = self.signal(moment)
        self.said.append(says)
        termination = torch.where(torch.from_numpy(says), 5.0, -5.0)
        return SkillOutput(logits, termination, steps.clone(), deed=termination), (steps, memory[1])
