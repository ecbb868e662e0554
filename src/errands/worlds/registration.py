"""The Gymnasium ids. A separate module keeps `import errands` fast: worlds are loaded when made."""

import gymnasium

from errands.worlds.spec import WORLDS


def environments() -> dict[str, tuple[str, bool]]:
    """The ids, each with its world and with whether it asks for single subtasks, as skills do."""
    found = {}
    for world in WORLDS:
        found[f"errands/{world.title()}Skill-v0"] = world, True
        found[f"errands/{world.title()}Instructions-v0"] = world, False
    return found


def register_environments() -> None:
    """Register every world that is not registered yet."""
    for name, (world, skill) in environments().items():
        if name not in gymnasium.registry:
            gymnasium.register(
                id=name,
                entry_point="errands.worlds.gym:make_env",
                vector_entry_point="errands.worlds.gym_vector:make_vector_env",
                kwargs={"world": world, "skill": skill},
            )
