"""Eyes: an observation becomes features. Skills and meta controllers share them.

It takes two steps. `Eyes` show what is there, whatever the agent is doing, and may have a memory.
`GridSight` and `BlockSight` look for what a condition asks for (a subtask, or all that a meta
controller knows) by a convolution whose weights it predicts, and make one vector of it. Shapes: T
steps, B worlds, N = T B, P cells or places of the picture, C channels, E size of the condition.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from errands.agents.layers import PredictedConv, centre_on_agent, scaled_pixels, window_cells
from errands.agents.memory import Memory
from errands.agents.products import Linear
from errands.agents.ways import Ways

TERRAIN = 3  # planes of the grid that show no object: agent, block, water


class Eyes(nn.Module):
    """What any agent sees with. The default ones remember nothing."""

    views = 0  # summaries of the kinds of thing in sight that `kinds` gives
    channels = 0  # C
    object_channels = slice(0)  # one for each kind of object

    def initial_memory(self, worlds: int) -> Memory:
        return ()

    def look(
        self, images: Tensor, actions: Tensor, begins: Tensor, memory: Memory
    ) -> tuple[Tensor, Memory]:
        """One step: observations (B, ...), the agent's own last actions (B,), where episodes begin.

        Returns what `forward` reads, and the next memory. Batches keep what was returned: learning
        never repeats this step, and no gradient passes through it.
        """
        return images, memory

    def forward(self, looked: Tensor) -> Tensor:
        """(N, ...) to features (N, P, C)."""
        raise NotImplementedError

    def kinds(self, features: Tensor) -> Tensor:
        """Which kinds of thing (N, views, C) the features show at all, or close by."""
        raise NotImplementedError


class SharedEyes(Eyes):
    """Those of the skill, which have looked already: a meta controller gets their features."""

    def forward(self, looked: Tensor) -> Tensor:
        return looked


class GridEyes(Eyes):
    """The grid's map, cell by cell. There is nothing to learn: a plane for each kind of thing."""

    views = 2  # there, close by

    def __init__(self, size: int, objects: int, near: int = 0) -> None:
        super().__init__()
        self.size = size
        self.channels = TERRAIN + objects
        self.object_channels = slice(TERRAIN, self.channels)
        self.near = near  # steps that count as close by

    def forward(self, looked: Tensor) -> Tensor:
        return looked.flatten(2).transpose(1, 2)  # (N, planes, size, size) to (N, cells, planes)

    def kinds(self, features: Tensor) -> Tensor:
        agent = agent_cells(features)
        row = torch.arange(self.size, device=features.device)
        down = (row[None] - torch.div(agent, self.size, rounding_mode="floor")[:, None]).abs()
        right = (row[None] - (agent % self.size)[:, None]).abs()
        close = (down[:, :, None] + right[:, None, :] <= self.near).flatten(1)  # (N, cells)
        there = features.amax(dim=1)
        return torch.stack((there, (features * close[..., None]).amax(dim=1)), dim=1)


def agent_cells(features: Tensor) -> Tensor:
    """The cell (N,) that the agent is on, in the grid's features (N, cells, planes)."""
    return features[..., 0].argmax(dim=1)  # its plane is the first


class BlockEyes(Eyes):
    """Two convolutions of a picture, Conv1(16x8x8-4) and Conv2(32x1x1-1) (appendix E)."""

    def __init__(
        self, picture: int, filters: Sequence[int], kernels: Sequence[int], strides: Sequence[int]
    ) -> None:
        super().__init__()
        self.side = side_after(picture, kernels[0], strides[0])  # 64 -> 15
        self.channels = filters[1]
        self.conv1 = nn.Conv2d(3, filters[0], kernels[0], stride=strides[0])
        self.conv2 = nn.Conv2d(filters[0], filters[1], kernels[1], stride=strides[1])
        for conv in (self.conv1, self.conv2):
            keep_variance(conv)
        # Twice to three times as fast on a CPU as the default layout.
        self.to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    def forward(self, looked: Tensor) -> Tensor:
        x = scaled_pixels(looked, self.conv1.weight.dtype)  # (N, 3, 64, 64)
        x = F.relu(self.conv2(F.relu(self.conv1(x))))  # (N, 32, 15, 15)
        return x.movedim(1, -1).flatten(1, 2)  # (N, 225, 32)


