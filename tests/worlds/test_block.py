"""The block world against its plain-Python twin, and the paper's facts about it."""

from dataclasses import replace

import numpy as np
import pytest

from errands.language.instruction import Instruction
from errands.worlds.actions import BlockAction
from errands.worlds.art import load_art
from errands.worlds.raycast import build_tables, render_view, texture_atlas
from errands.worlds.spec import BLOCK, GRID, Setting
from errands.worlds.step import DONE
from errands.worlds.tasks import TaskSource, list_tasks, skill_tasks
from errands.worlds.vector import Worlds
from twins.lockstep import mixed_actions, read_twin, run_in_lockstep
from twins.own_world import own_world
from twins.scene import play, scene, thing_at
from twins.world import COMPASS, neighbour

CROWDED = replace(BLOCK.lists, objects=(0.3, 0.8), sizes=(5, 6))


@pytest.mark.parametrize(
    ("scenario", "expected"),
    [
        ("independent", {"visit", "pick up", "transform", "done", "cut off"}),
        ("object-dependent", {"interact with", "done"}),
        ("inter-extrapolation", {"2 times", "5 times", "7 times", "done"}),
    ],
)
def test_skill_episodes_match_the_twin(scenario: str, expected: set[str]) -> None:
    worlds = Worlds(BLOCK, 10, skill_tasks(BLOCK, scenario, "all"), BLOCK.skill)
    happened = run_in_lockstep(worlds, steps=200, seed=4)
    assert expected <= happened.keys()


@pytest.mark.parametrize(
    ("split", "setting", "lengths", "expected"),
    [
        ("train", BLOCK.lists, (1, 4), {"event came", "event left", "event caught", "done"}),
        ("unseen", BLOCK.lists, (2, 8), {"event caught", "2 times", "3 times"}),
        ("train", BLOCK.forgiving, (1, 4), {"put back", "event caught", "done"}),
        ("seen", CROWDED, (6, 10), {"made room", "supplied"}),
        ("unseen", replace(CROWDED, forgiving=True), (6, 10), {"put back", "supplied"}),
    ],
)
def test_lists_match_the_twin(
    split: str, setting: Setting, lengths: tuple[int, int], expected: set[str]
) -> None:
    worlds = Worlds(BLOCK, 12, list_tasks(BLOCK, split, lengths), setting)
    happened = run_in_lockstep(worlds, steps=300, seed=12, purpose=0.75)
    assert expected <= happened.keys()


@pytest.mark.parametrize("forgiving", [False, True])
def test_a_users_world_matches_the_twin(forgiving: bool) -> None:
    spec = own_world("block")
    setting = spec.forgiving if forgiving else spec.lists
    worlds = Worlds(spec, 10, list_tasks(spec, "all", (1, 5)), setting)
    happened = run_in_lockstep(worlds, steps=250, seed=5, purpose=0.8)
    expected = {"interact with", "2 times", "all", "walked", "event left", "event caught", "done"}
    assert expected <= happened.keys()


def test_the_grids_objects_seen_as_blocks_match_the_twin() -> None:
    """The rules of objects, walkers and water are the worlds' own, not the grid's."""
    spec = replace(GRID, kind="block")
    worlds = Worlds(spec, 8, list_tasks(spec, "train", (1, 4)), spec.lists)
    happened = run_in_lockstep(worlds, steps=200, seed=6, purpose=0.8)
    assert {"water", "walked", "all", "done"} <= happened.keys()


def test_a_list_that_outgrows_the_map_matches_the_twin() -> None:
    """Nine cells and 36 pigs, each of which leaves ice behind."""
    pool = (*[Instruction("transform", "pig", 3)] * 12, Instruction("pick up", "sheep", 3))
    tasks = TaskSource(pool, (13, 13), in_order=True, step_limit=500)
    tiny = replace(BLOCK.lists, sizes=(5, 5), walls=(0.0, 0.0), event=False)
    worlds = Worlds(BLOCK, 4, tasks, tiny)
    happened = run_in_lockstep(worlds, steps=300, seed=8, purpose=0.95)
    assert {"made room", "supplied", "done"} <= happened.keys()


