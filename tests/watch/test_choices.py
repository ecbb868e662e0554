"""What can be chosen, and the lists that are drawn."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from errands.agents.load import PRETRAINED
from errands.agents.registry import AGENTS
from errands.commands.actors import choose_actor
from errands.language.instruction import parse_instructions
from errands.language.splits import instructions
from errands.watch import choices
from errands.watch.episode import Episode
from errands.watch.protocol import Begin, Refused
from errands.worlds.spec import WORLDS
from twins.pages import CAST

BOTH = pytest.mark.parametrize("world", ["grid", "block"])


def test_hello_offers_who_is_there_trained_agents_first() -> None:
    cast = {"grid": dict(reversed(CAST["grid"].items())), "block": {}}
    hello = choices.hello(cast)
    offered = [(agent.name, agent.sort) for agent in hello.worlds["grid"].agents]
    assert offered == [
        ("dynamic", "trained"),
        ("shortest-path", "planner"),
        ("near-optimal", "planner"),
        ("me", "person"),
    ]
    assert [agent.name for agent in hello.worlds["block"].agents] == ["me"]
    assert hello.worlds["grid"].event == "enemy"
    assert hello.worlds["block"].actions[4] == "move forward"


@BOTH
def test_examples_can_be_carried_out(world: str) -> None:
    example, seed = WORLDS[world].example, WORLDS[world].example_seed
    episode = Episode(Begin(world, "near-optimal", example, seed), CAST)
    while episode.advance():
        pass
    assert episode.frame(going=False).outcome == "done"


@pytest.mark.parametrize("formats", [("gif",), ("gif", "mp4")])
def test_mp4_is_offered_where_it_can_be_made(
    formats: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder = "/usr/bin/ffmpeg" if "mp4" in formats else None
    monkeypatch.setattr(choices, "mp4_encoder", lambda: encoder)
    assert choices.hello({}).formats == formats


@BOTH
@pytest.mark.parametrize(("sort", "count"), [("seen", 4), ("unseen", 4), ("long", 20)])
def test_lists_are_drawn_from_their_split(world: str, sort: str, count: int) -> None:
    text, seed = choices.sample(world, sort, np.random.default_rng(1))
    listed = parse_instructions(text, WORLDS[world].vocabulary)
    split = "seen" if sort == "seen" else "unseen"
    assert len(listed) == count
    assert set(listed) <= set(instructions(world, split))
    assert (text, seed) == choices.sample(world, sort, np.random.default_rng(1))
    assert text != choices.sample(world, sort, np.random.default_rng(2))[0]


@BOTH
def test_events_happen_where_they_are_promised(world: str) -> None:
    text, seed = choices.sample(world, "events", np.random.default_rng(1))
    episode = Episode(Begin(world, "near-optimal", text, seed), CAST)
    while episode.advance():
        pass
    assert episode._worlds.privileged[0]["events_used"] >= 1


def test_there_are_no_other_lists_and_worlds() -> None:
    with pytest.raises(Refused, match="seen, unseen, long, events"):
        choices.sample("grid", "short", np.random.default_rng(0))
    with pytest.raises(Refused, match="there is no world 'moon'; there are grid, block"):
        choices.sample("moon", "seen", np.random.default_rng(0))


@pytest.mark.slow
@pytest.mark.parametrize("world", choices.STORIES)
def test_the_story_is_true(world: str) -> None:
    """One agent keeps its place and catches an enemy, the other does not finish."""
    story = choices.STORIES[world]
    told = {}
    for agent in (story.agent, story.rival):
        cast = {world: {agent: choose_actor(world, agent).make_policy}}
        episode = Episode(Begin(world, agent, story.list, story.seed), cast)
        while episode.advance():
            pass
        told[agent] = episode
    assert told[story.agent].frame(going=False).outcome == "done"
    assert told[story.agent]._worlds.privileged[0]["events_used"] >= 1
    assert told[story.rival].frame(going=False).outcome == "out of steps"


def test_a_story_needs_both_of_its_agents() -> None:
    assert choices.hello(CAST).worlds["grid"].story is None
    cast = {"grid": {"dynamic": CAST["grid"]["dynamic"], "flat": CAST["grid"]["dynamic"]}}
    assert choices.hello(cast).worlds["grid"].story == choices.STORIES["grid"]


def is_shipped(record: dict[str, Any]) -> bool:
    """Whether a measurement is of the shipped agent, and not of a run with another seed."""
    description = PRETRAINED / record["world"] / record["agent"] / "agent.json"
    training = json.loads(description.read_text())["training"]
    return bool(training["seed"] == record["training"]["seed"])


@BOTH
def test_agents_say_what_they_cannot_do(world: str) -> None:
    """Which agents ignore events is not assumed: measurements of the shipped runs show it."""
    cast = {world: dict.fromkeys(AGENTS, CAST[world]["near-optimal"])}
    offered = choices.hello(cast).worlds[world]
    silent = {agent.name for agent in offered.agents if "does not go for events" in agent.note}
    assert silent == set(choices.IGNORE_EVENTS[world])
    assert offered.untrained_verbs == ("interact with",)
    results = Path(__file__).parents[2] / "results" / "instructions"
    for path in results.glob("*train*.json"):
        records = json.loads(path.read_text())
        for record in records if isinstance(records, list) else [records]:
            if record["world"] == world and is_shipped(record):
                assert (record["agent"] in silent) == (record["caught"] < 0.05), path.name


@BOTH
def test_rewards_are_explained(world: str) -> None:
    words = choices.hello(CAST).worlds[world].rewards
    assert words.startswith("Each step costs 0.1, and finishing the list pays 1;")
    assert ("water" in words) == (world == "grid")


def test_lists_and_agents_share_no_name() -> None:
    page = (Path(choices.__file__).parent / "page" / "index.html").read_text()
    buttons = re.findall(r"data-sort=[^>]*>([^<]+)<", page)
    assert len(buttons) == len(choices.SORTS)
    assert not {name.lower() for name in buttons} & {
        entry.title.lower() for entry in AGENTS.values()
    }
