"""`errands bench training`: the share of the training time that the network takes."""

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from json import loads
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from errands.commands.files import check_writable, tell
from errands.commands.problem import Problem, check_range

if TYPE_CHECKING:
    from errands.stages.meta import MetaTrainer
    from errands.stages.skill import SkillTrainer
    from errands.stages.trainer import Trainer

# Share of the network-only loop's speed that the whole loop should have.
TARGETS = {"skill": 0.6, "meta": 0.75}


@dataclass(frozen=True)
class BenchTraining:
    """Measure frames a second of the whole training loop, and of its network alone.

    The network alone runs forward and backward on a batch that was collected before the
    measurement; the whole loop also acts, steps the worlds, queries the teacher and updates the
    weights. For the meta controller, the network alone is one forward pass of skill and meta
    controller over the batch, as for collecting it, and all training passes forward and backward;
    where the skill keeps a map, the network alone also recognises a picture for every frame.

    examples
      errands bench training
      errands bench training --stage meta --seconds 60
      errands bench training --world block --seconds 20 --json speed.json
      errands bench training --world block --stage meta --earlier ../errands-before
    """

    world: Literal["grid", "block"] = "grid"
    """The world."""
    stage: Literal["skill", "meta"] = "skill"
    """What is trained: a skill, or a meta controller."""
    seconds: float = 10.0
    """Seconds for each of the two loops."""
    earlier: Annotated[Path | None, tyro.conf.arg(metavar="FOLDER", help_behavior_hint="")] = None
    """Another checkout of Errands, measured before and after this one with as many threads."""
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
        loops = 6 if self.earlier else 2
        with activity(f"measuring for {loops * self.seconds:g} seconds"):
            before = self._measure_earlier()
            whole, network = rates_in_turn((lambda: _iterate(trainer), network_only), self.seconds)
            after = self._measure_earlier()
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
        if before and after:
            rate = (before["whole_loop"] + after["whole_loop"]) / 2
            commit = before.get("commit", "unknown")
            record["earlier"] = {"whole_loop": round(rate, 1), "commit": commit}
            record["speedup"] = round(whole / rate, 2)
        said = [
            f"{self.world}, {self.stage}: {whole:,.0f} frames/s in the whole loop, "
            f"{network:,.0f} in the network alone: {whole / network:.0%} of it "
            f"(target: {TARGETS[self.stage]:.0%})"
        ]
        if "speedup" in record:
            said.append(f"{record['speedup']} times as fast as {self.earlier}")
        tell(self.json, record, *said)
        return 0

    def _measure_earlier(self) -> dict[str, Any] | None:
        """What this command prints in another checkout."""
        if self.earlier is None:
            return None
        import torch

        options = [f"--world={self.world}", f"--stage={self.stage}", f"--seconds={self.seconds}"]
        command = [sys.executable, "-m", "errands.cli", "bench", "training", *options, "--json=-"]
        environment = os.environ | {"PYTHONPATH": str(self.earlier.resolve() / "src")}
        ran = subprocess.run(command, env=environment, capture_output=True, text=True)
        try:
            record: dict[str, Any] = loads(ran.stdout)
            threads = record["threads"]
        except (ValueError, TypeError, KeyError):
            why = (ran.stderr.strip().splitlines() or ["it printed no record"])[-1]
            raise Problem(f"--earlier {self.earlier} cannot be measured: {why}") from None
        if threads != torch.get_num_threads():
            raise Problem(f"--earlier {self.earlier} uses {threads} threads; set OMP_NUM_THREADS")
        return record

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
    """The same for skill and meta controller, which also had to run while the batch was collected,
    and for the recogniser of a skill with a map.

    What a subtask that starts anew costs the skill once more is left out: it counts as overhead.
    """
    import torch

    from errands.agents.map_kernels import PITCH
    from errands.agents.mapping import MapEyes
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
    looked_last = trainer.rollout.state.eyes

    @torch.no_grad()
    def act() -> None:
        remembered = memory
        for t in range(training.steps):
            if isinstance(skill.eyes, MapEyes):
                _, poses, pictures = looked_last
                skill.eyes.recogniser(pictures, poses[:, PITCH])
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
