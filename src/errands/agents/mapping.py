"""Eyes that remember: pictures of the block world become a map of what was seen where.

A recogniser names what stands on each cell that a picture shows. The agent knows which way it has
turned and where it has walked, because these were its own actions, so what it recognises finds its
place on a map, and stays there when it is out of sight. The world reveals nothing of this: a step
has failed if there is a wall on the map, or if the picture has not changed. Labels from the world
are used to train the recogniser, and only there.

Shapes: B worlds, K kinds (empty, wall, each object). Beside them a cell has a freshness, which
fades when it is out of sight, and the window shows which cells are unknown: never seen, though not
outside of the largest map that fits what was seen. Maps are kept by compiled code, in the memory of
the CPU, wherever the networks are.
"""

from functools import cache

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from errands.agents.eyes import Eyes, Sight
from errands.agents.layers import PredictedConv
from errands.agents.map_kernels import PITCH, PITCHES, WALL, follow, remember, summarise
from errands.agents.memory import Memory
from errands.agents.products import Linear
from errands.agents.recogniser import MapNetwork, Recogniser
from errands.agents.ways import Ways

MOST = 255.0  # what a byte of the features stands for is this share of it


class MapWindow(Eyes):
    """What eyes that remember show: a window on the map, as it is now and before this step.

    Features are bytes (N, size): both windows, and what the agent's own body tells it. A meta
    controller reads those of its skill's eyes, which have looked already.
    """

    views = 3  # there, close by, fresh

    def __init__(self, network: MapNetwork, objects: int, actions: int, near: int = 0) -> None:
        super().__init__()
        self.network = network
        self.actions = actions
        self.near = near  # steps that count as close by
        self.named = WALL + 1 + objects  # kinds that a cell may have
        self.object_channels = slice(WALL + 1, self.named)
        self.channels = self.named + 2  # fresh, unknown
        self.body = PITCHES + actions + 1
        self.size = 2 * network.window * self.channels + self.body

    def forward(self, looked: Tensor) -> Tensor:
        return looked

    def split(self, features: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The window now and before (N, window, channels), and the body."""
        shape = len(features), self.network.window, self.channels
        window = self.network.window * self.channels
        now, before, body = torch.split(features, [window, window, self.body], dim=1)
        return now.view(shape), before.view(shape), body

    def kinds(self, features: Tensor) -> Tensor:
        kinds = torch.empty(len(features), self.views, self.channels, dtype=torch.float32)
        close = _close_cells(self.network.reach, self.near)
        summarise(features.cpu().numpy(), close, self.channels, kinds.numpy())
        return kinds.to(features.device)


@cache
def _close_cells(reach: int, near: int) -> NDArray[np.bool_]:
    """Which cells (window,) of a window of `reach` cells each way are close to the agent."""
    away = np.abs(np.arange(2 * reach + 1) - reach)
    return (away[:, None] + away[None, :] <= near).flatten()


class MapEyes(MapWindow):
    """Pictures and the agent's own actions to a window on the map, seen from where it stands.

    Skills take them as they are: what they see is trained before (`errands train eyes`).
    """

    visible: Tensor
    in_bfloat16 = False  # how pictures are recognised (precision.py)

    def __init__(self, network: MapNetwork, objects: int, actions: int) -> None:
        super().__init__(network, objects, actions)
        self.recogniser = Recogniser(network, objects)
        self.register_buffer("visible", torch.tensor(network.visible), persistent=False)
        self.requires_grad_(False)

    def initial_memory(self, worlds: int) -> Memory:
        side, picture = self.network.side, self.network.picture
        return (
            torch.zeros(worlds, side * side + 1, self.named + 1, dtype=torch.float32),  # the map
            torch.zeros(worlds, 4, dtype=torch.int64),  # row, column, heading, pitch
            torch.zeros(worlds, picture, picture, 3, dtype=torch.uint8),  # the last picture
        )

    @torch.no_grad()
    def look(
        self, images: Tensor, actions: Tensor, begins: Tensor, memory: Memory
    ) -> tuple[Tensor, Memory]:
        """(B, 64, 64, 3), the actions (B,) that led there: (B, size) of bytes."""
        network, device = self.network, images.device
        # Copies: the memory stays as it is, and worlds write their next picture over this one.
        cells, pose = (item.clone() for item in memory[:2])
        picture, previous = images.cpu().clone(), memory[2]
        acted, starts = actions.cpu().numpy(), begins.cpu().numpy()
        moved = np.empty(len(acted), np.bool_)
        follow(
            acted,
            starts,
            picture.flatten(2).numpy(),
            previous.flatten(2).numpy(),
            cells.numpy(),
            pose.numpy(),
            network.side,
            moved,
        )
        with torch.autocast(device.type, torch.bfloat16, enabled=self.in_bfloat16):
            logits = self.recogniser(images, pose[:, PITCH].to(device), self.visible)
        seen = torch.empty(len(acted), self.size, dtype=torch.uint8)
        remember(
            logits.float().cpu().numpy(),
            self.visible.cpu().numpy(),
            acted,
            starts,
            pose.numpy(),
            moved,
            network.aside,
            network.side,
            network.reach,
            network.largest,
            network.fade,
            network.sure,
            network.tried,
            cells.numpy(),
            seen.numpy(),
        )
        return seen.to(device), (cells, pose, picture)


class MapSight(Sight):
    """Conv1(1x1), predicted, on the cells of the window; a skill sees the one before as well."""

    looks = 1  # the window before this step is in the features

    def __init__(
        self, eyes: MapWindow, *, condition: int, conv1: int, conv2: int = 0, ways: int = 0
    ) -> None:
        """With `conv2`, as the grid's skill: both windows, another layer, and the body.

        With `ways`, those through what that layer shows are planned as many steps ahead.
        """
        super().__init__()
        self.split = eyes.split
        self.conv1 = PredictedConv(eyes.channels, conv1, condition)
        self.conv2 = Linear(2 * conv1, conv2) if conv2 else None
        cells = eyes.network.window
        self.size = cells * conv2 + eyes.body if conv2 else cells * conv1
        self.ways = Ways(2 * eyes.network.reach + 1, conv2, ways) if ways else None
        self.size += Ways.size * bool(ways)

    def initial_memory(self, worlds: int) -> Memory:
        return ()

    def forward(
        self, features: Tensor, condition: Tensor, begins: Tensor, memory: Memory
    ) -> tuple[Tensor, Memory]:
        phi = condition.flatten(0, 1)
        now, before, body = self.split(features.flatten(0, 1))
        weight = self.conv1.weights(phi) / MOST  # features are bytes
        if self.conv2 is None:
            x = torch.baddbmm(self.conv1.bias, now.to(phi.dtype), weight)  # (N, cells, channels)
            x = F.relu(x, inplace=True).flatten(1)
        else:
            # There is nothing between conv1 and conv2: they are one matrix for each window.
            for_now, for_before = self.conv2.weight.t().chunk(2)
            bias = self.conv2(self.conv1.bias.repeat(2))
            x = torch.baddbmm(bias, now.to(phi.dtype), weight @ for_now)
            x = torch.baddbmm(x, before.to(phi.dtype), weight @ for_before)
            cells = F.relu(x, inplace=True)
            ways = () if self.ways is None else (self.ways(cells),)
            x = torch.cat((cells.flatten(1), body.to(phi.dtype) / MOST, *ways), dim=1)
        return x.view(*begins.shape, -1), memory
