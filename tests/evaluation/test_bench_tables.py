"""Tables of benchmarks: a row for each file that is there, with what it says."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from errands.evaluation import bench_tables
from errands.evaluation.document import Table

TALLY = {"kills": 21, "lost": 0, "finished": 4, "bit_equal": 4, "complaints": []}
CASES: list[tuple[Callable[[Path], Table], str, Any, list[tuple[str, ...]]]] = [
    (
        bench_tables.training_speed,
        "training-meta-block",
        {"whole_loop": 2911.2, "network_only": 3585.9, "ratio": 0.8119, "threads": 2},
        [("block, meta controller", "2,911", "3,586", "81%", "2")],
    ),
    (
        bench_tables.single_environments,
        "worlds",
        {
            "singles": [
                {"environment": "a", "microseconds_per_reset": 8.9, "microseconds_per_step": 10.0}
            ]
        },
        [("`a`", "9", "10")],
    ),
    (
        bench_tables.pages_at_once,
        "watch-block",
        {"agent": "dynamic", "clients": 16, "slowest": 15.04, "median": 15.2, "cores": 2},
        [("block", "dynamic", "16", "15.0", "15.2", "2")],
    ),
    (
        bench_tables.greedy_pages,
        "watch-greedy-20",
        {"clients": 2, "median_ms": 31.31, "slowest_ms": 673.64},
        [("2", "20", "31", "674", "1,000")],
    ),
    (
        bench_tables.faults,
        "faults",
        {"kinds": {"skill, grid": TALLY, "skill, grid, two processes": TALLY | {"bit_equal": 0}}},
        [
            ("skill, grid", "21", "0", "4", "4"),
            ("skill, grid, two processes", "21", "0", "4", "not compared"),
        ],
    ),
    (
        bench_tables.soak,
        "soak",
        {
            **{"minutes": 30.0, "clients": 16, "did": {"begin": 1000, "film": 234}, "target": 0.05},
            **{"megabytes_second_quarter": 512.4, "megabytes_last_quarter": 520.0},
            "growth": 0.0148,
        },
        [("30", "16", "1,234", "512", "520", "+1.5%", "+5%")],
    ),
]


@pytest.mark.parametrize(("make", "file", "measured", "rows"), CASES, ids=[c[1] for c in CASES])
def test_a_table_has_a_row_for_what_was_measured(
    make: Callable[[Path], Table],
    file: str,
    measured: Any,
    rows: list[tuple[str, ...]],
    tmp_path: Path,
) -> None:
    assert make(tmp_path).rows == ()
    (tmp_path / f"{file}.json").write_text(json.dumps(measured))
    found = make(tmp_path)
    assert list(found.rows) == rows
    assert all(len(row) == len(found.headings) for row in found.rows)
