"""`errands train`: train eyes, a skill or a meta controller."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from errands.commands.choices import (
    DEFAULT_AGENT,
    DEFAULT_WORLD,
    AgentOption,
    WorldName,
    WorldOption,
    eyes_of,
)
from errands.commands.problem import Problem, check_range
from errands.interrupts import honour_ctrl_c

if TYPE_CHECKING:
    from errands.config import MetaTraining, SkillTraining, Training
    from errands.stages.trainer import IterationReport, Trainer

BLOCK_WORLD = WorldName("block")
LINES_APART = 60.0  # seconds between lines without a terminal, unless a validation has one


@dataclass(frozen=True)
class _Run:
    """The options that all kinds of training share."""

    out: Annotated[Path, tyro.conf.arg(metavar="FOLDER")]
    """The folder of the run, created if needed."""
    world: WorldOption = DEFAULT_WORLD
    preset: Literal["fast", "paper", "debug"] = "fast"
    """fast: reaches the results soonest; paper: its layers and schedule; debug: a minute."""
    seed: int = 0
    """Seed of weights and worlds; training never uses worlds of the test seeds."""
    device: str = "cpu"
    """Device of the network: cpu, cuda, cuda:1, ..."""
    threads: int = 0
    """Threads for the network and for the worlds; 0 takes the defaults of PyTorch and Numba."""

    def prepare(self) -> str:
        """Check the options before anything is created; returns the device of this process."""
        honour_ctrl_c()
        check_run(self.out, self.seed, self.threads)
        from errands.learning import distributed

        device = distributed.own_device(self.device)
        choose_device(device, self.threads)
        distributed.join(device)
        return device


@dataclass(frozen=True)
class TrainSkill(_Run):
    """Train a parameterized skill: one network for all subtasks of a scenario.

    Distillation from teachers, then actor-critic with generalised advantages; analogies between
    subtasks let it generalise to unseen ones. The run's folder contains checkpoints, a log, curves
    for TensorBoard and the best weights. Run the same command again to resume.

    examples
      errands train skill --scenario independent --out runs/independent
      errands train skill --scenario independent --no-analogy --out runs/no-analogy
      errands train skill --preset debug --out runs/try        (a minute)
      tensorboard --logdir runs
    """

    scenario: Literal["independent", "object-dependent", "inter-extrapolation"] = "independent"
    """Which subtasks are held out, and which analogies relate them to trained ones."""
    no_analogy: bool = False
    """Train without the analogy-making objective, to measure its effect."""
    teacher: Literal["planner", "rl", "none"] = "planner"
    """What labels in distillation: the exact planner, a policy for each subtask that is trained by
    actor-critic first, or nothing: actor-critic only."""
    in_lists: bool = False
    """Also train on lists, one subtask after the other, with a memory that outlasts a subtask: for
    a skill that is to execute lists (block world, independent only)."""
    eyes: Annotated[str, tyro.conf.arg(metavar="NAME", help_behavior_hint="")] = ""
    """Block world: the trained eyes, from a run of `errands train eyes` or from a skill; by default
    those of the shipped skill."""

    start: Annotated[str, tyro.conf.arg(metavar="NAME", help_behavior_hint="")] = ""
    """Begin with the weights of a trained skill, a shipped one or the folder of a run, and learn
    from rewards alone: more fine-tuning, without distillation."""

    longer: float = 1.0
    """Multiplies the frames of both stages, distillation and fine-tuning."""

    def execute(self) -> int:
        check_range("--longer", self.longer, 0.01, 1000)
        is_block = eyes_of(self.world) == "block"
        if self.teacher == "rl" and is_block and self.preset == "paper":
            raise Problem("--teacher rl with --world block needs a map; use --preset fast")
        if self.teacher == "rl" and self.in_lists:
            raise Problem("--in-lists needs --teacher planner or none: RL teachers know no lists")
        if self.in_lists and not (is_block and self.scenario == "independent"):
            raise Problem("--in-lists needs --world block --scenario independent")
        if self.teacher == "rl" and self.start:
            raise Problem("--start learns from rewards alone; leave out --teacher rl")
        device = self.prepare()
        from dataclasses import replace

        from errands.presets import skill_training
        from errands.stages.skill import SkillTrainer

        training = skill_training(
            self.world,
            self.scenario,
            self.preset,
            analogy=not self.no_analogy,
            teacher=self.teacher,
            in_lists=self.in_lists,
            eyes=self.eyes,
            start=self.start,
            seed=self.seed,
        )
        stages = training.distill, training.finetune
        distill, finetune = (replace(at, frames=round(self.longer * at.frames)) for at in stages)
        training = replace(training, distill=distill, finetune=finetune)
        check_parts(training)
        run_training(training, lambda: SkillTrainer(training, device), self.out, _tell_skill)
        return 0


@dataclass(frozen=True)
class TrainEyes(_Run):
    """Train eyes for the block world: name what stands on each cell that a picture shows.

    Plain supervised learning on views of random maps, with labels from the world. Skills and meta
    controllers of the block world then build a map from what these eyes see.

    examples
      errands train eyes --world block --out runs/eyes
    """

    world: WorldOption = BLOCK_WORLD

    def execute(self) -> int:
        if eyes_of(self.world) != "block":
            raise Problem("--world grid shows its map directly; use --world block")
        device = self.prepare()
        from errands.presets import eyes_training
        from errands.stages.eyes import EyesTrainer

        training = eyes_training(self.world, self.preset, seed=self.seed)
        run_training(training, lambda: EyesTrainer(training, device), self.out, _tell_eyes)
        return 0


def _tell_eyes(report: "IterationReport") -> str:
    return f"named rightly {report.rollout['success']:.1%}"


def _tell_skill(report: "IterationReport") -> str:
    rollout = report.rollout
    return (
        f"success {rollout['success']:.1%}  "
        f"termination {rollout['precision']:.1%}/{rollout['recall']:.1%}"
    )


@dataclass(frozen=True)
class TrainMeta(_Run):
    """Train a meta controller that executes lists of instructions with a trained skill.

    It learns from delayed reward alone which instruction is current, which subtask to run, and when
    to update these decisions: first on lists that grow from 1 to 4, then on lists of 4. Run the
    same command again to resume.

    examples
      errands train meta --agent dynamic --out runs/dynamic
      errands train meta --agent short --seed 1 --out runs/short-1
      errands train meta --without glance --longer 3 --out runs/without-glance
      errands train meta --preset debug --out runs/try        (a minute)
    """

    agent: AgentOption = DEFAULT_AGENT
    no_analogy: bool = False
    """Train without the analogy-making objective for the meta controller's embedding."""
    soft: bool = False
    """Train with soft updates only, never with hard ones, as the paper does for comparison."""
    skill: Annotated[str, tyro.conf.arg(metavar="NAME", help_behavior_hint="")] = ""
    """The skill that it uses: a shipped one by name, or the folder of a run; by default the world's
    skill for independent subtasks."""
    without: Annotated[
        tyro.conf.UseAppendAction[tuple[str, ...]],
        tyro.conf.arg(metavar="HINT", help_behavior_hint="(repeatable)"),
    ] = ()
    """Leave out one of the preset's additions to the paper: head-start, grounding, reminder, ..."""
    longer: float = 1.0
    """Multiplies the frames of every stage."""

    def execute(self) -> int:
        check_range("--longer", self.longer, 0.01, 1000)
        device = self.prepare()
        from dataclasses import replace

        from errands.presets import meta_training
        from errands.stages.meta import MetaTrainer

        try:
            training = meta_training(
                self.world,
                self.agent,
                self.preset,
                analogy=not self.no_analogy,
                soft=self.soft,
                seed=self.seed,
                skill=self.skill,
                without=self.without,
            )
        except ValueError as error:
            raise Problem(f"--without: {error}") from None
        stages = (replace(at, frames=round(self.longer * at.frames)) for at in training.stages)
        training = replace(training, stages=tuple(stages))
        check_skill(training)
        run_training(training, lambda: MetaTrainer(training, device), self.out, _tell_meta)
        return 0


