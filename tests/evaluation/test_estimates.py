"""Statistics over seeds, against values computed by hand."""

from itertools import product

import numpy as np
import pytest

from errands.evaluation import estimates
from errands.evaluation.estimates import (
    Estimate,
    better_half,
    estimate,
    interquartile_mean,
    mean,
    probability_of_improvement,
    share_interval,
)


def scores(*cells: list[float]) -> list[np.ndarray]:
    return [np.array(cell) for cell in cells]


def test_the_mean_weighs_cells_equally() -> None:
    assert mean(scores([1.0, 2.0, 3.0], [10.0])) == 6.0


def test_the_interquartile_mean_leaves_out_a_quarter_at_either_end() -> None:
    assert interquartile_mean(scores([100.0, 1.0, 2.0, 3.0, -50.0])) == 2.0
    assert interquartile_mean(scores([4.0, 1.0, 2.0, 3.0], [8.0, 7.0, 6.0, 5.0])) == 4.5
    assert interquartile_mean(scores([1.0, 2.0, 6.0])) == 3.0  # too few to leave one out


def test_the_better_half_is_that_of_the_paper() -> None:
    assert better_half(scores([1.0, 9.0, 2.0, 5.0])) == 7.0
    assert better_half(scores([1.0, 9.0, 3.0, 5.0, 4.0])) == 6.0  # 4, 5 and 9
    assert better_half(scores([3.0])) == 3.0


def test_a_single_run_has_no_interval() -> None:
    assert estimate(scores([0.5])) == Estimate(0.5, None, None, 1)
    assert probability_of_improvement(scores([0.5]), scores([0.4])) == Estimate(1.0, None, None, 1)


def test_runs_that_agree_have_an_interval_without_width() -> None:
    assert estimate(scores([0.5, 0.5, 0.5])) == Estimate(0.5, 0.5, 0.5, 3)


def test_the_interval_is_that_of_all_resamples(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three runs have 27 equally likely resamples: their quantiles are known."""
    monkeypatch.setattr(estimates, "RESAMPLES", 200_000)
    runs = [0.0, 1.0, 5.0]
    every = [np.mean(drawn) for drawn in product(runs, repeat=3)]
    low, high = np.quantile(every, (0.025, 0.975), method="inverted_cdf")
    found = estimate(scores(runs))
    assert found == Estimate(2.0, pytest.approx(low), pytest.approx(high), 3)


def test_cells_are_resampled_by_themselves() -> None:
    """Otherwise cells that are opposites of each other would have a mean without spread."""
    found = estimate(scores([0.0, 1.0], [1.0, 0.0]))
    assert (found.low, found.value, found.high) == (0.0, 0.5, 1.0)


def test_the_same_scores_give_the_same_interval() -> None:
    some = scores([0.1, 0.4, 0.5, 0.9, 0.95])
    assert estimate(some, interquartile_mean) == estimate(some, interquartile_mean)
    found = estimate(some)
    assert found.low is not None
    assert found.high is not None
    assert found.low < found.value < found.high


def test_probability_of_improvement() -> None:
    """5 of 6 pairs are better, and one is a tie."""
    found = probability_of_improvement(scores([3.0, 4.0, 5.0]), scores([1.0, 3.0]))
    assert found.value == pytest.approx(5.5 / 6)
    assert found.runs == 2
    certain = probability_of_improvement(scores([3.0, 4.0]), scores([1.0, 2.0]))
    assert certain == Estimate(1.0, 1.0, 1.0, 2)
    mixed = probability_of_improvement(scores([3.0], [0.0]), scores([1.0], [1.0]))
    assert mixed.value == 0.5


@pytest.mark.parametrize(
    ("share", "episodes", "low", "high"),
    [(0.5, 100, 0.404, 0.596), (0.0, 1000, 0.0, 0.0038), (1.0, 10, 0.722, 1.0)],
)
def test_the_interval_of_a_share_is_wilsons(
    share: float, episodes: int, low: float, high: float
) -> None:
    """Also where no episode, or every one, succeeded."""
    assert share_interval(share, episodes) == pytest.approx((low, high), abs=5e-4)
