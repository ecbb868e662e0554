"""How far a long command is: a bar in a terminal, a line now and then without one."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
)

PAUSE = 10.0  # seconds between two lines without a terminal


class Pace:
    """Says when the next line is due: the first one after a pause, too."""

    def __init__(self, pause: float | None = None) -> None:
        self._pause = PAUSE if pause is None else pause
        self._last = time.monotonic()

    def due(self) -> bool:
        now = time.monotonic()
        if now - self._last < self._pause:
            return False
        self._last = now
        return True


@contextmanager
def progress(what: str, total: int) -> Iterator[Callable[[int], None]]:
    """Shows on standard error how many of a total are done; takes that number."""
    console, pace = Console(stderr=True), Pace()
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()
    bar = Progress(
        *columns,
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    task = bar.add_task(what, total=total)

    def show(done: int) -> None:
        bar.update(task, completed=done)
        if not console.is_terminal and pace.due():
            console.print(f"{what}: {done:,} of {total:,}", highlight=False)

    with bar:
        yield show


@contextmanager
def activity(what: str) -> Iterator[Callable[[str], None]]:
    """Shows on standard error what is going on; takes what comes next."""
    console = Console(stderr=True)
    if not console.is_terminal:
        console.print(what, highlight=False)
        yield lambda then: console.print(then, highlight=False)
        return
    with console.status(what) as status:
        yield lambda then: status.update(then)
