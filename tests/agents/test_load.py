"""Trained agents come back as they were, and whatever is wrong with them is told in one line."""

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
import torch

import errands
from errands.agents import load as agents
from errands.agents.skill import Skill, SkillNetwork, build_skill
from errands.learning.checkpoint import AGENT, DamagedFile, save_agent

SMALL = SkillNetwork(embedding=6, conv1=3, conv2=4, conv3=5, hidden=8, factors=7, lstm=9)
NETWORKS = [
    SMALL,
    replace(SMALL, view="pooled", counted=True),
    replace(SMALL, world="block", objects=7, actions=9),
]


def save(folder: Path, network: SkillNetwork) -> Skill:
    torch.manual_seed(0)
    skill = build_skill(network)
    save_agent(folder, skill, {"kind": "skill", "network": asdict(network), "frames": 3})
    return skill


@pytest.fixture
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package with two agents."""
    monkeypatch.setattr(agents, "PRETRAINED", tmp_path)
    for name in ("skill-independent", "skill-object-dependent"):
        save(tmp_path / "grid" / name, SMALL)
    return tmp_path


def change(folder: Path, **changes: Any) -> None:
    description = json.loads((folder / AGENT).read_text())
    (folder / AGENT).write_text(json.dumps({**description, **changes}))


@pytest.mark.parametrize("network", NETWORKS)
def test_a_skill_comes_back_as_it_was(network: SkillNetwork, tmp_path: Path) -> None:
    skill = save(tmp_path, network)
    loaded = errands.load(tmp_path)
    assert loaded.description["frames"] == 3
    assert loaded.skill.network == network
    assert not loaded.skill.training
    expected = skill.state_dict()
    assert loaded.skill.state_dict().keys() == expected.keys()
    for name, value in loaded.skill.state_dict().items():
        assert torch.equal(value, expected[name])


def test_shipped_skills_go_by_name(shipped: Path) -> None:
    names = ("grid/skill-independent", "grid/skill-object-dependent")
    assert agents.shipped_agents() == names
    assert agents.load(names[0]).skill.network == SMALL
    with pytest.raises(ValueError, match="did you mean grid/skill-independent") as refused:
        agents.load("grid/skill-independant")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("name", ["", ".", "grid", "../grid/skill-independent", "/etc"])
def test_names_are_no_paths(name: str, shipped: Path) -> None:
    with pytest.raises(ValueError, match="is shipped"):
        agents.load(name)


def test_a_folder_without_an_agent(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="is this the folder of an agent"):
        agents.load(tmp_path)


@pytest.mark.parametrize(
    "changes",
    [
        {"kind": "meta controller"},
        {"network": {}},  # the default network is larger
        {"network": {**asdict(SMALL), "hidden": 9}},
        {"network": {**asdict(SMALL), "wings": 2}},
        {"network": {**asdict(SMALL), "hidden": "eight"}},
        {"network": 3},
    ],
)
def test_what_cannot_be_rebuilt_is_told_in_one_line(
    changes: dict[str, Any], tmp_path: Path
) -> None:
    save(tmp_path, SMALL)
    change(tmp_path, **changes)
    with pytest.raises(DamagedFile, match="cannot be rebuilt") as refused:
        agents.load(tmp_path)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("content", ["[]", "3", "{}", '{"kind": "skill"}'])
def test_a_description_of_something_else(content: str, tmp_path: Path) -> None:
    save(tmp_path, SMALL)
    (tmp_path / AGENT).write_text(content)
    with pytest.raises(DamagedFile, match="cannot be rebuilt"):
        agents.load(tmp_path)


def test_only_load_is_looked_up_late() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'lode'"):
        _ = errands.lode
