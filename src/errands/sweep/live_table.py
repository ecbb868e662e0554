"""A sweep on the screen: a live table of all runs, or a line for each change without a terminal."""

import time
from collections.abc import Callable, Mapping
from pathlib import Path

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from errands.sweep import work
from errands.sweep.work import Progress
from errands.sweep.worker import Job

ORDER = ("training", "evaluating", "failed", "elsewhere", "waiting", "done")
COLOURS = {"training": "cyan", "evaluating": "blue", "failed": "red", "done": "green"}
SECONDS_BETWEEN_LOOKS = 1.0


def show_sweep(
    jobs: Mapping[str, Job],
    root: Path,
    poll: Callable[[], bool],
    console: Console,
    at_once: int,
) -> None:
    """Poll until no run is left, and show what happens."""
    if not console.is_terminal:
        _write_changes(jobs, poll, console)
        return
    with Live(console=console, auto_refresh=False) as live:
        while poll():
            live.update(table(jobs, root, at_once), refresh=True)
            time.sleep(SECONDS_BETWEEN_LOOKS)
        live.update(table(jobs, root, at_once), refresh=True)


def _write_changes(jobs: Mapping[str, Job], poll: Callable[[], bool], console: Console) -> None:
    before: dict[str, str] = {}
    is_left = True
    while is_left:
        is_left = poll()
        for name, job in jobs.items():
            now = f"{job.situation} {job.message}".strip()
            if before.get(name, "waiting") != now:
                said = f"{time.strftime('%H:%M:%S')}  {name}: {now}"
                console.print(said, markup=False, highlight=False, soft_wrap=True)
            before[name] = now
        if is_left:
            time.sleep(SECONDS_BETWEEN_LOOKS)


def table(jobs: Mapping[str, Job], root: Path, at_once: int) -> Table:
    """All runs: those under way first, then failed ones, those to come, and finished ones."""
    found = {name: work.progress(root, job.run) for name, job in jobs.items()}
    shown = Table(caption=_summary(jobs, found, at_once))
    for heading in ("run", "state"):
        shown.add_column(heading, overflow="fold")
    for heading in ("frames", "validation", "time", "left"):
        shown.add_column(heading, justify="right")
    for job in sorted(jobs.values(), key=lambda job: ORDER.index(job.situation)):
        now = found[job.run.name]
        state = Text(job.situation, style=COLOURS.get(job.situation, ""))
        state.append(f" {job.message}" if job.message else "", style="dim")
        shown.add_row(Text(job.run.name), state, *_figures(job, now))
    return shown


def _figures(job: Job, now: Progress | None) -> tuple[str, str, str, str]:
    if now is None:
        return "", "", "", ""
    left = duration(_seconds_left(job, now)) if job.situation == "training" else ""
    success = "" if now.success is None else f"{now.success:.1%}"
    return f"{now.frames / now.total:.0%}", success, duration(now.seconds), left


def _seconds_left(job: Job, now: Progress) -> float:
    hours = job.run.hours
    left = now.seconds_left
    return left if hours is None else max(0.0, min(left, 3600 * hours - now.seconds))


def _summary(jobs: Mapping[str, Job], found: Mapping[str, Progress | None], at_once: int) -> str:
    count = {name: sum(job.situation == name for job in jobs.values()) for name in ORDER}
    said = f"{count['done']} of {len(jobs)} done"
    if count["failed"]:
        said += f", {count['failed']} failed"
    left = seconds_left(jobs, found, at_once)
    return said if left is None else f"{said}, about {duration(left)} left"


def seconds_left(
    jobs: Mapping[str, Job], found: Mapping[str, Progress | None], at_once: int
) -> float | None:
    """Until all runs are trained; None while no run has come far enough to tell.

    A run that has not begun is expected to take as long as those of its stage and world do.
    """
    lengths: dict[tuple[str, str], list[float]] = {}
    for job in jobs.values():
        if now := found[job.run.name]:
            took = now.seconds + _seconds_left(job, now)
            lengths.setdefault(_kind(job), []).append(took)
    if not lengths:
        return None
    usual = sum(map(sum, lengths.values())) / sum(map(len, lengths.values()))
    each = []
    for job in jobs.values():
        if job.situation not in ("done", "failed"):
            now, like = found[job.run.name], lengths.get(_kind(job), [usual])
            each.append(_seconds_left(job, now) if now else sum(like) / len(like))
    return max(sum(each) / at_once, max(each, default=0.0))


def _kind(job: Job) -> tuple[str, str]:
    return job.run.stage, job.run.option("world", "grid")


def duration(seconds: float) -> str:
    """ "2 h 05 min", "12 min" or "40 s"."""
    minutes = round(seconds / 60)
    if seconds < 60:
        return f"{seconds:.0f} s"
    return f"{minutes // 60} h {minutes % 60:02d} min" if minutes >= 60 else f"{minutes} min"
