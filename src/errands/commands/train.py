"""`errands train`: learn an agent."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from errands.commands.problem import Problem, check_range

if TYPE_CHECKING:
    from errands.stages.skill import Report, SkillTrainer


@dataclass(frozen=True)
class TrainSkill:
    """Learn a parameterized skill: one network for every subtask of a scenario.

    Distillation from teachers, then actor-critic with generalised advantages; analogies between
    subtasks make it do the ones it never saw. The run's folder keeps checkpoints, a log, curves for
    TensorBoard and the best weights; the same command again goes on exactly where it stopped.

    examples
      errands train skill --scenario independent --out runs/independent
      errands train skill --scenario independent --no-analogy --out runs/no-analogy
      errands train skill --preset debug --out runs/try        (a minute)
      tensorboard --logdir runs
    """

    out: Annotated[Path, tyro.conf.arg(metavar="FOLDER")]
    """The run's folder, made if needed."""
    world: Literal["grid", "block"] = "grid"
    """Where."""
    scenario: Literal["independent", "object-dependent", "inter-extrapolation"] = "independent"
    """Which subtasks are held out, and how analogies reach them."""
    no_analogy: bool = False
    """Leave out the analogy-making objective, to see what it is worth."""
    teacher: Literal["planner", "rl", "none"] = "planner"
    """Who labels in distillation: the exact planner, a policy for each subtask that was trained by
    actor-critic first (grid only), or nobody: actor-critic alone."""
    preset: Literal["fast", "paper", "debug"] = "fast"
    """fast: soonest at the numbers on a CPU; paper: its layers and schedule; debug: a minute."""
    seed: int = 0
    """Of weights and worlds; training never meets a world of the test seeds."""
    device: str = "cpu"
    """Where the network computes: cpu, cuda, cuda:1, ..."""
    threads: int = 0
    """Threads to compute with; 0 takes what PyTorch chooses."""

    def execute(self) -> int:
        check_range("--seed", self.seed, 0, 255)
        check_range("--threads", self.threads, 0, 1024)
        if self.out.exists() and not self.out.is_dir():
            raise Problem(f"--out {self.out} is a file; name a folder")
        import torch

        if self.teacher == "rl" and self.world != "grid":
            raise Problem("--teacher rl is there for --world grid only; take planner or none")
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        from errands.commands.device import check_device
        from errands.config import skill_training
        from errands.learning.checkpoint import DamagedFile
        from errands.stages.journal import DifferentRun, train

        if self.threads:
            torch.set_num_threads(self.threads)
        check_device(self.device)
        training = skill_training(
            self.world,
            self.scenario,
            self.preset,
            analogy=not self.no_analogy,
            teacher=self.teacher,
            seed=self.seed,
        )
        is_first = os.environ.get("RANK", "0") == "0"  # torchrun: one process tells for all
        console = Console(stderr=True, quiet=not is_first)
        columns = TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[told]}")
        # A run that is refused leaves its one line alone, so nothing stays until the first report.
        bar = Progress(*columns, TimeRemainingColumn(), console=console, transient=True)
        task = bar.add_task("starting", total=None, told="")
        if console.is_terminal:
            bar.start()
        last_validation = ""

        def say(text: str) -> None:  # folders may hold what looks like markup
            console.print(text, markup=False, highlight=False, soft_wrap=True)

        def show(trainer: "SkillTrainer", report: "Report") -> None:
            nonlocal last_validation
            bar.live.transient = False
            bar.start()
            if report.validation:
                last_validation = f"  validation {report.validation['success']:.1%}"
            rate = trainer.frames / max(trainer.seconds, 1e-9)
            bar.update(
                task,
                description=report.stage,
                total=trainer.total_frames,
                completed=report.frames,
                told=f"{report.frames / 1e6:.2f}M frames, {rate:,.0f}/s  "
                f"success {report.rollout.success:.1%}  termination "
                f"{report.rollout.precision:.1%}/{report.rollout.recall:.1%}  "
                f"loss {sum(report.losses.values()):.3f}{last_validation}",
            )

        try:
            trainer = train(training, self.out, device=self.device, on_report=show, on_message=say)
        except (DifferentRun, DamagedFile) as error:
            raise Problem(str(error)) from None
        except KeyboardInterrupt:
            bar.live.stop()
            say(f"saved in {self.out}; the same command goes on from here")
            raise
        finally:
            bar.live.stop()
        say(
            f"done: {trainer.frames:,} frames in {trainer.seconds / 60:.1f} minutes; "
            f"best validation success {trainer.best:.1%}; weights in {self.out}"
        )
        return 0
