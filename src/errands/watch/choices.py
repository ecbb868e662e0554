"""What a page can choose from: worlds, the agents that exist in each, and lists drawn for it."""

from collections.abc import Callable, Mapping

import numpy as np

import errands
from errands.agents.registry import AGENTS, AgentEntry, named
from errands.evaluation.episodes import Policy, agent_named, run_episodes
from errands.language.instruction import Instruction
from errands.seeds import TEST_SEEDS
from errands.watch.protocol import Agent, Hello, Item, Refused, Story, WorldChoice
from errands.worlds.film import mp4_encoder
from errands.worlds.gym import instruction_worlds, listed
from errands.worlds.planner import NEAR_OPTIMAL
from errands.worlds.spec import WORLDS, WorldSpec
from errands.worlds.tasks import list_tasks, untrained_verbs
from errands.worlds.vector import Worlds

# Actors, by world and name: functions that make a policy, with a fresh memory, for a batch.
Agents = Mapping[str, Callable[[Worlds], Policy]]
Cast = Mapping[str, Agents]

ME = "me"
SORTS = {
    "seen": ("seen", 4),
    "unseen": ("unseen", 4),
    "long": ("unseen", 20),
    "events": ("seen", 6),
}
# Trained agents that catch next to no events, whether or not they could (results/instructions).
IGNORE_EVENTS = {"grid": ("long", "flat"), "block": ("short", "long", "flat")}  # as measured
# What a newcomer sees first, where both agents are there.
STORIES = {
    "grid": Story(
        agent="dynamic",
        rival="flat",
        list="pick up the pig, visit the box, transform all cows",
        seed=33,
        words="Two agents, the same list, the same world. Look at the ticks: Dynamic keeps its "
        "place, even after it has left the list to catch an enemy. Flat, which has no subtasks, "
        "gets lost here.",
    )
}
EVENTFUL_TRIES = 64  # worlds that are tried at once for one in which events are met
SAMPLE_SEEDS = 2**20  # sampled worlds have seeds below this, short enough for a link


def hello(cast: Cast) -> Hello:
    """All that can be chosen. Each actor takes a step first, so that no page waits to compile."""
    worlds = {}
    you = Agent(ME, "Me", "You act, with the keys.", "person")
    for name, agents in cast.items():
        spec = WORLDS[name]
        example, seed = _example(name)
        batch = instruction_worlds(name, 1, instructions=example)
        for make_policy in agents.values():
            batch.reset()
            batch.step(make_policy(batch).act(batch))
        # Trained agents first, otherwise in their own order; a person can always act.
        names = sorted(agents, key=lambda agent: agent in named("planner"))
        worlds[name] = WorldChoice(
            first_person=batch.kind.first_person,
            keys=dict(batch.kind.keys),
            buttons=dict(batch.kind.buttons),
            objects=spec.objects,
            event=spec.event.object if spec.event else "",
            actions=tuple(batch.kind.action_name(k) for k in range(batch.actions)),
            agents=(*(_described(agent, name) for agent in names), you),
            example=example,
            seed=seed,
            untrained_verbs=untrained_verbs(spec),
            rewards=_rewards(spec),
            story=_story(name, agents),
        )
    formats = ("gif", "mp4") if mp4_encoder() else ("gif",)
    return Hello(version=errands.__version__, worlds=worlds, formats=formats)


def _example(world: str) -> tuple[str, int]:
    """A list to begin with, and the seed of a world for it."""
    spec = WORLDS[world]
    if spec.example:
        return spec.example, spec.example_seed
    return sample(world, "seen", np.random.default_rng(0))


def _described(name: str, world: str) -> Agent:
    """An agent that is not in the table, one from a run, is offered under its own name."""
    entry = AGENTS.get(name, AgentEntry(name, title=name, note=""))
    events = " It does not go for events." if name in IGNORE_EVENTS.get(world, ()) else ""
    return Agent(name, entry.title, entry.note + events, entry.sort)


def _rewards(spec: WorldSpec) -> str:
    pays = spec.rewards
    words = f"Each step costs {-pays.step:g}, and finishing the list pays {pays.done:g}"
    if spec.lists.water[1] > 0:
        words += f"; a step on water costs {-pays.water:g}"
    if spec.event is not None:
        words += f"; transforming the {spec.event.object} that appears pays {pays.event:g}"
    return f"{words}. A negative sum is usual: the closer to 0, the faster."


def _story(world: str, agents: Agents) -> Story | None:
    story = STORIES.get(world)
    return story if story and {story.agent, story.rival} <= set(agents) else None


def check_world(world: str) -> None:
    if world not in WORLDS:
        raise Refused(f"there is no world '{world[:40]}'; there are {', '.join(WORLDS)}")


def items(world: str, wanted: list[Instruction]) -> tuple[Item, ...]:
    """Instructions as the page lists them, with whether they are among the trained ones."""
    spec = WORLDS[world]
    trained = set(list_tasks(spec, "train", (1, 1)).pool)
    return tuple(Item(item.words(spec.vocabulary), item in trained) for item in wanted)


def sample(world: str, sort: str, draw: np.random.Generator) -> tuple[str, int]:
    """A list of a sort, and the seed of a world for it."""
    check_world(world)
    if sort not in SORTS:
        raise Refused(f"there are no such lists; there are {', '.join(SORTS)}")
    split, length = SORTS[sort]
    worlds = instruction_worlds(world, 1, split=split, length=length)
    worlds.seed(int(draw.integers(2**62)))
    worlds.reset()
    text = ", ".join(item.words(worlds.spec.vocabulary) for item in listed(worlds))
    seed = int(draw.integers(SAMPLE_SEEDS))
    return text, seed + (_eventful(world, text, seed) if sort == "events" else 0)


def _eventful(world: str, text: str, seed: int) -> int:
    """How many seeds further on a planner meets the most events worth an interruption."""
    worlds: Worlds = instruction_worlds(world, EVENTFUL_TRIES, instructions=text)
    worlds.seed(TEST_SEEDS + seed)
    worlds.reset()
    ended = run_episodes(worlds, agent_named(NEAR_OPTIMAL)(worlds))
    return int(np.argmax(ended.events_used))
