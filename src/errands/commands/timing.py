"""How many steps a second something makes: warmed up first, then the median of several runs."""

import statistics
import time
from collections.abc import Callable, Sequence

TURNS = 5

Advance = Callable[[], int]  # makes some steps and returns how many


def steps_per_second(advance: Advance, seconds: float) -> float:
    """The median rate of one loop."""
    return rates_in_turn((advance,), seconds)[0]


def rates_in_turn(loops: Sequence[Advance], seconds: float, *, turns: int = TURNS) -> list[float]:
    """The median rate of each loop, measured for `seconds` in total.

    Loops take turns, so that a slow period of the machine affects all of them. The more turns, the
    shorter the slow periods that do not look like a difference between the loops.
    """
    for advance in loops:
        advance()  # compiles, where that is needed
        _rate(advance, seconds / turns)
    rounds = [[_rate(advance, seconds / turns) for advance in loops] for _ in range(turns)]
    return [statistics.median(rates) for rates in zip(*rounds, strict=True)]


def _rate(advance: Advance, seconds: float) -> float:
    steps = 0
    started = time.perf_counter()
    while True:
        steps += advance()
        elapsed = time.perf_counter() - started
        if elapsed >= seconds:
            return steps / elapsed
