"""Settings that every test shares: reproducible examples, one thread a worker, no windows."""

import os

# Read by OpenMP and Matplotlib when they are first imported, so this precedes any such import. The
# test workers already fill the cores, and torch sums in the same order on every machine.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("MPLBACKEND", "Agg")

from hypothesis import settings

# The first call of a Numba kernel compiles it, which no deadline survives. To search with fresh
# random examples instead: pytest --hypothesis-profile=default
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci")
