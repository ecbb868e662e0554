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


def check_film(option: str, path: Path | None) -> None:
    """Refuse a film that could not be encoded, before the work begins."""
    if path is None:
        return
    from errands.worlds.film import FILM_WRITERS, mp4_encoder

    if path.suffix.lower() not in FILM_WRITERS:
        endings = " or ".join(FILM_WRITERS)
        raise Problem(f"{option} {path}: a film's name ends in {endings}; change the ending")
    if path.suffix.lower() == ".mp4" and mp4_encoder() is None:
        raise Problem(f"{option} {path}: an MP4 needs ffmpeg; install it, or name a .gif file")


def tell(path: Path | None, record: Any, *lines: str) -> None:
    """Write a result where it was asked for, and print what it amounts to, unless it is there."""
    if path is not None:
        write_json(path, record)
    if path != STANDARD_OUTPUT:
        print(*lines, sep="\n")


def write_json(path: Path, content: Any) -> None:
    """Write to the path, or to standard output if it is "-"."""
    text = json.dumps(content, indent=2, allow_nan=False) + "\n"
    if path == STANDARD_OUTPUT:
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    check_writable("the result", path)
    write_atomically(path.resolve(), text.encode())  # a link stays a link
