"""Eyes that remember: pictures of the block world become a map of what was seen where.

A recogniser names what stands on each cell that a picture shows. The agent knows which way it has
turned and where it has walked, because these were its own actions, so what it recognises finds its
place on a map, and stays there when it is out of sight. The world reveals nothing of this: a step
has failed if there is a wall on the map, or if the picture has not changed. Labels from the world
are used to train the recogniser, and only there.

Shapes: B worlds, K kinds (empty, wall, each object). Beside them a cell has a freshness, which
fades when it is out of sight, and the window shows which cells are unknown: never seen, though not
outside of the largest map that fits what was seen.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from errands.agents.eyes import Eyes, Sight
from errands.agents.layers import PredictedConv, scaled_pixels
from errands.agents.memory import Memory
from errands.settings import setting

HIDDEN, EMPTY, WALL = range(3)  # classes; objects follow
LEFT, RIGHT, UP, DOWN, FORWARD, BACKWARD = range(6)  # actions of the block world
PITCHES = 3
ROW_AHEAD, COLUMN_AHEAD = (-1, 0, 1, 0), (0, 1, 0, -1)  # of each heading


@dataclass(frozen=True)
class MapNetwork:
    """How eyes that remember are built. All of it is ours: the paper has no map."""

    picture: int = setting(64, "pixels a side")
    filters: tuple[int, ...] = setting((24, 48), "of the recogniser's convolutions, 5x5 and 3x3")
    places: int = setting(4, "places in the picture where each cell is looked for")
    hidden: int = setting(64, "units of the layer that names a cell")
    ahead: int = setting(9, "rows of cells that a picture can show, the agent's own included")
    aside: int = setting(9, "cells in each of these rows, the middle one straight ahead")
    largest: int = setting(8, "open cells a side of the largest map")
    fade: float = setting(0.9, "decay of a cell's freshness at each step")
    # A guess on the map would never be checked.
    sure: float = setting(0.9, "how probable the name of a cell must be")

    @property
    def in_view(self) -> int:
        return self.ahead * self.aside

    @property
    def side(self) -> int:
        """Cells a side of the map: from any start, all of the world and its border."""
        return 2 * self.largest + 1

    @property
    def reach(self) -> int:
        """Cells each way that the window around the agent shows: all open ones."""
        return self.largest - 1

    @property
    def window(self) -> int:
        return (2 * self.reach + 1) ** 2


class Recogniser(nn.Module):
    """A picture and its pitch to what stands on each cell in view: (B, cells, 1 + K) logits."""

    def __init__(self, network: MapNetwork, objects: int) -> None:
        super().__init__()
        self.network = network
        first, channels = network.filters
        places, cells, hidden = network.places, network.in_view, network.hidden
        side = ((network.picture - 5) // 2 + 1 - 3) // 2 + 1  # 64 -> 30 -> 14
        self.conv1 = nn.Conv2d(3, first, 5, stride=2)
        self.conv2 = nn.Conv2d(first, channels, 3, stride=2)
        # Where in the picture each cell is looked for, several places each; a matter of the pitch.
        self.where = nn.Parameter(torch.randn(PITCHES, places * cells, side * side) * 0.05)
        self.hidden = nn.Linear(places * channels, hidden)
        self.cell = nn.Parameter(torch.randn(PITCHES, cells, hidden) * 0.1)
        self.overall = nn.Linear(channels, hidden)
        self.name = nn.Linear(hidden, 3 + objects)
        self.to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    def forward(self, images: Tensor, pitch: Tensor) -> Tensor:
        x = scaled_pixels(images, self.conv1.weight.dtype)
        x = F.relu(self.conv2(F.relu(self.conv1(x)))).flatten(2)  # (B, channels, 196)
        places, cells = self.network.places, self.network.in_view
        named, order = [], []
        for k in range(PITCHES):
            at = torch.nonzero(pitch == k)[:, 0]
            if not at.numel():
                continue
            seen = x[at]
            found = F.linear(seen, self.where[k])  # (b, channels, places * cells)
            found = found.view(len(at), -1, places, cells)
            found = found.permute(0, 3, 2, 1).flatten(2)  # (b, cells, places * channels)
            overall = self.overall(seen.mean(dim=2))[:, None]
            named.append(self.name(F.relu(self.hidden(found) + self.cell[k] + overall)))
            order.append(at)
        return torch.cat(named)[torch.argsort(torch.cat(order))]


@cache
def _tables(network: MapNetwork) -> tuple[Tensor, Tensor]:
    """For each place and heading (side * side * 4), which cell of the map each cell in view is, and
    which each cell of the window; one past the end stands for "outside".
    """
    reach = network.reach
    forward, right = np.divmod(np.arange(network.in_view), network.aside)
    in_view = _cells(network.side, forward, right - network.aside // 2)
    down, across = np.divmod(np.arange(network.window), 2 * reach + 1)
    return in_view, _cells(network.side, reach - down, across - reach)


def _cells(side: int, forward: NDArray[np.int64], right: NDArray[np.int64]) -> Tensor:
    place = np.arange(side * side * 4)
    row, column, heading = place // 4 // side, place // 4 % side, place % 4
    aside = (heading + 1) % 4
    to_row, to_column = np.array(ROW_AHEAD), np.array(COLUMN_AHEAD)
    r = row[:, None] + np.outer(to_row[heading], forward) + np.outer(to_row[aside], right)
    c = column[:, None] + np.outer(to_column[heading], forward) + np.outer(to_column[aside], right)
    inside = (r >= 0) & (r < side) & (c >= 0) & (c < side)
    return torch.from_numpy(np.where(inside, r * side + c, side * side))


class MapWindow(Eyes):
    """What eyes that remember show: a window on the map, as it is now and before this step.

    Features are bytes (N, size): both windows, and what the agent's own body tells it. A meta
    controller reads those of its skill's eyes, which have looked already.
    """

    views = 3  # there, close by, fresh
    first_object = 2  # after empty and wall

    def __init__(self, network: MapNetwork, objects: int, actions: int, near: int = 0) -> None:
        super().__init__()
        self.network = network
        self.actions = actions
        self.near = near  # steps that count as close by
        self.named = objects + self.first_object  # kinds that a cell may have
        self.channels = self.named + 2  # fresh, unknown
        self.body = PITCHES + actions + 1
        self.size = 2 * network.window * self.channels + self.body

    def forward(self, looked: Tensor) -> Tensor:
        return looked

    def split(self, features: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor, Tensor]:
        """The window now and before (N, window, channels), and the body."""
        scaled = features.to(dtype) / 255.0
        windows = scaled[:, : -self.body].view(-1, 2, self.network.window, self.channels)
        return windows[:, 0], windows[:, 1], scaled[:, -self.body :]

    def kinds(self, features: Tensor) -> Tensor:
        now, _, _ = self.split(features, torch.get_default_dtype())
        close = _close_cells(self.network.reach, self.near).to(now.device)[None, :, None]
        fresh = now[..., self.named, None]
        return torch.stack([view.amax(dim=1) for view in (now, now * close, now * fresh)], dim=1)


@cache
def _close_cells(reach: int, near: int) -> Tensor:
    """Which cells (window,) of a window of `reach` cells each way are close to the agent."""
    away = (torch.arange(2 * reach + 1) - reach).abs()
    return (away[:, None] + away[None, :] <= near).flatten().float()


class MapEyes(MapWindow):
    """Pictures and the agent's own actions to a window on the map, seen from where it stands.

    Skills take them as they are: what they see is trained before (`errands train eyes`).
    """

    def __init__(self, network: MapNetwork, objects: int, actions: int) -> None:
        super().__init__(network, objects, actions)
        self.recogniser = Recogniser(network, objects)
        self.requires_grad_(False)

    def initial_memory(self, worlds: int) -> Memory:
        device = self.recogniser.conv1.weight.device
        side, picture = self.network.side, self.network.picture
        cells = torch.zeros(worlds, side * side + 1, self.named + 1, device=device)
        pose = torch.zeros(worlds, 4, dtype=torch.int64, device=device)
        return (
            cells,
            pose,
            torch.zeros(worlds, picture, picture, 3, dtype=torch.uint8, device=device),
        )

    @torch.no_grad()
    def look(
        self, images: Tensor, actions: Tensor, begins: Tensor, memory: Memory
    ) -> tuple[Tensor, Memory]:
        """(B, 64, 64, 3), the actions (B,) that led there: (B, size) of bytes."""
        cells, pose, picture = memory
        side = self.network.side
        row, column, heading, pitch = pose.unbind(1)
        middle = torch.full_like(row, side // 2)
        cells = torch.where(begins[:, None, None], torch.zeros_like(cells), cells)
        acted = torch.where(begins, self.actions, actions)
        row, column = torch.where(begins, middle, row), torch.where(begins, middle, column)
        heading = torch.where(begins, 0, heading)
        pitch = torch.where(begins, 1, pitch)
        heading = (heading + (acted == RIGHT).long() + 3 * (acted == LEFT).long()) % 4
        pitch = (pitch + (acted == UP).long() - (acted == DOWN).long()).clamp(0, PITCHES - 1)
        step = (acted == FORWARD).long() - (acted == BACKWARD).long()
        to_row = row + step * torch.tensor(ROW_AHEAD, device=row.device)[heading]
        to_column = column + step * torch.tensor(COLUMN_AHEAD, device=row.device)[heading]
        to_row, to_column = to_row.clamp(0, side - 1), to_column.clamp(0, side - 1)
        every = torch.arange(len(row), device=row.device)
        moved = (step != 0) & (cells[every, to_row * side + to_column, WALL - 1] < 0.5)
        moved &= (images != picture).flatten(1).any(dim=1)
        row, column = torch.where(moved, to_row, row), torch.where(moved, to_column, column)
        place = (row * side + column) * 4 + heading
        in_view, window = (table.to(row.device) for table in _tables(self.network))
        around = window[place]  # (B, window)
        before = self._window(cells, row * side + column, around)

        named = torch.softmax(self.recogniser(images, pitch), dim=2)[..., 1:]  # (B, cells, K)
        named = named * (named.amax(dim=2, keepdim=True) >= self.network.sure)
        shown = named.sum(dim=2, keepdim=True)
        fresh = cells[..., -1:] * self.network.fade
        cells = torch.cat((cells[..., :-1], fresh), dim=2)
        where = in_view[place][..., None].expand(-1, -1, self.named + 1)
        old = cells.gather(1, where)
        new = torch.cat(
            (named + (1 - shown) * old[..., :-1], torch.maximum(shown, old[..., -1:])),
            dim=2,
        )
        cells = cells.scatter(1, where, new)
        cells[:, -1] = 0.0  # outside
        now = self._window(cells, row * side + column, around)

        body = torch.cat(
            (
                F.one_hot(pitch, PITCHES),
                F.one_hot(acted, self.actions + 1)[:, :-1],
                moved[:, None].long(),
            ),
            dim=1,
        )
        windows = torch.stack((now, before), dim=1)  # (B, 2, window, channels)
        seen = torch.cat(
            ((windows * 255).round().to(torch.uint8).flatten(1), (body * 255).to(torch.uint8)),
            dim=1,
        )
        # Worlds write their next picture into the same memory.
        return seen, (cells, torch.stack((row, column, heading, pitch), dim=1), images.clone())

    def _window(self, cells: Tensor, place: Tensor, around: Tensor) -> Tensor:
        """The map around the agent: (B, window, channels)."""
        known = cells[:, :-1, : self.named].sum(dim=2)
        is_open = (known - cells[:, :-1, WALL - 1] > 0.5).scatter(1, place[:, None], True)
        side, largest = self.network.side, self.network.largest
        is_open = is_open.view(-1, side, side)
        rows, columns = (_fits(is_open.any(dim=k), largest) for k in (2, 1))
        possible = rows[:, :, None] & columns[:, None, :]
        unknown = F.pad((1 - known) * possible.flatten(1), (0, 1))
        return _take(torch.cat((cells, unknown[..., None]), dim=2), around)


class MapSight(Sight):
    """Conv1(1x1), predicted, on the cells of the window; a skill sees the one before as well."""

    looks = 1  # the window before this step is in the features

    def __init__(self, eyes: MapWindow, *, condition: int, conv1: int, conv2: int = 0) -> None:
        """With `conv2`, as the grid's skill: both windows, another layer, and the body."""
        super().__init__()
        self.split = eyes.split
        self.conv1 = PredictedConv(eyes.channels, conv1, condition)
        self.conv2 = nn.Linear(2 * conv1, conv2) if conv2 else None
        cells = eyes.network.window
        self.size = cells * conv2 + eyes.body if conv2 else cells * conv1

    def initial_memory(self, worlds: int) -> Memory:
        return ()

    def forward(
        self, features: Tensor, condition: Tensor, begins: Tensor, memory: Memory
    ) -> tuple[Tensor, Memory]:
        phi = condition.flatten(0, 1)
        now, before, body = self.split(features.flatten(0, 1), phi.dtype)
        if self.conv2 is None:
            x = F.relu(self.conv1(now, phi)).flatten(1)
        else:
            both = self.conv1(torch.cat((now, before), dim=1), phi)  # (N, 2 * cells, channels)
            x = F.relu(self.conv2(torch.cat(both.chunk(2, dim=1), dim=2))).flatten(1)
            x = torch.cat((x, body), dim=1)
        return x.view(*begins.shape, -1), memory


def _fits(is_open: Tensor, largest: int) -> Tensor:
    """Which rows (B, side) the map may have, given those that are known to be open."""
    side = is_open.shape[1]
    row = torch.arange(side, device=is_open.device)
    first = torch.where(is_open, row, side).amin(dim=1, keepdim=True)
    last = torch.where(is_open, row, -1).amax(dim=1, keepdim=True)
    return (row > last - largest) & (row < first + largest)


def _take(cells: Tensor, index: Tensor) -> Tensor:
    """(B, P, K) and (B, Q) to (B, Q, K)."""
    return cells.gather(1, index[..., None].expand(-1, -1, cells.shape[2]))
