"""`errands evaluate skill`: what it measures goes by its own name, not by the options."""

import json
from pathlib import Path
from typing import Any

import pytest

from errands.cli import main
from twins.untrained import save_untrained_skill

FEW = ["evaluate", "skill", "--episodes", "4"]


@pytest.mark.parametrize(
    ("training", "options", "name"),
    [
        ({}, [], "grid/skill-independent"),
        ({"analogy": False}, [], "grid/skill-independent-no-analogy"),
        ({"analogy": False}, ["--no-analogy"], "grid/skill-independent-no-analogy"),
        (
            {"scenario": "object-dependent"},
            ["--scenario", "object-dependent"],
            "grid/skill-object-dependent",
        ),
    ],
)
def test_weights_tell_what_they_are(
    training: dict[str, Any],
    options: list[str],
    name: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    save_untrained_skill(tmp_path, **training)
    assert main([*FEW, "--weights", str(tmp_path), *options, "--json", "-"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["agent"] == name
    assert record["training"]["analogy"] == training.get("analogy", True)


@pytest.mark.parametrize(
    ("options", "hint"),
    [
        (["--no-analogy"], "was trained with analogies; drop --no-analogy"),
        (["--world", "block"], "was trained for --world grid"),
        (["--scenario", "object-dependent"], "--scenario independent; ask for that one"),
    ],
)
def test_options_that_contradict_the_weights_get_one_line(
    options: list[str], hint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save_untrained_skill(tmp_path)
    assert main([*FEW, "--weights", str(tmp_path), *options]) == 2
    said = capsys.readouterr()
    assert hint in said.err
    assert said.err.count("\n") == 1
    assert said.out == ""


def test_a_world_of_ones_own_is_measured_from_python(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save_untrained_skill(tmp_path, world="garden")
    assert main([*FEW, "--weights", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert "'garden', a world of your own" in said
    assert "docs/own-world.md" in said
    assert said.count("\n") == 1