def test_observations_are_the_rendered_view() -> None:
    worlds = Worlds(BLOCK, 12, skill_tasks(BLOCK, "independent", "train"), BLOCK.skill)
    worlds.reset()
    atlas = texture_atlas(load_art("block"), BLOCK.objects)
    rng = np.random.default_rng(0)
    expected = np.empty((64, 64, 3), np.uint8)
    for _ in range(6):
        for record, image in zip(worlds.privileged, worlds.images, strict=True):
            pose = [int(record[name]) for name in ("row", "column", "heading", "pitch")]
            render_view(record["tiles"], *pose, build_tables(), atlas, expected)
            np.testing.assert_array_equal(image, expected)
        worlds.step(mixed_actions(worlds, rng, 0.3))


def test_the_papers_view_and_actions() -> None:
    assert BLOCK.image_shape == (64, 64, 3)
    assert len(BlockAction) == 9
    assert [action.name for action in BlockAction] == [
        *("LOOK_LEFT", "LOOK_RIGHT", "LOOK_UP", "LOOK_DOWN"),
        *("MOVE_FORWARD", "MOVE_BACKWARD", "PICK_UP", "TRANSFORM", "NO_OP"),
    ]


@pytest.mark.parametrize("heading", COMPASS)
def test_moving_and_handling_follow_the_heading(heading: str) -> None:
    front, back = neighbour((5, 5), heading), neighbour((5, 5), heading, -1)
    around = {front: "pig", back: "cat"}
    for action, left in (("PICK_UP", ""), ("TRANSFORM", "ice")):
        worlds = scene(BLOCK, "visit horse", around, heading=heading)
        play(worlds, action)
        assert (thing_at(worlds, front), thing_at(worlds, back)) == (left, "cat")
    for action, cell in (("MOVE_FORWARD", front), ("MOVE_BACKWARD", back)):
        worlds = scene(BLOCK, "visit horse", around, heading=heading)
        play(worlds, action)
        assert read_twin(worlds, 0).agent == cell
        assert read_twin(worlds, 0).heading == heading


def test_looking_turns_by_quarters_and_pitches_by_eighths() -> None:
    worlds = scene(BLOCK, "visit horse", {})
    seen = []
    for action in ("LOOK_RIGHT",) * 4 + ("LOOK_LEFT",) * 4:
        play(worlds, action)
        seen.append(read_twin(worlds, 0).heading)
    assert seen == ["east", "south", "west", "north", "west", "south", "east", "north"]
    pitches = []
    for action in ("LOOK_UP", "LOOK_UP", "LOOK_DOWN", "LOOK_DOWN", "LOOK_DOWN", "LOOK_UP"):
        play(worlds, action)
        pitches.append(read_twin(worlds, 0).pitch)
    assert pitches == [1, 1, 0, -1, -1, 0]


def test_looking_up_or_down_changes_only_what_is_seen() -> None:
    for look in ("LOOK_UP", "LOOK_DOWN", "NO_OP"):
        worlds = scene(BLOCK, "pick up pig", {(4, 5): "pig"})
        assert play(worlds, look, "PICK_UP") == [-0.1, 0.9]


def test_walls_block_both_ways() -> None:
    worlds = scene(BLOCK, "visit horse", {(4, 5): "wall", (6, 5): "wall"})
    play(worlds, "MOVE_FORWARD", "MOVE_BACKWARD", "PICK_UP", "TRANSFORM")
    assert read_twin(worlds, 0).agent == (5, 5)
    assert thing_at(worlds, (4, 5)) == "wall"


def test_whatever_is_transformed_becomes_ice_and_ice_stays_ice() -> None:
    for name in BLOCK.objects:
        worlds = scene(BLOCK, "visit horse", {(4, 5): name})
        play(worlds, "TRANSFORM", "TRANSFORM")
        assert thing_at(worlds, (4, 5)) == "ice"
        assert read_twin(worlds, 0).deed == ("transform", "ice")


def test_an_ended_world_stays_as_it_is() -> None:
    worlds = scene(BLOCK, "pick up pig", {(4, 5): "pig"})
    assert play(worlds, "PICK_UP") == [0.9]
    ended, image = read_twin(worlds, 0), worlds.images.copy()
    assert play(worlds, "MOVE_FORWARD", "LOOK_LEFT", "LOOK_UP") == [0.0, 0.0, 0.0]
    assert worlds.status[0] == DONE
    assert read_twin(worlds, 0) == ended
    np.testing.assert_array_equal(worlds.images, image)
