"""The scripts in docs/examples run, here at a small size."""

import runpy
import shutil
from pathlib import Path
from typing import Any

import pytest

from errands.agents import load
from errands.evaluation.report import write_report
from errands.worlds.registration import environments

EXAMPLES = Path(__file__).parent.parent / "docs" / "examples"


def main_of(script: str) -> Any:
    return runpy.run_path(str(EXAMPLES / script))["main"]


@pytest.mark.slow
@pytest.mark.parametrize("name", environments())
def test_stable_baselines3_trains_on_a_batch(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    small = ["--steps", "360", "--worlds", "4", "--rollout", "90"]
    curve = main_of("sb3_ppo.py")(["--env", name, *small])
    assert curve.points
    assert all(0 <= success <= 1 for _, success in curve.points)
    assert "random actions: success" in capsys.readouterr().out


def test_one_file_trains_in_the_style_of_cleanrl() -> None:
    small = ["--steps", "960", "--worlds", "8", "--rollout", "60", "--epochs", "1"]
    curve = main_of("cleanrl_ppo.py")(small)
    assert [steps for steps, _ in curve] == [480, 960]
    assert all(0 <= success <= 1 for _, success in curve)


def test_an_own_agent_has_a_row_in_the_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Beside ours; trained ones have a row for each seed."""
    monkeypatch.setattr(load, "PRETRAINED", tmp_path / "nowhere")  # no figures of shipped agents
    results = tmp_path / "results"
    (results / "instructions").mkdir(parents=True)
    for path in (EXAMPLES.parents[1] / "results" / "instructions").glob("dynamic-*-4.json"):
        shutil.copy(path, results / "instructions")
    main = main_of("own_agent.py")
    small = ["--episodes", "2", "--results", str(results)]
    main(["--name", "mine", *small])
    assert "unseen, 20: success 0.0%" in capsys.readouterr().out
    learned = {"preset": "own", "analogy": True, "seed": 3, "frames": 1000, "seconds": 7200.0}
    monkeypatch.setitem(main.__globals__, "TRAINING", learned)
    main(["--name", "learner", *small])
    page, _ = write_report(results, tmp_path / "report")
    rows = [line for line in page.read_text().splitlines() if line.startswith("| grid |")]
    (mine,) = (row for row in rows if row.startswith("| grid | mine | - | - | - |"))
    assert mine.endswith("| 2 | - |")
    (learner,) = (row for row in rows if row.startswith("| grid | learner | own | 3 | - |"))
    assert learner.endswith("| 2 | 2.0 |")
    assert any(row.startswith("| grid | dynamic | fast | 0 |") for row in rows)