def side_after(side: int, kernel: int, stride: int) -> int:
    """Places a side that a convolution leaves of a picture."""
    return (side - kernel) // stride + 1


def _one(size: int | tuple[int, ...]) -> int:
    """The size of a kernel or a stride that is the same in both directions."""
    return size if isinstance(size, int) else size[0]


def keep_variance(conv: nn.Conv2d) -> None:
    """Start a convolution so that what is seen does not fade from layer to layer."""
    nn.init.kaiming_normal_(conv.weight, nonlinearity="relu")
    assert conv.bias is not None
    nn.init.zeros_(conv.bias)


class Sight(nn.Module):
    """What a condition asks for, of the features of this observation or of the last two."""

    size: int  # of the vector
    looks: int  # observations: 1 or 2

    def initial_memory(self, worlds: int) -> Memory:
        raise NotImplementedError

    def forward(
        self, features: Tensor, condition: Tensor, begins: Tensor, memory: Memory
    ) -> tuple[Tensor, Memory]:
        """(T, B, P, C), (T, B, E), (T, B) to (T, B, size). Where it begins, nothing was before."""
        raise NotImplementedError


def step_before(now: Tensor, begins: Tensor, memory: Memory) -> tuple[Tensor, Memory]:
    """What each of the steps (T, B, ...) follows: the memory, then the steps; itself at the start.

    Where an observation has nothing before it, it stands for that as well.
    """
    (last,) = memory
    before = torch.cat((last[None], now[:-1]))
    starts = begins.view(*begins.shape, *[1] * (now.dim() - 2))
    # A copy: worlds write their next observation into the same memory.
    return torch.where(starts, now, before), (now[-1].detach().clone(),)


class GridSight(Sight):
    """Conv1(1x1), predicted, and the layers that make a vector of its cells (earlier version)."""

    def __init__(
        self,
        eyes: GridEyes,
        *,
        condition: int,
        conv1: int,
        looks: int,
        view: "Centred | Pooled",
        same_weights: bool = True,
        linear: bool = False,
    ) -> None:
        super().__init__()
        self.looks = looks
        self.shape = eyes.size**2, eyes.channels
        self.same_weights = same_weights  # for both observations
        self.linear = linear
        planes = eyes.channels if same_weights else looks * eyes.channels
        self.conv1 = PredictedConv(planes, conv1, condition)
        self.view = view
        self.size = view.size

    def initial_memory(self, worlds: int) -> Memory:
        if self.looks == 1:
            return ()
        last = torch.zeros(worlds, *self.shape, dtype=torch.uint8, device=self.conv1.bias.device)
        return (last,)

    def forward(
        self, features: Tensor, condition: Tensor, begins: Tensor, memory: Memory
    ) -> tuple[Tensor, Memory]:
        now, phi = features.flatten(0, 1), condition.flatten(0, 1)
        if self.looks == 1:
            x = self.conv1(now, phi)
        else:
            before, memory = step_before(features, begins, memory)
            x = self._both(now, before.flatten(0, 1), phi)
        x = x if self.linear else F.relu(x)
        return self.view(x, agent_cells(now)).view(*begins.shape, -1), memory

    def _both(self, now: Tensor, before: Tensor, condition: Tensor) -> Tensor:
        """Conv1 on both observations (N, cells, planes): (N, cells, channels)."""
        if not self.same_weights:
            joined: Tensor = self.conv1(torch.cat((now, before), dim=2), condition)
            return joined
        # What identifies an object in one observation identifies it in the other: a skill that was
        # only trained to visit an object can then also see that it has just disappeared.
        both = self.conv1(torch.cat((now, before), dim=1), condition)  # (N, 2 * cells, channels)
        return torch.cat(both.chunk(2, dim=1), dim=2)


