import json

import pytest

from errands.stages.selection import Selection


def taken(selection: Selection, *successes: float) -> list[bool]:
    return [selection.takes({"success": success}) for success in successes]


def test_only_the_same_success_is_as_good_where_no_episodes_are_named() -> None:
    selection = Selection()
    assert taken(selection, 0.2, 0.7, 0.7, 0.699) == [True, True, True, False]
    assert selection.best == 0.7


@pytest.mark.parametrize(
    ("successes", "takes"),
    [
        ((1.0, 0.996), [1, 1]),  # two failures in 500 episodes say nothing
        ((1.0, 0.992), [1, 0]),  # four do
        ((0.9, 0.88, 0.87), [1, 1, 0]),
        ((0.9, 0.95, 0.9), [1, 1, 0]),
        # Weights that are worse and worse are measured by the best, not by the last that were kept.
        ((0.9, 0.885, 0.87), [1, 1, 0]),
        ((0.0, 0.0), [1, 1]),
    ],
)
def test_success_within_the_interval_of_the_best_is_as_good(
    successes: tuple[float, ...], takes: list[bool]
) -> None:
    assert taken(Selection(500), *successes) == takes


def test_a_resumed_run_chooses_as_one_that_was_never_stopped() -> None:
    before, after = Selection(500), Selection(500)
    taken(before, 0.9, 0.95)
    after.restore(json.loads(json.dumps(before.facts())))
    assert after == before
