"""What a step pays, and how an episode ends."""

from dataclasses import replace

import numpy as np
import pytest

from errands.worlds.spec import BLOCK, GRID, Rewards
from errands.worlds.step import CUT_OFF, DONE, RUNNING
from twins.scene import play, scene

QUIET = replace(GRID.lists, event=False)


def test_each_step_costs_a_tenth_and_the_last_pays_one_more() -> None:
    worlds = scene(GRID, "visit cow", {(3, 5): "cow"})
    assert play(worlds, "NO_OP", "MOVE_NORTH", "MOVE_NORTH") == [-0.1, -0.1, 0.9]
    worlds = scene(BLOCK, "visit cat", {(3, 5): "cat"})
    assert play(worlds, "LOOK_UP", "MOVE_FORWARD", "MOVE_FORWARD") == [-0.1, -0.1, 0.9]


def test_water_costs_three_tenths_for_as_long_as_one_stands_in_it() -> None:
    worlds = scene(GRID, "pick up cow", {(4, 5): "water", (3, 5): "cow"})
    rewards = play(worlds, "MOVE_NORTH", "NO_OP", "MOVE_SOUTH", "MOVE_NORTH", "PICK_UP_NORTH")
    assert rewards == [-0.3, -0.3, -0.1, -0.3, 0.7]


def test_an_enemy_pays_nine_tenths_net_even_from_water() -> None:
    spec = replace(GRID, walks={}, event=replace(GRID.event, probability=0.0))
    worlds = scene(spec, "visit cow", {(4, 5): "enemy", (5, 5): "water"}, setting=GRID.lists)
    assert play(worlds, "TRANSFORM_NORTH", "NO_OP") == [0.9, -0.3]


def test_finishing_the_list_by_catching_the_event_pays_both() -> None:
    spec = replace(GRID, walks={}, event=replace(GRID.event, probability=0.0))
    worlds = scene(spec, "transform enemy", {(4, 5): "enemy"}, setting=GRID.lists)
    assert play(worlds, "TRANSFORM_NORTH") == [1.9]


def test_a_users_rewards_are_paid() -> None:
    spec = replace(GRID, rewards=Rewards(step=-0.5, done=3.0, water=-2.0, event=4.0))
    worlds = scene(spec, "visit cow", {(4, 5): "water", (3, 5): "cow"})
    assert play(worlds, "NO_OP", "MOVE_NORTH", "MOVE_NORTH") == [-0.5, -2.0, 2.5]


def test_an_episode_is_cut_off_after_its_last_step() -> None:
    worlds = scene(GRID, "visit cow", {(1, 1): "cow"}, step_limit=3)
    states = []
    for _ in range(4):
        play(worlds, "NO_OP")
        states.append(int(worlds.status[0]))
    assert states == [RUNNING, RUNNING, CUT_OFF, CUT_OFF]
    assert worlds.privileged[0]["steps"] == 3


def test_finishing_in_the_last_step_is_done_not_cut_off() -> None:
    worlds = scene(GRID, "visit cow", {(4, 5): "cow"}, step_limit=1)
    assert play(worlds, "MOVE_NORTH") == [0.9]
    assert worlds.status[0] == DONE
    assert worlds.done.tolist() == [True]
    assert worlds.cut_off.tolist() == [False]


def test_statistics_of_the_ended_episode() -> None:
    worlds = scene(GRID, "visit cow, visit pig", {(4, 5): "cow"}, step_limit=4)
    play(worlds, "NO_OP", "MOVE_NORTH", "NO_OP")
    assert worlds.finished().world.size == 0
    play(worlds, "NO_OP")
    ended = worlds.finished()
    assert ended.world.tolist() == [0]
    assert ended.reward[0] == pytest.approx(-0.4)
    assert (ended.steps[0], ended.completed[0], ended.success[0]) == (4, 1, False)
    worlds.reset(np.array([True]))
    assert worlds.finished().world.size == 0
