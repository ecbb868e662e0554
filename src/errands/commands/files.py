"""Files that commands write: whole or not at all, and refused before the work, not after it."""

import json
import os
import sys
from pathlib import Path
from typing import Any

from errands.commands.problem import Problem

STANDARD_OUTPUT = Path("-")


def check_writable(option: str, path: Path | None) -> None:
    """Refuse a path that could not be written, before anybody waits for what goes there."""
    if path is None or path == STANDARD_OUTPUT:
        return
    folder = path.parent
    if path.is_dir():
        raise Problem(f"{option} {path} is a folder; name a file in it")
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
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.unfinished")
    try:
        unfinished.write_text(text, encoding="utf-8")
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
