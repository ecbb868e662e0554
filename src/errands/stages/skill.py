"""Training a skill: distillation, then fine-tuning. RL teachers, where wanted, come first."""

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor

from errands.agents.load import load_eyes, load_skill
from errands.agents.mapping import MapEyes
from errands.agents.memory import each
from errands.agents.recogniser import Recogniser
from errands.agents.skill import Skill
from errands.config import SkillTraining, Stage
from errands.evaluation.skills import run_lists, run_skill
from errands.learning import distributed, objectives
from errands.learning.advantages import Credit, assign_credit
from errands.learning.curriculum import Curriculum, crowded, walled
from errands.learning.objectives import Terms
from errands.learning.rollout import SkillFrames, SkillRollout
from errands.presets import fitted
from errands.seeds import VALIDATION_SEEDS, training_seed
from errands.stages.teacher import School
from errands.stages.trainer import IterationReport, Phase, Trainer
from errands.worlds.spec import WORLDS, WorldSpec
from errands.worlds.tasks import analogies, training_lists, training_subtasks
from errands.worlds.vector import Worlds

DISTILL, FINETUNE = "distill", "finetune"


def take_eyes(recogniser: Recogniser, name: str) -> None:
    """Give a skill the weights of trained eyes, which must know its world's objects."""
    trained = load_eyes(name)
    if trained.objects != recogniser.objects:
        raise ValueError(
            f"the eyes '{name}' know {trained.objects} kinds of object, and this world has "
            f"{recogniser.objects}: train eyes in it first"
        )
    recogniser.load_state_dict(trained.state_dict())


def new_skill(training: SkillTraining) -> Skill:
    """The skill as its training begins: with trained eyes, or with all of a trained skill."""
    skill = Skill(training.network)
    if training.start:
        trained = load_skill(training.start).skill
        if trained.network != skill.network:
            raise ValueError(f"the skill '{training.start}' is not built like the one to train")
        skill.load_state_dict(trained.state_dict())
    elif isinstance(skill.eyes, MapEyes):
        take_eyes(skill.eyes.recogniser, training.eyes)
    return skill


