"""A small version of the long comparison of kernels with their twins in random worlds."""

from collections import Counter

import pytest

from twins import differential


@pytest.mark.parametrize("first", range(0, 24, 6))
def test_random_worlds_match_their_twins(first: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert differential.main(["--seed", str(first), "--seeds", "6"]) == 0
    said = capsys.readouterr().out
    assert " in 6 random worlds" in said
    assert "0 differ" in said
    assert "done " in said


def test_a_difference_is_printed_with_its_seed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    step = differential.run_in_lockstep.__globals__["Twin"].step

    def generous(twin: object, action: str) -> float:
        return float(step(twin, action)) + 1.0

    monkeypatch.setattr("twins.world.Twin.step", generous)
    assert differential.main(["--seed", "3", "--seeds", "2"]) == 1
    said = capsys.readouterr().out
    assert "seed 3 differs" in said
    assert "2 differ (seeds 3, 4)" in said


def test_it_ends_after_so_many_episodes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(differential, "compare", lambda seed: Counter({"done": 3, "cut off": 2}))
    assert differential.main(["--episodes", "12"]) == 0
    assert capsys.readouterr().out.startswith("15 episodes in 3 random worlds")
