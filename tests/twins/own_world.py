"""A world that a user might bring: own objects, chains of transforms, walkers, its own event."""

from dataclasses import replace

from errands.language.vocabulary import ALL, Vocabulary
from errands.worlds.spec import Event, Rewards, Setting, StepLimits, WorldSpec

WORDS = Vocabulary(
    objects=("oil lamp", "gem", "dust", "mouse", "ghost"),
    quantities=(1, 2, ALL),
    plurals={"mouse": "mice", "dust": "dust"},
)
THINGS = ("oil lamp", "gem", "dust", "mouse")


def own_world(kind: str) -> WorldSpec:
    cellar = Setting(THINGS, objects=(0.1, 0.4), sizes=(6, 9), water=(0.0, 0.1))
    if kind == "block":
        cellar = replace(cellar, water=(0.0, 0.0))
    return WorldSpec(
        name="cellar",
        kind=kind,
        vocabulary=WORDS,
        transforms={"oil lamp": "gem", "gem": "dust", "mouse": "oil lamp", "dust": None},
        interact={"gem": "transform", "mouse": "pick up"},
        skill=replace(cellar, event=False),
        lists=cellar,
        forgiving=replace(cellar, forgiving=True),
        event=Event("ghost", probability=0.1, lifetime=4, close=3),
        rewards=Rewards(step=-0.25, done=2.0, water=-0.5, event=1.5),
        limits=StepLimits(skill=40, train=70),
        walks={"mouse": 0.2, "ghost": 0.7},
        fewest_for_all=3,
        held_out=(("pick up", "oil lamp"), ("visit", "gem")),
    )
