"""Learning curves: seeds of an agent belong together, and no two agents look the same."""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.figure import Figure

from errands.evaluation import learning_figures
from errands.evaluation.learning_figures import _named, learning_curves, mean_curve


def write_log(folder: Path, name: str, successes: list[float], **more: float) -> Path:
    path = folder / f"{name}.jsonl"
    lines = [
        {"frames": 500_000 * (k + 1), "validation": {"success": success, **more}}
        for k, success in enumerate(successes)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Figure]]:
    figures: list[Figure] = []
    monkeypatch.setattr(learning_figures, "save", lambda figure, path: figures.append(figure))
    yield figures
    pyplot.close("all")


def test_a_panel_for_each_world_and_a_label_for_each_agent(
    tmp_path: Path, drawn: list[Figure]
) -> None:
    names = ("block-dynamic", "grid-dynamic", "grid-dynamic-seed-1", "grid-short-seed-0")
    logs = [write_log(tmp_path, name, [0.1, 0.9], completed=3) for name in names]
    logs.append(write_log(tmp_path, "grid-skill-independent", [0.5]))
    assert learning_curves(logs, tmp_path / "figure.png", of="lists")
    grid, block = drawn[0].axes
    assert (grid.get_title(), block.get_title()) == ("grid", "block")
    labels = [text.get_text() for text in grid.get_legend().get_texts()]
    assert labels == ["dynamic (2 seeds)", "short"]
    assert grid.get_xlabel() == "million frames"
    assert grid.lines[0].get_xdata().tolist() == [0.5, 1.0]


def test_agents_that_lack_a_part_have_a_panel_of_their_own(
    tmp_path: Path, drawn: list[Figure]
) -> None:
    names = ("grid-dynamic-seed-0", "grid-dynamic-without-glance-seed-0", "garden-dynamic-seed-0")
    logs = [write_log(tmp_path, name, [0.1, 0.9], completed=3) for name in names]
    assert learning_curves(logs, tmp_path / "figure.png", of="lists")
    assert [axis.get_title() for axis in drawn[0].axes] == ["grid", "grid, ablations", ""]


def test_no_two_agents_look_the_same(tmp_path: Path, drawn: list[Figure]) -> None:
    logs = [write_log(tmp_path, f"grid-agent{k}", [0.1, 0.2]) for k in range(20)]
    assert learning_curves(logs, tmp_path / "figure.png", of="skills")
    looks = {(line.get_color(), line.get_linestyle()) for line in drawn[0].axes[0].lines}
    assert len(looks) == 20


def test_nothing_is_drawn_of_nothing(tmp_path: Path, drawn: list[Figure]) -> None:
    logs = [write_log(tmp_path, "grid-dynamic", [0.1], completed=1)]
    logs.append(write_log(tmp_path, "block-eyes-seed-0", [0.9]))
    assert not learning_curves(logs, tmp_path / "figure.png", of="skills")
    assert drawn == []


@pytest.mark.parametrize(
    ("stem", "named"),
    [
        ("grid-dynamic", ("grid", "dynamic")),
        ("block-skill-independent-seed-12", ("block", "skill-independent")),
        ("garden-dynamic-seed-0", ("", "garden-dynamic")),
    ],
)
def test_names_of_logs(stem: str, named: tuple[str, str]) -> None:
    assert _named(stem) == named


def test_the_mean_is_where_all_runs_were_validated() -> None:
    frames, mean = mean_curve([[(0.0, 0.0), (4.0, 1.0)], [(1.0, 0.5), (3.0, 0.5), (9.0, 1.0)]])
    assert (frames[0], frames[-1]) == (1.0, 4.0)
    assert mean[0] == pytest.approx((0.25 + 0.5) / 2)
    assert mean[-1] == pytest.approx((1.0 + 0.5 + 0.5 / 6) / 2)
    assert np.all(np.diff(mean) >= 0)
