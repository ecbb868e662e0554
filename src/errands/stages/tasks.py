"""What a world asks for in training: the paper's splits, or those of a world of one's own.

A world of one's own has no validation split: weights are chosen on its trained tasks, so that what
is held out stays unseen. Its skill also learns to deal with the event's object, though no list ever
names it.
"""

from dataclasses import replace
from typing import Any, TypeVar, cast

from errands.config import Training
from errands.language.analogies import Analogies
from errands.language.instruction import Instruction
from errands.language.vocabulary import INTERACT, VERBS, verb_index
from errands.worlds.block import BlockAction
from errands.worlds.grid import GridAction
from errands.worlds.spec import WORLDS, WorldSpec
from errands.worlds.vector import TaskSource, list_tasks, paper_world, skill_tasks

T = TypeVar("T", bound=Training)


def fitted(training: T, spec: WorldSpec) -> T:
    """The same training in another world: its name, and networks for its words and objects."""
    if spec is WORLDS.get(training.world):
        return training
    network = cast(Any, training).network
    verbs = len(VERBS) if spec.interact else INTERACT
    sizes = {
        "world": spec.kind,
        "objects": len(spec.objects),
        "actions": len(GridAction if spec.kind == "grid" else BlockAction),
        "verbs": verbs,
    }
    if hasattr(network, "words"):
        sizes["words"] = spec.vocabulary.token_count
    changed: dict[str, Any] = {"world": spec.name, "network": replace(network, **sizes)}
    return replace(training, **changed)


def subtasks(spec: WorldSpec, scenario: str, split: str) -> TaskSource:
    """What a skill is asked for."""
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


def lists(
    spec: WorldSpec, split: str, lengths: tuple[int, int], step_limit: int | None = None
) -> TaskSource:
    """Lists that an agent is asked for."""
    if step_limit is None:
        step_limit = spec.step_limit(lengths[1], split)
    known = "train" if not paper_world(spec) and split == "validation" else split
    return list_tasks(spec, known, lengths, step_limit=step_limit)


def analogies(spec: WorldSpec, scenario: str) -> Analogies:
    """Between all subtasks of a world, the unseen ones too."""
    words = spec.vocabulary
    codes = [item.code(words) for item in subtasks(spec, scenario, "all").pool]
    verbs, objects, counts = (sorted(set(values)) for values in zip(*codes, strict=True))
    meant = {name: spec.interact.get(name, "pick up") for name in spec.objects}
    group_of = {words.object_index(name): verb_index(verb) for name, verb in meant.items()}
    return Analogies(verbs, objects, counts, group_of)
