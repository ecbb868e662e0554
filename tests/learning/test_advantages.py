"""Generalised advantages against their definition: a sum over all that follows."""

import pytest
import torch

from errands.learning.advantages import generalised_advantages

DISCOUNT, TRACE = 0.9, 0.8


def by_definition(
    rewards: list[float],
    values: list[float],
    next_values: list[float],
    done: list[bool],
    ended: list[bool],
) -> list[float]:
    """A_t = sum over l of (discount * trace)^l delta_(t+l), up to the end of the episode."""
    times = len(rewards)
    advantages = []
    for t in range(times):
        total = 0.0
        for later in range(t, times):
            following = 0.0 if done[later] else next_values[later]
            delta = rewards[later] + DISCOUNT * following - values[later]
            total += (DISCOUNT * TRACE) ** (later - t) * delta
            if ended[later]:
                break
        advantages.append(total)
    return advantages


@pytest.mark.parametrize("chance", [0.0, 0.2, 1.0])
def test_advantages_follow_the_definition(chance: float) -> None:
    random = torch.Generator().manual_seed(3)
    times, worlds = 12, 5
    rewards, values, next_values = torch.randn(3, times, worlds, generator=random).double()
    done = torch.rand(times, worlds, generator=random) < chance
    ended = done | (torch.rand(times, worlds, generator=random) < chance)
    if chance == 0.2:
        assert (ended & ~done).any()
    advantages = generalised_advantages(
        rewards, values, next_values, done, ended, discount=DISCOUNT, trace=TRACE
    )
    for world in range(worlds):
        columns = (rewards, values, next_values, done, ended)
        expected = by_definition(*(column[:, world].tolist() for column in columns))
        assert advantages[:, world].tolist() == pytest.approx(expected)


def advantages_of_two_steps(*, done: bool, ended: bool) -> list[float]:
    """Rewards 1 and 2, values 10 and 20, then 30; the first step may end an episode."""
    advantages = generalised_advantages(
        torch.tensor([[1.0], [2.0]]),
        torch.tensor([[10.0], [20.0]]),
        torch.tensor([[20.0], [30.0]]),
        torch.tensor([[done], [False]]),
        torch.tensor([[ended], [False]]),
        discount=0.5,
        trace=0.5,
    )
    return [float(advantage) for advantage in advantages]


def test_what_done_and_cut_off_mean() -> None:
    last = 2 + 0.5 * 30 - 20
    going_on = advantages_of_two_steps(done=False, ended=False)
    assert going_on == [1 + 0.5 * 20 - 10 + 0.25 * last, last]
    assert advantages_of_two_steps(done=True, ended=True) == [1 - 10, last]
    assert advantages_of_two_steps(done=False, ended=True) == [1 + 0.5 * 20 - 10, last]


# Credit by decision


def by_decision(
    rewards: list[float],
    values: list[float],
    next_values: list[float],
    done: list[bool],
    ended: list[bool],
    decides: list[bool],
) -> list[float]:
    """A_t = sum over l of discount^l trace^n delta_(t+l), where n of the steps t+1..t+l decide."""
    times = len(rewards)
    advantages = []
    for t in range(times):
        total = 0.0
        for later in range(t, times):
            following = 0.0 if done[later] else next_values[later]
            delta = rewards[later] + DISCOUNT * following - values[later]
            decisions = sum(decides[t + 1 : later + 1])
            total += DISCOUNT ** (later - t) * TRACE**decisions * delta
            if ended[later]:
                break
        advantages.append(total)
    return advantages


@pytest.mark.parametrize("often", [0.0, 0.3, 1.0])
def test_credit_by_decision_follows_the_definition(often: float) -> None:
    random = torch.Generator().manual_seed(4)
    times, worlds = 12, 5
    rewards, values, next_values = torch.randn(3, times, worlds, generator=random).double()
    done, cut_off = torch.rand(2, times, worlds, generator=random) < 0.1
    decides = torch.rand(times, worlds, generator=random) < often
    columns = (rewards, values, next_values, done, done | cut_off)
    weights = {"discount": DISCOUNT, "trace": TRACE}
    advantages = generalised_advantages(*columns, **weights, decides=decides)
    for world in range(worlds):
        one = (column[:, world].tolist() for column in (*columns, decides))
        assert advantages[:, world].tolist() == pytest.approx(by_decision(*one))
    if often == 1.0:  # every step decides: the paper's advantages
        torch.testing.assert_close(advantages, generalised_advantages(*columns, **weights))


def test_a_decision_gets_full_credit_for_a_long_subtask() -> None:
    """A reward 40 steps after the update that earned it; the next update comes after it."""
    times = 50
    nothing = torch.zeros(times, 1, dtype=torch.float64)
    rewards, decides = nothing.clone(), torch.zeros(times, 1, dtype=torch.bool)
    rewards[40], decides[0], decides[41] = 1.0, True, True
    never = torch.zeros(times, 1, dtype=torch.bool)
    columns = (rewards, nothing, nothing, never, never)
    advantages = generalised_advantages(*columns, discount=1.0, trace=0.96, decides=decides)
    assert advantages[0].item() == 1.0
    by_step = generalised_advantages(*columns, discount=1.0, trace=0.96)
    assert by_step[0].item() == pytest.approx(0.96**40)
