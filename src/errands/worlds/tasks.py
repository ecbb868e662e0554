"""Which instructions come next: for skills and lists, in training, in tests and for users.

The paper's worlds have its splits. A user's own world has two: what its `held_out` names is unseen,
the rest is trained. It has no validation split: training chooses weights on the trained tasks, so
that what is held out stays unseen.
"""

import operator
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import SupportsIndex

from errands.language import splits
from errands.language.analogies import Analogies
from errands.language.instruction import Instruction
from errands.language.vocabulary import (
    ALL,
    INTERACT,
    PICK_UP,
    TRANSFORM,
    VERBS,
    VISIT,
    verb_index,
)
from errands.worlds.spec import WorldSpec

OWN_SCENARIOS = ("independent", "object-dependent")  # of a user's own world: no counted subtasks
OWN_SPLITS = ("train", "seen", "unseen", "all")
LONGEST_LIST = 2**15 - 1  # the most that a world's record can count
MOST_STEPS = 2**31 - 1


@dataclass(frozen=True)
class TaskSource:
    """Which instructions episodes ask for, how many, and in how many steps."""

    pool: tuple[Instruction, ...]
    lengths: tuple[int, int] = (1, 1)  # a list's length is sampled from this range, ends included
    in_order: bool = False  # the list is the pool itself, not a sample from it
    step_limit: int = 50

    def __post_init__(self) -> None:
        if not self.pool:
            raise ValueError("a task needs at least one instruction")
        if not 1 <= self.lengths[0] <= self.lengths[1]:
            raise ValueError(f"list lengths {self.lengths} must be at least 1 and in order")
        if self.lengths[1] > LONGEST_LIST:
            raise ValueError(f"a list of {self.lengths[1]} is longer than {LONGEST_LIST}")
        if self.step_limit < 1:
            raise ValueError(f"a step limit must be at least 1, not {self.step_limit}")
        if self.step_limit > MOST_STEPS:
            raise ValueError(f"a step limit must be at most {MOST_STEPS}, not {self.step_limit}")
        if self.in_order and self.lengths != (len(self.pool), len(self.pool)):
            raise ValueError("a list given in order has the length of its pool")


def paper_world(spec: WorldSpec) -> str | None:
    """Which of the paper's worlds a world shares its splits with, if any.

    This depends on the words, not on the kind: the grid's objects can also be seen as blocks. A
    world with other words, or with `held_out`, has its own splits.
    """
    if spec.held_out:
        return None
    names = {words: name for name, words in splits.VOCABULARIES.items()}
    return names.get(spec.vocabulary)


# What is asked for


def skill_tasks(spec: WorldSpec, scenario: str, split: str) -> TaskSource:
    """Single subtasks of one of the paper's generalisation scenarios."""
    paper = paper_world(spec)
    if paper is not None:
        pool = splits.subtasks(paper, scenario, split)
    elif scenario not in OWN_SCENARIOS:
        known = " or ".join(OWN_SCENARIOS)
        raise ValueError(f"world '{spec.name}' has no scenario '{scenario}': {known}")
    else:
        pool = own_instructions(spec, split, quantities=(1,))
    counted = any(subtask.quantity > 1 for subtask in pool)
    return TaskSource(pool, step_limit=spec.limits.counted_skill if counted else spec.limits.skill)


def list_tasks(
    spec: WorldSpec,
    split: str,
    lengths: tuple[int, int],
    *,
    with_all: bool = True,
    step_limit: int | None = None,
) -> TaskSource:
    """Lists sampled from one of the paper's sets of instructions."""
    paper = paper_world(spec)
    if paper is not None:
        pool = splits.instructions(paper, split, with_all=with_all)
    else:
        quantities = tuple(q for q in spec.vocabulary.quantities if q != ALL or with_all)
        pool = own_instructions(spec, split, quantities)
    if step_limit is None:
        step_limit = spec.step_limit(lengths[1], split, with_all=with_all)
    return TaskSource(pool, lengths, step_limit=step_limit)


def untrained_verbs(spec: WorldSpec) -> tuple[str, ...]:
    """Verbs that are in no list of training: planners can do them, trained agents never learned."""
    trained = {item.verb for item in list_tasks(spec, "train", (1, 1)).pool}
    return tuple(verb for verb in VERBS if verb not in trained)


