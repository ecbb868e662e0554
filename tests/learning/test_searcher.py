"""The searcher: what it advises on maps that are drawn here, and how far its advice carries."""

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from errands.agents.load import load_eyes
from errands.agents.map_kernels import EMPTY, WALL
from errands.agents.mapping import MapEyes
from errands.agents.recogniser import MapNetwork
from errands.language.vocabulary import INTERACT, PICK_UP, TRANSFORM, VISIT
from errands.learning.searcher import Searcher
from errands.presets import EYES
from errands.worlds.block import CHANGE, DOWN, FORWARD, LEFT, PICK, RIGHT
from errands.worlds.spec import BLOCK
from errands.worlds.tasks import list_tasks
from errands.worlds.vector import Worlds

ACTIONS = 9
NETWORK = MapNetwork()
SIDE = 2 * NETWORK.reach + 1
MIDDLE = NETWORK.reach
PIG, SHEEP = BLOCK.objects.index("pig"), BLOCK.objects.index("sheep")


class Drawing:
    """What an agent in the middle of a walled room of 7 x 7 cells knows; all of it is empty."""

    def __init__(self) -> None:
        self.eyes = MapEyes(NETWORK, len(BLOCK.objects), ACTIONS)
        self.cells = np.zeros((SIDE, SIDE, self.eyes.channels), np.uint8)
        room = slice(MIDDLE - 3, MIDDLE + 4)
        self.cells[:, :, WALL] = 255
        self.cells[room, room, WALL] = 0
        self.cells[room, room, EMPTY] = 255
        self.cells[:, :, -2] = 255  # fresh
        self.body = np.zeros(self.eyes.body, np.uint8)
        self.body[0] = 255  # it looks down
        self.worlds = Worlds(BLOCK, 1, list_tasks(BLOCK, "train", (1, 1)))

    def put(self, ahead: int, right: int, kind: int) -> None:
        cell = self.cells[MIDDLE - ahead, MIDDLE + right]
        cell[:-2] = 0
        cell[kind] = 255

    def hide(self, ahead: int, right: int, fresh: int = 0) -> None:
        """A cell that was never recognised, and when a picture last failed to show it."""
        self.cells[MIDDLE - ahead, MIDDLE + right] = 0
        self.cells[MIDDLE - ahead, MIDDLE + right, -2:] = fresh, 255

    def advice(self, verb: int, target: int) -> set[int]:
        now = self.cells.flatten()
        features = np.concatenate((now, now, self.body))[None]
        subtask = np.array([[verb, target, 1]], np.int16)
        return _actions(Searcher(self.eyes, self.worlds).advise(features, subtask))


def _actions(optimal: NDArray[np.bool_]) -> set[int]:
    return set(np.flatnonzero(optimal[0]).tolist())


@pytest.mark.parametrize(
    ("verb", "deed"), [(VISIT, FORWARD), (PICK_UP, PICK), (TRANSFORM, CHANGE), (INTERACT, PICK)]
)
def test_a_target_at_hand_is_dealt_with(verb: int, deed: int) -> None:
    drawing = Drawing()
    drawing.put(1, 0, WALL + 1 + PIG)
    drawing.worlds.rules["interact"][0, PIG] = PICK_UP
    assert drawing.advice(verb, PIG) == {deed}


def test_the_nearest_target_is_gone_for_by_every_shortest_way() -> None:
    drawing = Drawing()
    drawing.put(0, -2, WALL + 1 + PIG)  # a turn, a step, the deed
    drawing.put(3, 3, WALL + 1 + PIG)
    assert drawing.advice(PICK_UP, PIG) == {LEFT}
    drawing.put(0, 2, WALL + 1 + PIG)
    assert drawing.advice(PICK_UP, PIG) == {LEFT, RIGHT}
    drawing.put(0, 1, WALL)
    assert drawing.advice(PICK_UP, PIG) == {LEFT}


def test_it_looks_down_first() -> None:
    drawing = Drawing()
    drawing.put(1, 0, WALL + 1 + PIG)
    drawing.body[:3] = 0, 255, 0
    assert drawing.advice(PICK_UP, PIG) == {DOWN}


def test_without_a_target_it_looks_where_most_is_unknown() -> None:
    drawing = Drawing()
    drawing.put(1, 0, WALL + 1 + SHEEP)
    drawing.hide(1, -3)
    for ahead in range(-1, 2):
        drawing.hide(ahead, 3)
    assert drawing.advice(VISIT, PIG) == {RIGHT}


def test_a_look_that_was_in_vain_is_not_repeated_at_once() -> None:
    drawing = Drawing()
    drawing.hide(0, 3)
    drawing.hide(0, -3, fresh=255)
    assert drawing.advice(VISIT, PIG) == {RIGHT}
    drawing.hide(0, 3, fresh=255)
    drawing.hide(0, -3, fresh=100)
    assert drawing.advice(VISIT, PIG) == {LEFT}


def test_where_all_is_known_it_looks_again_at_what_is_oldest() -> None:
    drawing = Drawing()
    drawing.cells[MIDDLE - 1 : MIDDLE + 2, MIDDLE - 3, -2] = 10
    assert drawing.advice(VISIT, PIG) == {LEFT}


@pytest.mark.slow
def test_with_trained_eyes_its_advice_carries_out_lists() -> None:
    """Given the correct subtask: 99.0% of 400 lists in a longer run."""
    count = 60
    worlds = Worlds(BLOCK, count, list_tasks(BLOCK, "train", (4, 4), step_limit=80))
    worlds.seed(7)
    worlds.reset()
    eyes = MapEyes(NETWORK, len(BLOCK.objects), ACTIONS)
    eyes.recogniser = load_eyes(EYES)
    searcher, sight = Searcher(eyes, worlds), eyes.initial_memory(count)
    random = np.random.default_rng(0)
    acted, begins = torch.zeros(count, dtype=torch.int64), torch.ones(count, dtype=torch.bool)
    while (worlds.status == 0).any():
        seen, sight = eyes.look(torch.from_numpy(worlds.images), acted, begins, sight)
        advice = searcher.advise(seen.numpy(), worlds.privileged_subtasks())
        acted = torch.from_numpy((advice * random.random(advice.shape)).argmax(axis=1))
        begins = torch.zeros_like(begins)
        worlds.step(acted.numpy())
    assert worlds.finished().success.mean() > 0.92
