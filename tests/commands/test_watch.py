"""`errands watch` and `errands bench watch`: from the command line to a page that answers."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from errands.cli import main
from errands.commands import watch
from errands.commands.problem import Problem
from errands.commands.watch import Watch
from errands.watch import choices
from errands.watch.episode import Episode
from errands.watch.protocol import Begin
from errands.worlds.spec import WORLDS
from twins.pages import PATIENCE, opened
from twins.terminal import started
from twins.untrained import save_untrained


@pytest.mark.slow
def test_it_serves_until_it_is_interrupted() -> None:
    command = [sys.executable, "-m", "errands.cli", "watch", "--port", "0"]
    with started(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdout is not None
        said = re.fullmatch(
            rb"watch at (http://127\.0\.0\.1:\d+/) \(Ctrl-C ends it\)\n", running.stdout.readline()
        )
        assert said is not None
        with opened(said[1].decode()) as page:
            assert page.begin()["step"] == 0
            running.send_signal(signal.SIGINT)
            _, errors = running.communicate(timeout=PATIENCE)
        assert running.returncode == 130
        assert b"Traceback" not in errors


@pytest.mark.slow
def test_others_need_the_token_that_is_printed() -> None:
    command = [sys.executable, "-m", "errands.cli", "watch", "--port", "0", "--host", "0.0.0.0"]
    with started(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdout is not None
        said = re.search(rb"http://127\.0\.0\.1:\d+/", running.stdout.readline())
        assert said is not None
        assert b"others need the token" in running.stdout.readline()
        server = said[0].decode()
        for host in ("evil.example", server.split("/")[2]):
            request = urllib.request.Request(server, headers={"Host": host})
            with pytest.raises(urllib.error.HTTPError) as refused:
                urllib.request.urlopen(request, timeout=PATIENCE)
            assert refused.value.code == (400 if host == "evil.example" else 403)
            refused.value.close()
        token = re.search(r"\?token=\S+", said.string.decode())
        assert token is not None
        jar = urllib.request.HTTPCookieProcessor()
        with urllib.request.build_opener(jar).open(server + token[0], timeout=PATIENCE) as answer:
            assert answer.url == server
            assert b"<title>Errands</title>" in answer.read()
        running.send_signal(signal.SIGINT)
        _, errors = running.communicate(timeout=PATIENCE)
    assert b"Traceback" not in errors


def test_a_port_that_is_taken_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["watch", "--port", str(port)]) == 2
    said = capsys.readouterr().err
    assert said == f"errands: 127.0.0.1:{port}: address already in use; try --port 0\n"


@pytest.mark.parametrize("host", ["no.such.host.invalid", "a" * 300, "203.0.113.7"])
def test_an_address_that_is_not_ours_is_named(
    host: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["watch", "--port", "0", "--host", host]) == 2
    said = capsys.readouterr().err
    assert said.endswith("; try --host 127.0.0.1\n")
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    "options", [["--port", "70000"], ["--sessions", "0"], ["--idle", "0"], ["--port", "x"]]
)
def test_options_are_checked(options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["watch", *options]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_missing_packages_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(Problem, match=r"uvicorn is missing; pip install 'errands\[watch\]'"):
        watch.check_installed()


@pytest.mark.parametrize("world", ["grid", "block"])
def test_the_shipped_agent_is_offered_and_does_the_pages_example(world: Any) -> None:
    cast = Watch()._cast()
    offered = choices.hello(cast).worlds
    assert offered[world].agents[0].name == "dynamic"
    text, seed = WORLDS[world].example, WORLDS[world].example_seed
    episode = Episode(Begin(world, "dynamic", text, seed), cast)
    while episode.advance():
        pass
    frame = episode.frame(going=False)
    assert frame.outcome == "done"
    assert frame.thought is not None  # what it thinks is shown


def test_ones_own_run_is_offered_first(tmp_path: Path) -> None:
    save_untrained(tmp_path)
    cast = Watch(weights=tmp_path)._cast()
    assert next(iter(cast["grid"])) == f"dynamic ({tmp_path})"
    assert "near-optimal" in cast["grid"]
    assert f"dynamic ({tmp_path})" not in cast["block"]


def test_a_folder_without_a_run_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["watch", "--port", "0", "--weights", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert str(tmp_path) in said
    assert said.count("\n") == 1


@pytest.mark.slow
def test_steps_beside_a_greedy_page_are_timed(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--clients", "1", "--greedy", "1", "--seconds", "2", "--json", "-"]
    assert main(["bench", "watch", *options]) == 0
    record = json.loads(capsys.readouterr().out)
    assert (record["clients"], record["greedy"]) == (1, 1)
    assert record["steps"] > 0
    assert 0 < record["median_ms"] <= record["slowest_ms"]


@pytest.mark.slow
def test_pages_are_used_for_long(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "soak.json"
    options = ["--minutes", "0.3", "--clients", "2", "--json", str(path)]
    assert main(["bench", "soak", *options]) in (0, 1)  # memory is not yet flat so early
    record = json.loads(path.read_text())
    for kind in ("begin", "check", "step", "play", "pause", "drop", "speed"):
        assert record["did"][kind] > 0
    assert record["megabytes_last_quarter"] > 50
    assert "megabytes in the second quarter" in capsys.readouterr().out


@pytest.mark.slow
def test_pages_are_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "watch.json"
    options = ["--clients", "3", "--seconds", "1", "--json", str(path)]
    assert main(["bench", "watch", *options]) == 0
    record = json.loads(path.read_text())
    assert len(record["frames_per_second"]) == record["clients"] == 3
    assert record["slowest"] == min(record["frames_per_second"])
    assert record["cores"] == os.cpu_count()
    assert "frames/s for the slowest" in capsys.readouterr().out
