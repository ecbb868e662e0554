"""When an instruction is done, told as short stories; the twins cover the rest at random."""

from dataclasses import replace

import pytest

from errands.language.instruction import Instruction
from errands.worlds.spec import BLOCK, GRID, WorldSpec
from errands.worlds.state import SUPPLY
from errands.worlds.step import CUT_OFF, DONE, RUNNING
from twins.lockstep import read_twin
from twins.scene import count_of, play, progress_of, scene, thing_at
from twins.world import INSIDE

FORGIVING = replace(GRID.forgiving, event=False)


def test_a_visit_is_done_by_arriving() -> None:
    worlds = scene(GRID, "visit cow", {(4, 5): "cow"})
    assert play(worlds, "MOVE_NORTH") == [0.9]
    assert worlds.status[0] == DONE


def test_standing_on_the_target_is_not_a_visit() -> None:
    worlds = scene(GRID, "visit cow", {(5, 5): "cow"})
    play(worlds, "NO_OP", "MOVE_NORTH")
    assert progress_of(worlds) == 0
    play(worlds, "MOVE_SOUTH")
    assert progress_of(worlds) == 1


def test_running_into_a_wall_while_on_the_target_is_not_a_visit() -> None:
    worlds = scene(GRID, "visit cow", {(5, 5): "cow", (4, 5): "wall"})
    play(worlds, "MOVE_NORTH")
    assert progress_of(worlds) == 0


def test_one_can_arrive_backwards() -> None:
    worlds = scene(BLOCK, "visit cat", {(6, 5): "cat"})
    assert play(worlds, "MOVE_BACKWARD") == [0.9]


@pytest.mark.parametrize(
    ("task", "action"),
    [("pick up pig", "PICK_UP_NORTH"), ("transform pig", "TRANSFORM_NORTH")],
)
def test_any_instance_of_the_target_counts_and_nothing_else(task: str, action: str) -> None:
    for place, done in (((4, 5), True), ((4, 6), False)):
        worlds = scene(GRID, task, {place: "pig", (1, 1): "pig", (6, 5): "cow"})
        play(worlds, action.replace("NORTH", "SOUTH"))
        assert progress_of(worlds) == 0
        play(worlds, action)
        assert progress_of(worlds) == done


def test_the_other_verb_does_not_count() -> None:
    worlds = scene(GRID, "transform pig", {(4, 5): "pig", (6, 5): "pig"})
    play(worlds, "PICK_UP_NORTH", "MOVE_SOUTH")
    assert progress_of(worlds) == 0


def test_instructions_count_only_in_order() -> None:
    worlds = scene(GRID, "pick up egg, pick up pig", {(4, 5): "pig", (6, 5): "egg", (5, 4): "pig"})
    play(worlds, "PICK_UP_NORTH")
    assert progress_of(worlds) == 0  # a pig was not asked for yet, and does not count later
    assert play(worlds, "PICK_UP_SOUTH") == [-0.1]
    assert progress_of(worlds) == 1
    assert play(worlds, "PICK_UP_WEST") == [0.9]


def test_a_deed_finishes_one_instruction_at_most() -> None:
    worlds = scene(GRID, "visit cow, visit cow", {(4, 5): "cow"})
    play(worlds, "MOVE_NORTH")
    assert progress_of(worlds) == 1
    play(worlds, "MOVE_SOUTH", "MOVE_NORTH")
    assert progress_of(worlds) == 2


def test_counts_ask_for_so_many_deeds() -> None:
    around = {(4, 5): "pig", (6, 5): "pig", (5, 4): "pig", (5, 6): "pig"}
    worlds = scene(GRID, [Instruction("pick up", "pig", 3)], around)
    rewards = play(worlds, "PICK_UP_NORTH", "NO_OP", "PICK_UP_SOUTH", "PICK_UP_WEST")
    assert rewards == [-0.1, -0.1, -0.1, 0.9]
    assert count_of(worlds, "pig") == 1


