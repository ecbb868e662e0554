"""`errands run`: what it prints, what it writes and how it ends."""

import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from rich.console import Console

from errands.agents import load as agents
from errands.cli import main
from errands.commands import run as run_module
from errands.evaluation.explain import Cause
from twins.untrained import save_untrained, ship_untrained

LIST = "pick up the pig, visit box"


@pytest.fixture(autouse=True)
def planners_only(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without shipped agents a planner acts, who never fails."""
    monkeypatch.setattr(agents, "PRETRAINED", tmp_path_factory.mktemp("pretrained"))


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
    assert said.splitlines() == [
        "gave up: 0 of 2 instructions in 1 steps, reward -0.10",
        "Time ran out at 'pick up pig', number 1 of 2, after 1 step at it.",
    ]


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


def test_a_film_is_written_as_its_name_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    encoder = tmp_path / "ffmpeg"
    encoder.write_text('#!/bin/sh\ncat > /dev/null\nfor last; do :; done\necho film > "$last"\n')
    encoder.chmod(0o755)
    monkeypatch.setattr("errands.worlds.film.mp4_encoder", lambda: str(encoder))
    film = tmp_path / "errand.mp4"
    assert main(["run", "visit", "pig", "--gif", str(film)]) == 0
    assert film.read_text() == "film\n"
    assert f"wrote {film}" in capsys.readouterr().out
    monkeypatch.setattr("errands.worlds.film.mp4_encoder", lambda: None)
    for name, hint in (("other.mp4", "an MP4 needs ffmpeg"), ("x.webm", "ends in .gif or .mp4")):
        assert main(["run", "visit pig", "--gif", str(tmp_path / name)]) == 2
        assert hint in capsys.readouterr().err
        assert not (tmp_path / name).exists()


def test_quotes_are_optional_and_the_reading_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "visit", "pig", "--seed", "7"]) == 0
    unquoted = capsys.readouterr().out
    assert main(["run", "visit pig", "--seed", "7"]) == 0
    assert capsys.readouterr().out == unquoted
    assert main(["run", "visit pig", "visit box", "--quiet"]) == 0
    assert main(["run", "--seed", "7", "Please", "go", "to", "the", "pig,", "the", "box"]) == 0
    assert capsys.readouterr().out.startswith("understood as: visit pig, visit box\nstep ")
    assert main(["run"]) == 2
    assert "no instruction found; write one such as 'visit cow'" in capsys.readouterr().err


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
        (["visit pig", "--agent", "dynamic"], "no agent 'dynamic' is shipped for --world grid"),
        (["visit pig", "--weights", "nowhere"], "is this the folder of an agent"),
        (["visit pig", "--seed", "-1"], "--seed -1"),
        (["visit pig", "--fps", "0"], "--fps"),
        (["visit pig", "--fps", "nan"], "--fps"),
        (["visit pig", "--length-limit", "0"], "--length-limit"),
        (["visit pig", "--gif", "no/such/folder/a.gif"], "no folder"),
        (["visit pig", "--gif", "-"], "--gif - is no file"),
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


THOUGHT = {"pointer", "shift", "shifted", "update", "updated", "subtask", "termination"}


@pytest.fixture
def dynamic_is_shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    ship_untrained(tmp_path / "package", "dynamic")
    monkeypatch.setattr(agents, "PRETRAINED", tmp_path / "package")


@pytest.mark.usefixtures("dynamic_is_shipped")
def test_a_trained_agent_is_the_default_and_tells_what_it_thinks(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["run", LIST, "--length-limit", "9", "--json", "-"]) in (0, 1)
    record = json.loads(capsys.readouterr().out)
    assert record["agent"] == "dynamic"
    for step in record["trace"]:
        thought = step["thought"]
        assert set(thought) == THOUGHT
        assert len(thought["pointer"]) == 2
        assert sum(thought["pointer"]) == pytest.approx(1, abs=1e-3)
        assert sum(thought["shift"]) == pytest.approx(1, abs=1e-3)
        assert thought["subtask"].startswith(("visit", "pick up", "transform"))
    first = record["trace"][0]["thought"]
    assert first["updated"] is True
    assert first["pointer"] == [1.0, 0.0]


@pytest.mark.usefixtures("dynamic_is_shipped")
def test_one_sentence_says_why_a_trained_agent_failed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "trace.json"
    assert main(["run", LIST, "--length-limit", "9", "--json", str(path)]) == 1
    failure = json.loads(path.read_text())["failure"]
    assert failure["cause"] in list(Cause)
    said = capsys.readouterr().out.splitlines()
    assert said[-3].startswith("gave up: ")
    assert said[-2] == failure["sentence"]
    assert said[-2].endswith("wrong decisions." if failure["cause"] == "clock" else "lost.")


@pytest.mark.usefixtures("dynamic_is_shipped")
def test_a_verb_that_the_agent_never_learned_is_named_before_it_acts(
    capsys: pytest.CaptureFixture[str],
) -> None:
    options = ["--length-limit", "1"]
    main(["run", "use the pig, visit box", *options])
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("understood as: interact with pig")
    assert said[1] == (
        "dynamic never learned 'interact with', so expect this to fail; "
        "planners can do it (--agent near-optimal)"
    )
    for arguments in (["use the pig", "--agent", "near-optimal"], [LIST], ["use pig", "--quiet"]):
        main(["run", *arguments, *options])
        assert "never learned" not in capsys.readouterr().out


def test_planners_have_no_thoughts_to_tell(capsys: pytest.CaptureFixture[str]) -> None:
    main(["run", LIST, "--json", "-"])
    record = json.loads(capsys.readouterr().out)
    assert record["agent"] == "near-optimal"
    assert record["success"]
    assert record["failure"] is None
    assert "thought" not in record["trace"][0]


@pytest.mark.usefixtures("dynamic_is_shipped")
def test_flat_runs_without_subtasks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save_untrained(tmp_path / "mine", "flat")
    options = ["--weights", str(tmp_path / "mine"), "--length-limit", "3", "--json", "-"]
    main(["run", LIST, *options])
    record = json.loads(capsys.readouterr().out)
    assert record["agent"] == "flat"
    assert {step["thought"]["subtask"] for step in record["trace"]} == {""}


@pytest.mark.usefixtures("dynamic_is_shipped")
def test_a_terminal_shows_what_the_agent_thinks(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def terminal(**options: Any) -> Console:
        return Console(force_terminal=True, width=100, height=40, **options)

    monkeypatch.setattr("rich.console.Console", terminal)
    main(["run", LIST, "--fps", "60", "--length-limit", "4"])
    said = capsys.readouterr().out
    assert "◂ 100%" in said
    assert "subtask " in said
    assert "updates, pointer +0" in said
