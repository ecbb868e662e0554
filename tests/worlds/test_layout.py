"""How episodes begin: what must hold for every one of them, and the targets that are provided."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from errands.language.instruction import Instruction
from errands.worlds.layout import keep_largest_region, provide
from errands.worlds.spec import BLOCK, GRID, MAP_SIZE, WALL, Setting, WorldSpec
from errands.worlds.state import SUPPLY
from errands.worlds.tasks import TaskSource, given_list, list_tasks, skill_tasks
from errands.worlds.vector import Worlds
from twins import layout as on_paper
from twins.lockstep import read_twin
from twins.own_world import own_world
from twins.world import EVERYWHERE, INSIDE

SMALL = replace(GRID.lists, sizes=(5, 10), objects=(0.0, 0.8))
CASES = [
    (GRID, skill_tasks(GRID, "independent", "all"), GRID.skill),
    (GRID, skill_tasks(GRID, "inter-extrapolation", "all"), GRID.skill),
    (GRID, list_tasks(GRID, "train", (1, 4)), GRID.lists),
    (GRID, list_tasks(GRID, "unseen", (20, 20)), GRID.lists),
    (GRID, list_tasks(GRID, "unseen", (1, 20)), SMALL),
    (BLOCK, skill_tasks(BLOCK, "object-dependent", "all"), BLOCK.skill),
    (BLOCK, list_tasks(BLOCK, "train", (1, 4)), BLOCK.lists),
    (BLOCK, list_tasks(BLOCK, "unseen", (20, 20)), BLOCK.forgiving),
    (own_world("grid"), list_tasks(own_world("grid"), "all", (1, 8)), own_world("grid").lists),
]
EVERY_CASE = pytest.mark.parametrize(
    ("spec", "tasks", "setting"),
    CASES,
    ids=[f"{spec.name}-{k}" for k, (spec, *_) in enumerate(CASES)],
)


def begun(spec: WorldSpec, tasks: TaskSource, setting: Setting, count: int = 150) -> Worlds:
    worlds = Worlds(spec, count, tasks, setting)
    worlds.seed(17)
    worlds.reset()
    return worlds


@EVERY_CASE
def test_every_episode_begins_in_order(
    spec: WorldSpec, tasks: TaskSource, setting: Setting
) -> None:
    worlds = begun(spec, tasks, setting)
    for i in range(worlds.count):
        twin = read_twin(worlds, i)  # which also checks the counts of objects
        land = on_paper.open_cells(twin)
        assert len(land) >= 9
        assert all(twin.things.get(cell) == "wall" for cell in set(EVERYWHERE) - set(INSIDE))
        assert on_paper.region(twin, twin.agent) == set(land)  # connected, without crossing water
        assert twin.agent in land
        assert (twin.pitch, twin.progress, twin.achieved, twin.steps) == (0, 0, 0, 0)
        assert (twin.deed, twin.event, twin.events, twin.events_used) == (None, None, 0, 0)
        assert twin.step_limit == tasks.step_limit
        assert tasks.lengths[0] <= len(twin.goals) <= tasks.lengths[1]
        asked = {
            Instruction(g.verb, g.object, 0 if g.quantity == "all" else int(g.quantity))
            for g in twin.goals
        }
        assert asked <= set(tasks.pool)


@EVERY_CASE
def test_every_instruction_finds_its_targets(
    spec: WorldSpec, tasks: TaskSource, setting: Setting
) -> None:
    worlds = begun(spec, tasks, setting)
    for i in range(worlds.count):
        twin = read_twin(worlds, i)
        assert on_paper.missing(twin) == []
        assert twin.goals[0].owed == 0
        # A quarter of the open cells was left, before what the first instruction is owed came.
        land = len(on_paper.open_cells(twin))
        things = sum(twin.count(name) for name in spec.objects)
        assert things <= land - max(2, land // 4) + on_paper.asked(twin, twin.goals[0])[1]


@EVERY_CASE
def test_targets_are_provided_as_on_paper(
    spec: WorldSpec, tasks: TaskSource, setting: Setting
) -> None:
    """From bare and from half-cleared maps, with much and with little room."""
    worlds = begun(spec, tasks, setting)
    rng = np.random.default_rng(0)
    added: Counter[str] = Counter()
    for i in range(worlds.count):
        record, goals = worlds.privileged[i], worlds.privileged_goals[i]
        goals[:, SUPPLY] = 0
        record["row"] = record["column"] = 0
        for cell in INSIDE:
            if record["tiles"][cell] >= 3 and (i % 3 == 0 or rng.random() < 0.5):
                record["counts"][record["tiles"][cell] - 3] -= 1
                record["tiles"][cell] = 0
        twin = read_twin(worlds, i)
        before = sum(twin.count(name) for name in spec.objects)
        room = int(rng.integers(0, len(on_paper.open_cells(twin)) + 1))
        on_paper.provide(twin, room)
        provide(record, goals, worlds.rules[0], room)
        real = read_twin(worlds, i)
        assert twin == real, twin.differences(real)
        added["on the map"] += sum(twin.count(name) for name in spec.objects) - before
        added["owed"] += sum(goal.owed for goal in twin.goals)
        assert on_paper.missing(twin) == []
    assert added["on the map"] > 0
    assert added["owed"] > 0


def test_after_all_of_something_more_of_it_is_owed_not_placed() -> None:
    words = GRID.vocabulary
    listed = [Instruction("pick up", "egg", 0), Instruction("visit", "egg")]
    bare = replace(GRID.lists, objects=(0.0, 0.0))
    worlds = begun(GRID, given_list(GRID, listed), bare)
    egg = words.object_index("egg")
    assert (worlds.privileged["counts"][:, egg] == 2).all()  # an "all" finds two
    assert worlds.privileged_goals[:, :, SUPPLY].tolist() == [[0, 1]] * worlds.count
    products = [
        Instruction("pick up", "milk", 0),
        Instruction("transform", "cow"),
        Instruction("visit", "milk"),
    ]
    worlds = begun(GRID, given_list(GRID, products), bare)
    assert not worlds.privileged_goals[:, :, SUPPLY].any()  # the cow turns into the milk


@pytest.mark.parametrize("sizes", [(5, 5), (7, 7), (10, 10), (6, 9)])
def test_maps_of_the_wanted_sizes_lie_anywhere(sizes: tuple[int, int]) -> None:
    bare = replace(GRID.lists, sizes=sizes, walls=(0.0, 0.0), water=(0.0, 0.0))
    worlds = begun(GRID, list_tasks(GRID, "train", (1, 1)), bare, count=400)
    sides, corners = set(), set()
    for tiles in worlds.privileged["tiles"]:
        rows, columns = np.nonzero(tiles != WALL)
        height, width = np.ptp(rows) + 3, np.ptp(columns) + 3  # border included
        assert height == width
        sides.add(int(height))
        corners.add((int(height), int(rows.min()), int(columns.min())))
        assert (tiles != WALL).sum() == (height - 2) ** 2
    assert sides == set(range(sizes[0], sizes[1] + 1))
    assert len(corners) == sum((MAP_SIZE - side + 1) ** 2 for side in sides)


@pytest.mark.parametrize(
    ("setting", "walls", "water", "objects"),
    [
        (GRID.skill, 0.05, 0.05, 0.3),
        (GRID.lists, 0.05, 0.05, 0.15),
        (GRID.forgiving, 0.05, 0.05, 0.075),
        (replace(GRID.lists, objects=(0.5, 0.5), walls=(0.2, 0.2)), 0.2, 0.05, 0.5),
    ],
)
def test_densities(setting: Setting, walls: float, water: float, objects: float) -> None:
    tasks = TaskSource((Instruction("visit", "cow"),))
    tiles = begun(GRID, tasks, setting, count=3000).privileged["tiles"][:, 1:-1, 1:-1]
    land = (tiles == 0) | (tiles >= 3)
    # Cells that are cut off become walls, so there are a few more of these.
    assert walls <= (tiles == 1).mean() + 0.005
    assert (tiles == 1).mean() < walls * 1.6 + 0.005
    assert (tiles == 2).mean() == pytest.approx(water, abs=0.005)
    share = (tiles >= 3).sum(axis=(1, 2)) / land.sum(axis=(1, 2))
    assert share.mean() == pytest.approx(objects, abs=0.025)  # a cow is added where there is none


def test_only_what_the_setting_names_is_scattered() -> None:
    for spec in (GRID, BLOCK):
        first = spec.lists.scattered[0]
        tasks = TaskSource((Instruction("visit", first),))
        for setting in (spec.skill, spec.lists):
            present = begun(spec, tasks, setting, count=300).privileged["counts"].sum(axis=0)
            found = {name for k, name in enumerate(spec.objects) if present[k]}
            assert found == set(setting.scattered)


def test_agents_begin_anywhere_and_face_anywhere() -> None:
    worlds = begun(BLOCK, skill_tasks(BLOCK, "independent", "train"), BLOCK.skill, count=2000)
    records = worlds.privileged
    assert set(zip(records["row"].tolist(), records["column"].tolist(), strict=True)) == set(INSIDE)
    assert (np.bincount(records["heading"], minlength=4) > 400).all()
    on_object = records["tiles"][range(2000), records["row"], records["column"]] >= 3
    assert 0.3 < on_object.mean() < 0.6  # objects are walked on, so one may begin on one


def test_lists_are_drawn_evenly_from_the_pool() -> None:
    tasks = list_tasks(GRID, "train", (1, 4))
    worlds = begun(GRID, tasks, GRID.lists, count=3000)
    lengths = np.bincount(worlds.privileged["length"], minlength=5)
    assert lengths[0] == 0
    assert (lengths[1:] > 650).all()
    drawn = Counter(
        tuple(row[:3])
        for goals, length in zip(
            worlds.privileged_goals.tolist(), worlds.privileged["length"], strict=True
        )
        for row in goals[:length]
    )
    assert len(drawn) == len(tasks.pool) == 47
    assert min(drawn.values()) > 100
    assert not worlds.privileged_goals[worlds.privileged["length"] == 1, 1:].any()


def test_a_given_list_is_the_same_every_time() -> None:
    listed = [Instruction("visit", "cow"), Instruction("pick up", "egg", 0)]
    worlds = begun(GRID, given_list(GRID, listed), GRID.lists)
    codes = [item.code(GRID.vocabulary) for item in listed]
    assert (worlds.privileged_goals[..., :SUPPLY] == codes).all()


def test_a_map_too_full_of_walls_is_left_without() -> None:
    walled = replace(GRID.lists, walls=(0.9, 0.9))
    tiles = begun(GRID, list_tasks(GRID, "train", (1, 4)), walled).privileged["tiles"]
    assert (tiles[:, 1:-1, 1:-1] != WALL).all()


def test_only_the_largest_region_stays() -> None:
    tiles = np.ones((10, 10), np.uint8)
    tiles[1, 1:4] = tiles[3, 1:6] = tiles[5, 1:5] = 0
    tiles[4, 1] = 2  # water joins two regions, but does not connect them
    assert keep_largest_region(tiles) == 5
    assert np.argwhere(tiles == 0).tolist() == [[3, column] for column in range(1, 6)]
    assert tiles[4, 1] == 2
    rng = np.random.default_rng(3)
    for _ in range(50):
        tiles = np.ones((10, 10), np.uint8)
        tiles[1:-1, 1:-1] = rng.choice(3, p=[0.5, 0.4, 0.1], size=(8, 8))
        regions = dry_regions(tiles)
        assert keep_largest_region(tiles) == max(map(len, regions))
        assert {tuple(cell) for cell in np.argwhere(tiles == 0).tolist()} in regions


def dry_regions(tiles: np.ndarray) -> list[set[tuple[int, int]]]:
    left = {(row, column) for row, column in np.argwhere(tiles == 0).tolist()}
    regions = []
    while left:
        region, frontier = set(), [left.pop()]
        while frontier:
            row, column = frontier.pop()
            region.add((row, column))
            beside = {(row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)}
            frontier += beside & left
            left -= beside
        regions.append(region)
    return regions
