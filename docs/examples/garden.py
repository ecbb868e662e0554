"""A user-defined world: a garden with other objects, other transforms and another event.

`python docs/examples/garden.py` runs an errand in it and draws the garden before and after.
"""

from dataclasses import replace
from pathlib import Path

from errands.language import ALL, SYNONYMS, Vocabulary
from errands.worlds.spec import Event, Rewards, Setting, WorldSpec

BEDS = Setting(
    scattered=("seed", "sprout", "flower", "goose"),  # objects that are placed at random
    objects=(0.05, 0.25),  # share of the open cells, sampled for each episode
    water=(0.0, 0.05),
    sizes=(8, 10),  # cells a side, border included
)

GARDEN = WorldSpec(
    name="garden",
    kind="grid",  # the grid's rules and eyes; "block" works as well
    vocabulary=Vocabulary(
        objects=("seed", "sprout", "flower", "goose", "mole"),
        quantities=(1, 2, ALL),  # "pick up flower", "pick up 2 flowers", "pick up all flowers"
        plurals={"goose": "geese"},
        synonyms={**SYNONYMS, "water": "transform", "bird": "goose"},  # what else people may say
    ),
    transforms={"seed": "sprout", "sprout": "flower"},  # other objects disappear
    interact={"seed": "transform", "sprout": "transform"},  # other objects are picked up
    skill=replace(BEDS, event=False),
    lists=BEDS,
    forgiving=replace(BEDS, forgiving=True),
    event=Event("mole", probability=0.05, lifetime=12, close=4),
    rewards=Rewards(step=-0.1, done=1.0, water=-0.2, event=0.5),
    walks={"goose": 0.2, "mole": 0.5},  # chance of a move in each step
    held_out=(("pick up", "sprout"), ("visit", "flower"), ("transform", "goose")),
)


def main(folder: Path) -> None:
    from PIL import Image

    from errands.worlds.gym import instruction_worlds, render
    from errands.worlds.planner import first_optimal

    errand = "transform the seed, pick up 2 flowers, visit the goose"
    worlds = instruction_worlds("garden", 1, instructions=errand, spec=GARDEN)
    worlds.seed(4)
    worlds.reset()
    Image.fromarray(render(worlds, 0, "rgb_array")).save(folder / "garden-before.png")
    while not worlds.status[0]:
        worlds.step(first_optimal(worlds.plan_lists("near-optimal")))
    Image.fromarray(render(worlds, 0, "rgb_array")).save(folder / "garden-after.png")
    episode = worlds.finished()
    outcome = "done" if episode.success[0] else "gave up"
    print(f"{outcome} in {episode.steps[0]} steps, reward {episode.reward[0]:.1f}")


if __name__ == "__main__":
    main(Path("."))
