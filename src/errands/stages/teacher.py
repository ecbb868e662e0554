"""Stage: teachers. One policy for each trained subtask, by actor-critic with GAE and nothing else.

They learn side by side, each in worlds that always ask for its own subtask and that grow as it
succeeds, and then advise the student in distillation in the planner's place. They see with the
student's eyes, so that it can see the reasons for their advice. Shapes: K subtasks, n worlds each.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from errands.agents.memory import Memory, each, leaves, restored
from errands.agents.skill import Skill
from errands.agents.teacher import new_teachers
from errands.config import SkillTraining
from errands.learning import checkpoint, distributed, losses
from errands.learning.advantages import generalised_advantages
from errands.learning.curriculum import Curriculum, walled
from errands.learning.rollout import RolloutStatistics
from errands.worlds.spec import WorldSpec
from errands.worlds.tasks import TaskSource, training_subtasks
from errands.worlds.vector import EpisodeStatistics, Worlds

CHUNK = 4  # time steps an update: enough frames of each subtask to fill the batched products


class School:
    """All teachers and their worlds; where an episode ends, a new one begins at once."""

    def __init__(self, spec: WorldSpec, training: SkillTraining, skill: Skill, seed: int) -> None:
        trained = training_subtasks(spec, training.scenario, "train")
        maps = walled(spec.skill, training.walls)
        self.training = training
        self.codes = np.array([item.code(spec.vocabulary) for item in trained.pool], np.int16)
        self.worlds = [
            Worlds(
                spec,
                training.teacher_worlds,
                TaskSource((item,), step_limit=trained.step_limit),
                maps,
            )
            for item in trained.pool
        ]
        self.curricula = [Curriculum(maps) for _ in self.worlds]
        for k, worlds in enumerate(self.worlds):
            self._fit_worlds(k)
            worlds.seed(seed + k * training.teacher_worlds)
            worlds.reset()
        self.eyes, self.device = skill.eyes, skill.policy.weight.device
        self.memory = self.eyes.initial_memory(self.count)  # the eyes'
        every, no_actions = torch.arange(self.count), torch.zeros(self.count, dtype=torch.int64)
        self.looked, self.memory = self._look(every, no_actions, begins=True)  # (K * n, ...)
        self.teachers = new_teachers(len(self.worlds), self.eyes)
        self.optimizer = torch.optim.Adam(self.teachers.parameters())

    @property
    def count(self) -> int:
        """Worlds of all teachers."""
        return len(self.worlds) * self.training.teacher_worlds

    @property
    def frames_per_iteration(self) -> int:
        return self.count * self.training.steps * distributed.processes()

    def iterate(
        self, random: torch.Generator, rate: float, entropy_weight: float
    ) -> tuple[dict[str, float], RolloutStatistics]:
        """Collect a batch and learn from it."""
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        batch, statistics = self._collect(random)
        training = self.training
        advantages = generalised_advantages(
            batch["rewards"],
            batch["values"],
            batch["next_values"],
            batch["done"],
            batch["ended"],
            discount=training.discount,
            trace=training.trace,
        )  # (T, K, n)
        batch["returns"] = advantages + batch["values"]
        scale = advantages.std(dim=(0, 2), keepdim=True) + 1e-8  # each subtask its own
        batch["advantages"] = (advantages - advantages.mean(dim=(0, 2), keepdim=True)) / scale
        # A teacher that has not learned its subtask yet keeps exploring.
        explore = torch.tensor(
            [
                entropy_weight if curriculum.grown else training.teachers.entropy
                for curriculum in self.curricula
            ]
        )
        last: dict[str, float] = {}
        for _ in range(training.teacher_epochs):
            order = torch.randperm(training.steps, generator=random)
            for times in torch.split(order, CHUNK):
                part = {name: _join(v[times]) for name, v in batch.items()}
                terms = self._losses(part, explore)
                self.optimizer.zero_grad(set_to_none=True)
                # The terms are means over all teachers, but each needs its full gradient.
                loss = torch.stack(list(terms.values())).sum() * len(self.worlds)
                torch.autograd.backward(loss)
                distributed.average_gradients(self.teachers)
                self.optimizer.step()
                last = {name: float(value.detach()) for name, value in terms.items()}
        return last, statistics

    def _fit_worlds(self, k: int) -> None:
        """Give teacher k's worlds the size that its curriculum is at."""
        self.worlds[k].change_setting(self.curricula[k].setting)

    def _losses(self, part: dict[str, Tensor], explore: Tensor) -> dict[str, Tensor]:
        """Terms of the loss on frames (K, m, ...); `explore` (K,) weighs each teacher's entropy."""
        output = self.teachers(part["looked"])
        log_probabilities = torch.log_softmax(output.logits, dim=-1)
        chosen = log_probabilities.gather(-1, part["actions"][..., None]).squeeze(-1)
        every = torch.ones_like(chosen, dtype=torch.bool)
        return {
            "policy": losses.policy_gradient(
                chosen, part["log_probabilities"], part["advantages"], every, self.training.clip
            ),
            "value": self.training.value * losses.value_error(output.value, part["returns"], every),
            "entropy": -(explore * losses.uncertainty(log_probabilities).mean(dim=1)).mean(),
        }

    def _collect(self, random: torch.Generator) -> tuple[dict[str, Tensor], RolloutStatistics]:
        kept: dict[str, list[Tensor]] = {}
        ended: list[list[EpisodeStatistics]] = [[] for _ in self.worlds]
        for _ in range(self.training.steps):
            looked = self._of_each(self.looked)
            with torch.no_grad():
                output = self.teachers(looked)
            log_probabilities = torch.log_softmax(output.logits, dim=-1)
            flat = log_probabilities.flatten(0, 1).exp()
            actions = torch.multinomial(flat, 1, generator=random).view(looked.shape[:2])
            chosen = log_probabilities.gather(-1, actions[..., None]).squeeze(-1)
            for k, worlds in enumerate(self.worlds):
                worlds.step(actions[k].numpy())
            self._see(torch.arange(self.count), actions.flatten(), begins=False)
            with torch.no_grad():  # the value of where the step led, before any reset
                after = self.teachers(self._of_each(self.looked)).value
            frame = {
                "looked": looked,
                "actions": actions,
                "log_probabilities": chosen,
                "values": output.value,
                "next_values": after,
                "rewards": _stacked([worlds.rewards for worlds in self.worlds]),
                "done": _stacked([worlds.done for worlds in self.worlds]),
                "ended": _stacked([worlds.status > 0 for worlds in self.worlds]),
            }
            for name, value in frame.items():
                kept.setdefault(name, []).append(value)
            for k, worlds in enumerate(self.worlds):
                ended[k].append(worlds.finished())
                worlds.reset(worlds.status > 0)
            began = torch.nonzero(frame["ended"].flatten())[:, 0]
            self._see(began, actions.flatten(), begins=True)
        batch = {name: torch.stack(values) for name, values in kept.items()}
        return batch, self._look_back(ended)

    def _see(self, chosen: Tensor, actions: Tensor, *, begins: bool) -> None:
        """Look at the chosen worlds (m,), after these actions (K * n,) or where episodes begin."""
        if not chosen.numel():
            return
        looked, memory = self._look(chosen, actions, begins=begins)
        self.looked = self.looked.index_copy(0, chosen, looked)
        self.memory = each(
            lambda every, part: every.index_copy(0, chosen, part), self.memory, memory
        )

    def _look(self, chosen: Tensor, actions: Tensor, *, begins: bool) -> tuple[Tensor, Memory]:
        """What the eyes make of the chosen worlds, in one call, and remember of them."""
        images = self._images()[chosen].to(self.device)
        acted = actions[chosen].to(self.device)
        starts = torch.full_like(acted, begins, dtype=torch.bool)
        memory = each(lambda item: item[chosen], self.memory)
        with torch.no_grad():
            looked, memory = self.eyes.look(images, acted, starts, memory)
        return looked.cpu(), memory

    def _images(self) -> Tensor:
        """A copy of all observations (K * n, ...)."""
        return torch.from_numpy(np.concatenate([worlds.images for worlds in self.worlds]))

    def _of_each(self, looked: Tensor) -> Tensor:
        """(K * n, ...) to (K, n, ...)."""
        return looked.view(len(self.worlds), self.training.teacher_worlds, *looked.shape[1:])

    def _look_back(self, ended: Sequence[Sequence[EpisodeStatistics]]) -> RolloutStatistics:
        """Statistics of the episodes that ended; successful teachers get larger worlds."""
        success, reward, episodes = [], [], 0
        for k, parts in enumerate(ended):
            done = np.concatenate([part.success for part in parts])
            rate = distributed.mean(float(done.mean()) if done.size else 0.0)
            if self.curricula[k].learn(rate):
                self._fit_worlds(k)
            if done.size:
                success.append(done.mean())
                reward.append(np.concatenate([part.reward for part in parts]).mean())
                episodes += done.size
        return RolloutStatistics(
            episodes=episodes,
            # A mean over teachers, not over episodes: a teacher that always fails ends few.
            success=float(np.mean(success)) if success else 0.0,
            precision=0.0,  # teachers have no termination signal
            recall=0.0,
            reward=float(np.mean(reward)) if reward else 0.0,
        )

    def advise(self, looked: Tensor, subtasks: NDArray[np.int16]) -> NDArray[np.float32]:
        """What the teachers of the student's subtasks (worlds, 3) would do where it looks.

        Probabilities (worlds, actions).
        """
        matches = (subtasks[:, None] == self.codes[None]).all(axis=2)  # (worlds, K)
        assert matches.any(axis=1).all(), "a subtask has no teacher"
        task = torch.from_numpy(matches.argmax(axis=1))
        with torch.no_grad():
            advice = self.teachers.advise(looked.cpu(), task)
        return advice.numpy()

    def snapshot(self) -> dict[str, Tensor]:
        tensors = {f"teachers.{k}": v for k, v in self.teachers.state_dict().items()}
        moments = checkpoint.optimizer_tensors(self.optimizer)
        tensors |= {f"optimizer.{k}": v for k, v in moments.items()}
        for k, worlds in enumerate(self.worlds):
            arrays = worlds.snapshot().items()
            tensors |= {f"worlds-{k}.{name}": torch.from_numpy(array) for name, array in arrays}
        for k, curriculum in enumerate(self.curricula):
            facts = curriculum.facts().items()
            tensors |= {f"curricula-{k}.{name}": torch.tensor(value) for name, value in facts}
        tensors["eyes.looked"] = self.looked
        return tensors | dict(leaves(self.memory, "eyes.memory"))

    def restore(self, tensors: dict[str, Tensor]) -> None:
        parts: dict[str, dict[str, Tensor]] = {}
        for key, value in tensors.items():
            part, _, name = key.partition(".")
            parts.setdefault(part, {})[name] = value
        self.teachers.load_state_dict(parts["teachers"])
        checkpoint.restore_optimizer(self.optimizer, parts.get("optimizer", {}))
        if distributed.rank() == 0:  # the process that wrote it; the others keep their worlds
            for k, worlds in enumerate(self.worlds):
                worlds.restore({name: v.numpy() for name, v in parts[f"worlds-{k}"].items()})
            eyes = parts.get("eyes", {})  # earlier code had the grid's only, which remember nothing
            self.looked = eyes.get("looked", self._images())
            self.memory = restored(self.memory, eyes, "memory")
        for k, curriculum in enumerate(self.curricula):
            curriculum.restore({name: int(v) for name, v in parts[f"curricula-{k}"].items()})
            self._fit_worlds(k)


def _stacked(arrays: Sequence[NDArray[Any]]) -> Tensor:
    return torch.from_numpy(np.stack(arrays))


def _join(part: Tensor) -> Tensor:
    """Time steps of each subtask side by side: (t, K, n, ...) to (K, t * n, ...)."""
    return part.transpose(0, 1).flatten(1, 2)
