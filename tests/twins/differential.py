"""Kernels against their twins in random worlds: any objects, transforms, densities and events.

    PYTHONPATH=tests python -m twins.differential --episodes 100000

runs for hours and prints the seed of every difference; `--seed N --seeds 1` repeats one.
"""

import argparse
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import count, islice

import numpy as np

from errands.language.vocabulary import ALL, Vocabulary
from errands.worlds.spec import Event, Rewards, Setting, StepLimits, WorldSpec
from errands.worlds.tasks import list_tasks, skill_tasks
from errands.worlds.vector import Worlds
from twins.lockstep import run_in_lockstep

NAMES = ("ant", "bee", "clock", "drum", "elm", "flag", "gull", "hat", "iron", "jar", "kite", "lamp")
WORLDS, STEPS = 6, 150  # of each random spec


def random_spec(random: np.random.Generator) -> WorldSpec:
    """A world as a user might write it down, however odd."""
    objects = tuple(random.permutation(NAMES)[: random.integers(2, len(NAMES) + 1)].tolist())

    def some(share: float) -> tuple[str, ...]:
        return tuple(name for name in objects if random.random() < share)

    def span(most: float) -> tuple[float, float]:
        low, high = sorted(random.uniform(0.0, most, 2).tolist())
        return low, high

    sizes = sorted(random.integers(5, 11, 2).tolist())
    layout = Setting(
        some(0.7),
        objects=span(0.6),
        walls=span(0.25),
        water=span(0.3),
        sizes=(sizes[0], sizes[1]),
        event=bool(random.random() < 0.8),
    )
    products = (None, *objects)
    event = Event(
        objects[random.integers(len(objects))],
        probability=float(random.uniform(0.0, 0.4)),
        lifetime=int(random.integers(1, 12)),
        close=int(random.integers(0, 10)),
    )
    quantities = [q for q in (ALL, 2, 3, 5, 9) if random.random() < 0.5]
    rewards = random.integers(-8, 9, 4) / 4.0  # sums without rounding
    return WorldSpec(
        name="random",
        kind=str(random.choice(["grid", "block"])),
        vocabulary=Vocabulary(objects, quantities=(1, *quantities)),
        transforms={name: products[random.integers(len(products))] for name in some(0.8)},
        interact={name: str(random.choice(["pick up", "transform"])) for name in some(0.5)},
        skill=replace(layout, event=False),
        lists=layout,
        forgiving=replace(layout, forgiving=True),
        event=event if random.random() < 0.7 else None,
        rewards=Rewards(*(float(value) for value in rewards)),
        limits=StepLimits(skill=int(random.integers(5, 60)), train=int(random.integers(10, 90))),
        walks={name: float(random.uniform(0.0, 1.0)) for name in some(0.3)},
        fewest_for_all=int(random.integers(1, 4)),
    )


def random_worlds(seed: int) -> Worlds | None:
    """Worlds of a random spec with random tasks; None if they ask for what cannot be there."""
    random = np.random.default_rng(seed)
    spec = random_spec(random)
    if random.random() < 0.3:
        tasks, setting = skill_tasks(spec, "independent", "all"), spec.skill
    else:
        shortest, longest = sorted(random.integers(1, 8, 2).tolist())
        tasks = list_tasks(
            spec, "all", (shortest, longest), step_limit=int(random.integers(10, 120))
        )
        setting = spec.forgiving if random.random() < 0.3 else spec.lists
    return Worlds(spec, WORLDS, tasks, setting) if tasks.pool else None


def compare(seed: int) -> Counter[str]:
    """Run one random world beside its twin; an AssertionError says where they differ."""
    worlds = random_worlds(seed)
    if worlds is None:
        return Counter()
    purpose = float(np.random.default_rng(seed + 1).uniform(0.3, 0.95))
    return run_in_lockstep(worlds, STEPS, seed, purpose)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Compare kernels with their twins.")
    parser.add_argument("--episodes", type=int, default=100_000, help="stop after this many")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first random world")
    parser.add_argument("--seeds", type=int, default=None, help="stop after this many worlds")
    options = parser.parse_args(arguments)
    happened: Counter[str] = Counter()
    different: list[int] = []
    began = told = time.monotonic()
    worlds = 0
    for seed in islice(count(options.seed), options.seeds):
        try:
            happened += compare(seed)
        except AssertionError as difference:
            different.append(seed)
            print(f"seed {seed} differs: {difference}", flush=True)
        worlds += 1
        episodes = happened["done"] + happened["cut off"]
        if time.monotonic() - told > 60:
            told = time.monotonic()
            print(f"{episodes:,} episodes in {worlds:,} worlds", file=sys.stderr, flush=True)
        if episodes >= options.episodes:
            break
    print(
        f"{episodes:,} episodes in {worlds:,} random worlds, {time.monotonic() - began:.0f} s: "
        f"{len(different)} differ"
        + (f" (seeds {', '.join(map(str, different))})" if different else "")
    )
    print(", ".join(f"{name} {times:,}" for name, times in sorted(happened.items())))
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
