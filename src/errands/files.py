"""Files that are written whole or not at all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A path beside the file, which takes its place at the end: a reader never meets half of it.

    After a failure the file is as it was.
    """
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.unfinished")
    try:
        yield unfinished
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file, on the disk before it has its name, so that a power cut leaves no empty one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as unfinished, open(unfinished, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
