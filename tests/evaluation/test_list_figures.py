"""Curves by list length: the mean over those seeds that were measured at the same lengths."""

import pytest

from errands.evaluation.list_figures import _curves
from twins.results import list_record


def test_a_curve_is_the_mean_of_runs_with_the_same_lengths() -> None:
    """A third run, measured at one length, would bend it there."""
    records = [
        list_record("dynamic", "seen", length, seed=seed, success={"mean": 0.1 * seed, "stderr": 0})
        for seed, lengths in ((1, (1, 4, 20)), (2, (20, 4, 1)), (3, (20,)))
        for length in lengths
    ]
    ((variant, split),) = found = _curves(records, "grid")
    assert (variant.agent, variant.seed, split) == ("dynamic", None, "seen")
    curve = found[variant, split]
    assert list(curve) == [1, 4, 20]
    assert [each["success"].tolist() for each in curve.values()] == [pytest.approx([0.1, 0.2])] * 3


def test_two_lengths_make_no_curve_and_ablations_none() -> None:
    assert _curves([list_record("dynamic", "seen", length) for length in (1, 20)], "grid") == {}
    ablation = [list_record("dynamic", "seen", k, analogy=False) for k in (1, 4, 20)]
    assert _curves(ablation, "grid") == {}


def test_each_world_has_curves_of_its_own() -> None:
    records = [list_record("dynamic", "seen", k, world="block") for k in (1, 4, 20)]
    assert _curves(records, "grid") == {}
    ((variant, _),) = _curves(records, "block")
    assert variant.world == "block"