def given_list(
    spec: WorldSpec, instructions: Sequence[Instruction], step_limit: int | None = None
) -> TaskSource:
    """Exactly this list in every episode."""
    for item in instructions:
        if endless(spec, item):
            words = item.words(spec.vocabulary)
            raise ValueError(f"'{words}' can never be done: there is as much of it after as before")
    length = len(instructions)
    if step_limit is None:
        step_limit = spec.step_limit(length, "seen")
    return TaskSource(tuple(instructions), (length, length), in_order=True, step_limit=step_limit)


def list_lengths(length: SupportsIndex | Sequence[SupportsIndex]) -> tuple[int, int]:
    """The shortest and the longest list, which may be given as one number."""
    ends = length if isinstance(length, Sequence) else (length, length)
    try:
        shortest, longest = (operator.index(end) for end in ends)
    except (TypeError, ValueError):
        message = f"length is {length!r}, not a whole number or a shortest and a longest"
        raise ValueError(message) from None
    return shortest, longest


# A user's own world


def own_instructions(
    spec: WorldSpec, split: str, quantities: tuple[int, ...]
) -> tuple[Instruction, ...]:
    """The instructions of a user's own world: what its `held_out` names is unseen.

    No instruction names the event's object, and none asks for what can never be done.
    """
    if split not in OWN_SPLITS:
        known = f"{', '.join(OWN_SPLITS[:-1])} or {OWN_SPLITS[-1]}"
        raise ValueError(f"world '{spec.name}' has no split '{split}': {known}")
    words = spec.vocabulary
    sayable = (
        Instruction(verb, name, quantity)
        for verb in (VERBS if spec.interact else VERBS[:INTERACT])
        for name in words.objects
        for quantity in quantities
        if words.carries(verb, quantity) and (spec.event is None or name != spec.event.object)
    )
    everything = tuple(item for item in sayable if not endless(spec, item))
    if split == "all":
        return everything
    return tuple(
        item
        for item in everything
        if ((item.verb, item.object) in spec.held_out) == (split == "unseen")
    )


def endless(spec: WorldSpec, item: Instruction) -> bool:
    """Whether it asks for all of an object that never gets less, such as the block world's ice."""
    verb = item.verb
    if verb == VERBS[INTERACT]:
        verb = spec.interact.get(item.object, VERBS[PICK_UP])
    stays = verb == VERBS[TRANSFORM] and spec.transforms.get(item.object) == item.object
    return item.quantity == ALL and (stays or verb == VERBS[VISIT])


# What training asks for


def training_subtasks(spec: WorldSpec, scenario: str, split: str) -> TaskSource:
    """The subtasks of a skill's training, in any world.

    In a user's own world the skill also learns to deal with the event's object, though no list ever
    names it.
    """
    if paper_world(spec):
        return skill_tasks(spec, scenario, split)
    tasks = skill_tasks(spec, scenario, "train" if split == "validation" else split)
    if spec.event is None or split == "unseen":
        return tasks
    event = tuple(
        Instruction(verb, spec.event.object)
        for verb in VERBS[:INTERACT]
        if (verb, spec.event.object) not in spec.held_out
    )
    return replace(tasks, pool=(*tasks.pool, *event))


def training_lists(
    spec: WorldSpec, split: str, lengths: tuple[int, int], step_limit: int | None = None
) -> TaskSource:
    """The lists of a meta controller's training, in any world."""
    if step_limit is None:
        step_limit = spec.step_limit(lengths[1], split)
    known = "train" if not paper_world(spec) and split == "validation" else split
    return list_tasks(spec, known, lengths, step_limit=step_limit)


def analogies(spec: WorldSpec, scenario: str) -> Analogies:
    """Analogies between all subtasks of a world, including the unseen ones."""
    words = spec.vocabulary
    codes = [item.code(words) for item in training_subtasks(spec, scenario, "all").pool]
    verbs, objects, counts = (sorted(set(values)) for values in zip(*codes, strict=True))
    meant = {name: spec.interact.get(name, "pick up") for name in spec.objects}
    group_of = {words.object_index(name): verb_index(verb) for name, verb in meant.items()}
    return Analogies(verbs, objects, counts, group_of)
