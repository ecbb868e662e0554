"""Agent files of older formats are lifted to today's. `format1` holds some as they were shipped."""

import json
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from errands.agents.files import AGENT, WEIGHTS, network_from
from errands.agents.formats import FORMAT, lift, lift_network, lift_training
from errands.agents.load import PRETRAINED, load, shipped_agents
from errands.agents.meta import MetaController, MetaNetwork
from errands.agents.skill import SkillNetwork
from golden.record import answers_of_agent, answers_of_skill, read

OLD = {path.stem.replace("-", "/", 1): path for path in Path(__file__).parent.glob("format1/*")}
REPLACED = "block/dynamic"  # by an agent with a map: only the description of the first one is left
STILL_SHIPPED = [name for name in OLD if name != REPLACED]
NETWORKS = {"skill": SkillNetwork, "meta": MetaNetwork}


def old(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(OLD[name].read_text())
    assert "format" not in found
    return found


@pytest.mark.parametrize("name", STILL_SHIPPED)
def test_an_old_description_becomes_what_is_shipped_now(name: str) -> None:
    shipped = json.loads((PRETRAINED / name / AGENT).read_text())
    assert shipped.pop("sha256")
    assert lift(old(name)) == lift(shipped)


@pytest.mark.parametrize("name", shipped_agents())
def test_a_shipped_agent_has_todays_format_and_every_setting(name: str) -> None:
    shipped = json.loads((PRETRAINED / name / AGENT).read_text())
    assert shipped["format"] == FORMAT
    assert lift(shipped)["network"] == shipped["network"]
    network = network_from(NETWORKS[shipped["kind"]], shipped["network"])
    assert json.loads(json.dumps(asdict(network))) == shipped["network"]


def test_an_agent_that_saw_with_its_skills_eyes_is_lifted_to_hints() -> None:
    network = network_from(MetaNetwork, lift(old(REPLACED))["network"])
    assert (network.eyes, network.maps) == ("skill", None)
    assert set(network.hints) == {"head-start", "grounding", "reminder", "tally"}
    assert MetaController(network).context.recurrent


@pytest.mark.parametrize("name", STILL_SHIPPED)
def test_an_agent_of_format_1_still_acts_as_it_did(name: str, tmp_path: Path) -> None:
    """Its weights have no checksum there, and its skill is found by name."""
    (tmp_path / AGENT).write_bytes(OLD[name].read_bytes())
    (tmp_path / WEIGHTS).symlink_to(PRETRAINED / name / WEIGHTS)
    agent, seen = load(tmp_path), read(f"observations/{name.split('/')[0]}")
    answer = answers_of_skill if "skill" in name else answers_of_agent
    answers, expected = answer(agent, seen), read(name)  # type: ignore[arg-type]
    for part in expected:
        np.testing.assert_allclose(answers[part], expected[part], atol=1e-4, err_msg=part)


@pytest.mark.parametrize("name", OLD)
def test_every_setting_is_in_the_file(name: str) -> None:
    description = lift(old(name))
    kind = NETWORKS[description["kind"]]
    assert set(description["network"]) == {field.name for field in fields(kind)}
    assert network_from(kind, description["network"])


@pytest.mark.parametrize("name", ["block/skill-independent", "block/dynamic"])
def test_a_runs_configuration_is_lifted_as_well(name: str) -> None:
    lifted = lift_training(old(name)["training"])
    kind = NETWORKS[old(name)["kind"]]
    today = json.loads(json.dumps(asdict(network_from(kind, lifted["network"]))))
    assert lifted["network"] == today
    assert lift_training(lifted) == lifted


def test_what_older_files_do_not_mention_is_as_it_was_then() -> None:
    network = lift_network("meta", {"hints": {}})
    assert (network["threshold"], network["sharpness"]) == (0.5, 1.0)
    assert lift_network("meta", {"hints": {}, "threshold": 0.1})["threshold"] == 0.1
    assert lift_training({"scenario": "independent"})["walls"] == 0.0
