"""Which subtasks and instructions are trained, which stay unseen, and which validate.

The block tables are Tables 3 to 5 of the paper's appendix; the grid tables are the authors' own,
from the earlier version of the work. What neither of them gives is marked "ours".
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from errands.language.instruction import Instruction, parse_instruction
from errands.language.vocabulary import (
    ALL,
    BLOCK_VOCABULARY,
    GRID_VOCABULARY,
    Vocabulary,
    suggest,
)

VOCABULARIES: Mapping[str, Vocabulary] = {"grid": GRID_VOCABULARY, "block": BLOCK_VOCABULARY}
SCENARIOS = ("independent", "object-dependent", "inter-extrapolation")
SUBTASK_SPLITS = ("train", "unseen", "validation", "all")
INSTRUCTION_SPLITS = ("train", "seen", "unseen", "validation")

# Scenario inter-extrapolation: C = {1, ..., 7}, of which {1, 3, 5} are trained.
COUNTS = (1, 2, 3, 4, 5, 6, 7)
MOST_REPEATS = COUNTS[-1]
TRAINED_COUNTS = (1, 3, 5)

_ACTIONS = ("visit", "pick up", "transform")


@dataclass(frozen=True)
class _Table:
    """A table as the papers print it: columns, and for each object those with a check mark."""

    columns: tuple[str, ...]
    trained: Mapping[str, tuple[str, ...]]  # several objects may share a row
    validation: tuple[str, ...]

    def instructions(self, vocabulary: Vocabulary, split: str) -> tuple[Instruction, ...]:
        if split == "validation":
            return tuple(parse_instruction(text, vocabulary) for text in self.validation)
        checked = {name: columns for row, columns in self.trained.items() for name in row.split()}
        return tuple(
            parse_instruction(f"{column} {name}", vocabulary)
            for name in vocabulary.objects
            if name in checked
            for column in self.columns
            if split == "all" or (column in checked[name]) == (split != "unseen")
        )


_INDEPENDENT = {
    "grid": _Table(
        columns=_ACTIONS,
        trained={
            "cow enemy pig rock tree": ("visit", "transform"),
            "candy diamond milk meat wood": ("visit", "pick up"),
            "box duck egg heart stone": ("pick up", "transform"),
        },
        validation=(
            *("visit cow", "transform pig", "pick up rock"),
            *("pick up candy", "transform wood", "visit box"),
        ),
    ),
    "block": _Table(
        columns=_ACTIONS,
        trained={
            "sheep horse": ("visit", "transform"),
            "pig box": ("visit", "pick up"),
            "cat greenbot": ("pick up", "transform"),
        },
        # Ours: like the grid's, one trained and one unseen subtask of each row.
        validation=(
            *("visit sheep", "pick up horse", "pick up pig"),
            *("transform box", "transform cat", "visit greenbot"),
        ),
    ),
}

_OBJECT_DEPENDENT = {
    # Ours: the paper says only that the grid repeats the scenario. Ten of fifteen objects are
    # interacted with in training, five of each group, and every row above has some held out.
    "grid": _Table(
        columns=(*_ACTIONS, "interact with"),
        trained={
            "pig candy wood duck stone": (*_ACTIONS, "interact with"),
            "cow enemy diamond meat box": (*_ACTIONS, "interact with"),
            "tree milk egg": _ACTIONS,
            "rock heart": _ACTIONS,
        },
        validation=(
            *("visit cow", "pick up candy", "transform box", "interact with pig"),
            *("interact with meat", "interact with tree", "interact with rock"),
        ),
    ),
    "block": _Table(
        columns=(*_ACTIONS, "interact with"),
        trained={
            "sheep horse pig box": (*_ACTIONS, "interact with"),
            "cat greenbot": _ACTIONS,
        },
        # Ours: one of the two unseen subtasks, and trained ones of both groups.
        validation=(
            *("visit sheep", "pick up horse", "transform pig"),
            *("interact with sheep", "interact with box", "interact with cat"),
        ),
    ),
}

# Objects to pick up (Group A) and to transform (Group B) when asked to interact with them. The
# grid's groups are ours: 8 and 7 objects, with three of the six that turn into another in each.
_GROUPS = {
    "grid": {
        "pick up": "pig tree candy milk wood duck egg stone",
        "transform": "cow enemy rock diamond meat box heart",
    },
    "block": {"pick up": "sheep pig cat", "transform": "horse box greenbot"},
}

# Ours, for inter-extrapolation: objects and actions change from one to the next, and so do the
# counts, trained ones first.
_COUNT_VALIDATION = {
    "grid": (
        *(("visit", "cow", 1), ("transform", "pig", 3), ("pick up", "rock", 5)),
        *(("pick up", "candy", 2), ("transform", "wood", 4), ("visit", "box", 6)),
        ("pick up", "duck", 7),
    ),
    "block": (
        *(("visit", "sheep", 1), ("pick up", "horse", 3), ("transform", "pig", 5)),
        *(("transform", "box", 2), ("pick up", "cat", 4), ("visit", "greenbot", 6)),
        ("transform", "sheep", 7),
    ),
}

_INSTRUCTIONS = {
    # Without the enemy, which is an event here.
    "grid": _Table(
        columns=(*_ACTIONS, "pick up all", "transform all"),
        trained={
            "cow pig rock tree": ("visit", "transform", "transform all"),
            "candy diamond milk meat wood": ("visit", "pick up", "pick up all"),
            "box duck egg heart stone": ("pick up", "transform", "pick up all", "transform all"),
        },
        validation=(
            *("visit cow", "transform pig", "pick up rock", "pick up all rocks", "pick up candy"),
            *("pick up all diamonds", "transform all milk", "transform wood", "visit box"),
            "transform all ducks",
        ),
    ),
    # Without the box, which is an event here.
    "block": _Table(
        columns=(*_ACTIONS, "pick up 2", "pick up 3", "transform 2", "transform 3"),
        trained={
            "sheep horse": ("visit", "transform", "transform 2", "transform 3"),
            "pig": ("visit", "pick up", "pick up 2", "pick up 3"),
            "cat greenbot": (
                *("pick up", "pick up 2", "pick up 3"),
                *("transform", "transform 2", "transform 3"),
            ),
        },
        # Ours: ten, like the grid's, half of them unseen.
        validation=(
            *("visit sheep", "transform 3 horses", "pick up 2 pigs", "pick up cat"),
            *("transform 2 greenbots", "pick up sheep", "pick up 3 horses", "transform pig"),
            *("transform 2 pigs", "visit cat"),
        ),
    ),
}


@cache
def subtasks(world: str, scenario: str, split: str) -> tuple[Instruction, ...]:
    """The skill's subtasks of one scenario and split ("all" is trained and unseen together)."""
    vocabulary = vocabulary_of(world)
    _check("scenario", scenario, SCENARIOS)
    _check("split", split, SUBTASK_SPLITS)
    if scenario == "independent":
        return _INDEPENDENT[world].instructions(vocabulary, split)
    if scenario == "object-dependent":
        return _OBJECT_DEPENDENT[world].instructions(vocabulary, split)
    if split == "validation":
        return tuple(Instruction(*record) for record in _COUNT_VALIDATION[world])
    return tuple(
        Instruction(subtask.verb, subtask.object, count)
        for subtask in _INDEPENDENT[world].instructions(vocabulary, "all")
        for count in COUNTS
        if split == "all" or (count in TRAINED_COUNTS) == (split == "train")
    )


@cache
def instructions(world: str, split: str, with_all: bool = True) -> tuple[Instruction, ...]:
    """Instructions that lists are sampled from; "seen" is another name for "train"."""
    vocabulary = vocabulary_of(world)
    _check("split", split, INSTRUCTION_SPLITS)
    return tuple(
        instruction
        for instruction in _INSTRUCTIONS[world].instructions(vocabulary, split)
        if with_all or instruction.quantity != ALL
    )


def groups(world: str) -> dict[str, str]:
    """What "interact with" stands for, by object. The block world's ice belongs to no group."""
    vocabulary = vocabulary_of(world)
    verb_of = {name: verb for verb, names in _GROUPS[world].items() for name in names.split()}
    return {name: verb_of[name] for name in vocabulary.objects if name in verb_of}


def vocabulary_of(world: str) -> Vocabulary:
    _check("world", world, tuple(VOCABULARIES))
    return VOCABULARIES[world]


def _check(what: str, name: str, choices: Sequence[str]) -> None:
    if name not in choices:
        raise ValueError(f"unknown {what} {name!r}; {suggest(str(name), choices)}")
