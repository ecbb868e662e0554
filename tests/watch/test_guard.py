"""Who is served: right names, the same site, and with a token those who have it."""

import socket
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from errands.watch.guard import HEADERS, names_of, new_token
from twins.pages import CAST, PATIENCE, Page, serving

TOKEN = "a-secret"
PLANNERS = {world: {"near-optimal": agents["near-optimal"]} for world, agents in CAST.items()}


SECURITY = {name.lower(): value for name, value in HEADERS.items()}


def lowered(headers: Any) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


class _StayHere(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None


@pytest.fixture(scope="module")
def guarded() -> Iterator[str]:
    with serving(PLANNERS, token=TOKEN, hosts=("lab.example",)) as running:
        yield running


def asked(address: str, method: str = "GET", **headers: str) -> tuple[int, dict[str, str]]:
    """The code and the headers of an answer."""
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    request = urllib.request.Request(address, headers=names, method=method)
    opener = urllib.request.build_opener(_StayHere)
    try:
        with opener.open(request, timeout=PATIENCE) as answer:
            return answer.status, lowered(answer.headers)
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.code, lowered(refused.headers)


def asked_raw(server: str, text: str) -> str:
    parts = urlsplit(server)
    with socket.create_connection((parts.hostname, parts.port), timeout=PATIENCE) as line:
        line.sendall(text.encode())
        answer = b""
        while part := line.recv(4096):
            answer += part
    return answer.decode()


WRONG_ORIGINS = [
    *("http://evil.example", "http://[", "null", "", "file://", "javascript:alert(1)"),
    *("http://127.0.0.1:1", "https://localhost", "http://user@127.0.0.1", "//", "\u00e9"),
]


@pytest.mark.parametrize("origin", WRONG_ORIGINS)
def test_other_and_malformed_origins_are_refused(origin: str, server: str) -> None:
    code, headers = asked(server, Origin=origin.encode().decode("latin-1"))
    assert code == 403
    assert SECURITY.items() <= headers.items()
    talk = server.replace("http", "ws") + "talk"
    with (
        pytest.raises(InvalidStatus) as refused,
        connect(talk, additional_headers={"Origin": origin}),
    ):
        pass
    assert refused.value.response.status_code == 403
    assert SECURITY.items() <= lowered(refused.value.response.headers).items()


@pytest.mark.parametrize(
    "host",
    ["evil.example", "[", "", "127.0.0.1.evil.example", "127.0.0.2", "localhost@evil", ":80"],
)
def test_other_and_malformed_hosts_are_refused(host: str, server: str) -> None:
    said = asked_raw(server, f"GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n")
    assert said.startswith("HTTP/1.1 400 ")
    assert "frame-ancestors 'none'" in said


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.1", "[::1]:9"])
def test_its_own_names_are_served(host: str, server: str) -> None:
    said = asked_raw(server, f"GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n")
    assert said.startswith("HTTP/1.1 200 ")


@pytest.mark.parametrize(
    ("path", "method", "code"),
    [("nothing", "GET", 404), ("", "POST", 405), ("sprites/x.png", "GET", 404), ("", "GET", 200)],
)
def test_every_answer_has_the_security_headers(
    path: str, method: str, code: int, server: str
) -> None:
    found, headers = asked(server + path, method)
    assert found == code
    assert SECURITY.items() <= headers.items()


def test_what_is_no_http_gets_them_too(server: str) -> None:
    said = asked_raw(server, "nonsense\r\n\r\n")
    assert said.startswith("HTTP/1.1 400 ")
    assert all(f"{name}: {value}" in said for name, value in HEADERS.items())


def test_without_the_token_nobody_is_served(guarded: str) -> None:
    for path in ("", "main.js", "sprites/grid.png", "?token=wrong", "?token=", "?token=%e9"):
        assert asked(guarded + path)[0] == 403
    for cookie in ("token=wrong", "token", "=", "token=" + "x" * 5000, "other=a-secret"):
        assert asked(guarded, Cookie=cookie)[0] == 403
    with (
        pytest.raises(InvalidStatus) as refused,
        connect(guarded.replace("http", "ws") + "talk"),
    ):
        pass
    assert refused.value.response.status_code == 403


def test_the_token_becomes_a_cookie(guarded: str) -> None:
    code, headers = asked(f"{guarded}?token={TOKEN}&world=grid&list=visit+pig%2C")
    assert (code, headers["location"]) == (303, "/?world=grid&list=visit+pig%2C")
    cookie = headers["set-cookie"]
    assert "httponly" in cookie.lower()
    assert "samesite=strict" in cookie.lower()
    kept = cookie.partition(";")[0]
    assert asked(guarded, Cookie=f"theme=dark; {kept}")[0] == 200
    talk = guarded.replace("http", "ws") + "talk"
    with connect(talk, additional_headers={"Cookie": kept}) as connection:
        assert Page(connection).hello["version"]


def test_a_token_does_not_help_other_sites(guarded: str) -> None:
    evil = {"Cookie": f"token={TOKEN}", "Origin": "http://evil.example"}
    assert asked(guarded, **evil)[0] == 403
    assert asked(f"{guarded}?token={TOKEN}", Host="evil.example")[0] == 400
    assert asked(f"{guarded}?token={TOKEN}", Host="lab.example:80")[0] == 303


def test_names() -> None:
    assert names_of("127.0.0.1", ()) == ("127.0.0.1", "localhost", "::1")
    named = names_of("0.0.0.0", ("Lab.Example",))
    assert {"localhost", "lab.example", socket.gethostname().lower()} <= set(named)
    assert "0.0.0.0" not in named
    assert "192.0.2.7" in names_of("192.0.2.7", ())
    assert len({new_token() for _ in range(100)}) == 100
