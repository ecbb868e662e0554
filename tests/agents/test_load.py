"""Trained agents come back as they were, and whatever is wrong with them is told in one line."""

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import errands
from errands.agents import load as agents
from errands.agents.files import AGENT, save_agent
from errands.agents.hierarchy import Hierarchy, HierarchyState, Trace
from errands.agents.meta import MetaNetwork
from errands.agents.skill import Skill, SkillNetwork
from errands.files import DamagedFile
from errands.worlds.spec import WORLDS
from errands.worlds.tasks import list_tasks
from errands.worlds.vector import Worlds
from twins.meta import FORMS, SMALL_MAP, randomised

SMALL = SkillNetwork(embedding=6, conv1=3, conv2=4, conv3=5, hidden=8, factors=7, lstm=9)
NETWORKS = [
    SMALL,
    replace(SMALL, view="pooled", counted=True),
    replace(SMALL, world="block", objects=7, actions=9),
    replace(SMALL, world="block", objects=7, actions=9, maps=SMALL_MAP),
]


LEARNED = {"world": "grid", "analogy": True, "preset": "fast", "seed": 0}


def save(folder: Path, network: SkillNetwork) -> Skill:
    torch.manual_seed(0)
    skill = Skill(network)
    learned = LEARNED | {"scenario": "independent", "teacher": "planner"}
    description = {"kind": "skill", "network": asdict(network), "frames": 3, "seconds": 1.5}
    save_agent(folder, skill, description | {"training": learned})
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


def test_the_folder_of_a_run_may_be_text(
    shipped: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    (shipped / "grid/skill-independent").rename(tmp_path / "x")
    assert agents.load("x").skill.network == SMALL
    assert agents.load(str(tmp_path / "x")).skill.network == SMALL
    with pytest.raises(ValueError, match="it is no folder of a run"):
        agents.load("y")


@pytest.mark.parametrize("name", agents.shipped_agents())
def test_the_name_of_a_shipped_agent_follows_from_what_it_learned(name: str) -> None:
    assert agents.load(name).name == name


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
    with pytest.raises(DamagedFile, match=r"is damaged|cannot be rebuilt"):
        agents.load(tmp_path)


def test_only_load_is_looked_up_late() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'lode'"):
        _ = errands.lode


# Agents that execute lists

BLOCK_SKILL = NETWORKS[2]
AGENTS = ["dynamic", "long", "flat", "paper", "block", "block, flat", "map"]


def save_meta(folder: Path, network: MetaNetwork, skill: str) -> Hierarchy:
    """Save a meta controller; returns it with a skill as `save` makes it."""
    meta = randomised(network)
    learned = LEARNED | {"agent": "dynamic", "stages": [{"frames": 10}]}
    description = {"kind": "meta", "network": asdict(network), "skill": skill, "frames": 5}
    save_agent(folder, meta, description | {"seconds": 1.5, "training": learned})
    torch.manual_seed(0)
    return Hierarchy(meta, None if network.flat else Skill(skill_for(network)).eval())


def skill_for(network: MetaNetwork) -> SkillNetwork:
    return SMALL if network.world == "grid" else replace(BLOCK_SKILL, maps=network.maps)


def traces(agent: Hierarchy, steps: int = 6) -> list[Trace]:
    spec = WORLDS[agent.meta.network.world]
    worlds = Worlds(spec, 3, list_tasks(spec, "train", (1, 3)))
    worlds.reset()
    state: HierarchyState | None = None
    random = torch.Generator().manual_seed(0)
    told = []
    for _ in range(steps):
        seen = {"image": worlds.images, "tokens": worlds.tokens, "mask": worlds.mask}
        trace, state = agent.act(seen, state, random=random)
        worlds.step(trace.action)
        told.append(trace)
    return told


@pytest.mark.parametrize("form", AGENTS)
def test_an_agent_comes_back_and_acts_the_same(form: str, tmp_path: Path) -> None:
    save(tmp_path / "agent" / "skill", skill_for(FORMS[form]))
    agent = save_meta(tmp_path / "agent", FORMS[form], "skill")
    loaded = errands.load(tmp_path / "agent")
    assert isinstance(loaded, agents.TrainedAgent)
    assert loaded.description["frames"] == 5
    assert loaded.meta.network == FORMS[form]
    assert not loaded.meta.training
    assert (loaded.skill is None) == FORMS[form].flat
    for one, other in zip(traces(loaded), traces(agent), strict=True):
        for name in Trace._fields:
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def test_agents_command_shipped_skills_by_name(shipped: Path) -> None:
    save_meta(shipped / "grid" / "dynamic", FORMS["dynamic"], "grid/skill-independent")
    assert "grid/dynamic" in agents.shipped_agents()
    agent = agents.load_hierarchy("grid/dynamic")
    assert agent.skill is not None
    assert agent.skill.network == SMALL


def test_skills_go_by_name_or_by_folder(
    shipped: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = replace(SMALL, hidden=9)
    save(tmp_path / "runs" / "mine", mine)
    monkeypatch.chdir(tmp_path)
    for folder in ("runs/mine", str(tmp_path / "runs" / "mine"), Path("runs/mine")):
        assert agents.load_skill(folder).skill.network == mine
    assert agents.load_skill("grid/skill-independent").skill.network == SMALL
    save(tmp_path / "elsewhere" / "grid" / "skill-independent", mine)
    monkeypatch.chdir(tmp_path / "elsewhere")  # a folder of that name does not hide the shipped one
    assert agents.load_skill("grid/skill-independent").skill.network == SMALL
    for missing in ("runs/yours", "", "grid"):
        with pytest.raises(ValueError, match="is shipped"):
            agents.load_skill(missing)


def test_skills_and_agents_are_not_mistaken_for_each_other(tmp_path: Path) -> None:
    save(tmp_path / "skill", SMALL)
    save_meta(tmp_path / "flat", FORMS["flat"], "")
    with pytest.raises(ValueError, match="is not a skill"):
        agents.load_skill(tmp_path / "flat")
    with pytest.raises(ValueError, match="it does subtasks, not lists"):
        agents.load_hierarchy(tmp_path / "skill")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"network": {**asdict(FORMS["dynamic"]), "hidden": 9}}, "size mismatch"),
        ({"network": {**asdict(FORMS["dynamic"]), "hints": {"wit": {}}}}, "unknown hint 'wit'"),
        ({"network": {**asdict(FORMS["dynamic"]), "wings": 2}}, "wings"),
        ({"skill": "grid/skill-independant"}, "did you mean grid/skill-independent"),
        ({"skill": 3}, "cannot be rebuilt"),
        ({"skill": None}, "cannot be rebuilt"),
        ({"kind": "skill"}, "cannot be rebuilt"),
    ],
)
def test_an_agent_that_cannot_be_rebuilt_is_told_in_one_line(
    changes: dict[str, Any], reason: str, shipped: Path
) -> None:
    folder = shipped / "grid" / "dynamic"
    save_meta(folder, FORMS["dynamic"], "grid/skill-independent")
    change(folder, **changes)
    with pytest.raises(DamagedFile, match=reason) as refused:
        agents.load(folder)
    assert "\n" not in str(refused.value)


