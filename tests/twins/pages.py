"""A server in a thread of the tests' own process, and pages without a browser that talk to it."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from websockets.sync.client import ClientConnection, connect

from errands.evaluation.episodes import agent_named
from errands.watch.choices import Cast
from errands.watch.server import address, build_server, create_app, listen_on
from errands.worlds.planner import PLANNERS
from twins.thinker import Thinker

PATIENCE = 300  # seconds: no test waits so long, unless something is wrong
CAST: Cast = {
    world: {"dynamic": Thinker, **{name: agent_named(name) for name in PLANNERS}}
    for world in ("grid", "block")
}


class Page:
    """A page without a browser: says things, and hears answers."""

    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection
        self.hello = self.hear("hello")

    def say(self, kind: str, **fields: Any) -> None:
        self.connection.send(json.dumps({"kind": kind, **fields}))

    def next(self) -> dict[str, Any]:
        message: dict[str, Any] = json.loads(self.connection.recv(timeout=PATIENCE))
        return message

    def hear(self, kind: str) -> dict[str, Any]:
        """The next message of a kind; a problem that nobody waits for is a failure."""
        while True:
            message = self.next()
            if message["kind"] == kind:
                return message
            assert message["kind"] != "notice", message

    def ask(self, answer: str, kind: str, **fields: Any) -> dict[str, Any]:
        self.say(kind, **fields)
        return self.hear(answer)

    def begin(self, **changes: Any) -> dict[str, Any]:
        choice = {"world": "grid", "agent": "near-optimal", "list": "visit pig", "seed": 3}
        return self.ask("frame", "begin", **(choice | changes))

    def to_the_end(self) -> list[dict[str, Any]]:
        """The frames of an episode that is played as fast as the server can."""
        self.say("speed", rate=60)
        self.say("play")
        frames = [self.hear("frame")]
        while not frames[-1]["outcome"]:
            frames.append(self.hear("frame"))
        return frames


@contextmanager
def serving(cast: Cast = CAST, **options: Any) -> Iterator[str]:
    """A server's address, while it runs."""
    with listen_on("127.0.0.1", 0) as listening:
        server = build_server(create_app(cast, **options))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield address(listening)
        finally:
            server.should_exit = True
            thread.join(PATIENCE)


@contextmanager
def opened(server: str, **options: Any) -> Iterator[Page]:
    with connect(server.replace("http", "ws") + "talk", **options) as connection:
        yield Page(connection)
