"""Layers whose weights are predicted from a condition: multiplicative interaction (appendix E).

phi(g) stands for the condition: the embedding of a subtask, or of anything else that should change
what a layer computes. Shapes: B samples, P cells or pixels, C channels, E size of the condition.
"""

from collections.abc import Sequence
from functools import cache

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from errands.agents.products import Linear


class SubtaskEmbedding(nn.Module):
    """phi(g) = ReLU(W1 g1 * W2 g2 * ...), one factor for each parameter of the subtask.

    `around_one` starts all factors near 1: the product is then nearly additive, and the
    parallelograms that analogies ask for start almost satisfied. Around zero (the usual start) the
    same network learns almost nothing in the same time. While training, `noise` is added to phi(g):
    what follows must not depend on its finer points, which differ for subtasks never trained.
    """

    def __init__(
        self, sizes: Sequence[int], width: int, *, around_one: bool, noise: float = 0.0
    ) -> None:
        super().__init__()
        self.noise = noise
        start = (1.0, 0.3) if around_one else (0.0, 1.0)
        self.factors = nn.ParameterList(
            nn.Parameter(start[0] + start[1] * torch.randn(size, width)) for size in sizes
        )

    def forward(self, subtasks: Tensor) -> Tensor:
        """(..., parameters) of indices to (..., E); further parameters are not looked at."""
        product = self.factors[0][subtasks[..., 0]]
        for k in range(1, len(self.factors)):
            product = product * self.factors[k][subtasks[..., k]]
        return F.relu(product)

    def noisy(self, subtasks: Tensor) -> Tensor:
        """The same with noise, while training."""
        return with_noise(self(subtasks), self.noise * self.training)


def with_noise(x: Tensor, deviation: float) -> Tensor:
    """Noise is drawn on the CPU, whose random numbers a checkpoint keeps."""
    return x + deviation * torch.randn(x.shape).to(x) if deviation else x


class Noise(nn.Module):
    """Adds noise while training, so that what follows does not depend on the finer points."""

    def __init__(self, deviation: float) -> None:
        super().__init__()
        self.deviation = deviation

    def forward(self, x: Tensor) -> Tensor:
        return with_noise(x, self.deviation * self.training)


def undecided(layer: nn.Linear) -> nn.Linear:
    """A layer that logits come from, started so that no choice is much likelier than another."""
    with torch.no_grad():
        layer.weight *= 0.1
        layer.bias.zero_()
    return layer


def scaled_pixels(image: Tensor, dtype: torch.dtype) -> Tensor:
    """(B, H, W, 3) of 0..255 to (B, 3, H, W) around 0, a channels-last view.

    In place: new memory for each operation would take five times as long.
    """
    return image.movedim(-1, 1).to(dtype, copy=True).sub_(128.0).div_(64.0)


class PredictedConv(nn.Module):
    """A 1x1 convolution with weights phi(g): y = phi(g) * x + b."""

    def __init__(self, channels_in: int, channels_out: int, condition: int) -> None:
        super().__init__()
        self.shape = (channels_in, channels_out)
        self.weight = Linear(condition, channels_in * channels_out)
        self.bias = nn.Parameter(torch.zeros(channels_out))

    def forward(self, x: Tensor, condition: Tensor) -> Tensor:
        """(B, P, C) and (B, E) to (B, P, C'): a matrix product a sample beats a convolution."""
        weight = self.weights(condition)
        return torch.baddbmm(self.bias, x.to(weight.dtype), weight)

    def weights(self, condition: Tensor) -> Tensor:
        """What is predicted: (B, C, C')."""
        weight: Tensor = self.weight(condition)
        return weight.view(-1, *self.shape)


