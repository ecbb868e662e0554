"""Files appear whole or not at all, whenever the writing stops."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from errands.files import InUse, lock, remove_leftovers, write_atomically


@pytest.mark.parametrize("moment", ["fsync", "replace"])
def test_a_crash_while_writing_leaves_the_old_file(
    moment: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "deep" / "file"
    write_atomically(path, b"old")

    def crash(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, moment, crash)
    with pytest.raises(KeyboardInterrupt):
        write_atomically(path, b"new and longer")
    assert path.read_bytes() == b"old"
    monkeypatch.undo()
    write_atomically(path, b"new")
    assert [entry.name for entry in path.parent.iterdir()] == ["file"]
    assert path.read_bytes() == b"new"


def leftover(folder: Path, name: str, host: str, process: int) -> Path:
    path = folder / f".{name}.{host}-{process}.unfinished"
    path.write_bytes(b"half")
    return path


def test_what_dead_processes_left_half_written_goes(tmp_path: Path) -> None:
    """Unless its process lives, or may live on another machine."""
    here = socket.gethostname()
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        pass
    alive = leftover(tmp_path, "file", here, os.getppid())
    elsewhere = leftover(tmp_path, "file", "somewhere", ended.pid)
    other = leftover(tmp_path, "other", here, ended.pid)
    leftover(tmp_path, "file", here, ended.pid)
    write_atomically(tmp_path / "file", b"new")
    assert set(tmp_path.iterdir()) == {tmp_path / "file", alive, elsewhere, other}
    remove_leftovers(tmp_path)
    assert set(tmp_path.iterdir()) == {tmp_path / "file", alive, elsewhere}
    remove_leftovers(tmp_path / "missing")


def test_a_full_disk_names_the_file_and_leaves_the_old_one(tmp_path: Path) -> None:
    """The kernel refuses to write to /dev/full as to a full disk."""
    path = tmp_path / "file"
    write_atomically(path, b"old")
    unfinished = tmp_path / f".file.{socket.gethostname()}-{os.getpid()}.unfinished"
    unfinished.symlink_to("/dev/full")
    with pytest.raises(OSError, match="make some, then run the same command again") as refused:
        write_atomically(path, b"new")
    assert refused.value.filename == str(path)
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_bytes() == b"old"


HOLDER = """
import sys, time
from errands.files import lock
held = lock(__import__("pathlib").Path(sys.argv[1]))
print("locked", flush=True)
time.sleep(600)
"""


def test_a_lock_dies_with_its_holder(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    command = [sys.executable, "-c", HOLDER, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
        try:
            assert holder.stdout is not None
            assert holder.stdout.readline() == "locked\n"
            with pytest.raises(InUse, match=f"process {holder.pid} on {socket.gethostname()}"):
                lock(path)
        finally:
            holder.send_signal(signal.SIGKILL)
    with lock(path), pytest.raises(InUse, match=f"process {os.getpid()} "):
        lock(path)
