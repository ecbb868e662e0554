"""The block world's teacher knows only what its agent could have seen."""

import numpy as np
import pytest
from numpy.typing import NDArray

from errands.worlds.actions import BlockAction
from errands.worlds.seeker import Seekers, is_worth_a_look, look
from errands.worlds.spec import BLOCK, FIRST_OBJECT
from errands.worlds.tasks import skill_tasks
from errands.worlds.vector import Worlds
from twins.seeker import AHEAD, poses_after, steps_to, visible_cells


@pytest.fixture
def worlds() -> Worlds:
    made = Worlds(BLOCK, 200, skill_tasks(BLOCK, "independent", "train"), BLOCK.skill)
    made.seed(5)
    made.reset()
    return made


def test_looking_marks_the_cells_that_a_twin_sees(worlds: Worlds) -> None:
    for world in worlds.privileged[:60]:
        for heading in range(4):
            seen = np.zeros((10, 10), np.bool_)
            worth_it = is_worth_a_look(world, heading, seen)
            look(world, heading, seen)
            marked = {(int(r), int(c)) for r, c in np.argwhere(seen)}
            place = int(world["row"]), int(world["column"])
            expected = {
                cell
                for cell in visible_cells(world["tiles"], *place, heading)
                if world["tiles"][cell] != 1
            }
            assert marked == expected
            assert worth_it == bool(expected)
            assert not is_worth_a_look(world, heading, seen)


def test_planning_leaves_the_worlds_as_they_are(worlds: Worlds) -> None:
    before = worlds.privileged.copy()
    Seekers(worlds).plan(worlds.privileged_subtasks())
    assert (worlds.privileged == before).all()


def unknown(world: np.void, seen: NDArray[np.bool_]) -> set[tuple[int, int]]:
    """Cells without a wall that the seeker has not seen."""
    return {(int(r), int(c)) for r, c in np.argwhere(~seen & (world["tiles"] != 1))}


def test_it_turns_until_a_target_was_seen_and_then_goes_where_one_may_be(worlds: Worlds) -> None:
    seekers = Seekers(worlds)
    subtasks = worlds.privileged_subtasks()
    worlds.step(np.full(200, BlockAction.LOOK_DOWN))
    turned = went = 0
    while not worlds.status.all():
        plan = seekers.plan(subtasks)
        for i in np.flatnonzero((worlds.status == 0) & (plan.cost < 0)):
            world, chosen = worlds.privileged[i], np.flatnonzero(plan.optimal[i]).tolist()
            target = world["tiles"] == FIRST_OBJECT + subtasks[i, 1]
            assert not (target & seekers.seen[i]).any()
            row, column, heading = (int(world[k]) for k in ("row", "column", "heading"))
            hidden = unknown(world, seekers.seen[i])
            fresh = [
                action
                for action, turn in ((BlockAction.LOOK_RIGHT, 1), (BlockAction.LOOK_LEFT, 3))
                if hidden & visible_cells(world["tiles"], row, column, (heading + turn) % 4)
            ]
            if fresh:
                assert chosen == fresh[:1]
                turned += 1
                continue
            least = steps_to(world["tiles"], (row, column, heading), hidden)
            for action, pose in poses_after(world["tiles"], (row, column, heading)).items():
                nearer = steps_to(world["tiles"], pose, hidden) == least - 1
                assert (action in chosen) == nearer
            went += 1
        worlds.step(plan.optimal.argmax(axis=1))
    assert turned > 100
    assert went > 20


def test_it_looks_down_first(worlds: Worlds) -> None:
    for gaze in (BlockAction.LOOK_UP, BlockAction.LOOK_DOWN):  # from level to up, and back
        plan = Seekers(worlds).plan(worlds.privileged_subtasks())
        assert (plan.optimal.argmax(axis=1) == BlockAction.LOOK_DOWN).all()
        assert (plan.optimal.sum(axis=1) == 1).all()
        worlds.step(np.full(200, gaze))


def test_what_it_does_is_in_its_picture(worlds: Worlds) -> None:
    # The cell ahead is where it acts and where it goes, and it is always in view.
    seekers = Seekers(worlds)
    deeds = 0
    while not worlds.status.all():
        acts = worlds.status == 0
        plan = seekers.plan(worlds.privileged_subtasks())
        assert not plan.optimal[:, BlockAction.MOVE_BACKWARD].any()
        actions = plan.optimal.argmax(axis=1)
        for world in worlds.privileged[acts & (actions >= BlockAction.MOVE_FORWARD)]:
            row, column, heading = (int(world[k]) for k in ("row", "column", "heading"))
            ahead = row + AHEAD[heading][0], column + AHEAD[heading][1]
            assert ahead in visible_cells(world["tiles"], row, column, heading)
            deeds += 1
        worlds.step(actions)
    assert deeds > 400


def test_it_finishes_every_subtask(worlds: Worlds) -> None:
    seekers = Seekers(worlds)
    while not worlds.status.all():
        plan = seekers.plan(worlds.privileged_subtasks())
        worlds.step(plan.optimal.argmax(axis=1))
    assert worlds.finished().success.all()


def test_a_new_episode_is_not_known(worlds: Worlds) -> None:
    worlds.step(np.full(200, BlockAction.LOOK_DOWN))
    seekers = Seekers(worlds)
    seekers.plan(worlds.privileged_subtasks())
    mask = np.arange(200) < 50
    seekers.forget(mask)
    assert not seekers.seen[:50].any()
    assert seekers.seen[50:].any()
