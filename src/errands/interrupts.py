"""Signals that ask a program to end, noted so that it can finish what it is at and save."""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)  # Ctrl-C, a scheduler, a closed terminal


class Interrupted(KeyboardInterrupt):
    """A signal asked the program to end."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


def exit_code(interrupt: KeyboardInterrupt) -> int:
    """What shells return for a program that a signal ended."""
    number = interrupt.number if isinstance(interrupt, Interrupted) else signal.SIGINT
    return 128 + number


def honour_ctrl_c() -> None:
    """Shells let what they start in the background ignore SIGINT; a run has to hear it."""
    is_main = threading.current_thread() is threading.main_thread()
    if is_main and signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@contextmanager
def noted_signals() -> Iterator[list[int]]:
    """Only note the first signal; a second Ctrl-C interrupts at once.

    Others may come twice without anybody being impatient: `timeout` signals a process and then its
    group. A SIGHUP that `nohup` has switched off stays off.
    """
    noted: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield noted
        return
    usual = {number: signal.getsignal(number) for number in SIGNALS}
    streams = (sys.__stdout__, sys.__stderr__)
    terminals = [stream.fileno() for stream in streams if stream and stream.isatty()]

    def note(number: int, _: FrameType | None) -> None:
        if number == signal.SIGHUP:  # the terminal is gone, and writing to it would fail
            silence = os.open(os.devnull, os.O_WRONLY)
            for terminal in terminals:
                os.dup2(silence, terminal)
            os.close(silence)
        if noted and number == signal.SIGINT:
            raise Interrupted(number)
        noted.append(number)

    for number in SIGNALS:
        is_off = usual[number] is None or (number, usual[number]) == (signal.SIGHUP, signal.SIG_IGN)
        if is_off:  # None: somebody else's, which could not be restored
            del usual[number]
        else:
            signal.signal(number, note)
    try:
        yield noted
    finally:
        for number, handler in usual.items():
            signal.signal(number, handler)
