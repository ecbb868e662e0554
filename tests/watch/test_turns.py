"""Turns of pages on the one thread: steps first, whoever had least first, and rests."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import pytest

from errands.watch import turns
from errands.watch.turns import Usage, WorldThread


def carried_out(work: Callable[[WorldThread], Coroutine[Any, Any, None]]) -> None:
    async def run() -> None:
        thread = WorldThread()
        try:
            await work(thread)
        finally:
            thread.close()

    asyncio.run(run())


async def in_order(*starts: Callable[[], Awaitable[None]]) -> None:
    """Start things one after the other, and wait for all."""
    tasks = []
    for start in starts:
        tasks.append(asyncio.ensure_future(start()))
        await asyncio.sleep(0.005)
    await asyncio.gather(*tasks)


def test_steps_go_before_expensive_requests() -> None:
    done: list[str] = []

    async def work(thread: WorldThread) -> None:
        async def expensive(name: str, seconds: float = 0.0) -> None:
            await thread.run_expensive(Usage(), time.sleep, seconds)
            done.append(name)

        async def step(name: str) -> None:
            await thread.run(Usage(), time.sleep, 0)
            done.append(name)

        await in_order(
            lambda: expensive("first", 0.1),  # which keeps the thread busy
            lambda: expensive("second"),
            lambda: step("step"),
        )

    carried_out(work)
    assert done == ["first", "step", "second"]


def test_an_expensive_request_does_not_wait_forever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "LONGEST_WAIT", 0.05)
    done: list[str] = []

    async def work(thread: WorldThread) -> None:
        async def expensive() -> None:
            await thread.run_expensive(Usage(), time.sleep, 0)
            done.append("expensive")

        async def steps() -> None:
            usage = Usage()
            for _ in range(20):
                await thread.run(usage, time.sleep, 0.01)
                done.append("step")

        await in_order(steps, steps, expensive)

    carried_out(work)
    assert done.index("expensive") < len(done) - 10


def test_the_page_that_had_least_is_next() -> None:
    done: list[str] = []

    async def work(thread: WorldThread) -> None:
        greedy, modest = Usage(), Usage()

        async def step(name: str, usage: Usage, seconds: float = 0.0) -> None:
            await thread.run(usage, time.sleep, seconds)
            done.append(name)

        await step("greedy", greedy, 0.1)
        await in_order(
            lambda: step("blocks", Usage(), 0.1),
            lambda: step("greedy", greedy),
            lambda: step("modest", modest),
        )
        assert greedy.seconds >= 0.1 > modest.seconds

    carried_out(work)
    assert done == ["greedy", "blocks", "modest", "greedy"]


def test_nobody_saves_time_up() -> None:
    """A page that was away for an hour is on a par with the others, not an hour ahead."""

    async def work(thread: WorldThread) -> None:
        busy, away = Usage(3600.0), Usage()
        await thread.run(busy, time.sleep, 0)
        await thread.run_expensive(away, time.sleep, 0)
        assert away.seconds >= 3600.0
        assert away.rests_until - time.monotonic() < 0.5  # from its own request alone

    carried_out(work)


def test_expensive_requests_are_followed_by_a_rest_and_failures_count() -> None:
    def fail() -> None:
        time.sleep(0.05)
        raise ZeroDivisionError

    async def work(thread: WorldThread) -> None:
        usage = Usage()
        began = time.monotonic()
        for _ in range(3):
            with pytest.raises(ZeroDivisionError):
                await thread.run_expensive(usage, fail)
        assert time.monotonic() - began >= 3 * 0.05 + 2 * turns.REST * 0.05
        began = time.monotonic()
        await thread.run(usage, time.sleep, 0)  # a step needs no rest
        assert time.monotonic() - began < turns.REST * 0.05
        usage.rest(1000.0)
        assert usage.rests_until - time.monotonic() <= turns.LONGEST_REST

    carried_out(work)


def test_a_page_that_goes_gives_its_turn_back() -> None:
    async def work(thread: WorldThread) -> None:
        running = asyncio.ensure_future(thread.run(Usage(), time.sleep, 0.1))
        waiting = asyncio.ensure_future(thread.run(Usage(), time.sleep, 0))
        await asyncio.sleep(0.01)
        for task in (running, waiting):
            task.cancel()
        assert all(
            isinstance(ended, asyncio.CancelledError)
            for ended in await asyncio.gather(running, waiting, return_exceptions=True)
        )
        await asyncio.wait_for(thread.run(Usage(), time.sleep, 0), 30)

    carried_out(work)
