"""The papers' numbers, and what a spec refuses."""

import math
from dataclasses import replace
from typing import Any

import pytest

from errands.language.vocabulary import PICK_UP, TRANSFORM, Vocabulary
from errands.worlds.spec import (
    BLOCK,
    EMPTY,
    FIRST_OBJECT,
    GRID,
    MAP_SIZE,
    NOTHING,
    WORLDS,
    Event,
    Rewards,
    Setting,
    WorldSpec,
    compile_rules,
)
from twins.own_world import own_world

BOTH = pytest.mark.parametrize("spec", [GRID, BLOCK], ids=lambda spec: spec.name)


def test_the_grids_transforms() -> None:
    turns = {"cow": "milk", "pig": "meat", "rock": "stone", "tree": "wood"}
    turns |= {"box": "diamond", "duck": "egg"}
    removed = {"enemy", "heart", "candy", "milk", "meat", "stone", "wood", "diamond", "egg"}
    assert GRID.transforms == turns
    assert set(GRID.objects) == turns.keys() | removed
    becomes = compile_rules(GRID)["becomes"][0]
    for k, name in enumerate(GRID.objects):
        product = FIRST_OBJECT + GRID.objects.index(turns[name]) if name in turns else EMPTY
        assert becomes[k] == product


def test_everything_in_the_block_world_turns_into_ice() -> None:
    assert BLOCK.objects == ("pig", "sheep", "greenbot", "horse", "cat", "box", "ice")
    ice = FIRST_OBJECT + BLOCK.objects.index("ice")
    assert (compile_rules(BLOCK)["becomes"][0, : len(BLOCK.objects)] == ice).all()


@BOTH
def test_the_papers_rewards(spec: WorldSpec) -> None:
    assert spec.rewards == Rewards(step=-0.1, done=1.0, water=-0.3, event=0.9)
    rules = compile_rules(spec)[0]
    paid = [rules[f"reward_{name}"] for name in ("step", "done", "water", "event")]
    assert paid == [-0.1, 1.0, -0.3, 0.9]


def test_the_papers_settings() -> None:
    assert MAP_SIZE == 10
    for setting, densest in ((GRID.skill, 0.6), (GRID.lists, 0.3), (GRID.forgiving, 0.15)):
        assert setting.objects == (0.0, densest)
        assert setting.walls == setting.water == (0.0, 0.1)
    assert BLOCK.skill.objects == (0.1, 0.8)
    assert BLOCK.lists.objects == BLOCK.forgiving.objects == (0.0, 0.15)
    for spec in WORLDS.values():
        assert (spec.skill.event, spec.lists.event, spec.forgiving.event) == (False, True, True)
        assert [setting.forgiving for setting in (spec.skill, spec.lists, spec.forgiving)] == [
            *(False, False, True)
        ]
        assert spec.event is not None
        assert spec.event.object not in spec.lists.scattered
        assert spec.event.object in spec.skill.scattered
    assert "ice" not in BLOCK.skill.scattered


def test_events_and_walkers() -> None:
    assert GRID.event == Event("enemy", GRID.event.probability, lifetime=10, close=GRID.event.close)
    assert BLOCK.event == Event("box", probability=0.03, lifetime=20, close=BLOCK.event.close)
    assert set(GRID.walks) == {"enemy"}
    assert not BLOCK.walks
    rules = compile_rules(GRID)[0]
    assert rules["walks"].nonzero()[0].tolist() == [GRID.objects.index("enemy")]
    assert rules["event_object"] == GRID.objects.index("enemy")
    assert compile_rules(replace(GRID, event=None))[0]["event_object"] == NOTHING


@pytest.mark.parametrize(
    ("spec", "split", "length", "with_all", "limit"),
    [
        (GRID, "train", 1, True, 60),
        (GRID, "train", 4, True, 60),
        (GRID, "validation", 7, True, 90),
        (GRID, "seen", 20, True, 250),
        (GRID, "unseen", 20, True, 250),
        (GRID, "unseen", 20, False, 200),
        (BLOCK, "train", 4, True, 80),
        (BLOCK, "seen", 20, True, 600),
        (BLOCK, "unseen", 20, True, 600),
        (GRID, "train", 5, True, 75),  # ours: longer lists get their share more
        (GRID, "seen", 21, True, 263),
        (BLOCK, "unseen", 30, True, 900),
    ],
)
def test_step_limits(spec: WorldSpec, split: str, length: int, with_all: bool, limit: int) -> None:
    assert spec.step_limit(length, split, with_all=with_all) == limit


