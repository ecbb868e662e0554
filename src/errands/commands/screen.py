"""What the terminal shows of a world: the map, the agent's view, the list, and where it stands."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numba.core import event as numba_event
from numpy.typing import NDArray
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from errands.worlds.draw import ansi, window
from errands.worlds.gym import listed
from errands.worlds.vector import Worlds

COMPILING = "compiling the worlds, once (about half a minute)"
DONE_MARK, CURRENT_MARK, PENDING_MARK = "✓", "▸", "·"
POINTER_MARK = "◂"
LEAST_SHOWN = 0.05  # share of the pointer on an instruction
MAP_ROWS = 10
# Terminal columns and rows from which the agent's view is shown in full, not at half its size.
WIDE, HIGH = 120, 42


def scene(
    worlds: Worlds,
    console: Console,
    notes: Sequence[str],
    pointer: Sequence[float] | None = None,
) -> RenderableType:
    """The first world, with lines of text below it; `pointer` is an agent's."""
    world, spec = worlds.privileged[0], worlds.spec
    heading = int(world["heading"]) if worlds.kind.first_person else None
    place = world["tiles"], int(world["row"]), int(world["column"]), spec.objects
    lines = ansi(*place, heading=heading, legend=True).split("\n")
    columns = [Text.from_ansi("\n".join(lines[:MAP_ROWS]), no_wrap=True)]
    rows = MAP_ROWS
    if worlds.kind.first_person:
        full = console.width >= WIDE and console.height >= HIGH
        view = worlds.images[0] if full else halved(worlds.images[0])
        columns.insert(0, half_blocks(view))
        rows = len(view) // 2
    columns.append(instruction_lines(worlds, rows, pointer))
    beside = Table.grid(padding=(0, 2, 0, 0))
    for picture in columns[:-1]:  # the list gives way where the terminal is narrow
        beside.add_column(min_width=picture.cell_len // picture.plain.count("\n"))
    beside.add_row(*columns)
    legend = Text.from_ansi("\n".join(lines[MAP_ROWS + 1 :]), no_wrap=True)
    return Group(beside, Text(), legend, Text(), *map(Text, notes))


def instruction_lines(worlds: Worlds, rows: int, pointer: Sequence[float] | None = None) -> Text:
    """The list with a mark before each instruction, as much of it as fits around the current.

    The mark before a line is the true progress; after it stands the pointer's probability.
    """
    progress, achieved = (int(worlds.privileged[0][name]) for name in ("progress", "achieved"))
    instructions = listed(worlds)
    first, last = window(len(instructions), progress, rows)
    text = Text(no_wrap=True, overflow="ellipsis")
    for k in range(first, last):
        words = instructions[k].words(worlds.spec.vocabulary)
        if k == progress and instructions[k].quantity > 1:
            words += f" ({achieved}/{instructions[k].quantity})"
        mark, style = (PENDING_MARK, "dim") if k > progress else (CURRENT_MARK, "bold yellow")
        if k < progress:
            mark, style = DONE_MARK, "green"
        text.append(f"{mark} {words}", style)
        if pointer is not None and pointer[k] >= LEAST_SHOWN:
            text.append(f" {POINTER_MARK} {pointer[k]:.0%}", "cyan")
        text.append("\n")
    if last - first < len(instructions):
        text.append(f"  {first + 1} to {last} of {len(instructions)}", "dim")
    return text


def halved(view: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """(2n, 2m, 3) -> (n, m, 3) pixels, each the mean of four."""
    height, width, _ = view.shape
    fours = view.reshape(height // 2, 2, width // 2, 2, 3).astype(np.uint16)
    means: NDArray[np.uint8] = (fours.sum(axis=(1, 3)) // 4).astype(np.uint8)
    return means


def half_blocks(view: NDArray[np.uint8]) -> Text:
    """A picture in characters that each show two pixels, one above the other."""
    lines = []
    for above, below in zip(view[::2].tolist(), view[1::2].tolist(), strict=True):
        cells = []
        for (r, g, b), (r2, g2, b2) in zip(above, below, strict=True):
            cells.append(f"\x1b[38;2;{r};{g};{b};48;2;{r2};{g2};{b2}m▀")
        lines.append("".join(cells) + "\x1b[0m")
    return Text.from_ansi("\n".join(lines), no_wrap=True)


class _CompilerListener(numba_event.Listener):
    def __init__(self, console: Console) -> None:
        self._status = console.status(COMPILING)
        self._console = console
        self._told = False

    def on_start(self, event: Any) -> None:
        if not self._told:
            self._told = True
            if self._console.is_terminal:
                self._status.start()
            else:
                self._console.print(COMPILING)

    def on_end(self, event: Any) -> None:
        """Kernels compile one after another: the spinner turns until `stop`."""

    def stop(self) -> None:
        self._status.stop()


@contextmanager
def compiling_notice() -> Iterator[None]:
    """Say so on standard error if Numba has to compile; with a warm cache nothing is shown."""
    listener = _CompilerListener(Console(stderr=True))
    try:
        with numba_event.install_listener("numba:compile", listener):
            yield
    finally:
        listener.stop()
