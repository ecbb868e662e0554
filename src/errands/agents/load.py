"""Trained agents, by name from the package or from the folder of a run."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from errands.agents.files import AGENT, network_from, read_description, rebuild
from errands.agents.formats import names_of_weights
from errands.agents.hierarchy import Hierarchy
from errands.agents.mapping import MapEyes
from errands.agents.meta import MetaController, MetaNetwork
from errands.agents.recogniser import MapNetwork, Recogniser
from errands.agents.skill import Skill, SkillNetwork
from errands.files import DamagedFile
from errands.language.vocabulary import suggest
from errands.records import one_line

PRETRAINED = Path(str(files("errands"))) / "pretrained"
OWN_SKILL = "skill"  # folder of an agent's own skill, in the agent's folder


@dataclass(frozen=True)
class TrainedSkill:
    """A skill, and where it comes from."""

    skill: Skill  # the network
    description: dict[str, Any]  # network, training, frames, seconds

    @property
    def name(self) -> str:
        """What it learned: "grid/skill-independent"."""
        learned = self.description["training"]
        return skill_name(
            learned["world"],
            learned["scenario"],
            analogy=learned["analogy"],
            in_lists=learned.get("in_lists", False),
        )


class TrainedAgent(Hierarchy):
    """An agent that executes lists of instructions, and where it comes from."""

    def __init__(self, meta: MetaController, skill: Skill | None, description: dict[str, Any]):
        super().__init__(meta, skill)
        self.description = description  # network, training, frames, seconds

    @property
    def name(self) -> str:
        """What it learned: "grid/dynamic", or "grid/dynamic-soft" if no hard updates."""
        learned = self.description["training"]
        analogy = "" if learned["analogy"] else "-no-analogy"
        soft = "-soft" if self.description.get("soft") else ""
        return f"{learned['world']}/{learned['agent']}{analogy}{soft}"


def skill_name(world: str, scenario: str, *, analogy: bool, in_lists: bool = False) -> str:
    """How a skill is called: "grid/skill-independent"."""
    lists = "-in-lists" if in_lists else ""
    return f"{world}/skill-{scenario}{lists}" + ("" if analogy else "-no-analogy")


def shipped_agents() -> tuple[str, ...]:
    """Names of the agents in the package, such as "grid/skill-independent"."""
    found = (path.parent.relative_to(PRETRAINED) for path in PRETRAINED.glob(f"*/*/{AGENT}"))
    return tuple(sorted(path.as_posix() for path in found))


def load(name: str | Path, device: str = "cpu") -> TrainedSkill | TrainedAgent:
    """A shipped agent by name ("grid/dynamic"), or one from the folder of a run ("runs/x").

    A stranger's folder is safe to load. Nothing in it is executed or unpickled. Its JSON must have
    every field, each of its type; its weights must have the checksum, the names and the sizes that
    the JSON says, which is compared before memory is allocated. It can name no file but its own two
    and those of its skill, which is a shipped one or in the folder "skill" beside it. What does not
    fit is refused with `DamagedFile`, in one line.
    """
    if name in shipped_agents():
        folder = PRETRAINED / name
    elif isinstance(name, Path) or (Path(name) / AGENT).is_file():
        folder = Path(name)
    else:
        known = shipped_agents()
        hint = suggest(name, known) if known else "there are none yet"
        raise ValueError(f"no agent '{name}' is shipped, and it is no folder of a run; {hint}")
    description = read_description(folder)
    with _rebuilding(folder):
        kind, settings = description["kind"], description["network"]
        if kind == "skill":
            skill_network = network_from(SkillNetwork, settings)
            names = names_of_weights(kind, settings)
            skill = rebuild(folder, lambda: Skill(skill_network), names)
            return TrainedSkill(skill.to(device).eval(), description)
        if kind == "meta":
            meta_network = network_from(MetaNetwork, settings)
            names = names_of_weights(kind, settings)
            meta = rebuild(folder, lambda: MetaController(meta_network), names)
            commanded = None if meta_network.flat else _commanded(folder, description, device)
            return TrainedAgent(meta.to(device).eval(), commanded, description)
        raise ValueError(f"it is a {kind}, neither a skill nor a meta controller")


@contextmanager
def _rebuilding(folder: Path) -> Iterator[None]:
    """Say in one line what is wrong with the agent in the folder."""
    try:
        yield
    except (DamagedFile, OSError):
        raise
    except Exception as error:  # whatever a network of odd sizes runs into
        reason = one_line(str(error) or type(error).__name__)
        raise DamagedFile(f"the agent in '{folder}' cannot be rebuilt: {reason}") from error


def _commanded(folder: Path, description: dict[str, Any], device: str) -> Skill:
    """The skill of the agent in that folder: a shipped one, or one that is kept beside it."""
    name = description.get("skill") or ""
    if name in shipped_agents():
        return load_skill(name, device).skill
    if name != OWN_SKILL:
        hint = suggest(name, (OWN_SKILL, *shipped_agents()))
        raise ValueError(f"its skill '{name}' is neither shipped nor in its own folder; {hint}")
    if read_description(folder / OWN_SKILL)["kind"] != "skill":  # or it could go on like that
        raise ValueError(f"in its folder '{OWN_SKILL}' is no skill")
    return load_skill(folder / OWN_SKILL, device).skill


def load_eyes(name: str | Path) -> Recogniser:
    """Trained eyes: those of a shipped skill, by name, or from the folder of a run."""
    if name in shipped_agents() or (Path(name) / AGENT).is_file():
        folder = PRETRAINED / name if name in shipped_agents() else Path(name)
        description = read_description(folder)
        settings = description["network"]
        if description["kind"] == "eyes":
            with _rebuilding(folder):
                objects = settings.pop("objects")
                network = network_from(MapNetwork, settings)
                return rebuild(folder, lambda: Recogniser(network, objects), {}).eval()
        if description["kind"] == "skill" and settings.get("maps"):
            eyes = load_skill(name).skill.eyes
            assert isinstance(eyes, MapEyes)
            return eyes.recogniser
    raise ValueError(f"'{name}' has no eyes that build a map: errands train eyes makes them")


def load_skill(name: str | Path, device: str = "cpu") -> TrainedSkill:
    """The skill of that name, or in that folder."""
    found = load(name, device)
    if not isinstance(found, TrainedSkill):
        raise ValueError(f"'{name}' is not a skill")
    return found


def load_hierarchy(name: str | Path, device: str = "cpu") -> TrainedAgent:
    """The agent of that name, or in that folder, that executes lists."""
    found = load(name, device)
    if not isinstance(found, TrainedAgent):
        raise ValueError(f"'{name}' is a skill: it does subtasks, not lists")
    return found
