"""Training fitted to a world, and what worlds ask for in training (`worlds.tasks`)."""

from dataclasses import replace
from typing import Any, TypeVar, cast

from errands.config import Training
from errands.language.vocabulary import INTERACT, VERBS
from errands.worlds.kinds import KINDS
from errands.worlds.spec import WORLDS, WorldSpec
from errands.worlds.tasks import analogies, training_lists, training_subtasks

__all__ = ["analogies", "fitted", "lists", "subtasks"]

lists, subtasks = training_lists, training_subtasks
T = TypeVar("T", bound=Training)


def fitted(training: T, spec: WorldSpec) -> T:
    """The same training in another world: its name, and networks for its words and objects."""
    if spec is WORLDS.get(training.world):
        return training
    network = cast(Any, training).network
    verbs = len(VERBS) if spec.interact else INTERACT
    sizes = {
        "world": KINDS[spec.kind].eyes,
        "objects": len(spec.objects),
        "actions": len(KINDS[spec.kind].actions),
        "verbs": verbs,
    }
    if hasattr(network, "words"):
        sizes["words"] = spec.vocabulary.token_count
    changed: dict[str, Any] = {"world": spec.name, "network": replace(network, **sizes)}
    return replace(training, **changed)
