"""Runs that began with earlier code. `format2` is one of them, stopped before its last iteration,
and the weights that it ended with when the code of that time resumed it.
"""

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor

from errands.agents.files import network_from
from errands.agents.formats import lift_training, names_of_weights, renamed
from errands.agents.memory import leaves, restored
from errands.agents.meta import MetaController, MetaNetwork
from errands.agents.recogniser import MapNetwork
from errands.agents.skill import Skill, SkillMemory, SkillNetwork
from errands.learning.old_runs import lift_checkpoint
from errands.presets import meta_training
from errands.stages.meta import MetaTrainer
from errands.stages.run import iterate
from twins.meta import BLOCK
from twins.training import tiny_meta

OLD = Path(__file__).parent / "format2"


def test_a_run_of_format_2_ends_as_it_would_have_ended() -> None:
    """Its skill is kept beside it: the shipped one is replaced from time to time."""
    config = lift_training(json.loads((OLD / "config.json").read_text()))
    config["skill"] = str(OLD / "skill")
    network = network_from(MetaNetwork, config["network"])
    trainer = MetaTrainer(replace(tiny_meta(skill=config["skill"]), network=network))
    assert json.loads(json.dumps(asdict(trainer.training))) == config
    assert trainer.resume(OLD) == []
    assert trainer.iteration == 5
    while not trainer.finished:
        iterate(trainer)
    names = names_of_weights("meta", config["network"])
    weights = trainer.model.state_dict()
    for name, value in load_file(OLD / "end.safetensors").items():
        torch.testing.assert_close(weights[renamed(name, names)], value, rtol=1e-4, atol=1e-5)


def test_what_today_writes_is_left_alone() -> None:
    model = MetaController(meta_training("grid", "dynamic").network)
    parts = {"model": model.state_dict(), "average": model.state_dict(), "rollout": {}}
    assert lift_checkpoint(parts, model) is parts
    line = torch.nn.Linear(2, 3)
    others = {"model": line.state_dict()}
    assert lift_checkpoint(others, line) is others


SKILLS = {
    "grid": SkillNetwork(embedding=6, conv2=4, hidden=8, factors=7),
    "counted": SkillNetwork(embedding=6, conv2=4, hidden=8, factors=7, counted=True),
    "pooled": SkillNetwork(embedding=6, conv2=4, conv3=4, hidden=8, factors=7, view="pooled"),
    "block": SkillNetwork(world="block", objects=7, actions=9, embedding=6, factors=7, lstm=9),
    "map": SkillNetwork(world="block", objects=7, actions=9, maps=MapNetwork(), hidden=8),
}
# What skills carried from step to step, in the order of that time.
CARRIED = {
    "grid": ("sight.0", "counted.0"),
    "counted": ("sight.0", "counted.0"),
    "pooled": ("sight.0", "counted.0"),
    "block": ("h", "context.0", "sight.0"),
    "map": ("counted.0",),
}


@pytest.mark.parametrize("form", SKILLS)
def test_what_skills_carried_finds_its_place(form: str) -> None:
    network, random = SKILLS[form], torch.Generator().manual_seed(0)
    skill = Skill(network)
    start = skill.initial_memory(3)
    names = {new: old for old, new in names_of_weights("skill", asdict(network)).items()}
    weights = {renamed(name, names): value for name, value in skill.state_dict().items()}
    assert weights.keys() != skill.state_dict().keys()
    today = dict(leaves(start, "memory"))
    memory: dict[str, Tensor] = {}
    for k, place in enumerate(CARRIED[form]):
        like = today.get(f"memory.{place}", torch.zeros(3))
        value = torch.randint(9, like.shape, generator=random).to(like.dtype)
        if place == "sight.0" and form != "block":  # planes of the map
            value = value.transpose(1, 2).reshape(3, -1, 10, 10)
        memory[f"memory.{k}"] = value
    parts = {"model": weights, "average": weights, "rollout": memory | {"begins": torch.ones(3)}}
    lifted = lift_checkpoint(parts, skill)
    skill.load_state_dict(lifted["model"])
    skill.load_state_dict(lifted["average"])
    assert "begins" in lifted["rollout"]
    after = SkillMemory(*restored(start, lifted["rollout"], "memory"))
    for k, place in enumerate(CARRIED[form]):
        if f"memory.{place}" not in today:
            continue  # a count that nobody needed
        value, now = memory[f"memory.{k}"], dict(leaves(after, "memory"))[f"memory.{place}"]
        if value.dim() == 4:
            assert torch.equal(skill.see(value), now)
        else:
            assert torch.equal(value, now)


def test_an_optimizer_keeps_its_moments_with_their_parameters() -> None:
    """Numbered by their place in the old model, they say by their shapes where they belong."""
    sizes = {"embedding": 64, "hidden": 6, "sentence": 7, "condition": 9, "factors": 5}
    network = replace(BLOCK, eyes="skill", **sizes)
    model = MetaController(network)
    names = names_of_weights("meta", asdict(network))
    then = {new: old for old, new in names.items()}
    weights = {renamed(name, then): value for name, value in model.state_dict().items()}
    first = ["words", "update_start", "shift_start", "embedding.factors.0", "embedding.factors.1"]
    shapes = {name: value.shape for name, value in weights.items()}
    moments = {f"{k}.exp_avg": torch.full(shapes[name], float(k)) for k, name in enumerate(first)}
    parts = {"model": weights, "average": weights, "optimizer": moments, "rollout": {}}
    lifted = lift_checkpoint(parts, model)["optimizer"]
    today = [name for name, _ in model.named_parameters()]
    for k, name in enumerate(first):
        place = today.index(renamed(name, names))
        assert torch.equal(lifted[f"{place}.exp_avg"], moments[f"{k}.exp_avg"]), name
