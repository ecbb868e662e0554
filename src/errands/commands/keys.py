"""Single keys from the terminal, without Enter, and the terminal as it was before afterwards."""

import os
import select
import sys
from types import TracebackType

from errands.commands.problem import Problem

# What arrow keys send, in either of a terminal's modes.
_SEQUENCES = {
    start + letter: name
    for start in (b"\x1b[", b"\x1bO")
    for letter, name in ((b"A", "up"), (b"B", "down"), (b"C", "right"), (b"D", "left"))
}
_NAMES = {b" ": "space", b"\r": "enter", b"\n": "enter", b"\x1b": "escape", b"\x04": "q"}
ESCAPE_SECONDS = 0.05  # the rest of an arrow key's sequence arrives within this


class Keyboard:
    """The keys typed while this context lasts. Ctrl-C still interrupts."""

    def __init__(self, descriptor: int | None = None) -> None:
        if descriptor is None:
            if not (sys.stdin.isatty() and sys.stdout.isatty()):
                raise Problem("play needs a terminal to read keys from; try errands run instead")
            descriptor = sys.stdin.fileno()
        self._descriptor = descriptor
        self._waiting = b""

    def __enter__(self) -> "Keyboard":
        import termios
        import tty

        self._before = termios.tcgetattr(self._descriptor)
        tty.setcbreak(self._descriptor)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        import termios

        # Keys that nobody read are thrown away, not typed into the shell.
        termios.tcsetattr(self._descriptor, termios.TCSAFLUSH, self._before)

    def read(self) -> str:
        """The next key: a character, or up, down, left, right, space, enter, escape."""
        if not self._waiting:
            self._waiting = os.read(self._descriptor, 64)
            if not self._waiting:  # the terminal has gone
                return "q"
        if self._waiting == b"\x1b" and self._more_soon():
            self._waiting += os.read(self._descriptor, 64)
        for sequence, name in _SEQUENCES.items():
            if self._waiting.startswith(sequence):
                self._waiting = self._waiting[len(sequence) :]
                return name
        key, self._waiting = self._waiting[:1], self._waiting[1:]
        return _NAMES.get(key) or key.decode("ascii", "replace").lower()

    def _more_soon(self) -> bool:
        return bool(select.select([self._descriptor], [], [], ESCAPE_SECONDS)[0])
