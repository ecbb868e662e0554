"""Every number of a world in one place: its objects, what they turn into, and rewards.

Constants carry their source: [C] stated or drawn by the authors, [I] inferred, [K] calibrated so
that the hand-made policies score what the paper prints (docs/worlds.md), [O] our own choice.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from errands.language.splits import groups
from errands.language.vocabulary import (
    BLOCK_VOCABULARY,
    GRID_VOCABULARY,
    PICK_UP,
    VERBS,
    Vocabulary,
)
from errands.worlds.art import check_art
from errands.worlds.kinds import KINDS
from errands.worlds.record import Records, new_records

MAP_SIZE = 10  # cells a side, border of walls included [C]
SMALLEST = 7  # cells a side with which training begins, unless a world has smaller maps [C]
MOST_OBJECTS = 32  # kinds of object a world can have
EMPTY, WALL, WATER, FIRST_OBJECT = range(4)  # tile codes; object k is FIRST_OBJECT + k
NOTHING = -1  # no cell, no deed, no event

Range = tuple[float, float]


@dataclass(frozen=True)
class Event:
    """Something that appears at random, stays a while, and is worth interrupting a task for."""

    object: str  # what appears
    probability: float  # probability per step that it appears while there is none
    lifetime: int  # steps until it leaves
    close: int  # near-optimal goes for it if it can be transformed within this many steps


@dataclass(frozen=True)
class Rewards:
    """Rewards of one step. Water and event are net: they replace the reward of the step."""

    step: float = -0.1  # of every step [C]
    done: float = 1.0  # added to the last step's reward [C]
    water: float = -0.3  # net reward of a step that ends on water [I]
    event: float = 0.9  # net reward of transforming the event's object [I]


@dataclass(frozen=True)
class Setting:
    """How episodes of one kind are laid out."""

    scattered: tuple[str, ...]  # kinds of object placed at random, needed or not
    objects: Range  # share of open cells with such an object, sampled for each episode
    walls: Range = (0.0, 0.1)  # share of cells that are walls [C]
    water: Range = (0.0, 0.0)  # share of cells that are water
    sizes: tuple[int, int] = (MAP_SIZE, MAP_SIZE)  # smallest and largest map, border included
    event: bool = True  # whether the world's event happens
    forgiving: bool = False  # whether a missing target of the current instruction is put back


@dataclass(frozen=True)
class StepLimits:
    """Steps after which an episode is cut off."""

    skill: int = 50  # one subtask [C: block; O: grid]
    counted_skill: int = 70  # a subtask with a count above one [C: block; O: grid]
    train: int = 60  # lists of up to `train_length`
    train_length: int = 4  # instructions
    validation: int = 90  # lists of up to `validation_length`
    validation_length: int = 7  # instructions
    test: int = 250  # lists of up to `test_length`; in proportion for longer ones
    test_length: int = 20  # instructions
    test_without_all: int = 200  # the same without "all"


@dataclass(frozen=True)
class WorldSpec:
    """One world. A user's own is made by `dataclasses.replace` or from scratch (docs/worlds.md)."""

    name: str  # what it is called in messages and in the files of runs
    kind: str  # how an agent acts and sees (kinds.KINDS): "grid" or "block"
    vocabulary: Vocabulary  # objects, and the quantities an instruction may carry
    transforms: Mapping[str, str | None]  # what an object turns into; None or absent: it is gone
    interact: Mapping[str, str]  # what "interact with" means for an object: "pick up", "transform"
    skill: Setting  # episodes of one subtask
    lists: Setting  # episodes of a list of instructions
    forgiving: Setting  # the same, with missing targets put back
    event: Event | None  # what appears at random; None: nothing does
    rewards: Rewards = field(default_factory=Rewards)  # of each step
    limits: StepLimits = field(default_factory=StepLimits)  # of episodes
    walks: Mapping[str, float] = field(default_factory=dict)  # chance of a move per step, by object
    held_out: tuple[tuple[str, str], ...] = ()  # unseen (verb, object), not the paper's splits
    fewest_for_all: int = 2  # targets of an instruction with "all": loops as long as published [K]
    art: str = ""  # pixel art to draw it with, if not its kind's
    example: str = ""  # a list that users are offered first; sampled if empty
    example_seed: int = 0  # seed of the test world in which it is shown

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"kind is '{self.kind}', not {' or '.join(KINDS)}")
        check_art(self.art_name)
        known = set(self.vocabulary.objects)
        if len(known) > MOST_OBJECTS:
            raise ValueError(
                f"{len(known)} kinds of object, but a world has {MOST_OBJECTS} at most"
            )
        named: list[str] = [*self.transforms, *self.interact, *self.walks]
        named += [name for _, name in self.held_out]
        named += [product for product in self.transforms.values() if product is not None]
        for episodes in ("skill", "lists", "forgiving"):
            setting: Setting = getattr(self, episodes)
            named += setting.scattered
            if not 5 <= setting.sizes[0] <= setting.sizes[1] <= MAP_SIZE:
                raise ValueError(f"map sizes {setting.sizes} are not within 5..{MAP_SIZE}")
            for what in ("objects", "walls", "water"):
                least, most = getattr(setting, what)
                if not 0 <= least <= most <= 1:
                    given = f"{episodes}.{what} is {(least, most)}"
                    raise ValueError(f"{given}, not a range within 0..1")
        if self.event is not None:
            named.append(self.event.object)
        for name in named:
            if name not in known:
                raise ValueError(f"'{name}' is not an object of the vocabulary of '{self.name}'")
        for name, verb in self.interact.items():
            if verb not in ("pick up", "transform"):
                raise ValueError(f"interact['{name}'] is '{verb}', not 'pick up' or 'transform'")
        for verb, _ in self.held_out:
            if verb not in VERBS:
                raise ValueError(f"held_out names '{verb}', which is not a verb")
        if self.fewest_for_all < 1:
            raise ValueError(f"fewest_for_all is {self.fewest_for_all}, not at least 1")
        chances = {f"walks['{name}']": chance for name, chance in self.walks.items()}
        if self.event is not None:
            if self.event.lifetime < 1:
                raise ValueError(f"an event stays at least 1 step, not {self.event.lifetime}")
            chances["event.probability"] = self.event.probability
        for what, chance in chances.items():
            if not 0 <= chance <= 1:
                raise ValueError(f"{what} is {chance}, not within 0..1")

    @property
    def objects(self) -> tuple[str, ...]:
        """Names of the kinds of object, in the order of their codes."""
        return self.vocabulary.objects

    @property
    def art_name(self) -> str:
        return self.art or KINDS[self.kind].art

    @property
    def image_shape(self) -> tuple[int, ...]:
        """Shape of one observation."""
        return KINDS[self.kind].image_shape(len(self.objects), MAP_SIZE)

    def step_limit(self, length: int, split: str, *, with_all: bool = True) -> int:
        """Step limit of a list by its length and split: train, seen, unseen or validation."""
        limits = self.limits
        if split == "train":
            base, reference = limits.train, limits.train_length
        elif split == "validation":
            base, reference = limits.validation, limits.validation_length
        else:
            base = limits.test if with_all else limits.test_without_all
            reference = limits.test_length
        return base if length <= reference else -(-base * length // reference)


class Rules:
    """A spec as a record for the kernels."""

    becomes: Annotated[NDArray[np.uint8], "u1", MOST_OBJECTS]  # tile that an object turns into
    interact: Annotated[NDArray[np.int16], "i2", MOST_OBJECTS]  # verb of "interact with"
    walks: Annotated[NDArray[np.float64], "f8", MOST_OBJECTS]  # probability of a move per step
    fewest_for_all: Annotated[int, "i2"]  # targets of an instruction with "all"
    event_object: Annotated[int, "i2"]  # NOTHING when the world has no event
    event_probability: Annotated[float, "f8"]
    event_lifetime: Annotated[int, "i2"]
    reward_step: Annotated[float, "f8"]
    reward_done: Annotated[float, "f8"]
    reward_water: Annotated[float, "f8"]
    reward_event: Annotated[float, "f8"]


def compile_rules(spec: WorldSpec) -> Records:
    index = {name: k for k, name in enumerate(spec.objects)}
    compiled = new_records(Rules, 1)
    rules = compiled[0]
    rules["becomes"] = EMPTY
    for name, product in spec.transforms.items():
        if product is not None:
            rules["becomes"][index[name]] = FIRST_OBJECT + index[product]
    rules["interact"] = PICK_UP
    for name, verb in spec.interact.items():
        rules["interact"][index[name]] = VERBS.index(verb)
    for name, chance in spec.walks.items():
        rules["walks"][index[name]] = chance
    rules["fewest_for_all"] = spec.fewest_for_all
    event = spec.event
    rules["event_object"] = index[event.object] if event else NOTHING
    rules["event_probability"] = event.probability if event else 0.0
    rules["event_lifetime"] = event.lifetime if event else 0
    for name in ("step", "done", "water", "event"):
        rules[f"reward_{name}"] = getattr(spec.rewards, name)
    return compiled


_GRID_THINGS = tuple(name for name in GRID_VOCABULARY.objects if name != "enemy")

GRID = WorldSpec(
    name="grid",
    kind="grid",
    vocabulary=GRID_VOCABULARY,
    transforms={  # [C]; everything else is gone when transformed
        "cow": "milk",
        "pig": "meat",
        "rock": "stone",
        "tree": "wood",
        "box": "diamond",
        "duck": "egg",
    },
    interact=groups("grid"),
    skill=Setting(GRID_VOCABULARY.objects, objects=(0.0, 0.6), water=(0.0, 0.1), event=False),
    lists=Setting(_GRID_THINGS, objects=(0.0, 0.3), water=(0.0, 0.1)),
    forgiving=Setting(_GRID_THINGS, objects=(0.0, 0.15), water=(0.0, 0.1), forgiving=True),
    event=Event("enemy", probability=0.035, lifetime=10, close=3),  # [K], lifetime [C]
    walks={"enemy": 0.5},  # [K]
    example="pick up the pig, visit the box, transform all cows",
    example_seed=7,
)

_BLOCK_TARGETS = ("pig", "sheep", "greenbot", "horse", "cat")

BLOCK = WorldSpec(
    name="block",
    kind="block",
    vocabulary=BLOCK_VOCABULARY,
    transforms=dict.fromkeys(BLOCK_VOCABULARY.objects, "ice"),  # [C]; ice stays ice
    interact=groups("block"),
    skill=Setting((*_BLOCK_TARGETS, "box"), objects=(0.1, 0.8), event=False),
    lists=Setting(_BLOCK_TARGETS, objects=(0.0, 0.15)),
    forgiving=Setting(_BLOCK_TARGETS, objects=(0.0, 0.15), forgiving=True),
    event=Event("box", probability=0.03, lifetime=20, close=6),  # [C], close [O]
    limits=StepLimits(train=80, test=600, test_without_all=600, validation=210),
    example="visit the cat, pick up 2 pigs, transform the sheep",
    example_seed=2,
)

WORLDS: Mapping[str, WorldSpec] = {spec.name: spec for spec in (GRID, BLOCK)}
