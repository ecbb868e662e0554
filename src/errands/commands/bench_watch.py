"""`errands bench watch`: the frame rate of many web pages at once."""

import asyncio
import json
import os
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from errands.agents.registry import ALWAYS_THERE
from errands.commands.choices import DEFAULT_WORLD, WorldOption
from errands.commands.files import check_writable, tell
from errands.commands.problem import Problem, check_range
from errands.worlds.spec import WORLDS

TARGET = 10.0  # frames a second that every page should get
ASKED = 30.0  # frames a second that every page asks for
WARM_UP = 0.25  # share of the time before frames count
LISTS = {
    "grid": "visit the cow, pick up all eggs, transform all rocks, visit the box, pick up candy",
    "block": "visit the cat, pick up 3 pigs, transform 2 sheep, visit the horse, pick up 2 cats",
}


@dataclass(frozen=True)
class BenchWatch:
    """Measure the frame rate of many web pages at once.

    It starts a server, and --clients pages that play one episode after another, each with at most
    30 frames a second. The target is ten frames a second for the slowest page.

    examples
      errands bench watch
      errands bench watch --world block --clients 4 --json watch.json
    """

    world: WorldOption = DEFAULT_WORLD
    agent: Annotated[str, tyro.conf.arg(metavar="NAME")] = ALWAYS_THERE
    """Which agent acts."""
    clients: int = 16
    """Number of pages."""
    greedy: int = 0
    """Pages that loop the most expensive requests; then the others' steps are timed."""
    seconds: float = 10.0
    """Duration of the measurement."""
    json: Annotated[Path | None, tyro.conf.arg(metavar="FILE", help_behavior_hint="")] = None
    """Write the result; "-" prints it, and nothing else, to standard output."""

    def execute(self) -> int:
        check_range("--seconds", self.seconds, 0.1, 3600)
        check_range("--clients", self.clients, 1, 256)
        check_range("--greedy", self.greedy, 0, 256)
        check_writable("--json", self.json)
        from errands.commands.watch import check_installed

        check_installed()
        from errands.commands.progress import activity
        from errands.evaluation.episodes import origin

        sessions = self.clients + self.greedy
        with activity("starting a server and measuring"), own_server(sessions) as server:
            if self.greedy:
                return self._tell_steps(asyncio.run(self._measure_steps(server.address)))
            rates = asyncio.run(self._measure(server.address))
        record: dict[str, Any] = {
            "world": self.world,
            "agent": self.agent,
            "clients": self.clients,
            "frames_per_second": [round(rate, 2) for rate in rates],
            "slowest": round(min(rates), 2),
            "median": round(statistics.median(rates), 2),
            "target": TARGET,
            "seconds": self.seconds,
            "cores": os.cpu_count(),
            **origin(),
        }
        said = (
            f"{self.clients} pages, {self.world}: {min(rates):.1f} frames/s for the slowest, "
            f"{record['median']:.1f} for the median, {max(rates):.1f} for the fastest "
            f"(target: {TARGET:g})"
        )
        tell(self.json, record, said)
        return 0

    def _tell_steps(self, seconds: list[float]) -> int:
        from errands.evaluation.episodes import origin

        milliseconds = [1000 * value for value in seconds]
        record: dict[str, Any] = {
            "world": self.world,
            "agent": self.agent,
            "clients": self.clients,
            "greedy": self.greedy,
            "steps": len(milliseconds),
            "median_ms": round(statistics.median(milliseconds), 2),
            "slowest_ms": round(max(milliseconds), 2),
            "seconds": self.seconds,
            "cores": os.cpu_count(),
            **origin(),
        }
        said = (
            f"{self.clients} pages beside {self.greedy} greedy ones, {self.world}: a step takes "
            f"{record['median_ms']:.0f} ms (median), {record['slowest_ms']:.0f} at most"
        )
        tell(self.json, record, said)
        return 0

    async def _measure_steps(self, address: str) -> list[float]:
        """The times of the clients' steps, while others loop what takes longest."""
        others = [asyncio.create_task(loop_greedily(address)) for _ in range(self.greedy)]
        try:
            steps = await asyncio.gather(*(self._stepped(address, k) for k in range(self.clients)))
        finally:
            for task in others:
                task.cancel()
            ended = await asyncio.gather(*others, return_exceptions=True)
        for end in ended:
            if isinstance(end, Exception):
                raise Problem(f"a greedy page failed: {end}")
        return [seconds for client in steps for seconds in client]

    async def _stepped(self, address: str, seed: int) -> list[float]:
        wanted = LISTS.get(self.world, WORLDS[self.world].example)
        choice = {"world": self.world, "agent": self.agent, "list": wanted}
        ends = time.perf_counter() + self.seconds
        times: list[float] = []
        async with page_at(address) as page:
            await page.recv()  # hello
            outcome = "none yet"
            while time.perf_counter() < ends:
                if outcome:
                    await page.send(json.dumps({"kind": "begin", **choice, "seed": seed}))
                    await answered(page, "frame")
                    seed += self.clients
                began = time.perf_counter()
                await page.send(json.dumps({"kind": "step"}))
                outcome = (await answered(page, "frame"))["outcome"]
                times.append(time.perf_counter() - began)
                await asyncio.sleep(1 / ASKED)
        return times

    async def _measure(self, address: str) -> list[float]:
        """The rate of every client, all over the same interval."""
        begins = time.perf_counter() + WARM_UP * self.seconds
        clients = (self._client(address, seed, begins) for seed in range(self.clients))
        return list(await asyncio.gather(*clients))

    async def _client(self, address: str, seed: int, begins: float) -> float:
        async with page_at(address) as page:

            async def ask(kind: str, **fields: object) -> None:
                await page.send(json.dumps({"kind": kind, **fields}))

            wanted = LISTS.get(self.world, WORLDS[self.world].example)
            choice = {"world": self.world, "agent": self.agent, "list": wanted}
            await page.recv()  # hello
            await ask("speed", rate=ASKED)
            await ask("begin", **choice, seed=seed)
            frames = 0
            while (now := time.perf_counter()) < begins + self.seconds:
                message = json.loads(await page.recv())
                if message["kind"] == "notice":
                    raise Problem(f"the server says: {message['message']}")
                if message["kind"] == "begun":
                    await ask("play")
                elif message["outcome"]:
                    seed += self.clients
                    await ask("begin", **choice, seed=seed)
                frames += message["kind"] == "frame" and now >= begins
            return frames / self.seconds


