"""A layer that plans: value iteration on the cells of a map (Tamar et al., 2016). Ours.

Layers that read all cells at once have to learn each detour from examples of it; in front of a wall
they have seldom seen they walk to and fro. This one learns two numbers for each cell: what it is
worth to be there, and what it costs to step on it. The rest is arithmetic, the same for every
arrangement of walls: the value of a cell is its worth, or what is left of the best neighbour's
value when the step is paid. Shapes: N samples, P = S x S cells, C channels.
"""

from typing import Any

import numpy as np
import torch
from numba import prange
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from errands.agents.products import Linear
from errands.kernel import batched

Numbers = NDArray[Any]  # float32, or float64 in tests
Integers = NDArray[np.int64]
AT_A_TIME = 16  # samples: what a vector register of a recent processor holds
FEW = 2 * AT_A_TIME  # samples that one core is enough for

NOWHERE = -1e4  # the value of what is outside of the map
NEIGHBOURS = ((-1, 0), (1, 0), (0, -1), (0, 1))  # row and column


class Ways(nn.Module):
    """Where ways from the agent's cell lead: how much better than the others it is to stay, and to
    step up, down, left and right, as probabilities; and the best one's value. Together (N, 6)."""

    size = len(NEIGHBOURS) + 2

    def __init__(self, side: int, channels: int, steps: int) -> None:
        """`steps` is how far ahead it plans."""
        super().__init__()
        self.side = side
        self.steps = steps
        self.cells = Linear(channels, 2)
        # A step costs little at first: what is worth anything is then noticed from far away.
        self.sharpness = nn.Parameter(torch.tensor(10.0))
        with torch.no_grad():
            self.cells.bias.copy_(torch.tensor([0.0, -2.0]))

    def forward(self, x: Tensor, agent: Tensor | None = None) -> Tensor:
        """Cells (N, P, C), and which of them the agent is on (N,); the middle one by default."""
        side, wide = self.side, self.side + 2  # with a border, which is nowhere
        worth, cost = self.cells(x).permute(2, 1, 0).reshape(2, side, side, -1).unbind()
        worth, cost = bordered(worth, NOWHERE), bordered(F.softplus(cost), 0.0)
        if agent is None:
            agent = torch.full((len(x),), side * side // 2, device=x.device)
        here = (torch.div(agent, side, rounding_mode="floor") + 1) * wide + agent % side + 1
        ways = [here, *(here + down * wide + right for down, right in NEIGHBOURS)]
        starts = torch.stack(ways)  # (5, N)
        onto = follow(worth, cost, starts[1:], self.steps)
        choices = torch.cat((worth.flatten(0, 1).gather(0, starts[:1]), onto)).t()
        best = choices.amax(dim=1, keepdim=True)
        return torch.cat((torch.softmax(self.sharpness * (choices - best), dim=1), best), dim=1)


def bordered(x: Tensor, value: float) -> Tensor:
    return F.pad(x, (0, 0, 1, 1, 1, 1), value=value)


def follow(worth: Tensor, cost: Tensor, starts: Tensor, steps: int) -> Tensor:
    """What stepping onto `starts` (K, N) is worth, added up along the best way from there.

    `worth` and `cost` are (S + 2, S + 2, N), border included. The way is found without gradients,
    by compiled code in the memory of the CPU: they only need the cells of it.
    """
    worths, costs = (item.detach().cpu().contiguous().numpy() for item in (worth, cost))
    ways = torch.empty((steps + 1, *starts.shape), dtype=torch.int64)
    find_ways(starts.t().cpu().numpy(), worths, costs, ways.numpy())
    ways = ways.to(starts.device)
    paid = cost.flatten(0, 1).gather(0, ways.flatten(0, 1)).view(ways.shape)
    moved = torch.cat((torch.ones_like(starts[None], dtype=torch.bool), ways[1:] != ways[:-1]))
    return worth.flatten(0, 1).gather(0, ways[-1]) - (paid * moved).sum(dim=0)


@batched(FEW)
def find_ways(starts: Integers, worth: Numbers, cost: Numbers, ways: Integers) -> None:
    """Value iteration, and then which cells the best ways (steps + 1, K, N) from `starts` (N, K)
    go over.

    A way stays on a cell where that is best. Samples come last, and are taken a few at a time:
    each step of the inner loops is one operation for all of these.
    """
    wide, samples = worth.shape[0], worth.shape[2]
    steps, block = len(ways) - 1, AT_A_TIME
    # Rows of cells, each with a block of samples: one long inner loop for each row.
    shape = (wide, wide * block)
    for part in prange((samples + block - 1) // block):
        stay, paid = np.zeros(shape, worth.dtype), np.zeros(shape, worth.dtype)
        first = part * block
        count = min(block, samples - first)
        for row in range(wide):
            for column in range(wide):
                for k in range(count):
                    stay[row, column * block + k] = worth[row, column, first + k]
                    paid[row, column * block + k] = cost[row, column, first + k]
        onto = stay - paid
        later = onto.copy()
        for _ in range(steps - 1):
            for row in range(1, wide - 1):
                up, down = onto[row - 1, block:-block], onto[row + 1, block:-block]
                left, right = onto[row, : -2 * block], onto[row, 2 * block :]
                remaining, price = stay[row, block:-block], paid[row, block:-block]
                value = later[row, block:-block]
                for k in range(len(value)):
                    best = max(max(up[k], down[k]), max(left[k], right[k]))
                    value[k] = max(best, remaining[k]) - price[k]
            onto, later = later, onto
        for start in range(starts.shape[1]):
            for k in range(count):
                cell = starts[first + k, start]
                there = False  # a way that stays somewhere stays for good
                for step in range(steps + 1):
                    ways[step, start, first + k] = cell
                    if there:
                        continue
                    row, place = cell // wide, cell % wide * block + k
                    if not (0 < row < wide - 1 and block <= place < (wide - 1) * block):
                        there = True
                        continue
                    best, to = stay[row, place], cell
                    if onto[row - 1, place] > best:
                        best, to = onto[row - 1, place], cell - wide
                    if onto[row + 1, place] > best:
                        best, to = onto[row + 1, place], cell + wide
                    if onto[row, place - block] > best:
                        best, to = onto[row, place - block], cell - 1
                    if onto[row, place + block] > best:
                        best, to = onto[row, place + block], cell + 1
                    there = to == cell
                    cell = to
