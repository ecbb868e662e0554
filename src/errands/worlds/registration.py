"""The Gymnasium ids. Kept apart so that `import errands` stays quick: worlds load when made."""

import gymnasium

ENVIRONMENTS = {
    "errands/GridSkill-v0": ("grid", True),
    "errands/GridInstructions-v0": ("grid", False),
    "errands/BlockSkill-v0": ("block", True),
    "errands/BlockInstructions-v0": ("block", False),
}


def register_environments() -> None:
    for name, (world, skill) in ENVIRONMENTS.items():
        gymnasium.register(
            id=name,
            entry_point="errands.worlds.gym:make_env",
            vector_entry_point="errands.worlds.gym:make_vector_env",
            kwargs={"world": world, "skill": skill},
        )
