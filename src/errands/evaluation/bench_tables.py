"""Tables of what `errands bench` measured, from the files that it wrote; a file may be missing."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from errands.evaluation.document import Table

TRAINED = {
    "grid": "training-grid",
    "block": "training-block",
    "grid, meta controller": "training-meta-grid",
    "block, meta controller": "training-meta-block",
}
ACTS = ("reset", "step")
STEP_LIMITS = {1: 100, 20: 1000}  # milliseconds that a step may take beside so many greedy pages


def training_speed(folder: Path) -> Table:
    """Skills and meta controllers in both worlds."""
    rows = []
    for name, file in TRAINED.items():
        for found in _read(folder, file):
            rates = [f"{found[rate]:,.0f}" for rate in ("whole_loop", "network_only")]
            rows.append([name, *rates, f"{found['ratio']:.0%}", str(found["threads"])])
    headings = ("skill", "whole loop, frames a second", "network alone", "share", "threads")
    return _table(headings, rows)


def single_environments(folder: Path) -> Table:
    """One world at a time, as `gymnasium.make` returns it; Minigrid's beside ours."""
    rows = [
        [f"`{item['environment']}`", *(f"{item[f'microseconds_per_{of}']:.0f}" for of in ACTS)]
        for found in _read(folder, "worlds")
        for item in found.get("singles", [])
    ]
    return _table(("environment", "a reset, microseconds", "a step"), rows)


def pages_at_once(folder: Path) -> Table:
    rows = []
    for world in ("grid", "block"):
        for found in _read(folder, f"watch-{world}"):
            rates = [f"{found[name]:.1f}" for name in ("slowest", "median")]
            about = [world, found["agent"], str(found["clients"])]
            rows.append([*about, *rates, str(found["cores"])])
    headings = ("world", "agent", "pages", "slowest, frames a second", "median", "cores")
    return _table(headings, rows, words=2)


def greedy_pages(folder: Path) -> Table:
    """How long steps take beside pages that loop what is most expensive."""
    rows = []
    for greedy, most in STEP_LIMITS.items():
        for found in _read(folder, f"watch-greedy-{greedy}"):
            times = [f"{found[name]:.0f}" for name in ("median_ms", "slowest_ms")]
            rows.append([str(found["clients"]), str(greedy), *times, f"{most:,}"])
    headings = ("pages", "greedy pages", "a step, ms, median", "slowest", "median at most")
    return _table(headings, rows, words=0)


def faults(folder: Path) -> Table:
    """Killed runs, by what was trained."""
    rows = []
    for found in _read(folder, "faults"):
        for kind, tally in found["kinds"].items():
            counts = [str(tally[name]) for name in ("kills", "lost", "finished")]
            equal = "not compared" if "processes" in kind else str(tally["bit_equal"])
            rows.append([kind, *counts, equal])
    headings = ("run", "kills", "lost", "runs finished", "bit-equal to an undisturbed one")
    return _table(headings, rows)


def soak(folder: Path) -> Table:
    """The page's memory in half an hour of use."""
    rows = []
    for found in _read(folder, "soak"):
        sizes = [f"{found[f'megabytes_{part}_quarter']:.0f}" for part in ("second", "last")]
        about = [f"{found['minutes']:g}", str(found["clients"]), f"{sum(found['did'].values()):,}"]
        rows.append([*about, *sizes, f"{found['growth']:+.1%}", f"{found['target']:+.0%}"])
    headings = ("minutes", "pages", "requests", "MB, second quarter", "MB, last quarter")
    return _table((*headings, "growth", "at most"), rows, words=0)


def _read(folder: Path, name: str) -> list[dict[str, Any]]:
    """A measurement, as a list of one, or of none."""
    path = folder / f"{name}.json"
    return [json.loads(path.read_text(encoding="utf-8"))] if path.exists() else []


def _table(headings: tuple[str, ...], rows: Sequence[Sequence[str]], words: int = 1) -> Table:
    return Table(headings, tuple(tuple(row) for row in rows), words)
