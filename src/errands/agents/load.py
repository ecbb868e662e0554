"""Trained agents, by name from the package or from the folder of one's own run."""

from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from errands.agents.skill import Skill, SkillNetwork, build_skill
from errands.language.vocabulary import suggest
from errands.learning.checkpoint import AGENT, DamagedFile, load_agent

PRETRAINED = Path(str(files("errands"))) / "pretrained"


@dataclass(frozen=True)
class TrainedSkill:
    """A skill, and where it comes from."""

    skill: Skill
    description: dict[str, Any]  # network, training, frames, seconds


def shipped_agents() -> tuple[str, ...]:
    """Names of the agents in the package, such as "grid/skill-independent"."""
    found = (path.parent.relative_to(PRETRAINED) for path in PRETRAINED.glob(f"*/*/{AGENT}"))
    return tuple(sorted(path.as_posix() for path in found))


def load(name: str | Path, device: str = "cpu") -> TrainedSkill:
    """A shipped agent by name ("grid/skill-independent"), or one from a run's folder (a Path)."""
    folder = name if isinstance(name, Path) else PRETRAINED / name
    if not isinstance(name, Path) and name not in shipped_agents():
        known = shipped_agents()
        hint = suggest(name, known) if known else "there are none yet"
        raise ValueError(f"no agent '{name}' is shipped; {hint}")
    weights, description = load_agent(folder)
    try:
        if description["kind"] != "skill":
            raise ValueError(f"it is a {description['kind']}, not a skill")
        skill = build_skill(SkillNetwork(**description["network"]))
        skill.load_state_dict(weights)
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        reason = " ".join(str(error).split())
        raise DamagedFile(f"the agent in '{folder}' cannot be rebuilt: {reason}") from error
    return TrainedSkill(skill.to(device).eval(), description)
