"""Commands as a person starts them in a terminal."""

import signal
import subprocess
from collections.abc import Sequence
from typing import Any


def started(command: Sequence[str], **options: Any) -> "subprocess.Popen[Any]":
    """A process that heeds Ctrl-C; what a shell starts in the background would ignore it."""
    return subprocess.Popen(
        command, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL), **options
    )
