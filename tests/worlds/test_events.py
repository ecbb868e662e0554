"""What happens without the agent: enemies and boxes come, walk, leave and are caught."""

from collections import Counter
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from errands.worlds.spec import BLOCK, GRID, NOTHING, Event, WorldSpec
from errands.worlds.tasks import list_tasks, skill_tasks
from errands.worlds.vector import Worlds
from twins.lockstep import mixed_actions, read_twin
from twins.scene import count_of, play, scene, thing_at

SPECS = pytest.mark.parametrize("spec", [GRID, BLOCK], ids=lambda spec: spec.name)
LIFETIMES = {"grid": 10, "block": 20}


def with_event(spec: WorldSpec, cell: tuple[int, int], left: int) -> Worlds:
    """A bare room with the event's object on a cell, and nothing else ever appearing."""
    still = replace(spec, event=replace(spec.event, probability=0.0), walks={})
    target = "visit cow" if spec.kind == "grid" else "visit cat"
    worlds = scene(still, target, {cell: spec.event.object}, setting=spec.lists)
    worlds.privileged[0]["event_cell"] = cell[0] * 10 + cell[1]
    worlds.privileged[0]["event_left"] = left
    worlds.privileged[0]["events"] = 1
    return worlds


@SPECS
def test_the_papers_events(spec: WorldSpec) -> None:
    assert spec.event.object == {"grid": "enemy", "block": "box"}[spec.name]
    assert spec.event.lifetime == LIFETIMES[spec.name]
    assert spec.event.probability == pytest.approx(0.03, abs=0.01)


@SPECS
def test_an_event_is_there_for_its_lifetime_and_then_gone(spec: WorldSpec) -> None:
    certain = replace(spec, event=replace(spec.event, probability=1.0))
    target = "visit cow" if spec.kind == "grid" else "visit cat"
    worlds = scene(certain, target, {}, setting=spec.lists)
    present = []
    for _ in range(2 * spec.event.lifetime + 2):
        play(worlds, "NO_OP")
        present.append(count_of(worlds, spec.event.object))
    # It can be seen for as many steps, then nothing for the step in which it leaves.
    once = [1] * LIFETIMES[spec.name] + [0]
    assert present == once * 2
    assert worlds.privileged[0]["events"] == 2


@SPECS
def test_there_is_one_event_at_a_time_as_often_as_the_spec_says(spec: WorldSpec) -> None:
    worlds = Worlds(spec, 400, list_tasks(spec, "train", (4, 4), step_limit=10_000), spec.lists)
    worlds.reset()
    chances = events = 0
    idle = np.full(worlds.count, worlds.actions - 1 if spec.kind == "block" else 0)
    kind = spec.objects.index(spec.event.object)
    for _ in range(100):
        none = (worlds.privileged["event_cell"] == NOTHING).sum()
        before = worlds.privileged["events"].sum()
        worlds.step(idle)
        chances += none
        events += worlds.privileged["events"].sum() - before
        present = worlds.privileged["event_cell"] != NOTHING
        assert (worlds.privileged["counts"][:, kind] == present).all()
    expected = spec.event.probability * chances
    assert abs(events - expected) < 4 * np.sqrt(expected)


@SPECS
def test_the_agent_has_every_step_of_the_lifetime_to_catch_it(spec: WorldSpec) -> None:
    catch = "TRANSFORM_NORTH" if spec.kind == "grid" else "TRANSFORM"
    worlds = with_event(spec, (4, 5), spec.event.lifetime)
    waiting = ["NO_OP"] * (spec.event.lifetime - 1)
    assert play(worlds, *waiting, catch) == [-0.1] * len(waiting) + [0.9]
    assert worlds.privileged[0]["events_used"] == 1
    worlds = with_event(spec, (4, 5), spec.event.lifetime)
    assert play(worlds, *waiting, "NO_OP", catch)[-2:] == [-0.1, -0.1]
    assert worlds.privileged[0]["events_used"] == 0


