"""`errands bench soak`: many people use the web page for long, and its memory should stay flat."""

import asyncio
import json
import os
import statistics
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Annotated, Any

import tyro

from errands.commands.bench_watch import LISTS, answered, own_server, page_at
from errands.commands.files import check_writable, tell
from errands.commands.problem import Problem, check_range

TARGET = 0.05  # how much the memory may grow after the first quarter
SAMPLES = 200  # of memory, over the whole time
AGENTS = ("near-optimal", "shortest-path", "dynamic")
PATIENCE = 120.0  # seconds within which every request is answered


@dataclass(frozen=True)
class BenchSoak:
    """Use the web page as people do, for long, and see whether its memory stays flat.

    It starts a server and --clients pages. Each types lists with and without mistakes, samples
    others, starts episodes, alone or two side by side, plays, pauses, steps, drops objects, acts
    itself, saves films, and now and then goes away and comes back. The server's memory may grow by
    5% from the second quarter of the time to the last.

    examples
      errands bench soak --json results/bench/soak.json
      errands bench soak --minutes 1 --clients 4
    """

    minutes: float = 30.0
    """How long."""
    clients: int = 16
    """Number of pages."""
    seed: int = 0
    """Seed of what they do."""
    json: Annotated[Path | None, tyro.conf.arg(metavar="FILE", help_behavior_hint="")] = None
    """Write the result; "-" prints it, and nothing else, to standard output."""

    def execute(self) -> int:
        check_range("--minutes", self.minutes, 0.05, 10_000)
        check_range("--clients", self.clients, 1, 64)
        check_writable("--json", self.json)
        from errands.commands.watch import check_installed

        check_installed()
        from errands.commands.progress import progress
        from errands.evaluation.episodes import origin

        did: Counter[str] = Counter()
        with own_server(2 * self.clients) as server, progress("samples", SAMPLES) as show:
            memory = asyncio.run(self._soak(server.address, server.process, did, show))
        quarter = len(memory) // 4
        early = statistics.median(memory[quarter : 2 * quarter])
        late = statistics.median(memory[-quarter:])
        record: dict[str, Any] = {
            "minutes": self.minutes,
            "clients": self.clients,
            "did": dict(sorted(did.items())),
            "megabytes_second_quarter": round(early / 2**20, 1),
            "megabytes_last_quarter": round(late / 2**20, 1),
            "growth": round(late / early - 1, 4),
            "target": TARGET,
            "seed": self.seed,
            "cores": os.cpu_count(),
            **origin(),
        }
        said = (
            f"{self.clients} pages, {self.minutes:g} minutes, {sum(did.values()):,} requests: "
            f"{record['megabytes_second_quarter']} megabytes in the second quarter, "
            f"{record['megabytes_last_quarter']} in the last ({record['growth']:+.1%}, at most "
            f"{TARGET:+.0%})"
        )
        tell(self.json, record, said)
        return 0 if record["growth"] <= TARGET else 1

    async def _soak(self, address: str, process: int, did: Counter[str], show: Any) -> list[int]:
        """The server's memory over time, in bytes."""
        ends = time.monotonic() + 60 * self.minutes
        people = [
            asyncio.create_task(Person(address, Random(f"{self.seed} {k}"), did).stay(ends))
            for k in range(self.clients)
        ]
        memory = []
        for k in range(SAMPLES):
            await asyncio.wait(people, timeout=60 * self.minutes / SAMPLES)
            memory.append(_resident(process))
            show(k + 1)
        for ended in await asyncio.gather(*people, return_exceptions=True):
            if isinstance(ended, BaseException):
                raise Problem(f"a page failed: {ended!r}")
        return memory


def _resident(process: int) -> int:
    """Bytes of memory that a process uses, on Linux."""
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


class Person:
    """Somebody at a page, who does one thing after another."""

    def __init__(self, address: str, random: Random, did: Counter[str]) -> None:
        self._address = address
        self._random = random
        self._did = did

    async def stay(self, ends: float) -> None:
        """Visit the page again and again, each time for a while."""
        while time.monotonic() < ends:
            async with page_at(self._address) as self._page:
                await self._page.recv()  # hello
                for _ in range(self._random.randrange(3, 12)):
                    if time.monotonic() < ends:
                        await self._do_something()

    async def _do_something(self) -> None:
        world = self._random.choice(tuple(LISTS))
        words = LISTS[world]
        for end in sorted(self._random.sample(range(len(words)), 3)):  # while it is being typed
            await self._ask("checked", "check", world=world, text=words[:end])
        if self._random.random() < 0.5:
            sort = self._random.choice(("seen", "unseen", "long", "events"))
            words = (await self._ask("sampled", "sample", world=world, sort=sort))["list"]
        agent, rival = self._random.sample(AGENTS, 2)
        begin: dict[str, object] = {"world": world, "agent": agent, "list": words}
        begin["seed"] = self._random.randrange(1000)
        if self._random.random() < 0.3:
            begin["rival"] = rival
        await self._ask("frame", "begin", **begin)
        for _ in range(5):
            await self._ask("frame", "step")
        await self._ask("", "speed", rate=self._random.choice((6, 30, 60)))
        await self._ask("frame", "play")
        await asyncio.sleep(self._random.uniform(0.5, 3.0))
        await self._ask("frame", "pause")
        row, column = self._random.randrange(1, 9), self._random.randrange(1, 9)
        await self._ask("", "drop", row=row, column=column, object="pig")  # where it may not fit
        if self._random.random() < 0.1:
            await self._ask("saved", "save", format="gif", rate=10)
        if self._random.random() < 0.2:
            await self._ask("frame", "begin", world=world, agent="me", list=words, seed=1)
            await self._ask("frame", "act", action="no op")

    async def _ask(self, answer: str, kind: str, **fields: object) -> dict[str, Any]:
        """Send a request, and wait for an answer of a kind if one is expected."""
        self._did[kind] += 1
        await self._page.send(json.dumps({"kind": kind, **fields}))
        if not answer:
            return {}
        async with asyncio.timeout(PATIENCE):
            return await answered(self._page, answer, to=kind)
