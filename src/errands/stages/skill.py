"""Learning a skill: distill, then fine-tune, as one run that can stop anywhere and go on."""

import time
from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import Any, cast

import torch
from torch import Tensor

from errands.agents.load import load_eyes
from errands.agents.skill import MapSkill, Skill, build_skill
from errands.config import SkillTraining, Stage
from errands.evaluation.skills import run_lists, run_skill
from errands.learning import distributed
from errands.learning.advantages import advantages_and_returns
from errands.learning.curriculum import Curriculum
from errands.learning.rollout import SkillFrames, SkillRollout
from errands.seeds import VALIDATION_SEEDS, training_seed
from errands.stages import tasks
from errands.stages.distill import distillation_losses
from errands.stages.finetune import actor_critic_losses
from errands.stages.teacher import School
from errands.stages.trainer import Report, Trainer, mean_terms
from errands.worlds.spec import WORLDS, WorldSpec
from errands.worlds.vector import Worlds


class SkillTrainer(Trainer):
    """Everything that changes while a skill learns."""

    training: SkillTraining
    average: Skill
    rollout: SkillRollout

    def __init__(
        self, training: SkillTraining, device: str = "cpu", spec: WorldSpec | None = None
    ) -> None:
        """`spec` is a world of one's own, in the place of the one that `training` names."""
        self.spec = spec or WORLDS[training.world]
        training = tasks.fitted(training, self.spec)
        torch.manual_seed(training.seed)
        analogies = tasks.analogies(self.spec, training.scenario)
        skill = build_skill(training.network)
        if isinstance(skill, MapSkill):
            skill.eyes.recogniser.load_state_dict(load_eyes(training.eyes).state_dict())
        super().__init__(training, skill, device, analogies)
        rank_seed = training_seed(training.seed, distributed.rank())
        self.curriculum = Curriculum(self.spec.skill, enabled=training.curriculum)
        trained = tasks.subtasks(self.spec, training.scenario, "train")
        worlds = Worlds(self.spec, training.worlds, trained, self.curriculum.setting)
        worlds.seed(rank_seed)
        self.school = (
            School(self.spec, training, rank_seed + training.worlds)
            if training.teacher == "rl"
            else None
        )
        advisor = self.school.advise if self.school else None
        self.rollout = SkillRollout(worlds, training.steps, self.skill, advisor)
        self.in_lists = self._in_lists(rank_seed) if training.in_lists else None
        self.lessons = 0  # iterations of the teachers, which come first

    def _in_lists(self, seed: int) -> SkillRollout:
        """Where the skill is told one subtask of a list after the other.

        Without events: nothing should pay but what it is told.
        """
        length = self.spec.limits.train_length
        lists = tasks.lists(self.spec, "train", (1, length))
        count = self.training.worlds
        worlds = Worlds(self.spec, count, lists, replace(self.spec.lists, event=False))
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
        return Report("teachers", self.frames, asdict(statistics), losses, rate)

    def _learn(self) -> Report:
        """One iteration of the skill."""
        start = time.perf_counter()
        name, stage, share = self._stage()
        rate = stage.rate(share)
        self.set_rate(rate)
        distilling = name == "distill"
        self.skill.eval()
        in_turn = self.rollout, self.in_lists or self.rollout
        frames, statistics = in_turn[self.iteration % 2].collect(
            self.skill,
            self.sampling,
            teacher=distilling,
            guided=self.training.guidance(share) if distilling else 0.0,
        )
        self.skill.train()
        steps = list(self._updates(frames, distilling, stage.entropy_weight(share)))
        grows = self.training.curriculum
        if grows and self.curriculum.learn(distributed.mean(statistics.success)):
            self.rollout.worlds.change_setting(self.curriculum.setting)
        self.iteration += 1
        validation = self._validate() if self.is_time_to_validate() else None
        self.seconds += time.perf_counter() - start
        return Report(name, self.frames, asdict(statistics), mean_terms(steps), rate, validation)

    def _updates(
        self, frames: SkillFrames, distilling: bool, entropy_weight: float
    ) -> Iterator[dict[str, float]]:
        """One step of the optimizer for each group of worlds, `epochs` times over."""
        training = self.training
        if not distilling:
            advantages, returns = advantages_and_returns(
                frames, discount=training.discount, trace=training.trace
            )
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
                if self.analogy:
                    terms["analogy"] = self.analogy(
                        self.skill.embedding, self.shuffling, self.device
                    )
                yield self.minimise(terms)

    def _stage(self) -> tuple[str, Stage, float]:
        """The stage that the next iteration belongs to, and how much of it is over."""
        distill = self.training.distill
        if self.skill_frames < distill.frames:
            return "distill", distill, self.skill_frames / distill.frames
        finetune = self.training.finetune
        return "finetune", finetune, (self.skill_frames - distill.frames) / max(finetune.frames, 1)

    def _validate(self) -> dict[str, float]:
        """Strict success on the validation split: what the best weights are chosen by.

        And, of a skill that learns in lists, the share of those that it carries out in the steps of
        the training's: both count the same.
        """
        episodes = run_skill(
            self.average,
            self.spec,
            tasks.subtasks(self.spec, self.training.scenario, "validation"),
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
        wanted = tasks.lists(self.spec, "validation", (length, length), step_limit=limit)
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
    moved: dict[str, Any] = {}
    for name, value in vars(frames).items():
        is_memory = isinstance(value, tuple)
        moved[name] = tuple(v.to(device) for v in value) if is_memory else value.to(device)
    return SkillFrames(**moved)