@SPECS
def test_picking_it_up_pays_nothing_and_ends_it(spec: WorldSpec) -> None:
    worlds = with_event(spec, (4, 5), 5)
    action = "PICK_UP_NORTH" if spec.kind == "grid" else "PICK_UP"
    assert play(worlds, action, "NO_OP") == [-0.1, -0.1]
    assert worlds.privileged[0]["event_cell"] == NOTHING
    assert worlds.privileged[0]["events_used"] == 0


def test_an_enemy_that_is_caught_is_gone() -> None:
    worlds = with_event(GRID, (4, 5), 10)
    assert play(worlds, "TRANSFORM_NORTH") == [0.9]
    assert thing_at(worlds, (4, 5)) == ""


def test_a_box_that_is_caught_is_ice_and_stays() -> None:
    worlds = with_event(BLOCK, (4, 5), 3)
    assert play(worlds, "TRANSFORM") == [0.9]
    play(worlds, *["NO_OP"] * 30)
    assert thing_at(worlds, (4, 5)) == "ice"
    assert play(worlds, "TRANSFORM") == [-0.1]  # ice is worth nothing


def test_an_event_leaves_from_under_the_agent() -> None:
    worlds = with_event(BLOCK, (4, 5), 2)
    play(worlds, "MOVE_FORWARD")
    assert thing_at(worlds, (4, 5)) == "box"
    play(worlds, "NO_OP")
    assert thing_at(worlds, (4, 5)) == ""
    assert read_twin(worlds, 0).agent == (4, 5)


def test_skill_episodes_have_no_event_and_no_reward_for_one() -> None:
    worlds = Worlds(GRID, 200, skill_tasks(GRID, "independent", "train"), GRID.skill)
    worlds.reset()
    for _ in range(40):
        worlds.step(np.zeros(200, np.int64))
        assert (worlds.privileged["events"] == 0).all()
    quiet = replace(GRID.skill, event=False)
    worlds = scene(replace(GRID, walks={}), "visit cow", {(4, 5): "enemy"}, setting=quiet)
    assert play(worlds, "TRANSFORM_NORTH") == [-0.1]


def test_walkers_move_one_cell_to_a_free_neighbour() -> None:
    walls = dict.fromkeys([(4, 5), (6, 5), (5, 4)], "wall")
    spec = replace(GRID, walks={"enemy": 1.0})
    for blocked in ("wall", "water", "cow"):
        worlds = scene(spec, "visit egg", walls | {(5, 5): "enemy", (5, 6): blocked}, agent=(1, 1))
        play(worlds, *["NO_OP"] * 40)
        assert thing_at(worlds, (5, 5)) == "enemy"
    worlds = scene(spec, "visit egg", walls | {(5, 5): "enemy"}, agent=(5, 6))
    play(worlds, *["NO_OP"] * 40)
    assert thing_at(worlds, (5, 5)) == "enemy"  # nor onto the agent
    worlds = scene(spec, "visit egg", walls | {(5, 5): "enemy"}, agent=(1, 1))
    cells = [(5, 5)]
    for _ in range(40):
        play(worlds, "NO_OP")
        (cell,) = np.argwhere(worlds.privileged[0]["tiles"] == 3 + GRID.objects.index("enemy"))
        cells.append(tuple(cell.tolist()))
    steps = {abs(a - c) + abs(b - d) for (a, b), (c, d) in pairwise(cells)}
    assert steps == {0, 1}
    assert len(set(cells)) > 5


def test_a_walker_moves_once_a_step_in_all_directions_alike() -> None:
    spec = replace(GRID, walks={"enemy": 1.0})
    worlds = scene(spec, "visit egg", {(5, 5): "enemy"}, agent=(1, 1), step_limit=1000)
    bare_room = worlds.privileged.copy()
    moves: Counter[tuple[int, ...]] = Counter()
    for seed in range(400):
        worlds.privileged[:] = bare_room
        worlds.seed(seed)
        play(worlds, "NO_OP")
        (cell,) = np.argwhere(worlds.privileged[0]["tiles"] == 3 + GRID.objects.index("enemy"))
        moves[tuple(cell.tolist())] += 1
    assert set(moves) == {(4, 5), (6, 5), (5, 4), (5, 6)}
    assert min(moves.values()) > 60


