"""Settings that every test shares: reproducible examples, one thread a worker, no windows."""

import os
from collections.abc import Iterator

# Read by OpenMP and Matplotlib when they are first imported, so this precedes any such import. The
# test workers already fill the cores, and torch sums in the same order on every machine. A thread
# that waits for others sleeps: by default it spins, and on a busy machine it takes their core.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("MPLBACKEND", "Agg")

import numba
import pytest
from hypothesis import settings

# The first call of a Numba kernel compiles it, which no deadline survives. To search with fresh
# random examples instead: pytest --hypothesis-profile=default
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci")


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> None:
    """Kernels use one thread, too: two for each of two workers took up to 30 times as long."""
    numba.set_num_threads(1)


@pytest.fixture
def every_thread() -> Iterator[None]:
    """As many threads as Numba starts with, for tests of threads."""
    numba.set_num_threads(numba.config.NUMBA_NUM_THREADS)
    yield
    numba.set_num_threads(1)
