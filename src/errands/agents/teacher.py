"""Separate policies, one for each subtask, kept and computed side by side (paper, appendix D).

Every weight has a leading dimension for the subtask, so that K small networks are one batched
product: their inputs come as (K, n, ...), n observations for each subtask.
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from errands.agents.layers import centre_on_agent, window_cells, window_side

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


class GridTeachers(nn.Module):
    """The grid's teachers. They see one observation; their layers are the `fast` skill's kind.

    What a teacher has learned about one direction it knows about all: it looks at the map from four
    sides, with the same weights, and each side tells what to do that way. The paper's are
    Conv 32x3x3, Pool 2, Conv 64x3x3, FC 256: see SkillNetwork for why not here.
    """

    def __init__(self, tasks: int, planes: int, channels: int = 4, hidden: int = 64) -> None:
        super().__init__()
        self.tasks = tasks
        self.cells = BatchedLinear(tasks, planes, channels)
        self.into = BatchedLinear(tasks, window_cells(SIZE) * channels, hidden)
        self.mix = BatchedLinear(tasks, hidden, hidden)
        self.policy = BatchedLinear(tasks, hidden, 4)  # nothing; move, pick up, transform that way
        self.value = BatchedLinear(tasks, hidden, 1)
        with torch.no_grad():  # begin undecided
            self.policy.weight.mul_(0.1)

    def forward(self, images: Tensor) -> TeacherOutput:
        """Planes (K, n, planes, 10, 10), seen by each subtask's own teacher."""
        tasks, count = images.shape[:2]
        agent = images[:, :, 0].flatten(2).argmax(dim=2).flatten()  # (K * n,)
        cells = images.flatten(3).transpose(2, 3).flatten(1, 2)  # (K, n * cells, planes)
        # Linear: one in sixteen teachers would start blind to its target with a ReLU here.
        x = self.cells(cells.to(self.policy.weight.dtype))
        x = centre_on_agent(x.view(tasks * count, SIZE * SIZE, -1), agent, SIZE)
        side = window_side(SIZE)
        x = x.view(tasks * count, side, side, -1)
        sides = torch.stack([torch.rot90(x, turns, (1, 2)) for turns in NORTHWARD], dim=1)
        # Leaky: units that early noise switches off for good leave a teacher that cannot see.
        x = F.leaky_relu(self.into(sides.view(tasks, count * 4, -1)))
        x = F.leaky_relu(self.mix(x))
        scores = self.policy(x).view(tasks, count, 4, 4)  # of every side, of every kind of action
        nothing, that_way = scores[..., :1].mean(dim=2), scores[..., 1:]
        logits = torch.cat((nothing, that_way.transpose(2, 3).flatten(2)), dim=2)
        return TeacherOutput(logits, self.value(x).view(tasks, count, 4).mean(dim=2))

    def advise(self, images: Tensor, task: Tensor) -> Tensor:
        """What each observation's own teacher would do: (B, ...) and (B,) to (B, actions)."""
        order = torch.argsort(task, stable=True)
        amount = torch.bincount(task, minlength=self.tasks)
        first = torch.cumsum(amount, 0) - amount
        column = torch.arange(task.numel(), device=task.device) - first[task[order]]
        padded = images.new_zeros(self.tasks, int(amount.max()), *images.shape[1:])
        padded[task[order], column] = images[order]
        logits = self(padded).logits[task[order], column]  # back in the sorted order
        return torch.softmax(logits, dim=1)[torch.argsort(order)]
