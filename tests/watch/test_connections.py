"""Connections that ask for nothing: closed in time, and never in the way of others."""

import contextlib
import os
import resource
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from errands.watch import connections
from twins.pages import CAST, PATIENCE, opened, serving
from twins.terminal import started

PLANNERS = {world: {"near-optimal": agents["near-optimal"]} for world, agents in CAST.items()}


@contextlib.contextmanager
def connected(server: str, first: bytes = b"") -> Iterator[socket.socket]:
    parts = urlsplit(server)
    with socket.create_connection((parts.hostname, parts.port), timeout=PATIENCE) as line:
        line.sendall(first)
        yield line


def is_closed(line: socket.socket) -> bool:
    """Wait for the end of a connection."""
    with contextlib.suppress(ConnectionResetError):
        while line.recv(65536):
            pass
    return True


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setattr(connections, "SECONDS_TO_ASK", 0.3)
    with serving(PLANNERS) as running:
        yield running


REQUEST = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.mark.parametrize(
    "first", [b"", REQUEST[:20], REQUEST, REQUEST + REQUEST[:20], b"POST / HTTP/1.1\r\n"]
)
def test_whoever_asks_for_nothing_is_let_go(first: bytes, impatient: str) -> None:
    with connected(impatient, first) as line:
        assert is_closed(line)


def test_a_request_in_drops_is_let_go(impatient: str) -> None:
    """Each byte in time, the whole request not."""
    with connected(impatient) as line, contextlib.suppress(OSError):
        for k in range(200):
            line.sendall(REQUEST[k % 10 : k % 10 + 1])
            time.sleep(0.02)
        raise AssertionError("it still listens")


@pytest.mark.slow
def test_a_page_that_is_watched_stays(impatient: str) -> None:
    with opened(impatient) as page:
        time.sleep(1.0)
        assert page.begin()["step"] == 0


def test_when_too_many_are_idle_the_oldest_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "MOST_IDLE", 3)
    with serving(PLANNERS) as server, contextlib.ExitStack() as stack:
        lines = [stack.enter_context(connected(server)) for _ in range(4)]
        assert is_closed(lines[0])
        for line in lines[1:]:
            line.setblocking(False)
            with pytest.raises(BlockingIOError):
                line.recv(1)


def test_pages_fit_into_the_file_descriptors(monkeypatch: pytest.MonkeyPatch) -> None:
    for limit, pages in ((128, 32), (100_000, 64), (10, 1)):
        monkeypatch.setattr(resource, "getrlimit", lambda _, limit=limit: (limit, limit))
        assert connections.most_sessions(64) == pages
        assert 1 <= connections.most_idle() <= connections.MOST_IDLE


SERVER = """
import contextlib, resource
resource.setrlimit(resource.RLIMIT_NOFILE, (128, 128))
from errands.watch.server import address, build_server, create_app, listen_on
from twins.pages import CAST
with listen_on("127.0.0.1", 0) as listening:
    server = build_server(create_app(CAST))
    print(address(listening), flush=True)
    with contextlib.suppress(KeyboardInterrupt):
        server.run(sockets=[listening])
"""


@pytest.mark.slow
def test_300_idle_connections_leave_it_serving_and_quiet() -> None:
    """Under `ulimit -n 128`; afterwards it has as many files open as before."""
    command = [sys.executable, "-c", SERVER]
    here = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    pipe = subprocess.PIPE
    with started(command, env=here, stdout=pipe, stderr=pipe) as running:
        assert running.stdout is not None
        server = running.stdout.readline().decode().strip()
        assert get(server)
        files = Path(f"/proc/{running.pid}/fd")
        before = len(list(files.iterdir()))
        with contextlib.ExitStack() as stack:
            for _ in range(300):
                stack.enter_context(connected(server))
            assert get(server)
            with opened(server) as page:
                assert page.begin()["step"] == 0
        deadline = time.monotonic() + PATIENCE
        while len(list(files.iterdir())) > before:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        running.send_signal(signal.SIGINT)
        _, errors = running.communicate(timeout=PATIENCE)
    assert errors == b""


def get(server: str) -> bytes:
    with urllib.request.urlopen(server, timeout=PATIENCE) as answer:
        content: bytes = answer.read()
    return content
