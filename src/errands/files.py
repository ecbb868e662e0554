"""Files that are written whole or not at all."""

import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path


class DamagedFile(Exception):
    """A file that cannot be read back; the message is one line."""


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
    write_together({path: content})


def write_together(contents: Mapping[Path, bytes]) -> None:
    """Write files that belong together: all are on the disk before the first gets its name."""
    with ExitStack() as unfinished:
        for path, content in contents.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            with open(unfinished.enter_context(replacing(path)), "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
