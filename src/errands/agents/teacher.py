"""Separate policies, one for each subtask, kept and computed side by side (paper, appendix D).

Every weight has a leading dimension for the subtask, so that K small networks are one batched
product: their inputs come as (K, n, ...), n observations for each subtask.
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from errands.agents.layers import centre_on_agent, window_cells

SIZE = 10


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

    The paper's are Conv 32x3x3, Pool 2, Conv 64x3x3, FC 256: see SkillNetwork for why not here.
    """

    def __init__(
        self, tasks: int, planes: int, actions: int, channels: int = 8, hidden: int = 64
    ) -> None:
        super().__init__()
        self.tasks = tasks
        self.cells = BatchedLinear(tasks, planes, channels)
        self.into = BatchedLinear(tasks, window_cells(SIZE) * channels, hidden)
        self.mix = BatchedLinear(tasks, hidden, hidden)
        self.policy = BatchedLinear(tasks, hidden, actions)
        self.value = BatchedLinear(tasks, hidden, 1)
        with torch.no_grad():  # begin undecided
            self.policy.weight.mul_(0.1)

    def forward(self, images: Tensor) -> TeacherOutput:
        """Planes (K, n, planes, 10, 10), seen by each subtask's own teacher."""
        tasks, count = images.shape[:2]
        agent = images[:, :, 0].flatten(2).argmax(dim=2).flatten()  # (K * n,)
        cells = images.flatten(3).transpose(2, 3).flatten(1, 2)  # (K, n * cells, planes)
        x = F.relu(self.cells(cells.to(self.policy.weight.dtype)))
        x = centre_on_agent(x.view(tasks * count, SIZE * SIZE, -1), agent, SIZE)
        x = F.relu(self.into(x.reshape(tasks, count, -1)))
        x = F.relu(self.mix(x))
        return TeacherOutput(self.policy(x), self.value(x).squeeze(-1))

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
