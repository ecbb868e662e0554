"""Files that commands write: a bad path is refused before the work, not after it."""

import json
import os
import sys
from pathlib import Path
from typing import Any

from errands.commands.problem import Problem
from errands.files import write_atomically

STANDARD_OUTPUT = Path("-")
DEVICE_FOLDERS = (Path("/dev"), Path("/dev/fd"), Path("/proc/self/fd"))


def check_writable(option: str, path: Path | None) -> None:
    """Refuse a path that could not be written, before the work begins."""
    if path is None or path == STANDARD_OUTPUT:
        return
    folder = path.resolve().parent
    if path.is_dir():
        raise Problem(f"{option} {path} is a folder; name a file in it")
    # A finished file would take the place of the device, or of what the device is redirected to.
    if path.absolute().parent in DEVICE_FOLDERS or (path.exists() and not path.is_file()):
        raise Problem(f"{option} {path} is a device, not a file; name a file")
    if not folder.is_dir():
        raise Problem(f"{option} {path}: there is no folder {folder}; create it first")
    if not os.access(folder, os.W_OK):
        raise Problem(f"{option} {path}: the folder {folder} is read-only; name another")


def write_json(path: Path, content: Any) -> None:
    """Write to the path, or to standard output if it is "-"."""
    text = json.dumps(content, indent=2, allow_nan=False) + "\n"
    if path == STANDARD_OUTPUT:
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    check_writable("the result", path)
    write_atomically(path.resolve(), text.encode())  # a link stays a link
