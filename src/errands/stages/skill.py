"""Learning a skill: distill, then fine-tune, as one run that can stop anywhere and go on."""

import copy
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from errands.agents.skill import Skill, build_skill
from errands.config import SkillTraining, Stage
from errands.evaluation.skills import run_skill
from errands.language.analogies import Analogies
from errands.learning import checkpoint, distributed
from errands.learning.curriculum import Curriculum
from errands.learning.losses import AnalogyLoss
from errands.learning.rollout import RolloutStatistics, SkillFrames, SkillRollout
from errands.seeds import VALIDATION_SEEDS, training_seed
from errands.stages.distill import distillation_losses
from errands.stages.finetune import actor_critic_losses, advantages_and_returns
from errands.stages.teacher import School
from errands.worlds.spec import WORLDS
from errands.worlds.vector import Worlds, skill_tasks


@dataclass(frozen=True)
class Report:
    """What one iteration tells: for the progress bar, TensorBoard and the log."""

    stage: str
    frames: int  # since the run began
    rollout: RolloutStatistics
    losses: dict[str, float]
    learning_rate: float
    validation: dict[str, float] | None = None  # only when it was looked at


class SkillTrainer:
    """Everything that changes while a skill learns."""

    def __init__(self, training: SkillTraining, device: str = "cpu") -> None:
        self.training = training
        self.device = torch.device(device)
        rank_seed = training_seed(training.seed, distributed.rank())
        torch.manual_seed(training.seed)
        self.skill: Skill = build_skill(training.network).to(self.device)
        self.average: Skill = copy.deepcopy(self.skill).eval()  # what is validated and shipped
        self.optimizer = _optimizer(training, self.skill)
        self.curriculum = Curriculum(enabled=training.curriculum)
        self.spec = WORLDS[training.world]
        tasks = skill_tasks(self.spec, training.scenario, "train")
        setting = self.curriculum.setting(self.spec.skill)
        worlds = Worlds(self.spec, training.worlds, tasks, setting)
        worlds.seed(rank_seed)
        self.school = (
            School(self.spec, training, rank_seed + training.worlds)
            if training.teacher == "rl"
            else None
        )
        advisor = self.school.advise if self.school else None
        self.rollout = SkillRollout(worlds, training.steps, self.skill, advisor)
        self.analogy = AnalogyLoss(
            Analogies.of(training.world, training.scenario), training.analogies
        )
        self.sampling = torch.Generator().manual_seed(rank_seed)
        self.shuffling = np.random.default_rng(rank_seed)
        self.lessons = 0  # iterations of the teachers, which come first
        self.iteration = 0
        self.seconds = 0.0
        self.best = -1.0  # strict success on the validation split

    @property
    def frames(self) -> int:
        """Frames so far, the teachers' included."""
        return self.skill_frames + self.teacher_frames

    @property
    def skill_frames(self) -> int:
        return self.iteration * self.training.frames_per_iteration

    @property
    def teacher_frames(self) -> int:
        return self.lessons * self.school.frames_per_iteration if self.school else 0

    @property
    def total_frames(self) -> int:
        own = self.training.distill.frames + self.training.finetune.frames
        return own + (self.training.teachers.frames if self.school else 0)

    @property
    def finished(self) -> bool:
        own = self.training.distill.frames + self.training.finetune.frames
        return self.skill_frames >= own

    def iterate(self) -> Report:
        """Collect one batch and learn from it."""
        if self.school and self.teacher_frames < self.training.teachers.frames:
            return self._teach(self.school)
        return self._learn()

    def _teach(self, school: School) -> Report:
        """One iteration of the teachers."""
        start = time.perf_counter()
        stage = self.training.teachers
        share = self.teacher_frames / stage.frames
        rate, entropy = stage.rate(share), stage.entropy_weight(share)
        losses, statistics = school.iterate(self.sampling, rate, entropy)
        self.lessons += 1
        self.seconds += time.perf_counter() - start
        return Report("teachers", self.frames, statistics, losses, rate)

    def _learn(self) -> Report:
        """One iteration of the skill."""
        start = time.perf_counter()
        name, stage, share = self._stage()
        rate = stage.rate(share)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        distilling = name == "distill"
        self.skill.eval()
        frames, statistics = self.rollout.collect(self.skill, self.sampling, teacher=distilling)
        self.skill.train()
        totals: dict[str, float] = {}
        updates = 0
        for losses in self._updates(frames, distilling, stage.entropy_weight(share)):
            updates += 1
            for key, value in losses.items():
                totals[key] = totals.get(key, 0.0) + value
        if self.training.curriculum and self.curriculum.learn(statistics.success):
            self.rollout.worlds.change_setting(self.curriculum.setting(self.spec.skill))
        self.iteration += 1
        means = {key: value / updates for key, value in totals.items()}
        validation = self._validate() if self._is_time_to_validate() else None
        self.seconds += time.perf_counter() - start
        return Report(name, self.frames, statistics, means, rate, validation)

    def _updates(
        self, frames: SkillFrames, distilling: bool, entropy_weight: float
    ) -> Iterator[dict[str, float]]:
        """One step of the optimizer for each group of worlds, `epochs` times over."""
        training = self.training
        if not distilling:
            advantages, returns = advantages_and_returns(frames, training)
        for _ in range(training.epochs):
            order = torch.from_numpy(self.shuffling.permutation(training.worlds))
            for group in torch.split(order, training.minibatch):
                part = to_device(frames.worlds(group), self.device)
                if distilling:
                    terms = distillation_losses(self.skill, part, training)
                else:
                    terms = actor_critic_losses(
                        self.skill,
                        part,
                        advantages[:, group].to(self.device),
                        returns[:, group].to(self.device),
                        training,
                        entropy_weight,
                    )
                if training.analogy:
                    terms["analogy"] = self.analogy(
                        self.skill.embedding, self.shuffling, self.device
                    )
                self.optimizer.zero_grad(set_to_none=True)
                torch.autograd.backward(torch.stack(list(terms.values())).sum())
                distributed.average_gradients(self.skill)
                torch.nn.utils.clip_grad_norm_(self.skill.parameters(), training.gradient_norm)
                self.optimizer.step()
                self._average()
                yield {key: float(value.detach()) for key, value in terms.items()}

    def _average(self) -> None:
        """Move the running mean of the weights on; early on it forgets faster."""
        decay = min(self.training.averaging, 1.0 - 1.0 / (1.0 + self.iteration))
        with torch.no_grad():
            pairs = zip(self.average.parameters(), self.skill.parameters(), strict=True)
            for mean, newest in pairs:
                mean.lerp_(newest, 1.0 - decay)

    def _stage(self) -> tuple[str, Stage, float]:
        """The stage that the next iteration belongs to, and how much of it is over."""
        distill = self.training.distill
        if self.skill_frames < distill.frames:
            return "distill", distill, self.skill_frames / distill.frames
        finetune = self.training.finetune
        return "finetune", finetune, (self.skill_frames - distill.frames) / max(finetune.frames, 1)

    def _is_time_to_validate(self) -> bool:
        every = max(1, self.training.validate_every // self.training.frames_per_iteration)
        return self.iteration % every == 0 or self.finished

    def _validate(self) -> dict[str, float]:
        """Strict success on the validation split: what the best weights are chosen by."""
        tasks = skill_tasks(self.spec, self.training.scenario, "validation")
        episodes = run_skill(
            self.average,
            self.spec,
            tasks,
            episodes=self.training.validation_episodes,
            seed=VALIDATION_SEEDS,
        )
        return {
            "success": float(episodes.success.mean()),
            "finished": float(episodes.finished.mean()),
            "precision": episodes.precision,
            "recall": episodes.recall,
            "reward": float(episodes.reward.mean()),
        }

    def description(self) -> dict[str, Any]:
        """The JSON beside the weights: what rebuilds the skill, and where it comes from."""
        return {
            "kind": "skill",
            "network": asdict(self.training.network),
            "training": asdict(self.training),
            "frames": self.frames,
            "seconds": round(self.seconds, 1),
        }

    def save(self, folder: Path) -> None:
        """All that is needed to go on from exactly here."""
        tensors = {f"model.{name}": value for name, value in self.skill.state_dict().items()}
        tensors |= {f"average.{name}": value for name, value in self.average.state_dict().items()}
        tensors |= {
            f"optimizer.{k}": v for k, v in checkpoint.optimizer_tensors(self.optimizer).items()
        }
        tensors |= {f"rollout.{name}": value for name, value in self.rollout.snapshot().items()}
        if self.school:
            tensors |= {f"school.{name}": value for name, value in self.school.snapshot().items()}
        tensors["sampling"] = self.sampling.get_state()
        tensors["noise"] = torch.get_rng_state()
        facts = {
            "lessons": self.lessons,
            "iteration": self.iteration,
            "seconds": self.seconds,
            "best": self.best,
            "shuffling": checkpoint.generator_facts(self.shuffling),
            "curriculum": self.curriculum.facts(),
        }
        checkpoint.save_resume(folder, {k: v.cpu() for k, v in tensors.items()}, facts)

    def resume(self, folder: Path) -> list[str]:
        """Go on from what `save` wrote, if anything; returns complaints about damaged files."""
        found = checkpoint.load_resume(folder)
        if found is None:
            return []
        tensors, facts, complaints = found
        parts: dict[str, dict[str, torch.Tensor]] = {}
        for key, value in tensors.items():
            part, _, name = key.partition(".")
            parts.setdefault(part, {})[name] = value
        self.skill.load_state_dict(parts["model"])
        self.average.load_state_dict(parts["average"])
        checkpoint.restore_optimizer(self.optimizer, parts.get("optimizer", {}))
        torch.set_rng_state(tensors["noise"])
        if distributed.rank() == 0:  # who wrote it; others keep to worlds of their own
            self.rollout.restore(parts["rollout"])
            self.sampling.set_state(tensors["sampling"])
            checkpoint.restore_generator(self.shuffling, facts["shuffling"])
        self.curriculum.restore(facts["curriculum"])
        self.rollout.worlds.change_setting(self.curriculum.setting(self.spec.skill))
        if self.school:
            self.school.restore(parts["school"])
        self.lessons = facts["lessons"]
        self.iteration, self.seconds = facts["iteration"], facts["seconds"]
        self.best = facts["best"]
        return complaints


def _optimizer(training: SkillTraining, skill: Skill) -> torch.optim.Optimizer:
    rate = training.distill.learning_rate
    if training.optimizer == "adam":
        return torch.optim.Adam(skill.parameters(), lr=rate)
    return torch.optim.RMSprop(skill.parameters(), lr=rate, alpha=0.97, eps=1e-6)


def to_device(frames: SkillFrames, device: torch.device) -> SkillFrames:
    if device.type == "cpu":
        return frames
    moved: dict[str, Any] = {}
    for name, value in vars(frames).items():
        is_memory = isinstance(value, tuple)
        moved[name] = tuple(v.to(device) for v in value) if is_memory else value.to(device)
    return SkillFrames(**moved)
