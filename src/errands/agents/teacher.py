"""Separate policies, one for each subtask, kept and computed side by side (paper, appendix D).

Every weight has a leading dimension for the subtask, so that K small networks are one batched
product: their inputs come as (K, n, ...), n observations for each subtask.
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from errands.agents.eyes import Eyes, GridEyes
from errands.agents.layers import centre_on_agent, window_cells, window_side
from errands.agents.mapping import MOST, MapWindow

SIZE = 10
NORTHWARD = (0, 2, -1, 1)  # quarter turns that bring north, south, west and east to the top


class TeacherOutput(NamedTuple):
    logits: Tensor  # (K, n, actions)
    value: Tensor  # (K, n)


class BatchedLinear(nn.Module):
    """K linear layers side by side."""

    def __init__(self, tasks: int, size_in: int, size_out: int) -> None:
        super().__init__()
        bound = size_in**-0.5
        self.weight = nn.Parameter(torch.empty(tasks, size_in, size_out).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.zeros(tasks, 1, size_out))

    def forward(self, x: Tensor) -> Tensor:
        return torch.baddbmm(self.bias, x, self.weight)


class Teachers(nn.Module):
    """What all teachers share. They see what the student's eyes make of one observation.

    Their layers are the `fast` skill's kind: a few features of each cell, and two layers on all
    cells of the window around the agent.
    """

    def __init__(
        self, tasks: int, kinds: int, seen: int, choices: int, channels: int, hidden: int
    ) -> None:
        """Cells have `kinds` channels, of which `channels` features are made, `seen` in all."""
        super().__init__()
        self.tasks = tasks
        self.cells = BatchedLinear(tasks, kinds, channels)
        self.into = BatchedLinear(tasks, seen, hidden)
        self.mix = BatchedLinear(tasks, hidden, hidden)
        self.policy = BatchedLinear(tasks, hidden, choices)
        self.value = BatchedLinear(tasks, hidden, 1)
        with torch.no_grad():  # begin undecided
            self.policy.weight.mul_(0.1)

    def forward(self, looked: Tensor) -> TeacherOutput:
        """Observations (K, n, ...), as `eyes.look` leaves them, seen by each subtask's teacher."""
        raise NotImplementedError

    def advise(self, looked: Tensor, task: Tensor) -> Tensor:
        """What each observation's own teacher would do: (B, ...) and (B,) to (B, actions)."""
        order = torch.argsort(task, stable=True)
        amount = torch.bincount(task, minlength=self.tasks)
        first = torch.cumsum(amount, 0) - amount
        column = torch.arange(task.numel(), device=task.device) - first[task[order]]
        padded = looked.new_zeros(self.tasks, int(amount.max()), *looked.shape[1:])
        padded[task[order], column] = looked[order]
        logits = self(padded).logits[task[order], column]  # back in the sorted order
        return torch.softmax(logits, dim=1)[torch.argsort(order)]

    def _features(self, cells: Tensor) -> Tensor:
        """Cells (K, m, kinds) to (K, m, channels).

        Linear: one in sixteen teachers would start blind to its target with a ReLU here.
        """
        features: Tensor = self.cells(cells)
        return features

    def _hidden(self, seen: Tensor) -> Tensor:
        """What is seen (K, m, seen) to (K, m, hidden).

        Leaky: units that early noise switches off for good leave a teacher that cannot see.
        """
        return F.leaky_relu(self.mix(F.leaky_relu(self.into(seen))))


class GridTeachers(Teachers):
    """The grid's teachers.

    What a teacher has learned about one direction it knows about all: it looks at the map from four
    sides, with the same weights, and each side tells what to do that way. The paper's are
    Conv 32x3x3, Pool 2, Conv 64x3x3, FC 256: see SkillNetwork for why not here.
    """

    def __init__(self, tasks: int, planes: int, channels: int = 4, hidden: int = 64) -> None:
        seen = window_cells(SIZE) * channels
        # Nothing; move, pick up, transform that way.
        super().__init__(tasks, planes, seen, 4, channels, hidden)

    def forward(self, looked: Tensor) -> TeacherOutput:
        """Planes (K, n, planes, 10, 10)."""
        tasks, count = looked.shape[:2]
        agent = looked[:, :, 0].flatten(2).argmax(dim=2).flatten()  # (K * n,)
        cells = looked.flatten(3).transpose(2, 3).flatten(1, 2)  # (K, n * cells, planes)
        x = self._features(cells.to(self.policy.weight.dtype))
        x = centre_on_agent(x.view(tasks * count, SIZE * SIZE, -1), agent, SIZE)
        side = window_side(SIZE)
        x = x.view(tasks * count, side, side, -1)
        sides = torch.stack([torch.rot90(x, turns, (1, 2)) for turns in NORTHWARD], dim=1)
        x = self._hidden(sides.view(tasks, count * 4, -1))
        scores = self.policy(x).view(tasks, count, 4, 4)  # of every side, of every kind of action
        nothing, that_way = scores[..., :1].mean(dim=2), scores[..., 1:]
        logits = torch.cat((nothing, that_way.transpose(2, 3).flatten(2)), dim=2)
        return TeacherOutput(logits, self.value(x).view(tasks, count, 4).mean(dim=2))


class MapTeachers(Teachers):
    """The block world's teachers, for students whose eyes keep a map.

    They read the window on the map as it is now, and what the body tells. It is seen from where the
    agent stands already, whichever way it faces. The paper's, without a map, are Conv 32x8x8-4,
    Conv 64x5x5-2 and an LSTM of 64.
    """

    def __init__(self, tasks: int, eyes: MapWindow, channels: int = 4, hidden: int = 64) -> None:
        seen = eyes.network.window * channels + eyes.body
        super().__init__(tasks, eyes.channels, seen, eyes.actions, channels, hidden)
        self.split = eyes.split

    def forward(self, looked: Tensor) -> TeacherOutput:
        """Bytes (K, n, size)."""
        tasks, count = looked.shape[:2]
        now, _, body = (
            part.to(self.policy.weight.dtype) / MOST for part in self.split(looked.flatten(0, 1))
        )
        x = self._features(now.view(tasks, -1, now.shape[2]))  # (K, n * cells, channels)
        x = torch.cat((x.view(tasks, count, -1), body.view(tasks, count, -1)), dim=2)
        x = self._hidden(x)
        return TeacherOutput(self.policy(x), self.value(x).squeeze(2))


def new_teachers(tasks: int, eyes: Eyes) -> Teachers:
    """Teachers for students with such eyes."""
    if isinstance(eyes, MapWindow):
        return MapTeachers(tasks, eyes)
    if isinstance(eyes, GridEyes):
        return GridTeachers(tasks, eyes.channels)
    raise ValueError("RL teachers in the block world need a student with a map: --preset fast")