def _tell_meta(report: "IterationReport") -> str:
    rollout = report.rollout
    return (
        f"lists of {rollout['longest']:.0f}: success {rollout['success']:.1%}  "
        f"updates {rollout['updates']:.2f}/{rollout['updates_at_end']:.2f}"
    )


def check_parts(training: "SkillTraining") -> None:
    """Refuse eyes and skills to begin with before the run's folder is created."""
    from errands.files import DamagedFile
    from errands.stages.skill import new_skill

    try:
        new_skill(training)
    except (ValueError, DamagedFile) as error:
        option = "--start" if training.start else "--eyes"
        raise Problem(f"{option} cannot be used: {error}") from None


def check_skill(training: "MetaTraining") -> None:
    """Refuse a skill that cannot be used before the run's folder is created."""
    from errands.agents.hierarchy import Hierarchy
    from errands.agents.load import load_skill
    from errands.agents.meta import MetaController
    from errands.files import DamagedFile

    if training.network.flat:
        return
    try:
        Hierarchy(MetaController(training.network), load_skill(training.skill).skill)
    except (ValueError, DamagedFile) as error:
        raise Problem(f"--skill {training.skill} cannot be used: {error}") from None


def check_run(out: Path, seed: int, threads: int) -> None:
    check_range("--seed", seed, 0, 255)
    check_range("--threads", threads, 0, 1024)
    if out.exists() and not out.is_dir():
        raise Problem(f"--out {out} is a file; name a folder")