class Centred(nn.Module):
    """The cells around the agent, so that near and far things have their own weights.

    Ours. Pooling, which the earlier version has, throws away which cell of four a thing is on.
    """

    def __init__(self, size: int, channels: int, conv2: int = 0, ways: int = 0) -> None:
        """With `ways`, they are planned as many steps ahead, and are in the view as well."""
        super().__init__()
        self.map_size = size
        self.conv2 = Linear(channels, conv2) if conv2 else None
        self.ways = Ways(size, conv2 or channels, ways) if ways else None
        self.size = window_cells(size) * (conv2 or channels) + Ways.size * bool(ways)

    def forward(self, x: Tensor, agent: Tensor) -> Tensor:
        """(N, cells, channels) to (N, size)."""
        if self.conv2 is not None:
            x = F.relu(self.conv2(x))
        view = centre_on_agent(x, agent, self.map_size).flatten(1)
        return view if self.ways is None else torch.cat((view, self.ways(x, agent)), dim=1)


class Pooled(nn.Module):
    """The earlier version's layers. Its kernels of 1x1 have a padding of 1: 10 cells become 12."""

    def __init__(self, size: int, channels: int, conv2: int = 0, conv3: int = 0) -> None:
        super().__init__()
        self.map_size = size
        self.conv2 = Linear(channels, conv2) if conv2 else None
        self.conv3 = nn.Conv2d(conv2, conv3, 3, padding=1) if conv3 else None
        side = (size + (4 if conv2 else 2)) // 2
        self.size = side**2 * (conv3 or conv2 or channels)

    def forward(self, x: Tensor, agent: Tensor) -> Tensor:
        x = x.transpose(1, 2)
        x = F.pad(x.reshape(*x.shape[:2], self.map_size, self.map_size), (1, 1, 1, 1))
        if self.conv2 is not None:
            x = F.relu(self.conv2(x.movedim(1, -1))).movedim(-1, 1)
            x = F.pad(x, (1, 1, 1, 1))
        x = F.max_pool2d(x, 2)
        return (F.relu(self.conv3(x)) if self.conv3 is not None else x).flatten(1)


class BlockSight(Sight):
    """Conv3(32x1x1-1), predicted, then Conv4(32x5x5-2) or Pool(5) (appendix E)."""

    def __init__(
        self,
        side: int,
        channels: Sequence[int],
        *,
        condition: int,
        last: nn.Conv2d | nn.MaxPool2d,
        looks: int = 1,
    ) -> None:
        """`side`: places a side that the eyes show; `channels`: into Conv3, and out of it."""
        super().__init__()
        self.looks = looks
        self.side = side
        self.conv3 = PredictedConv(channels[0], channels[1], condition)
        self.last = last
        kernel, stride = (_one(size) for size in (last.kernel_size, last.stride))
        out = last.out_channels if isinstance(last, nn.Conv2d) else channels[1]
        self.shown = out * side_after(side, kernel, stride) ** 2  # numbers of one observation
        self.size = looks * self.shown
        self.to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    def initial_memory(self, worlds: int) -> Memory:
        device = self.conv3.bias.device
        return () if self.looks == 1 else (torch.zeros(worlds, self.shown, device=device),)

    def forward(
        self, features: Tensor, condition: Tensor, begins: Tensor, memory: Memory
    ) -> tuple[Tensor, Memory]:
        x = F.relu(self.conv3(features.flatten(0, 1), condition.flatten(0, 1)))  # (N, P, C)
        x = x.view(-1, self.side, self.side, x.shape[2]).movedim(-1, 1)
        x = F.relu(self.last(x)).flatten(1).view(*begins.shape, -1)
        if self.looks == 1:
            return x, memory
        # An agent that stands on an object does not see it, but it was in front a step ago.
        before, memory = step_before(x, begins, memory)
        return torch.cat((x, before), dim=2), memory
