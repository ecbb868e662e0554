"""What the page and the server say to each other: JSON messages, each a small record.

The page sends requests, the server answers with the other kind of record; both name their `kind`.
Whatever a page sends is checked here, so that what follows can rely on it.
"""

import json
from dataclasses import MISSING, dataclass, fields
from typing import Any, get_type_hints

from errands.evaluation.episodes import Thought

MOST_CHARACTERS = 65_536  # of one message from a page
LONGEST_TEXT = 8_000  # characters of a list
LONGEST_LIST = 100  # instructions in it
MOST_DROPS = 200  # objects that one episode gets from its link
MOST_KEYS = 10_000  # actions of a person that a link can repeat
SLOWEST, FASTEST = 0.5, 60.0  # steps a second


class Refused(ValueError):
    """A message that cannot be used; the text says in one line why."""


# What a page asks for


@dataclass(frozen=True)
class Check:
    """Read a list that is being typed: is it valid, and how can it be completed?"""

    world: str
    text: str
    cursor: int = -1  # where the person types; at the end by default
    number: int = 0  # comes back with the answer


@dataclass(frozen=True)
class Sample:
    """Draw a list: "seen", "unseen", "long" or "events"."""

    world: str
    sort: str


@dataclass(frozen=True)
class Begin:
    """Begin the episode that these describe completely: what a link carries."""

    world: str
    agent: str
    list: str
    seed: int = 0
    drops: str = ""  # "step:row:column:object,...": what a person put into the world, and when
    keys: str = ""  # actions of a person, a base-36 digit each
    rival: str = ""  # another agent that gets the same list in the same world, on the same clock


@dataclass(frozen=True)
class Play:
    """Continue step by step, without further requests."""


@dataclass(frozen=True)
class Pause:
    """Pause."""


@dataclass(frozen=True)
class Step:
    """One step, then pause."""


@dataclass(frozen=True)
class Speed:
    """Continue at this number of steps a second."""

    rate: float


@dataclass(frozen=True)
class Act:
    """A person acts."""

    action: str


@dataclass(frozen=True)
class Drop:
    """Put an object on an empty cell, now."""

    row: int
    column: int
    object: str


@dataclass(frozen=True)
class Save:
    """Make a film of the episode so far: "gif" or "mp4"."""

    format: str
    rate: float = 8.0


Request = Check | Sample | Begin | Play | Pause | Step | Speed | Act | Drop | Save
REQUESTS: dict[str, type[Request]] = {
    kind.__name__.lower(): kind
    for kind in (Check, Sample, Begin, Play, Pause, Step, Speed, Act, Drop, Save)
}


# What the server answers


@dataclass(frozen=True)
class Agent:
    """An agent, a planner or a person that can act."""

    name: str
    title: str
    note: str
    sort: str  # "trained", "planner" or "person"


@dataclass(frozen=True)
class Story:
    """Two agents side by side: what a newcomer sees first, and what to look for."""

    agent: str
    rival: str
    list: str
    seed: int
    words: str


@dataclass(frozen=True)
class WorldChoice:
    """A world that can be chosen."""

    first_person: bool  # whether the agent has a heading and a first-person view
    keys: dict[str, str]  # actions by the keys with which a person acts; "p up" is p, then up
    buttons: dict[str, str]  # the first keys of these, and what to write on them
    objects: tuple[str, ...]
    event: str  # what appears unasked, and what a click drops
    actions: tuple[str, ...]
    agents: tuple[Agent, ...]
    example: str  # a list to begin with
    seed: int
    untrained_verbs: tuple[str, ...]  # that no trained agent was trained on
    rewards: str  # what the reward consists of, in a sentence
    story: Story | None


@dataclass(frozen=True)
class Hello:
    """The first message: all that can be chosen."""

    version: str
    worlds: dict[str, WorldChoice]
    formats: tuple[str, ...]


@dataclass(frozen=True)
class Mistake:
    """What the parser finds wrong, and where; characters are counted as Python does."""

    message: str
    start: int
    end: int


@dataclass(frozen=True)
class Item:
    """One instruction of a list."""

    words: str
    seen: bool  # whether it is among the trained ones


