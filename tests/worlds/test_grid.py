"""The grid world against its plain-Python twin, and the paper's facts about it."""

from dataclasses import replace

import numpy as np
import pytest

from errands.worlds.actions import GridAction
from errands.worlds.grid import AGENT_PLANE
from errands.worlds.spec import GRID, Setting, WorldSpec
from errands.worlds.step import DONE
from errands.worlds.tasks import list_tasks, skill_tasks
from errands.worlds.vector import Worlds
from twins.lockstep import read_twin, run_in_lockstep
from twins.own_world import own_world
from twins.scene import play, scene, thing_at
from twins.world import EVERYWHERE

CROWDED = replace(GRID.lists, objects=(0.5, 0.8), sizes=(5, 6))


@pytest.mark.parametrize(
    ("scenario", "expected"),
    [
        ("independent", {"visit", "pick up", "transform", "water", "walked", "done", "cut off"}),
        ("object-dependent", {"interact with", "done"}),
        ("inter-extrapolation", {"2 times", "5 times", "7 times", "done"}),
    ],
)
def test_skill_episodes_match_the_twin(scenario: str, expected: set[str]) -> None:
    worlds = Worlds(GRID, 10, skill_tasks(GRID, scenario, "all"), GRID.skill)
    happened = run_in_lockstep(worlds, steps=200, seed=3)
    assert expected <= happened.keys()


@pytest.mark.parametrize(
    ("split", "setting", "lengths", "expected"),
    [
        ("train", GRID.lists, (1, 4), {"event came", "event left", "event caught", "all", "done"}),
        ("unseen", GRID.lists, (2, 8), {"event caught", "all", "supplied", "walked"}),
        ("train", GRID.forgiving, (1, 4), {"put back", "event caught", "done", "cut off"}),
        ("seen", CROWDED, (6, 10), {"made room", "supplied"}),
        ("unseen", replace(CROWDED, forgiving=True), (6, 10), {"put back", "supplied"}),
    ],
)
def test_lists_match_the_twin(
    split: str, setting: Setting, lengths: tuple[int, int], expected: set[str]
) -> None:
    worlds = Worlds(GRID, 12, list_tasks(GRID, split, lengths), setting)
    happened = run_in_lockstep(worlds, steps=300, seed=11)
    assert expected <= happened.keys()


@pytest.mark.parametrize("forgiving", [False, True])
def test_a_users_world_matches_the_twin(forgiving: bool) -> None:
    spec = own_world("grid")
    setting = spec.forgiving if forgiving else spec.lists
    worlds = Worlds(spec, 10, list_tasks(spec, "all", (1, 5)), setting)
    happened = run_in_lockstep(worlds, steps=300, seed=5)
    expected = {"interact with", "2 times", "all", "walked", "event left", "event caught", "done"}
    assert expected <= happened.keys()


def test_an_enemy_that_is_asked_for_matches_the_twin() -> None:
    tasks = list_tasks(GRID, "train", (1, 1))
    enemies = [
        item for item in skill_tasks(GRID, "independent", "all").pool if "enemy" in str(item)
    ]
    worlds = Worlds(GRID, 12, replace(tasks, pool=tuple(enemies), lengths=(3, 3)), GRID.lists)
    happened = run_in_lockstep(worlds, steps=300, seed=2, purpose=0.8)
    assert {"event caught", "event left", "pick up", "done"} <= happened.keys()


def test_observations_are_planes_of_what_is_where() -> None:
    worlds = Worlds(GRID, 20, skill_tasks(GRID, "independent", "train"), GRID.skill)
    worlds.reset()
    names = ["agent", "wall", "water", *GRID.objects]
    rng = np.random.default_rng(0)
    for _ in range(5):
        for i in range(worlds.count):
            twin = read_twin(worlds, i)
            expected = np.zeros((len(names), 10, 10), np.uint8)
            expected[(AGENT_PLANE, *twin.agent)] = 1
            for cell in EVERYWHERE:
                if cell in twin.things:
                    expected[(names.index(twin.things[cell]), *cell)] = 1
            np.testing.assert_array_equal(worlds.images[i], expected)
        worlds.step(rng.integers(worlds.actions, size=worlds.count))


def test_the_papers_planes_and_actions() -> None:
    assert GRID.image_shape == (18, 10, 10)
    assert len(GridAction) == 13
    names = [action.name for action in GridAction]
    ways = ("NORTH", "SOUTH", "WEST", "EAST")
    assert names[0] == "NO_OP"
    assert names[1:] == [f"{do}_{way}" for do in ("MOVE", "PICK_UP", "TRANSFORM") for way in ways]


@pytest.mark.parametrize(
    ("way", "cell"), [("NORTH", (4, 5)), ("SOUTH", (6, 5)), ("WEST", (5, 4)), ("EAST", (5, 6))]
)
def test_each_direction_acts_on_its_own_neighbour(way: str, cell: tuple[int, int]) -> None:
    around = {(4, 5): "pig", (6, 5): "pig", (5, 4): "pig", (5, 6): "pig"}
    for verb, left in (("PICK_UP", ""), ("TRANSFORM", "meat")):
        worlds = scene(GRID, "visit heart", around)
        play(worlds, f"{verb}_{way}")
        assert {place: thing_at(worlds, place) for place in around} == around | {cell: left}
        assert read_twin(worlds, 0).agent == (5, 5)
    worlds = scene(GRID, "visit heart", around)
    play(worlds, f"MOVE_{way}")
    assert read_twin(worlds, 0).agent == cell
    assert thing_at(worlds, cell) == "pig"  # one stands on it, and it stays


@pytest.mark.parametrize("verb", ["PICK_UP", "TRANSFORM"])
def test_walls_water_and_nothing_cannot_be_handled(verb: str) -> None:
    worlds = scene(GRID, "visit heart", {(4, 5): "wall", (6, 5): "water"})
    before = read_twin(worlds, 0)
    play(worlds, *[f"{verb}_{way}" for way in ("NORTH", "SOUTH", "WEST", "EAST")])
    assert set(before.differences(read_twin(worlds, 0))) == {"steps"}


def test_walls_block_and_water_does_not() -> None:
    worlds = scene(GRID, "visit heart", {(4, 5): "wall", (6, 5): "water"})
    play(worlds, "MOVE_NORTH")
    assert read_twin(worlds, 0).agent == (5, 5)
    play(worlds, "MOVE_SOUTH")
    assert read_twin(worlds, 0).agent == (6, 5)


@pytest.mark.parametrize("spec", [GRID, own_world("grid")], ids=lambda spec: spec.name)
def test_what_each_object_becomes(spec: WorldSpec) -> None:
    asked = f"visit {spec.objects[0]}"
    for name in spec.objects:
        worlds = scene(spec, asked, {(4, 5): name}, setting=replace(spec.lists, event=False))
        worlds.rules["walks"] = 0.0
        play(worlds, "TRANSFORM_NORTH")
        assert thing_at(worlds, (4, 5)) == (spec.transforms.get(name) or "")


def test_an_ended_world_stays_as_it_is() -> None:
    worlds = scene(GRID, "visit cow", {(4, 5): "cow", (3, 5): "pig"})
    assert play(worlds, "MOVE_NORTH") == [0.9]
    ended, image = read_twin(worlds, 0), worlds.images.copy()
    assert play(worlds, "PICK_UP_NORTH", "MOVE_EAST", "NO_OP") == [0.0, 0.0, 0.0]
    assert worlds.status[0] == DONE
    assert read_twin(worlds, 0) == ended
    np.testing.assert_array_equal(worlds.images, image)
    assert worlds.finished().reward[0] == pytest.approx(0.9)
