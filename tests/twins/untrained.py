"""Agents that have learned nothing, saved as trained ones are: enough to see that they are used."""

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch

from errands.agents.files import save_agent
from errands.agents.meta import MetaController
from errands.agents.skill import Skill
from errands.presets import meta_training
from twins.training import tiny


def save_untrained(folder: Path, agent: Any = "dynamic", world: Any = "grid", **facts: Any) -> None:
    """A small agent in a folder; `facts` change what it says of itself."""
    training = meta_training(world, agent, "debug")
    small = replace(training.network, sentence=8, condition=8, hidden=8, factors=8, embedding=8)
    training = replace(training, network=small)
    torch.manual_seed(0)
    description = {
        "kind": "meta",
        "network": asdict(small),
        "skill": training.skill,
        "soft": False,
        "training": asdict(training),
        "frames": 1000,
        "seconds": 90.0,
    }
    save_agent(folder, MetaController(small), description | facts)


def save_untrained_skill(folder: Path, **changes: Any) -> None:
    """A small skill in a folder; `changes` are those of its training."""
    training = replace(tiny(), **changes)
    torch.manual_seed(0)
    description = {
        "kind": "skill",
        "network": asdict(training.network),
        "training": asdict(training),
        "frames": 1000,
        "seconds": 90.0,
    }
    save_agent(folder, Skill(training.network), description)


def ship_untrained(package: Path, *agents: str) -> None:
    """A folder of shipped agents: these untrained ones, and the grid's trained skill."""
    from errands.agents.load import PRETRAINED

    (package / "grid").mkdir(parents=True)
    skill = Path("grid", "skill-independent")
    (package / skill).symlink_to(PRETRAINED / skill)
    for agent in agents:
        save_untrained(package / "grid" / agent, agent)
