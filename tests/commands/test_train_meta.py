"""`errands train meta`: skills by name or folder, what it refuses in one line, and going on."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
import torch

from errands import cli, presets
from errands.agents.fast_hints import GRID_HINTS
from errands.agents.files import save_agent
from errands.agents.skill import Skill, SkillNetwork
from errands.commands import train
from errands.commands.choices import AgentName
from errands.commands.problem import Problem
from errands.commands.train import TrainMeta
from errands.config import MetaTraining
from twins.training import ITERATION, tiny_meta

SKILL = SkillNetwork(embedding=6, conv1=3, conv2=4, hidden=8, factors=7)


@pytest.fixture(autouse=True)
def small_and_quick(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """Every run is a tiny one; returns what was asked for."""
    asked: list[Any] = []

    def preset(world: Any, agent: Any, *arguments: Any, soft: bool, **options: Any) -> MetaTraining:
        asked.append((world, agent, *arguments, options | {"soft": soft}))
        return tiny_meta(world, agent, **options)

    monkeypatch.setattr(presets, "meta_training", preset)
    return asked


def save_skill(folder: Path, **changes: Any) -> str:
    torch.manual_seed(0)
    network = SkillNetwork(**{**asdict(SKILL), **changes})
    learned = {"world": "grid", "analogy": True, "preset": "debug", "seed": 0}
    training = learned | {"scenario": "independent", "teacher": "planner", "in_lists": False}
    facts = {"frames": 0, "seconds": 0.0, "training": training}
    save_agent(folder, Skill(network), {"kind": "skill", "network": asdict(network), **facts})
    return str(folder)


@pytest.mark.slow
def test_trains_longer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert TrainMeta(tmp_path / "run", agent=AgentName("flat"), longer=1.5).execute() == 0
    assert f"done: {9 * ITERATION:,} frames" in " ".join(capsys.readouterr().err.split())
    with pytest.raises(Problem, match="--longer 0 is out of range"):
        TrainMeta(tmp_path / "other", longer=0).execute()


@pytest.mark.slow
def test_trains_with_the_skill_of_a_folder_and_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], small_and_quick: list[tuple[Any, ...]]
) -> None:
    skill = save_skill(tmp_path / "skill")
    command = TrainMeta(tmp_path / "run", no_analogy=True, skill=skill, preset="debug", seed=3)
    assert command.execute() == 0
    asked = {"analogy": False, "soft": False, "seed": 3, "skill": skill, "without": ()}
    assert small_and_quick == [("grid", "dynamic", "debug", asked)]
    said = " ".join(capsys.readouterr().err.split())
    assert f"done: {6 * ITERATION:,} frames" in said
    agent = json.loads((tmp_path / "run" / "agent.json").read_text())
    assert (agent["kind"], agent["skill"]) == ("meta", "skill")
    assert (tmp_path / "run" / "skill" / "weights.safetensors").exists()
    assert command.execute() == 0
    assert f"resuming from frame {6 * ITERATION:,}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("sizes", "hint"),
    [
        ({"objects": 5}, "a skill for 5 kinds of object cannot act in a world of 15"),
        ({"verbs": 2}, "a skill of 2 verbs cannot do all 3"),
    ],
)
def test_the_skill_of_a_smaller_world_is_refused_before_the_folder_is_made(
    sizes: dict[str, int], hint: str, tmp_path: Path
) -> None:
    skill = save_skill(tmp_path / "skill", **sizes)
    with pytest.raises(Problem, match=hint):
        TrainMeta(tmp_path / "run", preset="debug", skill=skill).execute()
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("options", "hint"),
    [
        ({"skill": "grid/skill-independant"}, "did you mean grid/skill-independent"),
        ({"skill": "grid/skill-inter-extrapolation"}, "a skill that counts"),
        ({"skill": "grid/skill-independent", "world": "block"}, "a skill of the grid world"),
        ({"skill": "runs/nowhere"}, "no agent 'runs/nowhere' is shipped"),
        ({"seed": 256}, "from 0 to 255"),
        ({"without": ("glanse",)}, "no hint 'glanse' to leave out; did you mean glance"),
        ({"without": ("tally",)}, "no hint 'tally' to leave out; expected one of head-start"),
    ],
)
def test_what_cannot_be_trained_is_told_in_one_line(
    options: dict[str, Any], hint: str, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    with pytest.raises(Problem, match=hint) as refused:
        TrainMeta(folder, preset="debug", **options).execute()
    assert "\n" not in str(refused.value)
    assert not folder.exists()


def test_hints_are_left_out_by_a_flag_that_can_be_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained: list[MetaTraining] = []
    monkeypatch.setattr(train, "run_training", lambda training, *_: trained.append(training))
    command = ["train", "meta", "--preset", "debug", "--out", str(tmp_path / "run")]
    assert cli.main([*command, "--without", "glance", "--without", "reminder"]) == 0
    left = tuple(name for name in GRID_HINTS if name not in ("glance", "reminder"))
    assert tuple(trained[0].network.hints) == left