@BOTH
def test_skill_step_limits(spec: WorldSpec) -> None:
    assert (spec.limits.skill, spec.limits.counted_skill) == (50, 70)


def test_interaction_groups() -> None:
    groups = {"pick up": set(), "transform": set()}
    for name, verb in BLOCK.interact.items():
        groups[verb].add(name)
    assert groups == {"pick up": {"sheep", "pig", "cat"}, "transform": {"horse", "box", "greenbot"}}
    rules = compile_rules(BLOCK)[0]
    for k, name in enumerate(BLOCK.objects):
        verb = BLOCK.interact.get(name, "pick up")
        assert rules["interact"][k] == (PICK_UP if verb == "pick up" else TRANSFORM)
    assert set(GRID.interact) == set(GRID.objects)


def test_a_users_spec_is_compiled() -> None:
    spec = own_world("block")
    rules = compile_rules(spec)[0]
    names = ["", "wall", "water", *spec.objects]
    turned = {name: names[rules["becomes"][k]] for k, name in enumerate(spec.objects)}
    assert turned == {
        **{"oil lamp": "gem", "gem": "dust", "dust": "", "mouse": "oil lamp", "ghost": ""}
    }
    assert (rules["reward_step"], rules["reward_event"]) == (-0.25, 1.5)
    assert (rules["event_lifetime"], rules["event_probability"]) == (4, 0.1)
    assert rules["fewest_for_all"] == 3


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"transforms": {"cow": "cheese"}}, "'cheese' is not an object"),
        ({"transforms": {"goat": "milk"}}, "'goat' is not an object"),
        ({"interact": {"goat": "pick up"}}, "'goat' is not an object"),
        ({"interact": {"cow": "visit"}}, r"interact\['cow'\] is 'visit'"),
        ({"walks": {"goat": 0.5}}, "'goat' is not an object"),
        ({"event": Event("goat", 0.1, 5, 3)}, "'goat' is not an object"),
        ({"event": Event("cow", 0.1, 0, 3)}, "at least 1 step, not 0"),
        ({"held_out": (("visit", "goat"),)}, "'goat' is not an object"),
        ({"held_out": (("pickup", "cow"),)}, "'pickup', which is not a verb"),
        ({"lists": Setting(("goat",), objects=(0.0, 0.1))}, "'goat' is not an object"),
        ({"lists": Setting((), objects=(0.0, 0.1), sizes=(4, 10))}, r"map sizes \(4, 10\)"),
        ({"skill": Setting((), objects=(0.0, 0.1), sizes=(9, 8))}, r"map sizes \(9, 8\)"),
        ({"skill": Setting((), objects=(0.0, 0.1), sizes=(5, 11))}, r"map sizes \(5, 11\)"),
        ({"fewest_for_all": 0}, "fewest_for_all is 0, not at least 1"),
        ({"kind": "maze"}, "kind is 'maze', not grid or block"),
        ({"art": "watercolour"}, "there is no art 'watercolour'; there are block, grid"),
        ({"skill": Setting((), objects=(-0.1, 0.1))}, r"skill\.objects is \(-0\.1, 0\.1\)"),
        ({"lists": Setting((), objects=(0.2, 0.1))}, r"lists\.objects is \(0\.2, 0\.1\)"),
        ({"lists": Setting((), objects=(0.0, math.nan))}, r"lists\.objects is \(0\.0, nan\)"),
        ({"lists": Setting((), (0.0, 0.1), walls=(0.0, 1.5))}, r"walls .* range within 0\.\.1"),
        ({"forgiving": Setting((), (0.0, 0.1), water=(math.nan, 1.0))}, r"forgiving\.water is"),
        ({"event": Event("cow", 1.1, 5, 3)}, r"event\.probability is 1\.1, not within 0\.\.1"),
        ({"event": Event("cow", math.nan, 5, 3)}, r"event\.probability is nan"),
        ({"walks": {"cow": -0.5}}, r"walks\['cow'\] is -0\.5, not within 0\.\.1"),
    ],
)
def test_a_wrong_spec_is_refused_in_one_line(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message) as refusal:
        replace(GRID, **changes)
    assert "\n" not in str(refusal.value)


def test_a_world_has_32_kinds_of_object_at_most() -> None:
    def world(kinds: int) -> WorldSpec:
        words = Vocabulary(tuple(f"thing{k}" for k in range(kinds)))
        bare = Setting((), objects=(0.0, 0.0))
        return WorldSpec("many", "grid", words, {}, {}, bare, bare, bare, event=None)

    assert len(world(32).objects) == 32
    with pytest.raises(ValueError, match="33 kinds of object"):
        world(33)
