"""Words that are offered while somebody types."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from errands.language.completion import complete
from errands.language.vocabulary import BLOCK_VOCABULARY, GRID_VOCABULARY, Vocabulary

OWN_VOCABULARY = Vocabulary(objects=("red box", "blue box", "mouse", "box"))
VERB_STARTS = ["visit", "pick", "transform", "interact"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", VERB_STARTS),
        ("vi", ["visit"]),
        ("pick ", ["up"]),
        ("visit p", ["pig"]),
        ("Pick up the C", ["cow", "candy"]),
        ("pick up a", ["all"]),
        ("pick up all c", ["cows", "candies"]),
        ("pick up five c", ["cows", "candies"]),
        ("visit a", []),
        ("visit pig ", ["then"]),
        ("visit pig, tr", ["tree", "transform"]),
        ("visit pig, vi", ["visit"]),
        ("visit pig then tr", ["tree", "transform"]),
        ("1. visit pig\n2. i", ["interact"]),
        ("visit p\n", VERB_STARTS),
        ("nonsense ", []),
        ("gr", ["grab"]),
        ("grab h", ["heart"]),
        ("go to the d", ["diamond", "duck"]),
        ("pick up egg, 2 h", ["hearts"]),
        ("get every c", ["cows", "candies"]),
    ],
)
def test_completion(text: str, words: list[str]) -> None:
    assert complete(text, GRID_VOCABULARY) == words


def test_counts_are_offered_in_both_worlds() -> None:
    assert complete("pick up ", GRID_VOCABULARY)[-3:] == ["all", "2", "3"]
    assert complete("visit ", GRID_VOCABULARY)[-2:] == ["2", "3"]
    assert complete("pick up ", BLOCK_VOCABULARY)[-2:] == ["2", "3"]


def test_completion_at_the_cursor_and_inside_names() -> None:
    assert complete("visit p, transform cow", GRID_VOCABULARY, cursor=7) == ["pig"]
    assert complete("visit red b", OWN_VOCABULARY) == ["box"]
    assert complete("visit cow->vi", GRID_VOCABULARY) == ["visit"]


PIECES = ("visit", "pick", "up", "cow", "all", "the", "2", ",", "->", "and", "get", "it", "\x00")


@settings(max_examples=300, deadline=None, database=None)
@given(
    text=st.text(max_size=30) | st.lists(st.sampled_from(PIECES), max_size=8).map(" ".join),
    cursor=st.none() | st.integers(0, 40),
)
def test_any_text_is_completed(text: str, cursor: int | None) -> None:
    assert all(isinstance(word, str) for word in complete(text, GRID_VOCABULARY, cursor))
