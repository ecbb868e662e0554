"""Instructions: bags of words, retrieval, and a pointer that never leaves the list."""

import pytest
import torch
from hypothesis import given as examples
from hypothesis import strategies as st

from errands.agents.instructions import (
    SHIFTS,
    Instructions,
    bags_of_words,
    shift_pointer,
    within_list,
)
from twins.meta import mask_of


def test_bags_count_words_and_not_padding() -> None:
    bags = bags_of_words(torch.tensor([[[3, 1, 0], [2, 2, 0], [0, 0, 0]]]), 4)
    assert bags.tolist() == [[[0, 1, 0, 1], [0, 0, 2, 0], [0, 0, 0, 0]]]


def test_what_is_retrieved_is_the_sum_of_the_instructions_words() -> None:
    bags = bags_of_words(torch.tensor([[[3, 1, 0], [2, 2, 5]]]), 6)
    w = torch.randn(6, 4)
    memory = Instructions(bags, torch.ones(1, 2, dtype=torch.bool), w)
    first, half = (
        memory.retrieve(memory.read(torch.tensor([p])))[0] for p in ((1.0, 0.0), (0.5, 0.5))
    )
    torch.testing.assert_close(first, w[3] + w[1])
    torch.testing.assert_close(half, (w[3] + w[1] + 2 * w[2] + w[5]) / 2)


WEIGHTS = st.floats(0, 1)


@st.composite
def pointers(draw: st.DrawFn) -> tuple[list[float], list[float], int]:
    """A pointer over a list, shifts, and a length for the list with its padding."""
    length = draw(st.integers(1, 6))
    p = draw(st.lists(WEIGHTS, min_size=length, max_size=length).filter(lambda p: sum(p) > 0.01))
    shift = draw(st.lists(WEIGHTS, min_size=3, max_size=3).filter(lambda x: sum(x) > 0.01))
    return [x / sum(p) for x in p], [x / sum(shift) for x in shift], draw(st.integers(length, 9))


@examples(pointers())
def test_any_shift_of_any_pointer_is_a_distribution_over_the_list(
    case: tuple[list[float], list[float], int],
) -> None:
    p, l, padded = case  # noqa: E741
    length = len(p)
    expected = [0.0] * padded
    for k, share in enumerate(p):
        for chance, shift in zip(l, SHIFTS, strict=True):
            expected[min(max(k + shift, 0), length - 1)] += chance * share
    before = torch.tensor([p + [0.0] * (padded - length)], dtype=torch.float64)
    mask = mask_of((length,), padded)
    after = shift_pointer(before, torch.tensor([l], dtype=torch.float64), mask)
    torch.testing.assert_close(after, torch.tensor([expected], dtype=torch.float64))
    assert (after >= 0).all()
    assert not after[~mask].any()
    assert after.sum().item() == pytest.approx(1.0)


@examples(pointers(), st.booleans())
def test_shifts_that_would_leave_the_list_count_as_staying(
    case: tuple[list[float], list[float], int], one_hot: bool
) -> None:
    """The same pointer follows, and chances stay chances."""
    p, l, padded = case  # noqa: E741
    length = len(p)
    if one_hot:
        p = [float(k == p.index(max(p))) for k in range(length)]
    before = torch.tensor([p + [0.0] * (padded - length)])
    mask, shift = mask_of((length,), padded), torch.tensor([l])
    folded = within_list(shift, before, mask)
    assert (folded >= 0).all()
    assert folded.sum().item() == pytest.approx(1.0, abs=1e-6)
    if one_hot:
        at = p.index(1.0)
        assert folded[0, 0] == (0 if at == 0 else shift[0, 0])
        assert folded[0, 2] == (0 if at == length - 1 else shift[0, 2])
        moved = shift_pointer(before, shift, mask), shift_pointer(before, folded, mask)
        torch.testing.assert_close(*moved)
