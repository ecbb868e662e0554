"""A stand-in for a trained agent: a planner's actions, with thoughts like a hierarchy's."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from errands.language.vocabulary import TRANSFORM
from errands.worlds.planner import NEAR_OPTIMAL, first_optimal
from errands.worlds.spec import NOTHING
from errands.worlds.vector import Worlds


class Trace(NamedTuple):
    """What the page is promised after each `act`."""

    pointer: NDArray[np.float32]  # (worlds, longest list)
    shift: NDArray[np.float32]  # (worlds, 3)
    shifted: NDArray[np.int64]  # (worlds,)
    update: NDArray[np.float32]  # (worlds,)
    updated: NDArray[np.bool_]  # (worlds,)
    subtask: NDArray[np.int64]  # (worlds, 3)
    termination: NDArray[np.float32]  # (worlds,)
    finished: NDArray[np.bool_]  # (worlds,)
    action: NDArray[np.int64]  # (worlds,)


class Thinker:
    """Looks at its list when an instruction was done or an event comes or goes."""

    def __init__(self, worlds: Worlds) -> None:
        self.trace: Trace | None = None
        self._progress = np.zeros(worlds.count, np.int64)
        self._alarmed = np.zeros(worlds.count, np.bool_)

    def act(self, worlds: Worlds) -> NDArray[np.int64]:
        states = worlds.privileged
        actions = first_optimal(worlds.plan_lists(NEAR_OPTIMAL)).astype(np.int64)
        finished = states["progress"] > self._progress
        alarmed = states["event_cell"] != NOTHING
        update = np.where(finished | (alarmed != self._alarmed), 0.97, 0.04)
        place = np.arange(worlds.longest) - states["progress"][:, None]
        likely = np.exp(-2.5 * np.abs(place))
        on = np.where(finished, 0.94, 0.02)
        subtask = worlds.privileged_subtasks().astype(np.int64)
        subtask[:, 2] = 1
        subtask[alarmed, 0] = TRANSFORM
        subtask[alarmed, 1] = int(worlds.rules[0]["event_object"])
        self.trace = Trace(
            pointer=(likely / likely.sum(axis=1, keepdims=True)).astype(np.float32),
            shift=np.stack([np.full(worlds.count, 0.01), 0.99 - on, on], axis=1).astype(np.float32),
            shifted=finished.astype(np.int64),
            update=update.astype(np.float32),
            updated=update > 0.5,
            subtask=subtask,
            termination=np.where(finished, 0.98, 0.03).astype(np.float32),
            finished=finished,
            action=actions,
        )
        self._progress = states["progress"].astype(np.int64)
        self._alarmed = alarmed
        return actions
