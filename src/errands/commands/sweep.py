"""`errands sweep`: train, evaluate and collect many runs."""

import os
import shlex
import signal
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from errands.commands.problem import MOST_EPISODES, Problem, check_range, check_seed, parse_lengths

if TYPE_CHECKING:
    from rich.console import Console

    from errands.sweep.cluster import RaySweep
    from errands.sweep.local import LocalSweep
    from errands.sweep.plan import SweepPlan

FLAGS = ("stage", "world", "agent", "scenario", "preset", "without", "seeds")
DEFAULT_OUT = Path("runs/sweep")

_Values = Annotated[str | None, tyro.conf.arg(metavar="A,B,...", help_behavior_hint="")]


@dataclass(frozen=True)
class Sweep:
    """Train, evaluate and collect many runs, as many at once as there are cores.

    The runs are those of a TOML file, or all combinations of the values that options name. Each run
    is a process with one thread. A run that fails does not stop the others. After Ctrl-C, a crash
    or a power cut, the same command resumes every run exactly, and skips those that are finished.
    Several such commands can share a folder: each takes runs that no other is working on.

    examples
      errands sweep results/sweeps/grid.toml --out runs/grid
      errands sweep --agent dynamic,short,long --seeds 0..4 --out runs/lists
      errands sweep --stage skill --scenario independent,object-dependent --seeds 0..2
      errands sweep results/sweeps/grid.toml --out runs/grid --only "*-dynamic-*" --jobs 2
      errands sweep results/sweeps/grid.toml --out runs/grid --status
      errands sweep results/sweeps/grid.toml --list
      errands sweep results/sweeps/grid.toml --out runs/grid --ray auto
    """

    file: Annotated[
        Path | None, tyro.conf.Positional, tyro.conf.arg(metavar="FILE", help_behavior_hint="")
    ] = None
    """A TOML file that names runs; docs/sweeps.md describes it."""
    out: Annotated[Path, tyro.conf.arg(metavar="FOLDER")] = DEFAULT_OUT
    """The folder of all runs and results, created if needed."""
    stage: _Values = None
    """What is trained: eyes, skill or meta; by default meta."""
    world: _Values = None
    """Worlds; by default the grid."""
    agent: _Values = None
    """Agents of the stage meta."""
    scenario: _Values = None
    """Scenarios of the stage skill."""
    preset: _Values = None
    """Presets."""
    without: _Values = None
    """Hints to leave out, each in a run of its own; A+B leaves out both in the same run."""
    seeds: _Values = None
    """Seeds of training: 0..4 or 0,1,2."""
    episodes: Annotated[int | None, tyro.conf.arg(help_behavior_hint="(default: 1000)")] = None
    """Episodes of each evaluation."""
    lengths: Annotated[
        str | None, tyro.conf.arg(metavar="FROM..TO", help_behavior_hint="(default: 20)")
    ] = None
    """Lengths of seen and unseen lists in evaluations, such as 1,4,10,20."""
    jobs: Annotated[int, tyro.conf.arg(help_behavior_hint="(default: one for each core)")] = 0
    """Runs at once."""
    only: Annotated[
        tyro.conf.UseAppendAction[tuple[str, ...]],
        tyro.conf.arg(metavar="PATTERN", help_behavior_hint="(repeatable)"),
    ] = ()
    """Only runs whose names match, and those that they need; * stands for any text."""
    ray: Annotated[str | None, tyro.conf.arg(metavar="ADDRESS", help_behavior_hint="")] = None
    """Run on the Ray cluster at this address, or, with "auto", on the one of this machine. Needs
    the extra `ray`."""
    task: Annotated[int | None, tyro.conf.arg(metavar="N", help_behavior_hint="")] = None
    """Only run number N, counted from 0, and those that it needs: for the job arrays of a cluster's
    scheduler."""
    list: bool = False
    """Only list the runs and their commands."""
    status: bool = False
    """Only show how far the runs have come."""

    def execute(self) -> int:
        plan = self._plan()
        if self.list:
            _print_commands(plan)
            return 0
        from rich.console import Console

        from errands.sweep.live_table import show_sweep, table
        from errands.sweep.local import LocalSweep

        if self.out.exists() and not self.out.is_dir():
            raise Problem(f"--out {self.out} is a file; name a folder")
        if self.ray is not None and (self.jobs or self.task is not None):
            raise Problem("--ray and --jobs or --task exclude each other; drop one of them")
        at_once = self.jobs or cores()
        console = Console(stderr=True)
        root = self.out.resolve()
        sweep: LocalSweep | RaySweep = LocalSweep(plan, root, at_once)
        if self.status:
            Console().print(table(sweep.jobs, root, at_once))
            return 0
        if self.ray is not None:
            sweep = _on_cluster(plan, root, self.ray)
            at_once = sweep.cores
        root.mkdir(parents=True, exist_ok=True)
        _end_like_ctrl_c()
        try:
            show_sweep(sweep.jobs, sweep.root, sweep.poll, console, at_once)
        except KeyboardInterrupt:
            _save_all(sweep, console)
            raise
        return self._tell(sweep, console)

    def _plan(self) -> "SweepPlan":
        """The runs, once everything about them is known to be in order."""
        from errands.sweep.plan import BadPlan, make_plan, read_plan

        check_range("--jobs", self.jobs, 0, 1024)
        given = {name: getattr(self, name) for name in FLAGS if getattr(self, name) is not None}
        if self.file is not None and given:
            raise Problem(f"a file and --{next(iter(given))} exclude each other; drop one of them")
        try:
            if self.file is not None:
                plan = read_plan(self.file)
            elif given:
                plan = make_plan([_group(given)], {})
            else:
                raise Problem("no runs are named; give a FILE, or options such as --agent dynamic")
        except BadPlan as error:
            raise Problem(str(error)) from None
        return self._chosen(self._checked(plan))

    def _checked(self, plan: "SweepPlan") -> "SweepPlan":
        """The plan with the evaluation that options ask for, if `errands train` takes its runs."""
        from dataclasses import replace

        from errands.commands import train
        from errands.commands.parsing import parse
        from errands.sweep.work import steps

        asked: dict[str, Any] = {"episodes": self.episodes, "lengths": self.lengths}
        changed = {name: value for name, value in asked.items() if value is not None}
        plan = replace(plan, evaluation=replace(plan.evaluation, **changed))
        check_range("--episodes", plan.evaluation.episodes, 1, MOST_EPISODES)
        check_seed(plan.evaluation.seed, plan.evaluation.episodes)
        parse_lengths(plan.evaluation.lengths)
        stages = {"eyes": train.TrainEyes, "skill": train.TrainSkill, "meta": train.TrainMeta}
        for run in plan.runs:
            arguments = [*steps(run, plan.evaluation)[0].arguments[2:]]
            try:
                parse(stages[run.stage], f"errands train {run.stage}", arguments)
            except Problem as problem:
                raise Problem(f"run {run.name}: {problem}") from None
        return plan

    def _chosen(self, plan: "SweepPlan") -> "SweepPlan":
        """The part of the plan that --only and --task leave."""
        names = [run.name for run in plan.runs]
        if self.task is not None:
            check_range("--task", self.task, 0, len(names) - 1)
            return plan.only([names[self.task]])
        if not self.only:
            return plan
        wanted = [name for name in names if any(fnmatch(name, part) for part in self.only)]
        if not wanted:
            raise Problem(f"--only {self.only[0]} matches no run; --list shows their names")
        return plan.only(wanted)

    def _tell(self, sweep: "LocalSweep | RaySweep", console: "Console") -> int:
        failed = [job for job in sweep.jobs.values() if job.situation == "failed"]
        done = len(sweep.jobs) - len(failed)
        said = f"{done} of {len(sweep.jobs)} runs done; results in {self.out}"
        if failed:
            said += f"; {len(failed)} failed, of which {self.out}/runs/NAME/output.txt tells more"
        console.print(said, markup=False, highlight=False, soft_wrap=True)
        return 1 if failed else 0


