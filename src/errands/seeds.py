"""Which seeds are for what: training, choosing and judging never meet the same episode."""

TRAINING_SEEDS = 0  # below 2**32
VALIDATION_SEEDS = 2**33  # for curves and for choosing weights
TEST_SEEDS = 2**34  # for the numbers that are reported

SEEDS_PER_RUN = 2**24  # worlds of all processes of one training run
MOST_RUNS = 2**8


def training_seed(run: int, rank: int = 0) -> int:
    """The first world's seed of one process of a training run."""
    return TRAINING_SEEDS + (run % MOST_RUNS) * SEEDS_PER_RUN + rank * 2**16
