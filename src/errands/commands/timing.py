"""How many steps a second something makes: warmed up first, then the median of several runs."""

import statistics
import time
from collections.abc import Callable

REPEATS = 5


def steps_per_second(advance: Callable[[], int], seconds: float) -> float:
    """The median rate of `advance`, which makes some steps and returns how many."""
    advance()  # compiles, where that is needed
    _rate(advance, seconds / REPEATS)
    return statistics.median(_rate(advance, seconds / REPEATS) for _ in range(REPEATS))


def _rate(advance: Callable[[], int], seconds: float) -> float:
    steps = 0
    started = time.perf_counter()
    while True:
        steps += advance()
        elapsed = time.perf_counter() - started
        if elapsed >= seconds:
            return steps / elapsed
