"""Trained agents, by name from the package or from the folder of one's own run."""

from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from torch import nn

from errands.agents.hierarchy import Hierarchy
from errands.agents.meta import MetaController, MetaNetwork
from errands.agents.skill import Skill, SkillNetwork, build_skill
from errands.language.vocabulary import suggest
from errands.learning.checkpoint import AGENT, DamagedFile, load_agent

PRETRAINED = Path(str(files("errands"))) / "pretrained"


@dataclass(frozen=True)
class TrainedSkill:
    """A skill, and where it comes from."""

    skill: Skill
    description: dict[str, Any]  # network, training, frames, seconds


class TrainedAgent(Hierarchy):
    """An agent that executes lists of instructions, and where it comes from."""

    def __init__(self, meta: MetaController, skill: Skill | None, description: dict[str, Any]):
        super().__init__(meta, skill)
        self.description = description  # network, training, frames, seconds


def shipped_agents() -> tuple[str, ...]:
    """Names of the agents in the package, such as "grid/skill-independent"."""
    found = (path.parent.relative_to(PRETRAINED) for path in PRETRAINED.glob(f"*/*/{AGENT}"))
    return tuple(sorted(path.as_posix() for path in found))


def load(name: str | Path, device: str = "cpu") -> TrainedSkill | TrainedAgent:
    """A shipped agent by name ("grid/dynamic"), or one from a run's folder (a Path)."""
    folder = name if isinstance(name, Path) else PRETRAINED / name
    if not isinstance(name, Path) and name not in shipped_agents():
        known = shipped_agents()
        hint = suggest(name, known) if known else "there are none yet"
        raise ValueError(f"no agent '{name}' is shipped; {hint}")
    weights, description = load_agent(folder)
    try:
        model: nn.Module
        if description["kind"] == "skill":
            model = build_skill(SkillNetwork(**description["network"]))
        elif description["kind"] == "meta":
            model = MetaController(MetaNetwork(**description["network"]))
        else:
            raise ValueError(
                f"it is a {description['kind']}, neither a skill nor a meta controller"
            )
        model.load_state_dict(weights)
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        reason = " ".join(str(error).split())
        raise DamagedFile(f"the agent in '{folder}' cannot be rebuilt: {reason}") from error
    model = model.to(device).eval()
    if isinstance(model, Skill):
        return TrainedSkill(model, description)
    assert isinstance(model, MetaController)
    skill = None if model.network.flat else load_skill(description["skill"], device)
    return TrainedAgent(model, skill, description)


def load_skill(name: str | Path, device: str = "cpu") -> Skill:
    """The skill of that name, or in that folder."""
    found = load(name, device)
    if not isinstance(found, TrainedSkill):
        raise ValueError(f"'{name}' is not a skill")
    return found.skill


def load_hierarchy(name: str | Path, device: str = "cpu") -> TrainedAgent:
    """The agent of that name, or in that folder, that executes lists."""
    found = load(name, device)
    if not isinstance(found, TrainedAgent):
        raise ValueError(f"'{name}' is a skill: it does subtasks, not lists")
    return found
