"""Which agent a command line means: a planner, an agent that is shipped, or one from a run."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from errands.agents.registry import AGENTS, ALWAYS_THERE, FAVOURITE, named
from errands.commands.problem import Problem

if TYPE_CHECKING:
    from errands.agents.load import TrainedAgent
    from errands.evaluation.episodes import Policy
    from errands.worlds.vector import Worlds

# The help of --agent, wherever an agent is to act.
WHO_ACTS = (
    f"Which agent acts: {', '.join(named('trained')[:-1])} or {named('trained')[-1]}, where they "
    f"are shipped; or {' or '.join(named('planner'))}, planners that see the whole state."
)

DEFAULT_AGENT = f"(default: {FAVOURITE} if shipped, or {ALWAYS_THERE})"


@dataclass(frozen=True)
class Actor:
    """An agent that is ready to act."""

    name: str
    make_policy: "Callable[[Worlds], Policy]"  # with a fresh memory, for a batch of worlds
    soft: bool = False  # whether it updates softly, where it was trained
    training: dict[str, Any] | None = None  # where a trained agent comes from


def default_agent(world: str) -> str:
    """The trained agent where one is shipped, else a planner."""
    from errands.agents.load import shipped_agents

    return FAVOURITE if f"{world}/{FAVOURITE}" in shipped_agents() else ALWAYS_THERE


def choose_actor(
    world: str, agent: str | None, weights: Path | None = None, *, soft: bool = False
) -> Actor:
    """Find the agent, or say in one line why there is none.

    `soft` asks for soft updates from an agent that learned hard ones last.
    """
    from errands.evaluation.episodes import agent_named

    if weights is not None:
        return _from_run(world, agent, weights, soft=soft)
    name = agent or default_agent(world)
    try:
        make_policy = agent_named(name)
    except ValueError as error:
        raise Problem(str(error)) from None
    if AGENTS[name].sort == "planner":
        if soft:
            raise Problem(f"--soft is for trained agents, and {name} is a planner; drop it")
        return Actor(name, make_policy)
    return _trained(_shipped(world, name), soft=soft)


def _shipped(world: str, name: str) -> "TrainedAgent":
    from errands.agents.load import load_hierarchy, shipped_agents
    from errands.files import DamagedFile

    if f"{world}/{name}" not in shipped_agents():
        raise Problem(
            f"no agent '{name}' is shipped for --world {world}; take --agent {ALWAYS_THERE}, or "
            f"train one (errands train meta --world {world} --out FOLDER) and name its --weights"
        )
    try:
        return load_hierarchy(f"{world}/{name}")
    except (ValueError, FileNotFoundError, DamagedFile) as error:
        raise Problem(f"{error}; take --agent {ALWAYS_THERE}") from None


def _from_run(world: str, agent: str | None, weights: Path, *, soft: bool) -> Actor:
    from errands.agents.load import load_hierarchy
    from errands.files import DamagedFile

    try:
        trained = load_hierarchy(weights)
    except (ValueError, FileNotFoundError, DamagedFile) as error:
        raise Problem(f"{error}; train one with errands train meta --out FOLDER") from None
    learned = trained.description["training"]
    check_world(weights, learned["world"], world)
    actor = _trained(trained, soft=soft)
    if agent not in (None, actor.name, learned["agent"]):
        raise Problem(f"{weights} holds the agent '{actor.name}', not '{agent}'; drop --agent")
    return actor


def check_world(weights: Path, learned: str, world: str) -> None:
    """Refuse weights of another world than the one that was asked for."""
    from errands.worlds.spec import WORLDS

    if learned not in WORLDS:
        raise Problem(
            f"{weights} was trained for '{learned}', a world of your own, which commands do not "
            "know; use it from Python, as in docs/own-world.md"
        )
    if learned != world:
        raise Problem(f"{weights} was trained for --world {learned}; ask for that one")


def _trained(trained: "TrainedAgent", *, soft: bool) -> Actor:
    from errands.evaluation.hierarchies import HierarchyPolicy

    description = trained.description
    learned = description["training"]
    learned_soft = bool(description.get("soft"))
    soft = soft or learned_soft
    facts = {key: learned[key] for key in ("agent", "preset", "analogy", "seed")}
    facts |= {"soft": learned_soft} | {key: description[key] for key in ("frames", "seconds")}
    facts["hints"] = sorted(description["network"]["hints"])
    facts["total_frames"] = sum(stage["frames"] for stage in learned["stages"])
    name = trained.name.removeprefix(f"{learned['world']}/")
    return Actor(name, lambda worlds: HierarchyPolicy(trained, soft=soft), soft, facts)
