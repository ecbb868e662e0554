import json

import pytest

from errands.stages.choice import Choice


def kept(choice: Choice, *validations: tuple[float, float]) -> list[bool]:
    return [choice.takes({"success": success, "reward": reward}) for success, reward in validations]


def test_success_alone_counts_where_no_episodes_are_named() -> None:
    """Among equals the latest is kept."""
    choice = Choice()
    assert kept(choice, (0.2, 9.0), (0.7, 1.0), (0.7, 0.0), (0.699, 9.0)) == [1, 1, 1, 0]
    assert choice.best == 0.7


@pytest.mark.parametrize(
    ("validations", "takes"),
    [
        # Two failures in 500 episodes say nothing, and reward decides.
        (((1.0, -3.4), (0.996, -3.1), (0.996, -3.2)), [1, 1, 0]),
        # Four do, whatever is earned.
        (((1.0, -3.4), (0.992, -3.0)), [1, 0]),
        # As good as the best so far, but it earns less.
        (((0.9, -5.0), (0.91, -6.0), (0.9, -4.0)), [1, 0, 1]),
        # Clearly better: what was kept is no longer as good.
        (((0.9, -5.0), (0.95, -6.0), (0.9, -4.0)), [1, 1, 0]),
        # Slow progress must not keep old weights: the best moves on, and with it the least.
        (((0.9, -5.0), (0.915, -5.5), (0.95, -5.4)), [1, 0, 1]),
        (((0.0, -9.0), (0.0, -8.0), (0.0, -8.5)), [1, 1, 0]),
    ],
)
def test_of_weights_that_are_as_good_those_that_earn_most_are_kept(
    validations: tuple[tuple[float, float], ...], takes: list[bool]
) -> None:
    assert kept(Choice(500), *validations) == takes


def test_a_resumed_run_chooses_as_one_that_was_never_stopped() -> None:
    before, after = Choice(250), Choice(250)
    kept(before, (0.9, -5.0), (0.91, -6.0))
    after.restore(json.loads(json.dumps(before.facts())))
    assert after == before


@pytest.mark.parametrize("episodes", [0, 250])
def test_runs_of_earlier_versions_say_their_best_success_alone(episodes: int) -> None:
    choice = Choice(episodes)
    choice.restore({"best": 0.9})
    assert kept(choice, (0.9, -7.0)) == [True]
    assert not choice.takes({"success": 0.5, "reward": 0.0})
