"""A layer that plans: value iteration on the cells of a map (Tamar et al., 2016). Ours.

Layers that read all cells at once have to learn each detour from examples of it; in front of a wall
they have seldom seen they walk to and fro. This one learns two numbers for each cell: what it is
worth to be there, and what it costs to step on it. The rest is arithmetic, the same for every
arrangement of walls: the value of a cell is its worth, or what is left of the best neighbour's
value when the step is paid. Shapes: N samples, P = S x S cells, C channels.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from errands.agents.products import Linear

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
        nexts = best_steps(worth, cost, self.steps)
        onto = follow(worth, cost, nexts, starts[1:], self.steps)
        choices = torch.cat((worth.flatten(0, 1).gather(0, starts[:1]), onto)).t()
        best = choices.amax(dim=1, keepdim=True)
        return torch.cat((torch.softmax(self.sharpness * (choices - best), dim=1), best), dim=1)


def bordered(x: Tensor, value: float) -> Tensor:
    return F.pad(x, (0, 0, 1, 1, 1, 1), value=value)


@torch.no_grad()
def best_steps(worth: Tensor, cost: Tensor, steps: int) -> Tensor:
    """Which cell to step on from each cell, itself where it is best to stay: (cells, N).

    `worth` and `cost` are (S + 2, S + 2, N), border included. Samples come last: a shift of the map
    is then a shift of whole rows of memory.
    """
    inside = worth[1:-1, 1:-1]
    value, onto = worth.clone(), worth - cost
    best = torch.empty_like(inside)
    for _ in range(steps - 1):
        torch.maximum(onto[:-2, 1:-1], onto[2:, 1:-1], out=best)
        torch.maximum(best, onto[1:-1, :-2], out=best)
        torch.maximum(best, onto[1:-1, 2:], out=best)
        torch.maximum(best, inside, out=value[1:-1, 1:-1])
        torch.sub(value, cost, out=onto)
    side, wide = len(inside), len(worth)
    best.copy_(inside)
    away = torch.zeros_like(best, dtype=torch.int64)
    for down, right in NEIGHBOURS:
        there = onto[1 + down : 1 + down + side, 1 + right : 1 + right + side]
        away.masked_fill_(there > best, down * wide + right)
        torch.maximum(best, there, out=best)
    cells = torch.arange(wide * wide, device=worth.device).view(wide, wide, 1)
    nexts = cells.expand_as(worth).clone()
    nexts[1:-1, 1:-1] += away
    return nexts.flatten(0, 1)


def follow(worth: Tensor, cost: Tensor, nexts: Tensor, starts: Tensor, steps: int) -> Tensor:
    """What stepping onto `starts` (K, N) is worth, added up along the best way from there.

    It is the value that `best_steps` found. Gradients only need the cells of this way.
    """
    worth, cost = worth.flatten(0, 1), cost.flatten(0, 1)  # (cells, N)
    at, last, passed, moved = starts, starts, [starts], [torch.ones_like(starts, dtype=torch.bool)]
    for _ in range(steps):
        at = nexts.gather(0, last)
        passed.append(at)
        moved.append(at != last)
        last = at
    paid = cost.gather(0, torch.cat(passed)).view(len(passed), *starts.shape)
    return worth.gather(0, at) - (paid * torch.stack(moved)).sum(dim=0)
