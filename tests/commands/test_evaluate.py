"""`errands evaluate instructions`: its JSON, its table and its complaints."""

import json
from pathlib import Path
from typing import Any

import pytest

from errands.cli import main

FEW = ["evaluate", "instructions", "--episodes", "12", "--seed", "5"]


def check(record: dict[str, Any], length: int) -> None:
    for name in ("success", "reward", "steps", "completed", "events", "events_used"):
        assert set(record[name]) == {"mean", "stderr"}
    assert 0 <= record["success"]["mean"] <= 1
    assert record["episodes"] == 12
    assert record["seed"] == 5
    assert record["length"] == length
    assert record["agent"] == "shortest-path"
    assert record["split"] == "unseen"
    assert record["seconds"] >= 0


@pytest.mark.parametrize("world", ["grid", "block"])
def test_json_on_standard_output_is_all_there_is(
    world: str, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--world", world, "--agent", "shortest-path", "--split", "unseen", "--length", "2"]
    assert main([*FEW, *options, "--json", "-"]) == 0
    said = capsys.readouterr()
    record = json.loads(said.out)
    check(record, 2)
    assert record["world"] == world
    assert record["success"]["mean"] == 1


def test_several_lengths_make_a_list(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "result.json"
    path.write_text("what was there before")
    options = ["--agent", "shortest-path", "--split", "unseen", "--lengths", "1..2,4"]
    assert main([*FEW, *options, "--json", str(path)]) == 0
    records = json.loads(path.read_text())
    for record, length in zip(records, (1, 2, 4), strict=True):
        check(record, length)
    said = capsys.readouterr().out
    assert "success" in said
    assert f"wrote {path}" in said
    assert [entry.name for entry in tmp_path.iterdir()] == ["result.json"]


def test_without_json_a_table_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*FEW, "--no-all", "--forgiving"]) == 0
    assert "100.00%" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["--agent", "shortest"], "did you mean shortest-path"),
        (["--length", "0"], "--length 0"),
        (["--length", "2", "--lengths", "1..3"], "exclude each other"),
        (["--lengths", "3..1"], "write 1..3"),
        (["--lengths", "few"], "write 1..20"),
        (["--lengths", "1..2..3"], "write 1..20"),
        (["--lengths", ""], "write 1..20"),
        (["--episodes", "0"], "--episodes 0"),
        (["--seed", "4294967296"], "--seed"),
        (["--split", "sean"], "seen"),
        (["--json", "nowhere/result.json"], "nowhere; create it first"),
    ],
)
def test_wrong_input_gets_one_line(
    arguments: list[str], hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["evaluate", "instructions", *arguments]) == 2
    said = capsys.readouterr()
    assert hint in said.err
    assert said.err.count("\n") == 1
    assert said.out == ""
