"""Trained agents as policies that evaluation, the terminal and the page can drive."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from errands.agents.hierarchy import Hierarchy, HierarchyState, Trace
from errands.worlds.vector import Worlds


class HierarchyPolicy:
    """A trained agent in one batch of worlds, from the start of their episodes."""

    def __init__(self, agent: Hierarchy, *, seed: int = 0, soft: bool = False) -> None:
        self._agent = agent
        self._soft = soft
        self._random = torch.Generator().manual_seed(seed)
        self._state: HierarchyState | None = None
        self.trace: Trace | None = None  # of the last step

    def act(self, worlds: Worlds) -> NDArray[np.int64]:
        """An action for every world, from what its agent may see."""
        observation: dict[str, NDArray[Any]] = {
            "image": worlds.images,
            "tokens": worlds.tokens,
            "mask": worlds.mask,
        }
        self.trace, self._state = self._agent.act(
            observation, self._state, random=self._random, soft=self._soft
        )
        return self.trace.action
