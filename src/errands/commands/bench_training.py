"""`errands bench training`: how much of the time a training loop spends in its network."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from errands.commands.files import STANDARD_OUTPUT, check_writable, write_json
from errands.commands.problem import check_range

if TYPE_CHECKING:
    from errands.stages.skill import SkillTrainer

TARGET = 0.6  # share of the network-only loop's speed that the whole loop should have


@dataclass(frozen=True)
class BenchTraining:
    """Measure frames a second of the whole training loop, and of its network alone.

    The network alone runs forward and backward on a batch that was collected before the clock
    started; the whole loop also acts, steps the worlds, asks the teacher and updates the weights.

    examples
      errands bench training
      errands bench training --world block --seconds 20 --json speed.json
    """

    world: Literal["grid", "block"] = "grid"
    """Which world's skill is trained."""
    seconds: float = 10.0
    """How long to measure each of the two loops."""
    json: Annotated[Path | None, tyro.conf.arg(metavar="FILE", help_behavior_hint="")] = None
    """Write the result; "-" prints it, and nothing else, to standard output."""

    def execute(self) -> int:
        check_range("--seconds", self.seconds, 0.01, 3600)
        check_writable("--json", self.json)
        import torch
        from rich.console import Console

        from errands.commands.timing import steps_per_second
        from errands.config import skill_training
        from errands.evaluation.episodes import origin
        from errands.stages.skill import SkillTrainer

        trainer = SkillTrainer(skill_training(self.world, "independent"))
        with Console(stderr=True).status("measuring"):
            whole = steps_per_second(lambda: _iterate(trainer), self.seconds)
            network = steps_per_second(_network_only(trainer), self.seconds)
        record: dict[str, Any] = {
            "world": self.world,
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
                f"{self.world}: {whole:,.0f} frames/s in the whole loop, {network:,.0f} in the "
                f"network alone: {whole / network:.0%} of it (wanted: {TARGET:.0%})"
            )
        return 0


def _iterate(trainer: "SkillTrainer") -> int:
    before = trainer.frames
    trainer.iterate()
    return trainer.frames - before


def _network_only(trainer: "SkillTrainer") -> Any:
    """A function that takes a ready batch forward and backward, in the loop's own minibatches."""
    import torch

    from errands.stages.distill import distillation_losses

    training = trainer.training
    frames, _ = trainer.rollout.collect(trainer.skill, trainer.sampling, teacher=True)
    groups = torch.split(torch.arange(training.worlds), training.minibatch)
    parts = [frames.worlds(group) for group in groups]

    def advance() -> int:
        for part in parts:
            trainer.skill.zero_grad(set_to_none=True)
            losses = distillation_losses(trainer.skill, part, training)
            torch.autograd.backward(torch.stack(list(losses.values())).sum())
        return training.frames_per_iteration

    return advance
