"""Errors that a user can correct: one line, without a traceback."""

from errands.language.instruction import MAX_INSTRUCTIONS, InstructionError, parse_instructions
from errands.language.vocabulary import Vocabulary

MOST_STEPS = MOST_EPISODES = 10_000_000
SEEDS = 2**32  # that a user can name: an offset into the test seeds, errands.seeds


class Problem(Exception):
    """The input cannot be used; the message is one line that says what to write instead."""


def check_range(option: str, value: float, least: float, most: float) -> None:
    if not least <= value <= most:
        raise Problem(f"{option} {value} is out of range; give a number from {least} to {most}")


def check_seed(seed: int, episodes: int = 1) -> None:
    check_range("--seed", seed, 0, SEEDS - episodes)


def check_instructions(text: str, vocabulary: Vocabulary) -> None:
    """Find wrong words before anything slow is loaded."""
    try:
        parse_instructions(text, vocabulary)
    except InstructionError as error:
        raise Problem(str(error)) from None


def parse_lengths(text: str) -> tuple[int, ...]:
    """List lengths from "1..20", "1,4,10,20" or a mixture of both."""
    hint = f"--lengths '{text}' is not understood; write 1..20 or 1,4,10"
    lengths: list[int] = []
    for part in text.split(","):
        first, last = _bounds("--lengths", part, (1, MAX_INSTRUCTIONS), hint)
        lengths += range(first, last + 1)
    return tuple(lengths)


def parse_sizes(text: str, possible: tuple[int, int]) -> tuple[int, int]:
    """The smallest and the largest map from "7..10" or "8"."""
    hint = f"--sizes '{text}' is not understood; write 7..10 or 8"
    return _bounds("--sizes", text, possible, hint)


def _bounds(option: str, text: str, possible: tuple[int, int], hint: str) -> tuple[int, int]:
    """Both ends of "1..20", or twice the same of "4"; `hint` is what to write instead."""
    first, dots, last = text.strip().partition("..")
    try:
        bounds = int(first), int(last if dots else first)
    except ValueError:
        raise Problem(hint) from None
    for bound in bounds:
        check_range(option, bound, *possible)
    if bounds[0] > bounds[1]:
        raise Problem(f"{option} '{text}' counts down; write {bounds[1]}..{bounds[0]}")
    return bounds
