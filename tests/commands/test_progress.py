"""How far a long command is, where there is no terminal."""

import pytest

from errands.commands import progress as module
from errands.commands.progress import Pace, activity, progress


def test_a_line_now_and_then(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = iter((0.0, 3.0, 11.0, 12.0, 25.0))
    monkeypatch.setattr(module.time, "monotonic", lambda: next(clock))
    with progress("episodes", 4000) as show:
        for done in (500, 1000, 1500, 4000):
            show(done)
    said = capsys.readouterr()
    assert said.err.splitlines() == ["episodes: 1,000 of 4,000", "episodes: 4,000 of 4,000"]
    assert said.out == ""


def test_a_pace_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter((0.0, 59.0, 61.0))
    monkeypatch.setattr(module.time, "monotonic", lambda: next(clock))
    pace = Pace(60.0)
    assert [pace.due(), pace.due()] == [False, True]


def test_what_is_going_on(capsys: pytest.CaptureFixture[str]) -> None:
    with activity("measuring") as say:
        say("measuring more")
    assert capsys.readouterr().err.splitlines() == ["measuring", "measuring more"]
