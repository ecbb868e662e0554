"""`errands bench training`: the share of the training time that the network takes."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from errands.commands.files import STANDARD_OUTPUT, check_writable, write_json
from errands.commands.problem import Problem, check_range

if TYPE_CHECKING:
    from errands.stages.meta import MetaTrainer
    from errands.stages.skill import SkillTrainer
    from errands.stages.trainer import Trainer

TARGET = 0.6  # share of the network-only loop's speed that the whole loop should have


@dataclass(frozen=True)
class BenchTraining:
    """Measure frames a second of the whole training loop, and of its network alone.

    The network alone runs forward and backward on a batch that was collected before the
    measurement; the whole loop also acts, steps the worlds, queries the teacher and updates the
    weights. For the meta controller, the network alone is one forward pass of skill and meta
    controller over the batch, as for collecting it, and all training passes forward and backward.

    examples
      errands bench training
      errands bench training --stage meta --seconds 60
      errands bench training --world block --seconds 20 --json speed.json
    """

    world: Literal["grid", "block"] = "grid"
    """The world."""
    stage: Literal["skill", "meta"] = "skill"
    """What is trained: a skill, or a meta controller."""
    seconds: float = 10.0
    """Seconds for each of the two loops."""
    json: Annotated[Path | None, tyro.conf.arg(metavar="FILE", help_behavior_hint="")] = None
    """Write the result; "-" prints it, and nothing else, to standard output."""

    def execute(self) -> int:
        check_range("--seconds", self.seconds, 0.01, 3600)
        check_writable("--json", self.json)
        import torch

        from errands.commands.progress import activity
        from errands.commands.timing import rates_in_turn
        from errands.evaluation.episodes import origin

        trainer, network_only = self._loops()
        with activity(f"measuring for {2 * self.seconds:g} seconds"):
            whole, network = rates_in_turn((lambda: _iterate(trainer), network_only), self.seconds)
        record: dict[str, Any] = {
            "world": self.world,
            "stage": self.stage,
            "whole_loop": round(whole, 1),
            "network_only": round(network, 1),
            "ratio": round(whole / network, 4),
            "threads": torch.get_num_threads(),
            "seconds": self.seconds,
            **origin(),
        }
        if self.json is not None:
            write_json(self.json, record)
        if self.json != STANDARD_OUTPUT:
            print(
                f"{self.world}, {self.stage}: {whole:,.0f} frames/s in the whole loop, "
                f"{network:,.0f} in the network alone: {whole / network:.0%} of it "
                f"(target: {TARGET:.0%})"
            )
        return 0

    def _loops(self) -> "tuple[Trainer[Any, Any], Callable[[], int]]":
        """A trainer, and a function that takes its network over a ready batch."""
        from errands.agents.registry import FAVOURITE
        from errands.presets import meta_training, skill_training
        from errands.stages.meta import MetaTrainer
        from errands.stages.skill import SkillTrainer

        if self.stage == "skill":
            skill = SkillTrainer(skill_training(self.world, "independent"))
            return skill, _network_only(skill)
        try:
            meta = MetaTrainer(meta_training(self.world, FAVOURITE))
        except ValueError as error:  # the skill that it commands
            raise Problem(f"{error}; --stage meta needs the world's skill") from None
        return meta, _networks_only(meta)


def _iterate(trainer: "Trainer[Any, Any]") -> int:
    from errands.stages.run import iterate

    before = trainer.frames
    iterate(trainer)
    return trainer.frames - before


def _network_only(trainer: "SkillTrainer") -> Callable[[], int]:
    """A function that takes a ready batch forward and backward, in the loop's own minibatches."""
    import torch

    from errands.learning.advantages import Credit

    training = trainer.training
    frames, _ = trainer.rollout.collect(trainer.skill, trainer.sampling, teacher=True)
    groups = torch.split(torch.arange(training.worlds), training.minibatch)
    credit = Credit(frames.values, frames.values)
    parts = [(frames.worlds(group), credit.worlds(group)) for group in groups]
    phase = trainer.phase()

    def advance() -> int:
        for part, its_credit in parts:
            trainer.skill.zero_grad(set_to_none=True)
            terms = trainer.objective(part, its_credit, phase)
            torch.autograd.backward(torch.stack(list(terms.values())).sum())
        return training.frames_per_iteration

    return advance


def _networks_only(trainer: "MetaTrainer") -> Callable[[], int]:
    """The same for skill and meta controller, which also had to run while the batch was collected.

    What a subtask that starts anew costs the skill once more is left out: it counts as overhead.
    """
    import torch

    from errands.agents.memory import each
    from errands.learning.advantages import Credit

    training, meta, skill = trainer.training, trainer.meta, trainer.skill
    assert skill is not None
    memory = skill.initial_memory(training.worlds)
    phase = trainer.phase()
    soft = phase.stage.soft
    frames, _ = trainer.rollout.collect(trainer.hierarchy, trainer.sampling, soft=soft)
    groups = torch.split(torch.arange(training.worlds), training.minibatch)
    credit = Credit(frames.values, frames.values)
    parts = [(frames.worlds(group), credit.worlds(group)) for group in groups]

    @torch.no_grad()
    def act() -> None:
        remembered = memory
        for t in range(training.steps):
            at = partial(torch.select, dim=0, index=t)
            given, state, decided = each(at, (frames.given, frames.before, frames.decision))
            seen = given.seen if meta.network.shares_eyes else skill.see(given.seen)
            _, remembered = skill.step_seen(seen, decided.g, given.begins, remembered)
            meta.step(given, state, soft=soft, decided=decided)

    def advance() -> int:
        meta.eval()
        act()
        meta.train()
        for _ in range(training.epochs):
            for part, its_credit in parts:
                meta.zero_grad(set_to_none=True)
                terms = trainer.objective(part, its_credit, phase)
                torch.autograd.backward(torch.stack(list(terms.values())).sum())
        return training.frames_per_iteration

    return advance