def test_an_agent_without_a_word_about_its_skill(tmp_path: Path) -> None:
    save_meta(tmp_path, FORMS["dynamic"], "")
    description = json.loads((tmp_path / AGENT).read_text())
    del description["skill"]
    (tmp_path / AGENT).write_text(json.dumps(description))
    with pytest.raises(DamagedFile, match="cannot be rebuilt: its skill"):
        agents.load(tmp_path)


def test_an_agent_with_a_skill_of_another_world(tmp_path: Path) -> None:
    save(tmp_path / "agent" / "skill", BLOCK_SKILL)
    save_meta(tmp_path / "agent", FORMS["dynamic"], "skill")
    with pytest.raises(DamagedFile, match="a skill of the block world"):
        agents.load(tmp_path / "agent")


@pytest.mark.parametrize("place", ["{0}/mine", "../mine", "skill/../../mine", "./skill", "mine"])
def test_an_agent_names_no_other_folder(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever wrote it could otherwise have any folder of this machine read."""
    monkeypatch.chdir(tmp_path)
    save(tmp_path / "mine", SMALL)
    save_meta(tmp_path / "agent", FORMS["dynamic"], place.format(tmp_path))
    with pytest.raises(DamagedFile, match="neither shipped nor in its own folder"):
        agents.load(tmp_path / "agent")


def test_an_agent_is_not_its_own_skill(tmp_path: Path) -> None:
    save_meta(tmp_path, FORMS["dynamic"], "skill")
    (tmp_path / "skill").symlink_to(".")
    with pytest.raises(DamagedFile, match="in its folder 'skill' is no skill"):
        agents.load(tmp_path)