GREEDY: tuple[tuple[str, dict[str, object]], ...] = (
    ("sampled", {"kind": "sample", "world": "block", "sort": "events"}),
    ("sampled", {"kind": "sample", "world": "grid", "sort": "events"}),
    ("checked", {"kind": "check", "world": "grid", "text": "vsit teh pgi, " * 500}),
    (
        "frame",
        {
            "kind": "begin",
            "world": "block",
            "agent": "near-optimal",
            "rival": "shortest-path",
            "list": ", ".join(["visit cat"] * 100),
            "seed": 1,
        },
    ),
)


async def loop_greedily(address: str) -> None:
    """Ask for what takes the server longest, again and again."""
    async with page_at(address) as page:
        await page.recv()  # hello
        while True:
            for answer, request in GREEDY:
                await page.send(json.dumps(request))
                await answered(page, answer)


async def answered(page: Any, kind: str, *, to: str = "") -> dict[str, Any]:
    """The next message of a kind; a notice is a problem, but for those about other requests.

    `to` is the request, if notices about others are possible.
    """
    while True:
        said = await page.recv()
        if isinstance(said, bytes):  # a film
            continue
        message: dict[str, Any] = json.loads(said)
        if message["kind"] == kind:
            return message
        if message["kind"] == "notice" and to in ("", message["about"]):
            request = f" to {to}" if to else ""
            raise Problem(f"the server says{request}: {message['message']}")


def page_at(address: str) -> Any:
    """A page's connection. Like a browser it never pings, so a busy machine does not end it."""
    from websockets.asyncio.client import connect

    return connect(address, compression=None, max_size=None, ping_interval=None)


@dataclass(frozen=True)
class OwnServer:
    """A server that was started for a measurement."""

    address: str  # of its WebSocket
    process: int


@contextmanager
def own_server(sessions: int) -> Iterator[OwnServer]:
    """A server in a separate process, which clients do not slow down."""
    command = [sys.executable, "-m", "errands.cli", "watch", "--port", "0"]
    command += ["--sessions", str(sessions)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            found = re.search(r"http(://\S+/)", server.stdout.readline())
            if found is None:
                raise Problem("errands watch does not start; try it alone to see why")
            yield OwnServer(f"ws{found[1]}talk", server.pid)
        finally:
            server.terminate()
