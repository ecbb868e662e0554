"""Figures of skills: names that would collide stand apart."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from errands.evaluation.figures import spread_apart


def test_names_that_are_far_apart_stay_where_they_are() -> None:
    np.testing.assert_allclose(spread_apart(np.array([3.0, 0.0, 9.0]), 1.0), [3.0, 0.0, 9.0])


def test_names_at_one_height_stand_around_it() -> None:
    np.testing.assert_allclose(spread_apart(np.array([2.0, 2.0, 2.0]), 1.0), [1.0, 2.0, 3.0])


@given(st.lists(st.floats(-10, 10), min_size=1, max_size=20))
def test_names_keep_their_order_and_never_collide(wanted: list[float]) -> None:
    heights = spread_apart(np.array(wanted), 0.5)
    assert (np.diff(np.sort(heights)) > 0.5 - 1e-9).all()
    assert (np.diff(heights[np.argsort(wanted, kind="stable")]) > 0).all()
