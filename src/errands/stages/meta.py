"""Learning to execute lists: soft and forgiving, soft, hard, as one run that can stop and go on."""

import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor

from errands.agents.files import save_agent
from errands.agents.hierarchy import Hierarchy
from errands.agents.load import OWN_SKILL, load_skill, shipped_agents
from errands.agents.meta import Decision, MetaController, MetaInput, MetaState, Thought
from errands.config import MetaStage, MetaTraining
from errands.evaluation.episodes import run_episodes
from errands.evaluation.hierarchies import HierarchyPolicy
from errands.learning import distributed, losses
from errands.learning.advantages import advantages_and_returns
from errands.learning.curriculum import EventCurriculum, ListCurriculum, smallest_size
from errands.learning.meta_rollout import MetaFrames, MetaRollout
from errands.seeds import VALIDATION_SEEDS, training_seed
from errands.stages import tasks
from errands.stages.trainer import Report, Trainer, mean_terms
from errands.worlds.spec import WORLDS, Setting, WorldSpec
from errands.worlds.vector import TaskSource, Worlds


def meta_losses(
    meta: MetaController,
    frames: MetaFrames,
    advantages: Tensor,
    returns: Tensor,
    training: MetaTraining,
    *,
    stage: MetaStage,
    entropy_weight: float,
) -> dict[str, Tensor]:
    """Actor-critic (eq. 8), in the clipped form that serves several updates."""
    thought = think_again(meta, frames, soft=stage.soft)
    running = frames.running
    terms = {
        "policy": losses.policy_gradient(
            thought.log_probability, frames.log_probabilities, advantages, running, training.clip
        ),
        "value": training.value * losses.value_error(thought.value, returns, running),
        "entropy": -entropy_weight * losses.masked_mean(thought.entropy, running),
    }
    if meta.network.gate == "learned":
        free = running & ~frames.given.finished if meta.network.ends_open else running
        terms["updates"] = stage.update_penalty * losses.masked_mean(thought.update, free)
    return terms


def think_again(meta: MetaController, frames: MetaFrames, *, soft: bool) -> Thought:
    """What the meta controller thinks now of the decisions it took: (T, B, ...).

    Soft updates and an LSTM are differentiated through time. Hard updates without one carry nothing
    on that a gradient could pass through but h_(t-1), which the gate alone reads: there every frame
    stands for itself, and all of them are one batch.
    """
    times, worlds = frames.running.shape
    if soft or meta.recurrent:
        thoughts = []
        state = MetaState(*(item[0] for item in frames.before))
        for t in range(times):
            given = MetaInput(*(item[t] for item in frames.given))
            decided = Decision(*(item[t] for item in frames.decision))
            thought, state = meta.step(given, state, soft=soft, decided=decided)
            thoughts.append(thought)
        parts = [torch.stack(items) for items in zip(*(t[1:] for t in thoughts), strict=True)]
        return Thought(frames.decision, *parts)
    given = MetaInput(*(item.flatten(0, 1) for item in frames.given))
    decided = Decision(*(item.flatten(0, 1) for item in frames.decision))
    before = MetaState(*(item.flatten(0, 1) for item in frames.before))
    thought, _ = meta.step(given, before, soft=False, decided=decided)
    parts = [item.view(times, worlds, *item.shape[1:]) for item in thought[1:]]
    return Thought(frames.decision, *parts)


