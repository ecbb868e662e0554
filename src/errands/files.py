"""Files that are written whole or not at all, and locks that die with the process that has them."""

import errno
import fcntl
import os
import socket
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO

UNFINISHED = ".unfinished"
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class DamagedFile(Exception):
    """A file that cannot be read back; the message is one line."""


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A path beside the file, which takes its place at the end: a reader never meets half of it.

    After a failure the file is as it was.
    """
    remove_leftovers(path.parent, path.name)
    unfinished = path.with_name(f".{path.name}.{socket.gethostname()}-{os.getpid()}{UNFINISHED}")
    try:
        yield unfinished
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)


def remove_leftovers(folder: Path, name: str = "") -> None:
    """Remove what processes that were killed left half-written, for one file or for all of them.

    Only processes of this machine: whether one of another machine is alive cannot be seen.
    """
    here = f".{socket.gethostname()}-"
    for entry in os.scandir(folder) if folder.is_dir() else ():
        target, found, number = entry.name.removesuffix(UNFINISHED).rpartition(here)
        if not (found and entry.name.endswith(UNFINISHED) and number.isdecimal()):
            continue
        if target == f".{name or target[1:]}" and not _is_alive(int(number)):
            Path(entry.path).unlink(missing_ok=True)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:  # another user's
        return True
    return True


@contextmanager
def naming_what_is_full(path: Path) -> Iterator[None]:
    """Where the disk is full, say which file was not written, and what to do."""
    try:
        yield
    except OSError as error:
        if error.errno not in NO_ROOM:
            raise
        advice = "there is no room for it; make some, then run the same command again"
        raise OSError(error.errno, advice, str(path)) from error


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file, on the disk before it has its name, so that a power cut leaves no empty one."""
    write_together({path: content})


def write_together(contents: Mapping[Path, bytes]) -> None:
    """Write files that belong together: all are on the disk before the first gets its name."""
    with ExitStack() as unfinished:
        for path, content in contents.items():
            with naming_what_is_full(path):
                path.parent.mkdir(parents=True, exist_ok=True)
                with open(unfinished.enter_context(replacing(path)), "wb") as file:
                    file.write(content)
                    file.flush()
                    os.fsync(file.fileno())


class InUse(Exception):
    """Another process has the lock; the message says which."""


def lock(path: Path) -> IO[bytes]:
    """Keep other processes out until the returned file is closed, or its last holder dies.

    An OSError says that the file system has no locks.
    """
    file = open(path, "a+b")  # noqa: SIM115 (closing it gives the lock back)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.seek(0)
        holder = file.read(200).decode(errors="replace").strip()
        file.close()
        raise InUse(holder or "another process") from None
    except OSError:
        file.close()
        raise
    file.truncate(0)
    file.write(f"process {os.getpid()} on {socket.gethostname()}\n".encode())
    file.flush()
    return file