class SkillTrainer(Trainer[SkillFrames, Stage]):
    """A skill that learns: the network, its worlds, and everything else that changes."""

    training: SkillTraining
    average: Skill
    rollout: SkillRollout

    def __init__(
        self, training: SkillTraining, device: str = "cpu", spec: WorldSpec | None = None
    ) -> None:
        """`spec` is a user's own world, instead of the one that `training` names."""
        self.spec = spec or WORLDS[training.world]
        training = fitted(training, self.spec)
        torch.manual_seed(training.seed)
        alike = analogies(self.spec, training.scenario)
        super().__init__(training, new_skill(training), device, alike)
        rank_seed = training_seed(training.seed, distributed.rank())
        maps = walled(self.spec.skill, training.walls)
        self.curriculum = Curriculum(maps, enabled=training.curriculum)
        trained = training_subtasks(self.spec, training.scenario, "train")
        worlds = Worlds(self.spec, training.worlds, trained, self.curriculum.setting)
        worlds.seed(rank_seed)
        codes = np.array([item.code(self.spec.vocabulary) for item in trained.pool], np.int64)
        self.trained = torch.from_numpy(codes)  # (n, 3)
        self.meant = torch.from_numpy(worlds.meant(codes[:, :2]))
        self.school = (
            School(self.spec, training, self.skill, rank_seed + training.worlds)
            if training.teacher == "rl"
            else None
        )
        advisor = self.school.advise if self.school else None
        self.rollout = SkillRollout(worlds, training.steps, self.skill, advisor)
        self.in_lists = self._in_lists(rank_seed) if training.in_lists else None
        self.lessons = 0  # iterations of the teachers, which come first

    def _in_lists(self, seed: int) -> SkillRollout:
        """Worlds in which the skill is given one subtask of a list after the other.

        Events happen, and must not be mistaken for what the skill has done, but they pay nothing:
        only the subtask that is given does.
        """
        length = self.spec.limits.train_length
        lists = training_lists(self.spec, "train", (1, length))
        count = self.training.worlds
        rewards = replace(self.spec.rewards, event=self.spec.rewards.step)
        setting = crowded(self.spec, self.spec.lists, self.training.crowd)
        worlds = Worlds(replace(self.spec, rewards=rewards), count, lists, setting)
        worlds.seed(seed + count)
        return SkillRollout(worlds, self.training.steps, self.skill)

    @property
    def skill(self) -> Skill:
        return cast(Skill, self.model)

    @property
    def frames(self) -> int:
        """Frames so far, the teachers' included."""
        return self.skill_frames + self.teacher_frames

    @property
    def skill_frames(self) -> int:
        return self.iteration * self.frames_per_iteration

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

    def train_teachers(self) -> IterationReport | None:
        if self.school is None or self.teacher_frames >= self.training.teachers.frames:
            return None
        start = time.perf_counter()
        stage = self.training.teachers
        phase = Phase("teachers", stage, self.teacher_frames / stage.frames)
        rate = phase.learning_rate
        losses, statistics = self.school.iterate(self.sampling, rate, phase.entropy_weight)
        self.lessons += 1
        self.seconds += time.perf_counter() - start
        return IterationReport(phase.name, self.frames, asdict(statistics), losses, rate)

    def phase(self) -> Phase[Stage]:
        distill, finetune = self.training.distill, self.training.finetune
        if self.skill_frames < distill.frames:
            return Phase(DISTILL, distill, self.skill_frames / distill.frames)
        share = (self.skill_frames - distill.frames) / max(finetune.frames, 1)
        return Phase(FINETUNE, finetune, share)

    def collect(self, phase: Phase[Stage]) -> tuple[SkillFrames, dict[str, float]]:
        distilling = phase.name == DISTILL
        in_turn = self.rollout, self.in_lists or self.rollout
        frames, statistics = in_turn[self.iteration % 2].collect(
            self.skill,
            self.sampling,
            teacher=distilling,
            guided=self.training.guidance(phase.share) if distilling else 0.0,
        )
        return frames, asdict(statistics)

    def credit(self, frames: SkillFrames, phase: Phase[Stage]) -> Credit | None:
        if phase.name == DISTILL:
            return None
        return assign_credit(frames, discount=self.training.discount, trace=self.training.trace)

    def objective(self, frames: SkillFrames, credit: Credit | None, phase: Phase[Stage]) -> Terms:
        training, frames = self.training, to_device(frames, self.device)
        termination = {"alpha": training.termination, "positive_weight": training.positive_weight}
        terms = self._contrast(frames) if training.contrast else {}
        if credit is None:
            return terms | objectives.distillation(self.skill, frames, **termination)
        return terms | objectives.actor_critic(
            self.skill,
            frames,
            credit.to(self.device),
            **termination,
            clip=training.clip,
            value_weight=training.value,
            entropy_weight=phase.entropy_weight,
        )

    def _contrast(self, frames: SkillFrames) -> Terms:
        """What the signal would have been for another trained subtask, drawn for each frame."""
        drawn = torch.randint(len(self.trained), frames.begins.shape, generator=self.sampling)
        others, meant = self.trained[drawn].to(self.device), self.meant[drawn].to(self.device)
        weight = self.training.positive_weight
        loss = objectives.contrast(self.skill, frames, others, meant, positive_weight=weight)
        return {"contrast": self.training.contrast * loss}

    def embedding(self) -> Callable[[Tensor], Tensor]:
        return self.skill.embedding

    def move_on(self, figures: Mapping[str, float]) -> dict[str, float]:
        grows = self.training.curriculum
        if grows and self.curriculum.learn(distributed.mean(figures["success"])):
            self.rollout.worlds.change_setting(self.curriculum.setting)
        return {}

    def validate(self, phase: Phase[Stage]) -> dict[str, float]:
        """Strict success on the validation split.

        For a skill that learns in lists, the mean of that and of the share of validation lists that
        it carries out within the steps of training lists.
        """
        episodes = run_skill(
            self.average,
            self.spec,
            training_subtasks(self.spec, self.training.scenario, "validation"),
            episodes=self.training.validation_episodes,
            seed=VALIDATION_SEEDS,
        )
        success = float(episodes.success.mean())
        lists = self._validate_lists() if self.training.in_lists else {}
        return {
            "success": (success + lists.get("lists", success)) / 2,
            **lists,
            "finished": float(episodes.finished.mean()),
            "precision": episodes.precision,
            "recall": episodes.recall,
            "reward": float(episodes.reward.mean()),
        }

    def _validate_lists(self) -> dict[str, float]:
        length = self.spec.limits.train_length
        limit = self.spec.step_limit(length, "train")
        wanted = training_lists(self.spec, "validation", (length, length), step_limit=limit)
        worlds = Worlds(self.spec, self.training.validation_episodes, wanted)
        worlds.seed(VALIDATION_SEEDS)
        worlds.reset()
        return {"lists": float(run_lists(self.average, worlds, seed=VALIDATION_SEEDS).mean())}

    def description(self) -> dict[str, Any]:
        network = asdict(self.training.network)
        return {"kind": "skill", "network": network, **super().description()}

    def own_tensors(self) -> dict[str, dict[str, Tensor]]:
        parts = {"school": self.school, "in_lists": self.in_lists}
        return {name: part.snapshot() for name, part in parts.items() if part}

    def own_facts(self) -> dict[str, Any]:
        return {"lessons": self.lessons}

    def restore_own(self, parts: dict[str, dict[str, Tensor]], facts: dict[str, Any]) -> None:
        self.lessons = facts["lessons"]
        self.rollout.worlds.change_setting(self.curriculum.setting)
        if self.school:
            self.school.restore(parts["school"])
        if self.in_lists and distributed.rank() == 0:
            self.in_lists.restore(parts["in_lists"])


def to_device(frames: SkillFrames, device: torch.device) -> SkillFrames:
    if device.type == "cpu":
        return frames
    moved = {
        name: each(lambda item: item.to(device), value) for name, value in vars(frames).items()
    }
    return SkillFrames(**moved)