def choose_device(device: str, threads: int) -> None:
    import numba
    import torch

    from errands.commands.device import check_device

    if threads:
        torch.set_num_threads(threads)
        numba.set_num_threads(min(threads, numba.get_num_threads()))  # it starts with its most
    check_device(device)


def run_training(
    training: "Training",
    make_trainer: "Callable[[], Trainer[Any, Any]]",
    out: Path,
    tell: "Callable[[IterationReport], str]",
) -> None:
    """Train with a progress bar, or without a terminal with a line at each validation and minute.

    `tell` puts the agent's own numbers into them.
    """
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    from errands.commands.progress import Pace
    from errands.files import DamagedFile, InUse
    from errands.stages.journal import DifferentRun
    from errands.stages.run import train

    is_first = os.environ.get("RANK", "0") == "0"  # torchrun: one process reports for all
    console = Console(stderr=True, quiet=not is_first)
    columns = TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[status]}")
    # A run that is refused leaves its one line alone, so nothing stays until the first report.
    bar = Progress(
        *columns,
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    task = bar.add_task("starting", total=None, status="")
    bar.start()
    last_validation, pace = "", Pace(LINES_APART)

    def say(text: str) -> None:  # names of folders may look like markup
        console.print(text, markup=False, highlight=False, soft_wrap=True)

    def show(trainer: "Trainer[Any, Any]", report: "IterationReport") -> None:
        nonlocal last_validation
        bar.live.transient = False
        if report.validation:
            last_validation = f"  validation {report.validation['success']:.1%}"
        rate = trainer.frames / max(trainer.seconds, 1e-9)
        status = (
            f"{report.frames / 1e6:.2f}M frames, {rate:,.0f}/s  {tell(report)}  "
            f"loss {sum(report.losses.values()):.3f}{last_validation}"
        )
        frames, total = report.frames, trainer.total_frames
        bar.update(task, description=report.stage, total=total, completed=frames, status=status)
        if not console.is_terminal and (pace.due() or report.validation):
            say(f"{report.stage}  {status}")

    try:
        trainer = train(make_trainer, training, out, on_report=show, on_message=say)
    except (DifferentRun, DamagedFile, InUse) as error:
        raise Problem(str(error)) from None
    except KeyboardInterrupt:
        bar.live.stop()
        say(f"saved in {out}; run the same command again to resume")
        raise
    finally:
        bar.live.stop()
    say(
        f"done: {trainer.frames:,} frames in {trainer.seconds / 60:.1f} minutes; "
        f"best validation success {trainer.selection.best:.1%}; weights in {out}"
    )
