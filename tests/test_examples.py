"""The scripts in docs/examples run, here at a small size."""

import runpy
from pathlib import Path
from typing import Any

import pytest

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