def test_a_walking_event_is_still_the_event() -> None:
    spec = replace(GRID, walks={"enemy": 1.0}, event=Event("enemy", 0.0, 6, 3))
    worlds = scene(spec, "visit egg", {(5, 5): "enemy"}, agent=(1, 1), setting=GRID.lists)
    worlds.privileged[0]["event_cell"], worlds.privileged[0]["event_left"] = 55, 6
    for _ in range(5):
        play(worlds, "NO_OP")
        row, column = divmod(int(worlds.privileged[0]["event_cell"]), 10)
        assert thing_at(worlds, (row, column)) == "enemy"
    play(worlds, "NO_OP")
    assert count_of(worlds, "enemy") == 0


def test_another_walker_never_takes_the_place_of_an_event_just_caught() -> None:
    """It would be taken for the event and leave with it."""
    spec = replace(GRID, walks={"enemy": 1.0}, event=Event("enemy", 0.0, 9, 3))
    for seed in range(40):
        both = {(4, 5): "enemy", (3, 5): "enemy"}
        worlds = scene(spec, "visit egg", both, setting=GRID.lists)
        worlds.seed(seed)
        worlds.privileged[0]["event_cell"], worlds.privileged[0]["event_left"] = 45, 9
        play(worlds, "TRANSFORM_NORTH")
        assert worlds.privileged[0]["event_cell"] == NOTHING
        play(worlds, *["NO_OP"] * 12)
        assert count_of(worlds, "enemy") == 1


def test_a_world_without_an_event_has_none() -> None:
    spec = replace(GRID, event=None)
    worlds = Worlds(spec, 20, list_tasks(spec, "train", (1, 4)), spec.lists)
    worlds.reset()
    rng = np.random.default_rng(0)
    for _ in range(50):
        worlds.step(mixed_actions(worlds, rng, 0.5))
    assert not worlds.privileged["events"].any()


@SPECS
def test_a_dropped_event_pays_and_leaves_like_any_other(spec: WorldSpec) -> None:
    worlds = with_event(spec, (2, 2), left=3)
    worlds.drop(0, 4, 5, spec.event.object)
    assert thing_at(worlds, (4, 5)) == spec.event.object
    assert thing_at(worlds, (2, 2)) == ""  # one at a time
    assert count_of(worlds, spec.event.object) == 1
    assert worlds.privileged[0]["events"] == 2
    seen = worlds.images.copy()
    for _ in range(spec.event.lifetime - 1):
        play(worlds, "NO_OP")
        assert thing_at(worlds, (4, 5)) == spec.event.object
    np.testing.assert_array_equal(seen, worlds.images)  # it was seen at once
    play(worlds, "NO_OP")
    assert count_of(worlds, spec.event.object) == 0
    worlds.drop(0, 4, 5, spec.event.object)
    deed = "TRANSFORM_NORTH" if spec.kind == "grid" else "TRANSFORM"
    assert play(worlds, deed) == [spec.rewards.event]
    assert worlds.privileged[0]["events_used"] == 1


@SPECS
def test_another_object_can_be_dropped_and_stays(spec: WorldSpec) -> None:
    worlds = with_event(spec, (2, 2), left=3)
    worlds.drop(0, 4, 5, "pig")
    play(worlds, *["NO_OP"] * 30)
    assert thing_at(worlds, (4, 5)) == "pig"
    assert count_of(worlds, "pig") == 1
    deed = "PICK_UP_NORTH" if spec.kind == "grid" else "PICK_UP"
    assert play(worlds, deed) == [spec.rewards.step]
    assert count_of(worlds, "pig") == 0


@SPECS
@pytest.mark.parametrize("cell", [(0, 4), (4, 9), (-1, 4), (4, 30), (2, 2), (5, 5)])
def test_nothing_is_dropped_on_what_is_taken(spec: WorldSpec, cell: tuple[int, int]) -> None:
    worlds = with_event(spec, (2, 2), left=3)
    before = worlds.snapshot()
    with pytest.raises(ValueError, match="is not"):
        worlds.drop(0, *cell, "pig")
    with pytest.raises(ValueError, match="unknown object"):
        worlds.drop(0, 3, 3, "unicorn")
    for name, array in worlds.snapshot().items():
        np.testing.assert_array_equal(array, before[name])
