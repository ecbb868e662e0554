"""Files appear whole or not at all, and nothing else is ever replaced by one."""

import json
import os
from pathlib import Path

import pytest

from errands.commands.files import STANDARD_OUTPUT, check_writable, tell, write_json
from errands.commands.problem import Problem


def test_content_replaces_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    path.write_text("old")
    write_json(path, {"new": 1})
    assert json.loads(path.read_text()) == {"new": 1}
    assert os.listdir(tmp_path) == ["result.json"]


def test_failure_leaves_the_old_file_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "result.json"
    path.write_text("old")

    def broken(*_: Path) -> None:
        raise OSError("no space")

    monkeypatch.setattr(os, "replace", broken)
    with pytest.raises(OSError, match="no space"):
        write_json(path, {"new": 1})
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["result.json"]


def test_not_a_number_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="JSON"):
        write_json(tmp_path / "result.json", {"mean": float("nan")})
    assert os.listdir(tmp_path) == []


def test_links_are_followed(tmp_path: Path) -> None:
    link = tmp_path / "link.json"
    link.symlink_to(tmp_path / "result.json")
    write_json(link, [])
    assert link.is_symlink()
    assert (tmp_path / "result.json").read_text() == "[]\n"


def test_devices_are_refused(tmp_path: Path) -> None:
    """Writing whole files by renaming them would put a plain file in the device's place."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for device in (pipe, Path("/dev/null"), Path("/dev/stdout"), Path("/dev/fd/1")):
        with pytest.raises(Problem, match="is a device"):
            check_writable("--gif", device)
    with pytest.raises(Problem, match="is a device"):
        write_json(pipe, [])
    assert pipe.is_fifo()
    assert os.listdir(tmp_path) == ["pipe"]


def test_a_result_is_told_unless_it_is_printed_itself(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "result.json"
    for where in (None, path):
        tell(where, {"new": 1}, "one", "two")
        assert capsys.readouterr().out == "one\ntwo\n"
    assert json.loads(path.read_text()) == {"new": 1}
    tell(STANDARD_OUTPUT, {"new": 1}, "one", "two")
    assert json.loads(capsys.readouterr().out) == {"new": 1}
