"""Training a meta controller to execute lists, with a skill that stays as it is."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor

from errands.agents.files import save_agent
from errands.agents.hierarchy import Hierarchy
from errands.agents.load import OWN_SKILL, load_skill, shipped_agents
from errands.agents.meta import MetaController
from errands.agents.precision import half_eyes
from errands.config import MetaStage, MetaTraining
from errands.evaluation.episodes import run_episodes
from errands.evaluation.hierarchies import HierarchyPolicy
from errands.learning import distributed, objectives
from errands.learning.advantages import Credit, assign_credit
from errands.learning.curriculum import EventCurriculum, ListCurriculum, crowded, smallest_size
from errands.learning.meta_rollout import MetaFrames, MetaRollout
from errands.learning.objectives import Terms
from errands.presets import fitted
from errands.seeds import VALIDATION_SEEDS, training_seed
from errands.stages.selection import Selection
from errands.stages.trainer import Phase, Trainer
from errands.worlds.spec import WORLDS, Setting, WorldSpec
from errands.worlds.tasks import TaskSource, analogies, training_lists
from errands.worlds.vector import Worlds


class MetaTrainer(Trainer[MetaFrames, MetaStage]):
    """A meta controller that learns: the network, its worlds, and everything else that changes."""

    training: MetaTraining
    average: MetaController
    rollout: MetaRollout

    def __init__(
        self, training: MetaTraining, device: str = "cpu", spec: WorldSpec | None = None
    ) -> None:
        """`spec` is a user's own world, instead of the one that `training` names."""
        self.spec = spec or WORLDS[training.world]
        training = fitted(training, self.spec)
        torch.manual_seed(training.seed)
        alike = analogies(self.spec, "independent")
        super().__init__(training, MetaController(training.network), device, alike)
        found = None if training.network.flat else load_skill(training.skill, device)
        self.skill = found.skill if found else None
        # A skill that is not shipped may move or change: a copy is kept with the agent.
        self._own_skill = None if training.skill in shipped_agents() else found
        self.hierarchy = Hierarchy(self.meta, self.skill)
        self.curriculum = ListCurriculum(training.longest)
        self.events = EventCurriculum()
        self.selection = Selection(training.validation_episodes)
        self.begun = [0]  # frames at which each stage began, so far
        self.soft = training.stages[0].soft  # how the agent of the last iteration updates
        longest = training_lists(self.spec, "train", (training.longest, training.longest))
        worlds = Worlds(self.spec, training.worlds, longest, self._setting())
        worlds.seed(training_seed(training.seed, distributed.rank()))
        self.rollout = MetaRollout(worlds, training.steps, self.hierarchy)
        self._change_worlds()
        worlds.reset()

    @property
    def meta(self) -> MetaController:
        return cast(MetaController, self.model)

    @property
    def total_frames(self) -> int:
        return sum(stage.frames for stage in self.training.stages)

    @property
    def stage(self) -> MetaStage:
        """The stage that the next iteration belongs to."""
        return self.training.stages[len(self.begun) - 1]

    @property
    def in_last_stage(self) -> bool:
        return len(self.begun) == len(self.training.stages)

    def _tasks(self) -> TaskSource:
        """Training lists of the length that is due. Short ones get fewer steps."""
        longest = self.training.longest
        lengths = self.curriculum.lengths if self.stage.curriculum else (longest, longest)
        steps = self.training.patience * self.spec.step_limit(longest, "train")
        limit = int(steps * (1 + lengths[1])) // (1 + longest)
        return training_lists(self.spec, "train", lengths, step_limit=limit)

    def _setting(self) -> Setting:
        """The world of the stage. Maps grow together with the lists."""
        setting = self.spec.forgiving if self.stage.forgiving else self.spec.lists
        setting = crowded(self.spec, setting, self.training.crowd)
        if not self.stage.curriculum:
            return setting
        smallest = smallest_size(setting)
        largest = smallest + round(self.curriculum.growth * (setting.sizes[1] - smallest))
        return replace(setting, sizes=(smallest, largest))

    def phase(self) -> Phase[MetaStage]:
        stage, begun = self.stage, self.begun[-1]
        name = ("soft" if stage.soft else "hard") + (", forgiving" if stage.forgiving else "")
        length = self.total_frames - begun if self.in_last_stage else stage.frames
        return Phase(name, stage, min((self.frames - begun) / length, 1.0))

    def collect(self, phase: Phase[MetaStage]) -> tuple[MetaFrames, dict[str, float]]:
        self.soft = phase.stage.soft
        with half_eyes(self.hierarchy.eyes, wanted=self.training.half_eyes):
            frames, statistics = self.rollout.collect(self.hierarchy, self.sampling, soft=self.soft)
        return frames, asdict(statistics)

    def credit(self, frames: MetaFrames, phase: Phase[MetaStage]) -> Credit:
        """By decision only where updates are hard: soft ones decide a little at every step."""
        training = self.training
        by_decision = training.credit == "decision" and not phase.stage.soft
        return assign_credit(
            frames,
            discount=training.discount,
            trace=training.trace,
            decides=frames.decision.c if by_decision else None,
        )

    def objective(
        self, frames: MetaFrames, credit: Credit | None, phase: Phase[MetaStage]
    ) -> Terms:
        assert credit is not None
        return objectives.meta_actor_critic(
            self.meta,
            frames,
            credit,
            soft=phase.stage.soft,
            eta=phase.stage.update_penalty,
            clip=self.training.clip,
            value_weight=self.training.value,
            entropy_weight=phase.entropy_weight,
        )

    def embedding(self) -> Callable[[Tensor], Tensor] | None:
        return None if self.training.network.flat else self.meta.embedding

    def move_on(self, figures: Mapping[str, float]) -> dict[str, float]:
        success, caught = (distributed.mean(figures[name]) for name in ("success", "caught"))
        longer = self.stage.curriculum and self.curriculum.learn(success)
        if self._next_stage() or longer:
            self._change_worlds()
        self.events.learn(caught)
        self._change_events()
        return {"longest": self.curriculum.reached}

    def _next_stage(self) -> bool:
        """Begin the next stage if this one's frames are used up, or all its lists are learned."""
        if self.in_last_stage:
            return False
        mastered = self.stage.leaves_early and self.curriculum.mastered
        if self.phase().share < 1.0 and not mastered:
            return False
        self.begun.append(self.frames)
        return True

    def _change_worlds(self) -> None:
        """Give the worlds what the stage asks for, beginning with their next episodes."""
        worlds = self.rollout.worlds
        worlds.change_tasks(self._tasks())
        worlds.change_setting(self._setting())
        self._change_events()

    def _change_events(self) -> None:
        """Let events happen as often as the agent needs them to."""
        if self.spec.event is not None:
            chance = self.spec.event.probability * self.events.times(self.stage.events)
            self.rollout.worlds.rules["event_probability"] = chance

    def validate(self, phase: Phase[MetaStage]) -> dict[str, float]:
        limits = self.spec.limits
        lengths = limits.validation_length, limits.validation_length
        wanted = training_lists(self.spec, "validation", lengths)
        setting = crowded(self.spec, self.spec.lists, self.training.crowd)
        worlds = Worlds(self.spec, self.training.validation_episodes, wanted, setting)
        worlds.seed(VALIDATION_SEEDS)
        worlds.reset()
        agent = Hierarchy(self.average, self.skill)
        policy = HierarchyPolicy(agent, soft=phase.stage.soft)
        ran = run_episodes(worlds, policy)
        return {
            "success": float(ran.success.mean()),
            "completed": float(ran.completed.mean()),
            "reward": float(ran.reward.mean()),
            "steps": float(ran.steps.mean()),
            "caught": float(ran.events_used.sum() / max(ran.events.sum(), 1)),
        }

    def description(self) -> dict[str, Any]:
        network = asdict(self.training.network)
        shipped = self.training.skill if self.skill else None
        skill = OWN_SKILL if self._own_skill else shipped
        kind = {"kind": "meta", "network": network, "skill": skill}
        return kind | {"soft": self.soft} | super().description()

    def save_agent(self, folder: Path, validation: Mapping[str, float]) -> None:
        """The agent, and its skill unless that is shipped."""
        if own := self._own_skill:
            save_agent(folder / OWN_SKILL, own.skill, own.description)
        super().save_agent(folder, validation)

    def own_facts(self) -> dict[str, Any]:
        return {"begun": self.begun, "events": self.events.facts()}

    def restore_own(self, parts: dict[str, dict[str, Tensor]], facts: dict[str, Any]) -> None:
        self.begun = facts["begun"]
        self.events.restore(facts["events"])
        self._change_worlds()
