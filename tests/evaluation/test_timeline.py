"""Recordings of what agents think, of a scripted one whose every thought is known."""

from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from errands.agents.hierarchy import HierarchyState, Trace
from errands.evaluation.timeline import Recording
from errands.language.vocabulary import TRANSFORM
from errands.seeds import TEST_SEEDS
from errands.worlds.gym import instruction_worlds
from errands.worlds.planner import first_optimal
from errands.worlds.spec import GRID, NOTHING
from errands.worlds.vector import Worlds

ENEMY = GRID.vocabulary.object_index("enemy")


class OpenMinded:
    """Acts like the near-optimal policy; while an enemy is there it says that it is after it."""

    def __init__(self, worlds: Worlds) -> None:
        self._worlds = worlds

    def act(
        self, observation: Any, state: Any, *, random: torch.Generator, soft: bool
    ) -> tuple[Trace, HierarchyState | None]:
        world = self._worlds.privileged
        count, length = observation["mask"].shape
        there = world["event_cell"] != NOTHING
        subtask = np.where(there[:, None], (TRANSFORM, ENEMY, 1), (0, 0, 1))
        done = np.minimum(world["progress"], length - 1)
        pointer: NDArray[np.float32] = np.eye(length, dtype=np.float32)[done]
        trace = Trace(
            pointer=pointer,
            shift=np.tile(np.float32((0, 1, 0)), (count, 1)),
            shifted=np.zeros(count, np.int64),
            update=there.astype(np.float32),
            updated=there,
            subtask=subtask,
            termination=np.zeros(count, np.float32),
            finished=np.zeros(count, np.bool_),
            action=first_optimal(self._worlds.plan_lists("near-optimal")).astype(np.int64),
        )
        return trace, state


@pytest.fixture(scope="module")
def recording() -> Recording:
    worlds = instruction_worlds("grid", 24, split="seen", length=3)
    worlds.seed(TEST_SEEDS)
    worlds.reset()
    return Recording(worlds, OpenMinded(worlds))  # type: ignore[arg-type]


def test_the_most_telling_episode_has_an_interruption(recording: Recording) -> None:
    told = recording.most_telling()
    assert told.success
    assert told.caught.sum() >= 1
    steps = len(told.update)
    assert told.pointer.shape == (steps, 3)
    assert len(told.subtasks) == len(told.progress) == len(told.event) == steps
    assert len(told.instructions) == 3
    assert all(told.event[t] for t in np.flatnonzero(told.caught))
    assert {told.subtasks[t] for t in np.flatnonzero(told.event)} == {"transform enemy"}
    assert np.array_equal(told.updated, told.event)
    assert np.array_equal(told.pointer.argmax(axis=1), told.progress)


def test_no_shorter_episode_would_have_told_as_much(recording: Recording) -> None:
    chosen = recording.most_telling()
    others = [recording.timeline(i) for i in range(24)]
    alike = [len(other.update) for other in others if other.success and other.caught.any()]
    assert len(chosen.update) == min(alike)


def test_interruptions_are_counted(recording: Recording) -> None:
    met = recording.interruptions()
    assert met is not None
    assert met.near > 0
    assert met.turned == 1.0
    assert 0.5 < met.stayed <= 1.0
    lines = [recording.timeline(i) for i in range(24)]
    assert met.caught > 0
    assert sum(int(line.caught.sum()) for line in lines) > 0
