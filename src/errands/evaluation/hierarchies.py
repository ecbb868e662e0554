"""Trained agents as policies that evaluation, the terminal and the page can drive."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from errands.agents.hierarchy import Hierarchy, HierarchyState, Trace
from errands.agents.memory import each
from errands.worlds.vector import Worlds

ENOUGH_ENDED = 0.1  # share of the worlds whose end is worth rearranging the others


class HierarchyPolicy:
    """A trained agent in one batch of worlds, from the start of their episodes.

    It no longer thinks about most of the worlds whose episodes have ended: of lists of 20, the last
    to end take three times as many steps as the others. Their rows of the trace stay as they were.
    """

    def __init__(self, agent: Hierarchy, *, seed: int = 0, soft: bool = False) -> None:
        self._agent = agent
        self._soft = soft
        self._random = torch.Generator().manual_seed(seed)
        self._state: HierarchyState | None = None
        self._thinks: NDArray[np.int64] | None = None  # which worlds it thinks about; None: all
        self.trace: Trace | None = None  # of the last step

    def act(self, worlds: Worlds) -> NDArray[np.int64]:
        """An action for every world, from what its agent may see."""
        self._forget_ended(worlds)
        where = slice(None) if self._thinks is None else self._thinks
        observation: dict[str, NDArray[Any]] = {
            "image": worlds.images[where],
            "tokens": worlds.tokens[where],
            "mask": worlds.mask[where],
        }
        trace, self._state = self._agent.act(
            observation, self._state, random=self._random, soft=self._soft
        )
        if self.trace is not None and self._thinks is not None:
            trace = self._spread(self.trace, trace)
        self.trace = trace
        return trace.action

    def _forget_ended(self, worlds: Worlds) -> None:
        """Keep the state of those worlds alone whose episodes go on, once enough have ended."""
        goes_on = worlds.status == 0
        before = np.arange(worlds.count) if self._thinks is None else self._thinks
        kept = np.flatnonzero(goes_on[before])
        if self._state is None or not 0 < kept.size <= (1 - ENOUGH_ENDED) * before.size:
            return
        index = torch.from_numpy(kept).to(self._agent.device)
        self._state = each(lambda item: item[index], self._state)
        self._thinks = before[kept]

    def _spread(self, old: Trace, new: Trace) -> Trace:
        """The trace of all worlds, with new rows for those that it thinks about."""
        columns: list[Any] = [column.copy() for column in old]
        for column, rows in zip(columns, new, strict=True):
            column[self._thinks] = rows
        return Trace(*columns)