class FactorisedLinear(nn.Module):
    """y = W' diag(phi(g)) W x + b. The predicted diagonal starts near 1: a plain layer.

    `narrow` is how many numbers of the condition reach the diagonal: enough to distinguish verbs,
    too few for all objects. They stay linear in the condition: bounded by a tanh, what is known of
    a verb and of an object no longer adds up, and unseen subtasks fail.
    """

    def __init__(
        self,
        size_in: int,
        size_out: int,
        condition: int,
        factors: int,
        narrow: int = 0,
    ) -> None:
        super().__init__()
        self.into = Linear(size_in, factors, bias=False)
        self.narrow = Linear(condition, narrow) if narrow else nn.Identity()
        self.diagonal = Linear(narrow or condition, factors)
        self.out = Linear(factors, size_out)
        nn.init.ones_(self.diagonal.bias)

    def forward(self, x: Tensor, condition: Tensor) -> Tensor:
        diagonal = self.diagonal(self.narrow(condition))
        return self.out(self.into(x) * diagonal)  # type: ignore[no-any-return]


class FactorisedLSTM(nn.Module):
    """An LSTM cell whose gates' weights are factorised and predicted like `FactorisedLinear`'s."""

    def __init__(
        self,
        size_in: int,
        hidden: int,
        condition: int,
        factors: int,
        narrow: int = 0,
    ) -> None:
        super().__init__()
        self.hidden = hidden
        self.gates = FactorisedLinear(size_in + hidden, 4 * hidden, condition, factors, narrow)
        with torch.no_grad():  # remember by default
            self.gates.out.bias[hidden : 2 * hidden] = 1.0

    def forward(
        self, x: Tensor, condition: Tensor, memory: tuple[Tensor, Tensor]
    ) -> tuple[Tensor, Tensor]:
        """One time step: (B, size_in), (B, E), (h, c) to the next (h, c), each (B, hidden)."""
        h, c = memory
        gates = self.gates(torch.cat((x, h), dim=1), condition)
        i, f, g, o = gates.chunk(4, dim=1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        return torch.sigmoid(o) * torch.tanh(c), c


def window_side(size: int) -> int:
    """Cells a side of a window that shows all of a size x size map from wherever the agent is.

    All of it except the border, which has only walls and never the agent.
    """
    return 2 * size - 5


def window_cells(size: int) -> int:
    return window_side(size) ** 2


@cache
def _window_tables(size: int) -> tuple[Tensor, Tensor]:
    """For an agent on each cell of a size x size map: which cell each window position shows, and
    at which window position each cell is seen. One past the end stands for "outside".
    """
    side = window_side(size)
    reach = side // 2
    row, column = np.divmod(np.arange(size * size), size)
    down = row[None, :] - row[:, None] + reach  # (agent's cell, cell)
    right = column[None, :] - column[:, None] + reach
    seen = (down >= 0) & (down < side) & (right >= 0) & (right < side)
    position = np.where(seen, down * side + right, side * side)
    shown = np.full((size * size, side * side), size * size)
    agent, cell = np.nonzero(seen)
    shown[agent, position[agent, cell]] = cell
    return torch.from_numpy(shown), torch.from_numpy(position)


def _take_rows(x: Tensor, index: Tensor) -> Tensor:
    """(B, P, C) and (B, Q) of 0..P to (B, Q, C), where index P gives zeros."""
    batch, cells, channels = x.shape
    padded = F.pad(x, (0, 0, 0, 1)).view(batch * (cells + 1), channels)
    first = torch.arange(batch, device=x.device) * (cells + 1)
    return padded.index_select(0, (index + first[:, None]).view(-1)).view(batch, -1, channels)


class _Centre(torch.autograd.Function):
    """Both directions copy rows, where the automatic backward pass would add them one by one."""

    @staticmethod
    def forward(ctx, x: Tensor, agent: Tensor, size: int) -> Tensor:  # type: ignore[no-untyped-def]
        ctx.save_for_backward(agent)
        ctx.size = size
        return _take_rows(x, _window_tables(size)[0].to(x.device)[agent])

    @staticmethod
    def backward(ctx, gradient: Tensor) -> tuple[Tensor, None, None]:  # type: ignore[no-untyped-def]
        (agent,) = ctx.saved_tensors
        index = _window_tables(ctx.size)[1].to(gradient.device)[agent]
        return _take_rows(gradient, index), None, None


def centre_on_agent(x: Tensor, agent: Tensor, size: int) -> Tensor:
    """Cells of a map (B, size * size, C), seen from the agent's cell (B,): (B, window cells, C)."""
    return _Centre.apply(x, agent, size)  # type: ignore[no-any-return, no-untyped-call]
