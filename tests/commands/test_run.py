"""`errands run`: what it prints, what it writes and how it ends."""

import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from rich.console import Console

from errands.cli import main
from errands.commands import run as run_module

LIST = "pick up the pig, visit box"


def test_away_from_a_terminal_it_prints_a_short_summary(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["run", LIST, "--seed", "7"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(": ")[2] for line in lines[:2]] == ["pick up pig", "visit box"]
    assert lines[2].startswith("done: 2 of 2 instructions in ")
    assert lines[0].startswith("step ")
    assert len(lines) == 3


def test_giving_up_is_a_failure(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", LIST, "--length-limit", "1"]) == 1
    said = capsys.readouterr().out
    assert said == "gave up: 0 of 2 instructions in 1 steps, reward -0.10\n"


def test_same_seed_same_episode(capsys: pytest.CaptureFixture[str]) -> None:
    def trace(seed: str) -> Any:
        main(["run", LIST, "--seed", seed, "--json", "-"])
        return json.loads(capsys.readouterr().out)["trace"]

    assert trace("4") == trace("4")
    assert trace("4") != trace("5")


@pytest.mark.parametrize("world", ["grid", "block"])
def test_trace_has_every_step(world: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--world", world, "--agent", "shortest-path", "--json", "-"]
    assert main(["run", "visit cat, pick up 2 pigs" if world == "block" else LIST, *arguments]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["success"] is True
    assert record["completed"] == len(record["instructions"]) == 2
    trace = record["trace"]
    assert [step["step"] for step in trace] == list(range(1, record["steps"] + 1))
    assert sum(step["reward"] for step in trace) == pytest.approx(record["reward"])
    assert trace[-1]["progress"] == 2
    assert {"action", "action_name", "row", "column"} <= trace[0].keys()


@pytest.mark.parametrize("world", ["grid", "block"])
def test_film_has_a_frame_for_every_step(
    world: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    film, trace = tmp_path / "errand.gif", tmp_path / "errand.json"
    files = ["--gif", str(film), "--json", str(trace)]
    assert main(["run", "visit pig", "--world", world, "--seed", "1", *files]) == 0
    said = capsys.readouterr().out
    assert f"wrote {film}" in said
    assert f"wrote {trace}" in said
    steps = json.loads(trace.read_text())["steps"]
    with Image.open(film) as picture:
        assert picture.format == "GIF"
        # Steps that change nothing in sight are shown as one longer frame.
        assert 1 < picture.n_frames <= steps + 1
    assert {path.name for path in tmp_path.iterdir()} == {"errand.gif", "errand.json"}


def test_long_films_are_thinned_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_module, "MOST_FRAMES", 6)
    film = tmp_path / "errand.gif"
    text = "visit pig, visit cow, visit duck, visit pig, visit cow"
    assert main(["run", text, "--gif", str(film), "--quiet"]) == 0
    with Image.open(film) as picture:
        assert picture.n_frames <= 7


def test_quiet_prints_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", LIST, "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")


def test_a_terminal_shows_the_world_live(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def terminal(**options: Any) -> Console:
        return Console(force_terminal=True, width=100, height=40, **options)

    monkeypatch.setattr("rich.console.Console", terminal)
    for world, text in (("grid", LIST), ("block", "pick up 2 pigs")):
        assert main(["run", text, "--world", world, "--fps", "60"]) == 0
        said = capsys.readouterr().out
        assert "▸ pick up" in said
        assert "✓ pick up" in said
        assert "done: " in said
        assert ("▀" in said) == (world == "block")


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["fly to pig"], "'fly' is not a verb"),
        (["visit pig", "--agent", "near-optimum"], "did you mean near-optimal"),
        (["visit pig", "--seed", "-1"], "--seed -1"),
        (["visit pig", "--fps", "0"], "--fps"),
        (["visit pig", "--fps", "nan"], "--fps"),
        (["visit pig", "--length-limit", "0"], "--length-limit"),
        (["visit pig", "--gif", "no/such/folder/a.gif"], "no folder"),
        (["visit pig", "--json", "/"], "is a folder"),
    ],
)
def test_wrong_input_gets_one_line(
    arguments: list[str], hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", *arguments]) == 2
    said = capsys.readouterr()
    assert hint in said.err
    assert said.err.count("\n") == 1
    assert said.out == ""


def test_bullets_are_instructions_not_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "- visit pig\n- visit box"]) == 0
    assert "done: 2 of 2" in capsys.readouterr().out
