"""Drives a batch of worlds and their twins side by side."""

from collections import Counter

import numpy as np

from errands.worlds.kinds import KINDS
from errands.worlds.planner import NEAR_OPTIMAL
from errands.worlds.spec import WorldSpec
from errands.worlds.step import CUT_OFF, DONE, RUNNING
from errands.worlds.vector import Worlds
from twins.world import Twin


def action_names(spec: WorldSpec) -> list[str]:
    return [action.name for action in KINDS[spec.kind].actions]


def read_twin(worlds: Worlds, i: int) -> Twin:
    rows = worlds.privileged_goals[i]
    return Twin.read(worlds.spec, worlds.setting, worlds.privileged[i], rows)


def mixed_actions(
    worlds: Worlds, rng: np.random.Generator, purpose: float
) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Random actions, but with chance `purpose` a good one: wandering alone achieves little."""
    actions = rng.integers(worlds.actions, size=worlds.count)
    optimal = worlds.plan_lists(NEAR_OPTIMAL).optimal
    for i in np.flatnonzero((rng.random(worlds.count) < purpose) & optimal.any(axis=1)):
        actions[i] = rng.choice(np.flatnonzero(optimal[i]))
    return actions


def run_in_lockstep(worlds: Worlds, steps: int, seed: int, purpose: float = 0.6) -> Counter[str]:
    """Step worlds and twins alike and compare everything; returns what happened on the way."""
    names = action_names(worlds.spec)
    rng = np.random.default_rng(seed)
    happened: Counter[str] = Counter()
    worlds.seed(seed)
    worlds.reset()
    twins = [read_twin(worlds, i) for i in range(worlds.count)]
    for _ in range(steps):
        actions = mixed_actions(worlds, rng, purpose)
        worlds.step(actions)
        for i, twin in enumerate(twins):
            reward = twin.step(names[actions[i]])
            real = read_twin(worlds, i)
            assert twin == real, twin.differences(real)
            assert worlds.rewards[i] == np.float32(reward)
            status = DONE if twin.done else CUT_OFF if twin.over else RUNNING
            assert worlds.status[i] == status
        # Some ended worlds are stepped once more, which must change nothing.
        begin = (worlds.status != RUNNING) & (rng.random(worlds.count) < 0.8)
        worlds.reset(begin)
        for i in np.flatnonzero(begin):
            happened += twins[i].happened
            twins[i] = read_twin(worlds, int(i))
    for twin in twins:
        happened += twin.happened
    return happened