def test_the_same_object_can_be_visited_again_for_a_count() -> None:
    worlds = scene(BLOCK, [Instruction("visit", "cat", 2)], {(4, 5): "cat"})
    rewards = play(worlds, "MOVE_FORWARD", "NO_OP", "MOVE_BACKWARD", "MOVE_FORWARD")
    assert rewards == [-0.1, -0.1, -0.1, 0.9]


def test_a_new_instruction_starts_counting_at_zero() -> None:
    around = {(4, 5): "pig", (6, 5): "pig", (5, 4): "pig", (5, 6): "pig"}
    worlds = scene(BLOCK, "pick up 2 pigs, pick up 2 pigs", around)
    play(worlds, "PICK_UP", "LOOK_RIGHT", "PICK_UP", "LOOK_RIGHT", "PICK_UP")
    assert (progress_of(worlds), worlds.status[0]) == (1, RUNNING)
    play(worlds, "LOOK_RIGHT", "PICK_UP")
    assert worlds.status[0] == DONE


def test_all_means_until_none_is_left() -> None:
    worlds = scene(GRID, "transform all pigs", {(4, 5): "pig", (6, 5): "pig", (1, 1): "meat"})
    play(worlds, "TRANSFORM_NORTH")
    assert progress_of(worlds) == 0
    play(worlds, "TRANSFORM_SOUTH")
    assert worlds.status[0] == DONE
    assert count_of(worlds, "meat") == 3


def test_all_is_finished_by_a_fitting_deed_only() -> None:
    """Whoever gets rid of the last one in another way has failed."""
    worlds = scene(GRID, "transform all pigs", {(4, 5): "pig", (6, 5): "pig"})
    play(worlds, "TRANSFORM_NORTH", "PICK_UP_SOUTH", "NO_OP", "TRANSFORM_SOUTH")
    assert (progress_of(worlds), worlds.status[0]) == (0, RUNNING)


@pytest.mark.parametrize("spec", [GRID, BLOCK], ids=lambda spec: spec.name)
def test_interact_means_what_the_objects_group_says(spec: WorldSpec) -> None:
    north = "_NORTH" if spec is GRID else ""
    for name, verb in spec.interact.items():
        for action in ("PICK_UP", "TRANSFORM"):
            task = [Instruction("interact with", name)]
            worlds = scene(spec, task, {(4, 5): name})
            play(worlds, action + north)
            assert (worlds.status[0] == DONE) == (action == verb.upper().replace(" ", "_"))


def test_what_an_instruction_is_owed_appears_when_the_list_reaches_it() -> None:
    worlds = scene(GRID, "pick up egg, visit heart", {(4, 5): "egg"})
    worlds.privileged_goals[0, 1, SUPPLY] = 2
    play(worlds, "NO_OP")
    assert count_of(worlds, "heart") == 0
    play(worlds, "PICK_UP_NORTH")
    assert count_of(worlds, "heart") == 2
    assert worlds.privileged_goals[0, 1, SUPPLY] == 0
    play(worlds, "NO_OP")
    assert count_of(worlds, "heart") == 2


def test_who_has_taken_all_sees_that_none_is_left_before_more_of_it_comes() -> None:
    worlds = scene(GRID, "pick up all eggs, visit egg", {(4, 5): "egg"})
    worlds.privileged_goals[0, 1, SUPPLY] = 1
    play(worlds, "PICK_UP_NORTH")
    plane = 3 + GRID.objects.index("egg")
    assert not worlds.images[0, plane].any()
    play(worlds, "NO_OP")
    assert worlds.images[0, plane].sum() == 1


def test_what_is_wasted_is_not_replaced() -> None:
    worlds = scene(GRID, "pick up egg", {(4, 5): "egg"}, step_limit=5)
    play(worlds, "TRANSFORM_NORTH", "NO_OP", "NO_OP", "NO_OP", "NO_OP")
    assert count_of(worlds, "egg") == 0
    assert worlds.status[0] == CUT_OFF


