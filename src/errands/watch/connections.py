"""Connections that ask for nothing are closed, so that they cannot keep others out.

A connection has some seconds to send a whole request, and between requests as long again. As long
as it has not, it is idle; when too many are idle, the oldest goes, so that a new one always finds
a free file descriptor.
"""

import asyncio
import resource
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from errands.watch.guard import HEADERS

SECONDS_TO_ASK = 10.0
MOST_IDLE = 64
AT_ONCE = 32  # connections that the event loop accepts before it looks at any of them
RESERVED = 32  # file descriptors for everything else: the terminal, sprites, films


def most_sessions(wanted: int) -> int:
    """As many pages as there are file descriptors for."""
    return max(1, min(wanted, _descriptors() - RESERVED - AT_ONCE - most_idle()))


def most_idle() -> int:
    return max(1, min(MOST_IDLE, (_descriptors() - RESERVED - AT_ONCE) // 2))


def _descriptors() -> int:
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 2**20 if limit == resource.RLIM_INFINITY else limit


class Idle:
    """The idle connections of one server, in the order in which they fell idle."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._connections: dict[asyncio.Transport, asyncio.TimerHandle] = {}

    def add(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self.discard(transport)
        self._connections[transport] = loop.call_later(SECONDS_TO_ASK, transport.abort)
        if len(self._connections) > self._most:
            oldest = next(iter(self._connections))
            self.discard(oldest)
            oldest.abort()

    def discard(self, transport: asyncio.Transport) -> None:
        timer = self._connections.pop(transport, None)
        if timer is not None:
            timer.cancel()


class PunctualProtocol(H11Protocol):
    """HTTP, with an eye on connections that ask for nothing."""

    def __init__(self, *, idle: Idle, **options: Any) -> None:
        super().__init__(**options)
        self._idle = idle

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._idle.add(transport, self.loop)

    def connection_lost(self, exc: Exception | None) -> None:
        self._idle.discard(self.transport)
        super().connection_lost(exc)

    def handle_events(self) -> None:
        before = self.cycle
        super().handle_events()
        if self.cycle is not before:  # a request is being answered
            self._idle.discard(self.transport)

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        self._idle.discard(self.transport)
        super().handle_websocket_upgrade(event)

    def on_response_complete(self) -> None:
        if not self.transport.is_closing():
            self._idle.add(self.transport, self.loop)
        super().on_response_complete()  # which may begin with the next request at once

    def send_400_response(self, msg: str) -> None:
        """What is no HTTP is answered with the headers of every other answer."""
        fields = {"Content-Type": "text/plain; charset=utf-8", "Connection": "close", **HEADERS}
        lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        self.transport.write(f"HTTP/1.1 400 Bad Request\r\n{lines}\r\n{msg}".encode("ascii"))
        self.transport.close()