def _on_cluster(plan: "SweepPlan", root: Path, address: str) -> "RaySweep":
    try:
        from errands.sweep.cluster import NoCluster, RaySweep, connect
    except ModuleNotFoundError as error:
        if error.name != "ray":
            raise
        raise Problem("--ray needs Ray; install it with pip install 'errands[ray]'") from None
    try:
        connect(address)
    except NoCluster as error:
        raise Problem(f"--ray: {error}; start one with ray start --head") from None
    return RaySweep(plan, root)


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0))


def _group(given: dict[str, str]) -> dict[str, Any]:
    """Options as a group of a plan."""
    group: dict[str, Any] = {name: text.split(",") for name, text in given.items()}
    if "seeds" in given:
        group["seed"] = given["seeds"]
        del group["seeds"]
    return group


def _print_commands(plan: "SweepPlan") -> None:
    from errands.sweep.work import steps

    for number, run in enumerate(plan.runs):
        print(f"# {number}  {run.name}")
        for step in steps(run, plan.evaluation):
            print(f"errands {shlex.join(step.arguments)}")


def _end_like_ctrl_c() -> None:
    """Let SIGTERM, with which schedulers end a job, save all runs as Ctrl-C does.

    Both are set, because a shell's background job ignores Ctrl-C, and its commands would, too.
    """

    def interrupt(number: int, _: FrameType | None) -> None:
        raise KeyboardInterrupt

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, interrupt)


def _save_all(sweep: "LocalSweep | RaySweep", console: "Console") -> None:
    import time

    console.print("saving all runs; a second Ctrl-C ends them at once", soft_wrap=True)
    try:
        for _ in sweep.stop():
            time.sleep(0.1)
    except KeyboardInterrupt:
        sweep.kill()
        raise
    console.print("saved; run the same command again to resume", soft_wrap=True)
