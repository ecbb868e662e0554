"""Maps made by hand, for tests that tell a short story."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from errands.language.instruction import Instruction, parse_instructions
from errands.worlds.spec import FIRST_OBJECT, WALL, WATER, Setting, WorldSpec
from errands.worlds.state import SUPPLY
from errands.worlds.tasks import given_list
from errands.worlds.vector import Worlds
from twins.lockstep import action_names
from twins.world import COMPASS, Cell


def scene(
    spec: WorldSpec,
    task: str | list[Instruction],
    things: Mapping[Cell, str],
    agent: Cell = (5, 5),
    *,
    heading: str = "north",
    setting: Setting | None = None,
    step_limit: int = 100,
) -> Worlds:
    """One world with exactly these things in a bare room; by default nothing happens in it."""
    listed = parse_instructions(task, spec.vocabulary) if isinstance(task, str) else task
    quiet = setting or replace(spec.lists, event=False)
    worlds = Worlds(spec, 1, given_list(spec, listed, step_limit), quiet)
    worlds.reset()
    record = worlds.privileged[0]
    record["tiles"] = WALL
    record["tiles"][1:-1, 1:-1] = 0
    record["counts"] = 0
    for cell, name in things.items():
        if name in ("wall", "water"):
            record["tiles"][cell] = WALL if name == "wall" else WATER
        else:
            record["tiles"][cell] = FIRST_OBJECT + spec.objects.index(name)
            record["counts"][spec.objects.index(name)] += 1
    record["row"], record["column"] = agent
    record["heading"] = COMPASS.index(heading)
    worlds.privileged_goals[..., SUPPLY] = 0
    return worlds


def play(worlds: Worlds, *actions: str) -> list[float]:
    """Take actions one after another; returns their rewards."""
    names = action_names(worlds.spec)
    rewards = []
    for action in actions:
        worlds.step(np.array([names.index(action)]))
        rewards.append(round(float(worlds.rewards[0]), 6))
    return rewards


def thing_at(worlds: Worlds, cell: Cell) -> str:
    return ["", "wall", "water", *worlds.spec.objects][worlds.privileged[0]["tiles"][cell]]


def count_of(worlds: Worlds, name: str) -> int:
    return int(worlds.privileged[0]["counts"][worlds.spec.objects.index(name)])


def progress_of(worlds: Worlds) -> int:
    return int(worlds.privileged[0]["progress"])