class MetaTrainer(Trainer):
    """Everything that changes while an agent learns to execute lists."""

    training: MetaTraining
    average: MetaController
    rollout: MetaRollout

    def __init__(
        self, training: MetaTraining, device: str = "cpu", spec: WorldSpec | None = None
    ) -> None:
        """`spec` is a world of one's own, in the place of the one that `training` names."""
        self.spec = spec or WORLDS[training.world]
        training = tasks.fitted(training, self.spec)
        torch.manual_seed(training.seed)
        analogies = tasks.analogies(self.spec, "independent")
        super().__init__(training, MetaController(training.network), device, analogies)
        found = None if training.network.flat else load_skill(training.skill, device)
        self.skill = found.skill if found else None
        # One's own may move or go on learning: it is kept with the agent, as it is now.
        self._own_skill = None if training.skill in shipped_agents() else found
        self.hierarchy = Hierarchy(self.meta, self.skill)
        self.curriculum = ListCurriculum(training.longest)
        self.events = EventCurriculum()
        self.begun = [0]  # frames at which each stage began, so far
        self.soft = training.stages[0].soft  # how the agent of the last iteration updates
        longest = tasks.lists(self.spec, "train", (training.longest, training.longest))
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

    def stage(self) -> tuple[int, MetaStage, float]:
        """The stage that the next iteration belongs to, and how much of it is over."""
        k = len(self.begun) - 1
        stage, is_last = self.training.stages[k], k == len(self.training.stages) - 1
        length = self.total_frames - self.begun[k] if is_last else stage.frames
        return k, stage, min((self.frames - self.begun[k]) / length, 1.0)

    def _next_stage(self) -> bool:
        """Go on to the next stage if it is time: frames are used up, or all lists are learned."""
        k, stage, share = self.stage()
        if k == len(self.training.stages) - 1:
            return False
        if share < 1.0 and not (stage.leaves_early and self.curriculum.mastered):
            return False
        self.begun.append(self.frames)
        return True

    def _tasks(self) -> TaskSource:
        """Training lists of the length that is due. Short ones get less time."""
        _, stage, _ = self.stage()
        longest = self.training.longest
        lengths = self.curriculum.lengths if stage.curriculum else (longest, longest)
        steps = self.training.patience * self.spec.step_limit(longest, "train")
        limit = int(steps * (1 + lengths[1])) // (1 + longest)
        return tasks.lists(self.spec, "train", lengths, step_limit=limit)

    def _setting(self) -> Setting:
        """The world of the stage. Maps grow together with the lists."""
        _, stage, _ = self.stage()
        setting = self.spec.forgiving if stage.forgiving else self.spec.lists
        if not stage.curriculum:
            return setting
        smallest = smallest_size(setting)
        largest = smallest + round(self.curriculum.growth * (setting.sizes[1] - smallest))
        return replace(setting, sizes=(smallest, largest))

    def iterate(self) -> Report:
        """Collect one batch and learn from it."""
        start = time.perf_counter()
        _, stage, share = self.stage()
        rate = stage.rate(share)
        self.set_rate(rate)
        self.soft = stage.soft
        self.meta.eval()
        frames, statistics = self.rollout.collect(self.hierarchy, self.sampling, soft=stage.soft)
        self.meta.train()
        steps = list(self._updates(frames, stage, share))
        self.iteration += 1
        longer = stage.curriculum and self.curriculum.learn(distributed.mean(statistics.success))
        if self._next_stage() or longer:
            self._change_worlds()
        self.events.learn(distributed.mean(statistics.caught))
        self._change_events()
        validation = self._validate(stage) if self.is_time_to_validate() else None
        self.seconds += time.perf_counter() - start
        name = ("soft" if stage.soft else "hard") + (", forgiving" if stage.forgiving else "")
        told = asdict(statistics) | {"longest": self.curriculum.reached}
        return Report(name, self.frames, told, mean_terms(steps), rate, validation)

    def _change_worlds(self) -> None:
        """Give the worlds what the stage asks for, beginning with their next episodes."""
        worlds = self.rollout.worlds
        worlds.change_tasks(self._tasks())
        worlds.change_setting(self._setting())
        self._change_events()

    def _change_events(self) -> None:
        """Let events happen as often as the agent needs them to."""
        if self.spec.event is not None:
            _, stage, _ = self.stage()
            chance = self.spec.event.probability * self.events.times(stage.events)
            self.rollout.worlds.rules["event_probability"] = chance

    def _updates(
        self, frames: MetaFrames, stage: MetaStage, share: float
    ) -> Iterator[dict[str, float]]:
        """One step of the optimizer for each group of worlds, `epochs` times over."""
        training = self.training
        advantages, returns = advantages_and_returns(
            frames, discount=training.discount, trace=training.trace
        )
        for _ in range(training.epochs):
            order = torch.from_numpy(self.shuffling.permutation(training.worlds))
            for group in torch.split(order.to(self.device), training.minibatch):
                terms = meta_losses(
                    self.meta,
                    frames.worlds(group),
                    advantages[:, group],
                    returns[:, group],
                    training,
                    stage=stage,
                    entropy_weight=stage.entropy_weight(share),
                )
                if self.analogy and not training.network.flat:
                    terms["analogy"] = self.analogy(
                        self.meta.embedding, self.shuffling, self.device
                    )
                yield self.minimise(terms)

    def _validate(self, stage: MetaStage) -> dict[str, float]:
        """Success on the validation split: what the best weights are chosen by."""
        limits = self.spec.limits
        lengths = limits.validation_length, limits.validation_length
        wanted = tasks.lists(self.spec, "validation", lengths)
        worlds = Worlds(self.spec, self.training.validation_episodes, wanted)
        worlds.seed(VALIDATION_SEEDS)
        worlds.reset()
        agent = Hierarchy(self.average, self.skill)
        policy = HierarchyPolicy(agent, soft=stage.soft)
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
        """The agent, with its skill beside it if that is one's own."""
        if own := self._own_skill:
            save_agent(folder / OWN_SKILL, own.skill, own.description)
        super().save_agent(folder, validation)

    def own_facts(self) -> dict[str, Any]:
        return {"begun": self.begun, "events": self.events.facts()}

    def restore_own(self, parts: dict[str, dict[str, Tensor]], facts: dict[str, Any]) -> None:
        self.begun = facts["begun"]
        self.events.restore(facts["events"])
        self._change_worlds()
