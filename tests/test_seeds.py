"""Training, validation and test draw from ranges of seeds that never touch."""

import itertools

from errands.commands.problem import SEEDS
from errands.presets import skill_training
from errands.seeds import (
    MOST_RUNS,
    SEEDS_PER_RUN,
    TEST_SEEDS,
    VALIDATION_SEEDS,
    training_seed,
)

MOST_PROCESSES = 256


def test_training_validation_and_test_are_apart() -> None:
    last_of_training = training_seed(MOST_RUNS - 1) + SEEDS_PER_RUN
    assert last_of_training <= VALIDATION_SEEDS
    assert VALIDATION_SEEDS + SEEDS <= TEST_SEEDS


def test_runs_and_processes_never_share_a_world() -> None:
    starts = [
        training_seed(run, rank)
        for run, rank in itertools.product((0, 1, 2, MOST_RUNS - 1), (0, 1, MOST_PROCESSES - 1))
    ]
    most_worlds = max(
        skill_training(world, "independent", preset).worlds
        for world in ("grid", "block")
        for preset in ("fast", "paper", "debug")
    )
    assert starts == sorted(starts)
    assert all(b - a >= most_worlds for a, b in itertools.pairwise(starts))
    for run in (0, MOST_RUNS - 1):
        last = training_seed(run, MOST_PROCESSES - 1) + most_worlds
        assert last <= training_seed(run) + SEEDS_PER_RUN
