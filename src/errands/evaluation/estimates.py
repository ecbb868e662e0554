"""Statistics over training seeds: means, interquartile means, intervals, and who is better.

Few runs of one agent say little by their mean alone. Intervals are 95% percentile intervals of a
stratified bootstrap: runs are drawn with replacement, in every cell (split and length) by itself.
This follows Agarwal et al., "Deep Reinforcement Learning at the Edge of the Statistical Precipice"
(NeurIPS 2021).

Scores are a list of arrays, one for each cell, each with one score for every run.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Scores = Sequence[NDArray[np.float64]]
Statistic = Callable[[Scores], NDArray[np.float64]]  # over the last axis; others are resamples
RESAMPLES = 5_000
COVERAGE = 0.95
NORMAL = 1.96  # standard errors to either side that cover as much of a normal distribution
TRIMMED = 0.25  # share of runs that an interquartile mean leaves out at either end


@dataclass(frozen=True)
class Estimate:
    """A statistic of some runs; a single run has no interval."""

    value: float
    low: float | None
    high: float | None
    runs: int  # in the cell with the fewest


def mean(scores: Scores) -> NDArray[np.float64]:
    """The mean over cells of the mean over runs."""
    each = [np.asarray(cell.mean(axis=-1), np.float64) for cell in scores]
    return np.asarray(np.mean(each, axis=0), np.float64)


def interquartile_mean(scores: Scores) -> NDArray[np.float64]:
    """The mean of all runs in all cells but the lowest and the highest quarter (rounded down)."""
    together = np.sort(np.concatenate(scores, axis=-1), axis=-1)
    cut = int(TRIMMED * together.shape[-1])
    kept = together[..., cut : together.shape[-1] - cut]
    return np.asarray(kept.mean(axis=-1), np.float64)


def better_half(scores: Scores) -> NDArray[np.float64]:
    """The mean of the better half of the runs of each cell, as the paper reports (10 of 20).

    Of an odd number of runs, the one in the middle counts among the better.
    """
    halves = [np.sort(cell, axis=-1)[..., cell.shape[-1] // 2 :] for cell in scores]
    return mean(halves)


def share_interval(share: float, episodes: int) -> tuple[float, float]:
    """The interval of a share of independent episodes (Wilson's).

    Unlike the mean and its standard error it is right near 0 and 1, where most of ours are.
    """
    pull = NORMAL**2 / episodes  # towards one half
    middle = (share + pull / 2) / (1 + pull)
    spread = share * (1 - share) / episodes + pull / (4 * episodes)
    half = NORMAL * float(np.sqrt(spread)) / (1 + pull)
    return max(0.0, middle - half), min(1.0, middle + half)


def estimate(scores: Scores, statistic: Statistic = mean, *, seed: int = 0) -> Estimate:
    """A statistic with its interval."""
    runs = min(cell.shape[-1] for cell in scores)
    value = float(statistic(scores))
    if runs < 2:
        return Estimate(value, None, None, runs)
    random = np.random.default_rng(seed)
    low, high = _interval(statistic([_resampled(cell, random) for cell in scores]))
    return Estimate(value, low, high, runs)


def probability_of_improvement(mine: Scores, others: Scores, *, seed: int = 0) -> Estimate:
    """How likely a run of one agent is better than a run of the other; ties count half.

    It is computed in every cell, and averaged over cells.
    """
    runs = min(cell.shape[-1] for cell in (*mine, *others))
    value = float(_improvement(mine, others))
    if runs < 2:
        return Estimate(value, None, None, runs)
    random = np.random.default_rng(seed)
    drawn = [[_resampled(cell, random) for cell in scores] for scores in (mine, others)]
    low, high = _interval(_improvement(*drawn))
    return Estimate(value, low, high, runs)


def _improvement(mine: Scores, others: Scores) -> NDArray[np.float64]:
    each = []
    for own, other in zip(mine, others, strict=True):
        difference = own[..., :, None] - other[..., None, :]
        wins = (difference > 0) + 0.5 * (difference == 0)
        each.append(wins.mean(axis=(-2, -1)))
    return np.asarray(np.mean(each, axis=0), np.float64)


def _resampled(cell: NDArray[np.float64], random: np.random.Generator) -> NDArray[np.float64]:
    """(resamples, runs)"""
    runs = cell.shape[-1]
    return cell[random.integers(runs, size=(RESAMPLES, runs))]


def _interval(values: NDArray[np.float64]) -> tuple[float, float]:
    outside = (1 - COVERAGE) / 2
    low, high = np.quantile(values, (outside, 1 - outside))
    return float(low), float(high)