@dataclass(frozen=True)
class Checked:
    """How the parser reads a text."""

    number: int
    items: tuple[Item, ...]
    mistake: Mistake | None
    completions: tuple[str, ...]  # words that can stand where the last one is being typed
    reading: str = ""  # the list in the world's own words, if it was typed in others


@dataclass(frozen=True)
class Sampled:
    """A list, and the seed of a world to go with it."""

    world: str
    list: str
    seed: int


@dataclass(frozen=True)
class Begun:
    """An episode has begun; its first frame follows, after those of the lanes beside it."""

    lane: int  # 0, or 1 for the rival
    world: str
    agent: str
    list: str
    seed: int
    items: tuple[Item, ...]
    step_limit: int
    traced: bool  # whether the agent reports its decisions


@dataclass(frozen=True)
class Frame:
    """How things stand after a step."""

    lane: int
    step: int
    tiles: str  # a base-36 digit for each cell, row by row
    row: int
    column: int
    heading: int
    view: str  # what the agent sees in the block world: 64x64 RGB in base 64
    action: str
    code: int  # of the action, NOTHING before the first
    deed: str  # what the agent achieved with it, such as "pick up pig"
    reward: float
    total: float
    progress: int
    achieved: int
    event: int  # steps that the event's object stays; 0: there is none
    outcome: str  # "done" or "out of steps" after the end
    why: str  # a sentence on what went wrong, if it is out of steps
    subtask: str  # what the agent is doing, or should be doing if it does not report it
    subtask_seen: bool  # whether skills are trained on it
    thought: Thought | None  # why a trained agent took its last step
    going: bool  # whether the clock runs, and this episode or the one beside it goes on


@dataclass(frozen=True)
class Dropped:
    """An object is in the world now; a frame follows."""

    step: int
    row: int
    column: int
    object: str


@dataclass(frozen=True)
class Saved:
    """A film is ready: the next message is its bytes."""

    name: str
    media: str
    size: int


@dataclass(frozen=True)
class Notice:
    """Something was not possible; `about` names the request, or "server"."""

    message: str
    about: str


Answer = Hello | Checked | Sampled | Begun | Frame | Dropped | Saved | Notice


def spell(answer: Answer) -> str:
    """An answer as the page reads it."""
    return json.dumps({"kind": type(answer).__name__.lower(), **vars(answer)}, default=vars)


def read(text: str) -> Request:
    """The request that a page sent. Whatever is wrong with it raises Refused."""
    if len(text) > MOST_CHARACTERS:
        raise Refused(f"the message is too long; {MOST_CHARACTERS:,} characters are the most")
    try:
        content = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise Refused("the message is not JSON") from None
    if not isinstance(content, dict):
        raise Refused("the message is not a JSON object")
    kind = content.pop("kind", None)
    if not isinstance(kind, str) or kind not in REQUESTS:
        raise Refused(f"the message's kind is not one of {', '.join(REQUESTS)}")
    return _filled(kind, content)


def _filled(kind: str, content: dict[str, Any]) -> Request:
    """The record of a kind, with every field of the type that it declares."""
    declared = REQUESTS[kind]
    types = get_type_hints(declared)
    given: dict[str, Any] = {}
    for field in fields(declared):
        if field.name in content:
            given[field.name] = _typed(kind, field.name, types[field.name], content[field.name])
        elif field.default is MISSING:
            raise Refused(f"{kind} lacks its {field.name}")
    if len(given) < len(content):
        raise Refused(f"{kind} has fields that it does not know")
    return declared(**given)


def _typed(kind: str, name: str, wanted: type, value: Any) -> str | int | float:
    if wanted is str and type(value) is str:
        return value
    if wanted is int and type(value) is int:
        return value
    if wanted is float and type(value) in (int, float) and abs(value) < 2**53:
        return float(value)
    words = {str: "a text", int: "a whole number", float: "a number"}
    raise Refused(f"{name} of {kind} is not {words[wanted]}")


def _refuse_constant(name: str) -> None:
    raise ValueError(name)  # NaN and infinities, which JSON does not have
