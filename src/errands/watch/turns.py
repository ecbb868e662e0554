"""Whose turn it is: one thread does all work with worlds and lists, and no page has it alone.

Steps go before expensive requests (reading a list, drawing one, beginning an episode). Of several
pages that wait for the same, the one that has had the least time is next. After an expensive
request a page rests three times as long as it took, so that none has more than a quarter of the
thread with them.
"""

import asyncio
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import ParamSpec, TypeVar

import numba

REST = 3.0  # times an expensive request's own time, before the same page's next one
LONGEST_REST = 5.0  # seconds
LONGEST_WAIT = 0.5  # seconds that steps of others may go before an expensive request

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


@dataclass(eq=False)
class Usage:
    """What one page has had of the thread."""

    seconds: float = 0.0
    rests_until: float = 0.0

    def rest(self, spent: float) -> None:
        """Let the page's next expensive request wait."""
        self.rests_until = time.monotonic() + min(REST * spent, LONGEST_REST)


@dataclass(eq=False)
class _Turn:
    """Somebody who waits."""

    usage: Usage
    expensive: bool
    since: float
    granted: asyncio.Future[None] = field(default_factory=asyncio.Future)

    def place(self, now: float) -> tuple[bool, float]:
        """Smaller comes first."""
        patient = self.expensive and now - self.since < LONGEST_WAIT
        return patient, self.usage.seconds


class WorldThread:
    """The one thread in which worlds are stepped and agents think, so that the server can listen.

    One, since Numba's and PyTorch's own threads do not want to be started from several at once,
    and since a single world is stepped faster by one core than by many.
    """

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1, "worlds", initializer=_keep_to_one_core)
        self._waiting: list[_Turn] = []
        self._busy = False
        self._level = 0.0  # seconds that the page that is served has had: nobody is far below

    async def run(
        self,
        usage: Usage,
        function: Callable[Arguments, Result],
        *args: Arguments.args,
        **kwargs: Arguments.kwargs,
    ) -> Result:
        """Do something short, such as a step."""
        return await self._run(usage, False, lambda: function(*args, **kwargs))

    async def run_expensive(
        self,
        usage: Usage,
        function: Callable[Arguments, Result],
        *args: Arguments.args,
        **kwargs: Arguments.kwargs,
    ) -> Result:
        """Do something that may take a while, once the page has rested from the last such thing."""
        await asyncio.sleep(usage.rests_until - time.monotonic())
        return await self._run(usage, True, lambda: function(*args, **kwargs))

    async def _run(self, usage: Usage, expensive: bool, function: Callable[[], Result]) -> Result:
        # Whoever was away, or has just come, has nothing saved up for hours of the others' time.
        usage.seconds = max(usage.seconds, self._level)
        turn = _Turn(usage, expensive, time.monotonic())
        self._waiting.append(turn)
        self._grant()
        try:
            await turn.granted
        except asyncio.CancelledError:
            if turn in self._waiting:
                self._waiting.remove(turn)
            else:
                self._release()
            raise

        def timed() -> Result:
            began = time.perf_counter()
            try:
                return function()
            finally:
                spent = time.perf_counter() - began
                usage.seconds += spent
                if expensive:
                    usage.rest(spent)

        running = asyncio.get_running_loop().run_in_executor(self._pool, timed)
        running.add_done_callback(lambda _: self._release())  # also if the page has gone by then
        return await asyncio.shield(running)

    def _release(self) -> None:
        self._busy = False
        self._grant()

    def _grant(self) -> None:
        if self._busy or not self._waiting:
            return
        now = time.monotonic()
        turn = min(self._waiting, key=lambda each: each.place(now))
        self._waiting.remove(turn)
        self._busy = True
        self._level = max(self._level, turn.usage.seconds)
        turn.granted.set_result(None)

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)


def _keep_to_one_core() -> None:
    numba.set_num_threads(1)
    if "torch" in sys.modules:
        import torch

        torch.set_num_threads(1)
