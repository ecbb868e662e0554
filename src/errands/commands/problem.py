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
    lengths: list[int] = []
    for part in text.split(","):
        first, dots, last = part.strip().partition("..")
        try:
            bounds = int(first), int(last if dots else first)
        except ValueError:
            raise Problem(f"--lengths '{text}' is not understood; write 1..20 or 1,4,10") from None
        for length in bounds:
            check_range("--lengths", length, 1, MAX_INSTRUCTIONS)
        if bounds[0] > bounds[1]:
            raise Problem(f"--lengths '{part}' counts down; write {bounds[1]}..{bounds[0]}")
        lengths += range(bounds[0], bounds[1] + 1)
    return tuple(lengths)
