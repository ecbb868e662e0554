"""The recogniser: a picture of the block world and its pitch become names of what stands where."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from errands.agents.map_kernels import PITCHES
from errands.agents.products import Linear
from errands.settings import setting

AT_A_TIME = 64  # pictures: much less, or much more, takes longer
# How many cells to each side a picture can show of each row ahead, at any pitch, from the ground or
# from on top of an object.
FIELD_OF_VIEW = (2, 2, 2, 3, 3, 4, 4, 5, 6)


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
    sure: float = setting(0.95, "how probable the name of a cell must be")
    # A search that forgets where it has looked in vain turns back and forth.
    tried: bool = setting(True, "unknown cells are fresh, too, where a picture did not show them")

    @property
    def in_view(self) -> int:
        return self.ahead * self.aside

    @property
    def visible(self) -> tuple[int, ...]:
        """Those of the cells in view that a picture can show: no other has to be named."""
        rows, middle = len(FIELD_OF_VIEW), self.aside // 2
        return tuple(
            row * self.aside + column
            for row in range(self.ahead)
            for column in range(self.aside)
            if row >= rows or abs(column - middle) <= FIELD_OF_VIEW[row]
        )

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
    """A picture and its pitch to what stands on each cell in view: (B, cells, 1 + K) logits.

    K kinds: empty, wall, each object. The first logit says that the cell is hidden.
    """

    def __init__(self, network: MapNetwork, objects: int) -> None:
        super().__init__()
        self.network = network
        self.objects = objects
        first, channels = network.filters
        places, cells, hidden = network.places, network.in_view, network.hidden
        side = ((network.picture - 5) // 2 + 1 - 3) // 2 + 1  # 64 -> 30 -> 14
        self.conv1 = nn.Conv2d(3, first, 5, stride=2)
        self.conv2 = nn.Conv2d(first, channels, 3, stride=2)
        # Where in the picture each cell is searched for: several places each, for each pitch.
        self.where = nn.Parameter(torch.randn(PITCHES, places * cells, side * side) * 0.05)
        self.hidden = Linear(places * channels, hidden)
        self.cell = nn.Parameter(torch.randn(PITCHES, cells, hidden) * 0.1)
        self.overall = Linear(channels, hidden)
        self.name = Linear(hidden, 3 + objects)
        self.to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    def forward(self, images: Tensor, pitch: Tensor, cells: Tensor | None = None) -> Tensor:
        """With `cells`, name only these of the cells in view."""
        named, order = [], []
        # Pixels from -2 to 2, which costs less if the convolution's weights are changed for it.
        assert self.conv1.bias is not None
        first = self.conv1.weight / 64.0
        bias = self.conv1.bias - 2.0 * self.conv1.weight.sum(dim=(1, 2, 3))
        for k in range(PITCHES):
            at = torch.nonzero(pitch == k)[:, 0]
            if not at.numel():
                continue
            order.append(at)
            places = self.where[k].view(self.network.places, self.network.in_view, -1)
            cell = self.cell[k]
            if cells is not None:
                places, cell = places[:, cells], cell[cells]
            where = places.transpose(0, 1).flatten(0, 1)  # (cells * places, 196)
            named += [
                self._name(images.index_select(0, part), (first, bias), where, cell)
                for part in torch.split(at, AT_A_TIME)
            ]
        return torch.cat(named)[torch.argsort(torch.cat(order))]

    def _name(
        self, images: Tensor, conv1: tuple[Tensor, Tensor], where: Tensor, cell: Tensor
    ) -> Tensor:
        """Pictures of one pitch."""
        weight, bias = conv1
        x = F.conv2d(images.movedim(-1, 1).to(weight.dtype), weight, bias, stride=2)
        x = F.relu(self.conv2(F.relu(x, inplace=True)), inplace=True)
        x = x.movedim(1, -1).flatten(1, 2)  # (B, 196, channels)
        # As a convolution, it is twice as fast as `where @ x` where products.py says why.
        found = F.conv1d(x, where[:, :, None]).view(
            len(x), len(cell), -1
        )  # (B, cells, places * channels)
        overall = self.overall(x.mean(dim=1))[:, None]
        named: Tensor = self.name(F.relu(self.hidden(found) + cell + overall))
        return named
