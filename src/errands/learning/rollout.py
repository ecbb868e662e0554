"""Where agents meet worlds: a skill acts in a batch of worlds, and everything it met is kept.

An episode's last observation is a frame of its own: nothing is decided there any more, but it is
where the termination signal must say yes (or, when the episode was cut off, no). The frame after
it begins a new episode. In lists the same holds for each subtask: where one is done, the skill
pauses for a step and has only to say so, and is told the next one then.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from errands.agents.mapping import MapEyes
from errands.agents.memory import Memory, each, leaves, restored
from errands.agents.skill import Skill
from errands.learning.searcher import Searcher
from errands.worlds.planner import Teacher
from errands.worlds.vector import Worlds

# What the skill's eyes see and the subtasks (worlds, 3) to probabilities (worlds, actions).
Advisor = Callable[[Tensor, NDArray[np.int16]], NDArray[np.float32]]
SUBTASK = 2  # verb and object make a subtask; how often it is to be done comes after them


@dataclass(frozen=True)
class SkillFrames:
    """T steps in B worlds; all tensors are (T, B, ...), but `memory`, which is (B, ...)."""

    images: Tensor
    subtasks: Tensor  # (T, B, 3)
    begins: Tensor  # first frame of an episode
    running: Tensor  # the agent decides here: false on the last frame of an episode, or subtask
    finished: Tensor  # the subtask is finished here: what the termination signal should say
    deeds: Tensor  # the subtask was done once more by the step before: the teacher says so
    did: Tensor  # (T, B, 2) verb and object of whatever the step before did; NOTHING if nothing
    actions: Tensor
    log_probabilities: Tensor  # of the action, when it was chosen
    values: Tensor
    next_values: Tensor
    rewards: Tensor
    done: Tensor  # the action finished the subtask
    ended: Tensor  # the action ended the subtask, by finishing it or by the step limit
    optimal: Tensor  # (T, B, actions) the teacher's distribution; zeros when there is no teacher
    memory: Memory  # what the skill remembered before the first frame

    def worlds(self, index: Tensor) -> "SkillFrames":
        """The same steps of some of the worlds."""
        part = {
            field.name: getattr(self, field.name).index_select(1, index)
            for field in fields(self)
            if field.name != "memory"
        }
        return replace(self, **part, memory=each(lambda item: item[index], self.memory))


@dataclass(frozen=True)
class RolloutStatistics:
    """How the skill did while it was watched."""

    episodes: int
    success: float  # share of episodes that finished their subtask
    precision: float  # of the termination signal
    recall: float
    reward: float  # mean of an episode


class SkillRollout:
    """Worlds with a subtask each, or lists of them, and a skill that continues where it stopped."""

    def __init__(
        self,
        worlds: Worlds,
        steps: int,
        skill: Skill,
        advisor: Advisor | None = None,
    ) -> None:
        self.worlds = worlds
        self.steps = steps
        self.advisor = advisor  # without one, the planner advises
        self.memory = skill.initial_memory(worlds.count)
        self.eyes = skill.eyes.initial_memory(worlds.count)
        self.acted = np.zeros(worlds.count, np.int64)
        self.begins = np.ones(worlds.count, np.bool_)
        self.deeds = np.zeros(worlds.count, np.bool_)
        self.teacher: Teacher | Searcher = (
            Searcher(skill.eyes, worlds)
            if isinstance(skill.eyes, MapEyes)
            else worlds.new_teacher()
        )
        worlds.reset()
        self.asked = worlds.privileged_subtasks()  # what the skill was asked for last

    def collect(
        self, skill: Skill, random: torch.Generator, *, teacher: bool, guided: float = 0.0
    ) -> tuple[SkillFrames, RolloutStatistics]:
        """Act for some steps. With `teacher`, ask for advice in every state.

        `guided` is the share of steps in which the advice is taken as well.
        """
        worlds, device = self.worlds, skill.policy.weight.device
        memory = self.memory
        counts = skill.network.counted  # and is given a count: only the last deed finishes it
        kept: dict[str, list[Tensor]] = {}
        rewards_of_ended: list[NDArray[np.float64]] = []
        successes = 0

        def keep(**frame: Any) -> None:
            for name, value in frame.items():
                kept.setdefault(name, []).append(torch.as_tensor(value))

        for _ in range(self.steps):
            begins, ended_before = self.begins, worlds.status > 0
            looked, self.eyes = self._look(skill)
            pauses = self.deeds & ~ended_before & (not counts)
            due = np.where(pauses[:, None], self.asked, worlds.privileged_subtasks())
            changed = (due[:, :SUBTASK] != self.asked[:, :SUBTASK]).any(axis=1)
            self.teacher.forget(begins | changed)
            self.asked = due
            subtask = torch.from_numpy(due.astype(np.int64))
            optimal = np.zeros((worlds.count, worlds.actions), np.float32)
            if teacher:
                optimal[:] = self._advice(looked)
                optimal /= np.maximum(optimal.sum(axis=1, keepdims=True), 1.0)
            decides = ~ended_before & ~pauses
            did = worlds.privileged["deed_verb"], worlds.privileged["deed_object"]
            keep(images=looked.cpu(), subtasks=subtask, begins=begins, running=decides)
            keep(did=np.stack(did, axis=1).astype(np.int64))
            keep(finished=worlds.done if counts else self.deeds, optimal=optimal, deeds=self.deeds)
            with torch.no_grad():
                output, self.memory = skill.step(
                    looked,
                    subtask.to(device),
                    torch.from_numpy(begins).to(device),
                    self.memory,
                )
            action, log_probability = sample(output.logits.cpu(), random)
            if guided:
                action = _take_advice(action, torch.from_numpy(optimal), guided, random)
            action[torch.from_numpy(pauses)] = worlds.idle_action
            self.acted[:] = action.numpy()
            achieved = worlds.privileged["achieved"].copy()
            progress = worlds.privileged["progress"].copy()
            keep(actions=action, log_probabilities=log_probability, values=output.value.cpu())
            keep(signals=output.termination.cpu() > 0)
            worlds.step(action.numpy(), renew=True)
            ended = (worlds.status > 0) & ~ended_before
            self.deeds = worlds.privileged["achieved"] > achieved
            self.deeds |= worlds.privileged["progress"] > progress
            self.deeds &= ~ended_before
            done = worlds.done & ended if counts else self.deeds
            again = np.float32(worlds.spec.rewards.done) * (done & ~worlds.done)  # lists go on
            rewards = worlds.rewards + again
            keep(rewards=rewards, done=done, ended=ended | done)
            if ended.any():
                statistics = worlds.finished()
                fresh = ended[statistics.world]
                rewards_of_ended.append(statistics.reward[fresh])
                successes += int(statistics.success[fresh].sum())
            self.begins = ended_before
        stacked = {name: torch.stack(values) for name, values in kept.items()}
        signals = stacked.pop("signals")
        last = self._value_now(skill)
        stacked["next_values"] = torch.cat((stacked["values"][1:], last[None]))
        frames = SkillFrames(**stacked, memory=memory)
        hits = int((signals & frames.finished).sum())
        every = np.concatenate(rewards_of_ended) if rewards_of_ended else np.zeros(0)
        return frames, RolloutStatistics(
            episodes=every.size,
            success=successes / max(every.size, 1),
            precision=hits / max(int(signals.sum()), 1),
            recall=hits / max(int(frames.finished.sum()), 1),
            reward=float(every.mean()) if every.size else 0.0,
        )

    def _advice(self, looked: Tensor) -> NDArray[Any]:
        """What the advisor would do, or every action (worlds, actions) that the planner would."""
        if self.advisor:
            return self.advisor(looked, self.asked)
        if isinstance(self.teacher, Searcher):
            return self.teacher.advise(looked.cpu().numpy(), self.asked)
        return self.teacher.plan(self.asked).optimal

    def _look(self, skill: Skill) -> tuple[Tensor, Memory]:
        """The observations as the skill's eyes leave them, and what the eyes remember."""
        device = skill.policy.weight.device
        images, acted, begins = (
            torch.from_numpy(array).to(device)
            for array in (self.worlds.images.copy(), self.acted, self.begins)
        )
        with torch.no_grad():
            return skill.eyes.look(images, acted, begins, self.eyes)

    def _value_now(self, skill: Skill) -> Tensor:
        device = skill.policy.weight.device
        looked, _ = self._look(skill)
        with torch.no_grad():
            output, _ = skill.step(
                looked,
                torch.from_numpy(self.worlds.privileged_subtasks().astype(np.int64)).to(device),
                torch.from_numpy(self.begins).to(device),
                self.memory,
            )
        return output.value.cpu()

    def snapshot(self) -> dict[str, Tensor]:
        """All that is needed to continue from exactly here."""
        tensors = {f"worlds.{k}": torch.from_numpy(v) for k, v in self.worlds.snapshot().items()}
        for tree, name in ((self.memory, "memory"), (self.eyes, "eyes")):
            tensors |= {key: item.cpu() for key, item in leaves(tree, name)}
        for name, array in self._flags().items():
            tensors[name] = torch.from_numpy(array.copy())
        return tensors

    def restore(self, tensors: dict[str, Tensor]) -> None:
        arrays = {k: v.numpy() for k, v in tensors.items()}
        self.worlds.restore(
            {k.removeprefix("worlds."): v for k, v in arrays.items() if k.startswith("worlds.")}
        )
        self.memory = restored(self.memory, tensors, "memory")
        self.eyes = restored(self.eyes, tensors, "eyes")
        for name, array in self._flags().items():
            array[:] = arrays.get(name, array)  # earlier code saved fewer

    def _flags(self) -> dict[str, NDArray[Any]]:
        flags = {"begins": self.begins, "deeds": self.deeds, "asked": self.asked}
        return {**flags, "acted": self.acted, **self.teacher.memory}


def _take_advice(actions: Tensor, advice: Tensor, share: float, random: torch.Generator) -> Tensor:
    """Actions (B,), some of them replaced by draws from the advice (B, A) where there is any."""
    taken = torch.rand(actions.shape, generator=random) < share
    taken &= advice.sum(dim=1) > 0
    advised = torch.multinomial(advice + 1e-9, 1, generator=random)[:, 0]
    return torch.where(taken, advised, actions)


def sample(logits: Tensor, random: torch.Generator) -> tuple[Tensor, Tensor]:
    """Actions (B,) drawn from logits (B, A), and their log-probabilities."""
    log_probabilities = torch.log_softmax(logits, dim=1)
    actions = torch.multinomial(log_probabilities.exp(), 1, generator=random)
    return actions[:, 0], log_probabilities.gather(1, actions)[:, 0]