def test_the_forgiving_world_puts_a_missing_target_back() -> None:
    worlds = scene(GRID, "pick up egg", {(4, 5): "egg"}, setting=FORGIVING)
    for _ in range(3):
        north = (read_twin(worlds, 0).agent[0] - 1, 5)
        worlds.privileged[0]["tiles"] *= worlds.privileged[0]["tiles"] == 1  # only walls stay
        worlds.privileged[0]["counts"] = 0
        worlds.privileged[0]["tiles"][north] = 3 + GRID.objects.index("egg")
        worlds.privileged[0]["counts"][GRID.objects.index("egg")] = 1
        play(worlds, "TRANSFORM_NORTH")
        assert count_of(worlds, "egg") == 1
        assert thing_at(worlds, (5, 5)) == ""
    assert progress_of(worlds) == 0


def test_the_forgiving_world_replaces_targets_of_the_current_instruction_alone() -> None:
    worlds = scene(
        GRID, "visit cow, pick up egg", {(4, 5): "egg", (6, 5): "cow"}, setting=FORGIVING
    )
    play(worlds, "TRANSFORM_NORTH")
    assert count_of(worlds, "egg") == 0
    play(worlds, "MOVE_SOUTH")
    assert (progress_of(worlds), count_of(worlds, "egg")) == (1, 1)


def test_the_forgiving_world_still_finishes_all() -> None:
    worlds = scene(
        GRID, "pick up all eggs, visit cow", {(4, 5): "egg", (6, 5): "cow"}, setting=FORGIVING
    )
    play(worlds, "PICK_UP_NORTH")
    assert (progress_of(worlds), count_of(worlds, "egg")) == (1, 0)


def test_on_a_full_map_something_useless_makes_room() -> None:
    full = dict.fromkeys(INSIDE, "rock") | {(4, 5): "egg", (8, 8): "tree"}
    worlds = scene(GRID, "visit egg, pick up heart, pick up rock", full)
    worlds.privileged_goals[0, 1, SUPPLY] = 1
    play(worlds, "MOVE_NORTH")
    assert thing_at(worlds, (8, 8)) == "heart"  # nobody asks for the tree
    assert worlds.privileged_goals[0, :, SUPPLY].tolist() == [0, 0, 0]


@pytest.mark.parametrize("spec", [GRID, BLOCK], ids=lambda spec: spec.name)
def test_no_new_target_hides_what_was_just_picked_up(spec: WorldSpec) -> None:
    """Not even where the emptied cell is the only free one."""
    full = dict.fromkeys(INSIDE, "cat" if spec is BLOCK else "rock") | {(4, 5): "pig"}
    worlds = scene(spec, "pick up pig, visit pig", full)
    worlds.privileged_goals[0, 1, SUPPLY] = 1
    play(worlds, "PICK_UP" if spec is BLOCK else "PICK_UP_NORTH")
    assert (progress_of(worlds), count_of(worlds, "pig")) == (1, 1)
    assert thing_at(worlds, (4, 5)) == ""


def test_what_made_room_is_owed_to_the_instruction_that_needs_it() -> None:
    full = dict.fromkeys(INSIDE, "rock") | {(4, 5): "egg", (8, 8): "tree"}
    worlds = scene(GRID, "visit egg, pick up heart, pick up all rocks, visit tree", full)
    worlds.privileged_goals[0, 1, SUPPLY] = 1
    play(worlds, "MOVE_NORTH")
    assert thing_at(worlds, (8, 8)) == "heart"  # the tree is needed last
    assert (count_of(worlds, "egg"), count_of(worlds, "rock")) == (1, 62)  # the agent is on the egg
    assert worlds.privileged_goals[0, :, SUPPLY].tolist() == [0, 0, 0, 1]


def test_nothing_makes_room_for_more_of_the_same() -> None:
    worlds = scene(GRID, "pick up egg, pick up egg", dict.fromkeys(INSIDE, "egg"))
    worlds.privileged_goals[0, 0, SUPPLY] = 2
    play(worlds, "NO_OP")
    assert worlds.privileged_goals[0, 0, SUPPLY] == 2
    play(worlds, "PICK_UP_NORTH")  # one picked up, one comes in its place
    assert (progress_of(worlds), count_of(worlds, "egg")) == (1, 64)
