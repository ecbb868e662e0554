"""Eyes that remember, in PyTorch alone: all worlds at once, one operation after the other."""

import numpy as np
import torch
from torch.nn import functional as F

from errands.agents.map_kernels import (
    BACKWARD,
    COLUMN_AHEAD,
    DOWN,
    FORWARD,
    LEFT,
    LEVEL,
    PITCHES,
    RIGHT,
    ROW_AHEAD,
    UP,
    WALL,
)


def look(eyes, images, actions, begins, memory):
    """What `MapEyes.look` returns, with windows as numbers: (B, 2, window, channels), the body, and
    the next memory."""
    cells, pose, picture = memory
    network = eyes.network
    side = network.side
    row, column, heading, pitch = pose.unbind(1)
    middle = torch.full_like(row, side // 2)
    cells = torch.where(begins[:, None, None], torch.zeros_like(cells), cells)
    acted = torch.where(begins, eyes.actions, actions)
    row, column = torch.where(begins, middle, row), torch.where(begins, middle, column)
    heading, pitch = torch.where(begins, 0, heading), torch.where(begins, LEVEL, pitch)
    heading = (heading + (acted == RIGHT).long() + 3 * (acted == LEFT).long()) % 4
    pitch = (pitch + (acted == UP).long() - (acted == DOWN).long()).clamp(0, PITCHES - 1)
    step = (acted == FORWARD).long() - (acted == BACKWARD).long()
    to_row = (row + step * torch.tensor(ROW_AHEAD)[heading]).clamp(0, side - 1)
    to_column = (column + step * torch.tensor(COLUMN_AHEAD)[heading]).clamp(0, side - 1)
    moved = (step != 0) & (cells[range(len(row)), to_row * side + to_column, WALL] < 0.5)
    moved &= (images != picture).flatten(1).any(dim=1)
    row, column = torch.where(moved, to_row, row), torch.where(moved, to_column, column)
    place = (row * side + column) * 4 + heading
    in_view, window = _tables(network)
    before = _window(eyes, cells, row * side + column, window[place])

    cells_named = torch.tensor(network.visible)
    named = torch.softmax(eyes.recogniser(images, pitch, cells_named), dim=2)[..., 1:]  # (B, V, K)
    sure = named.amax(dim=2, keepdim=True) >= network.sure
    named = named * sure
    shown = named.sum(dim=2, keepdim=True)
    cells = torch.cat((cells[..., :-1], cells[..., -1:] * network.fade), dim=2)
    where = in_view[place][:, cells_named][..., None].expand(-1, -1, eyes.named + 1)
    old = cells.gather(1, where)
    kinds, fresh = named + (1 - shown) * old[..., :-1], torch.maximum(shown, old[..., -1:])
    if network.tried:
        fresh[~sure & (old[..., :-1].sum(dim=2, keepdim=True) < 0.5)] = 1.0
    cells = cells.scatter(1, where, torch.cat((kinds, fresh), dim=2))
    cells[:, -1] = 0.0  # outside
    now = _window(eyes, cells, row * side + column, window[place])

    action = F.one_hot(acted, eyes.actions + 1)[:, :-1]
    body = torch.cat((F.one_hot(pitch, PITCHES), action, moved[:, None].long()), dim=1)
    after = cells, torch.stack((row, column, heading, pitch), dim=1), images.clone()
    return torch.stack((now, before), dim=1), body, after


def kinds(eyes, features):
    """What `MapWindow.kinds` returns."""
    now = eyes.split(features)[0].float() / 255
    away = (torch.arange(2 * eyes.network.reach + 1) - eyes.network.reach).abs()
    close = (away[:, None] + away[None, :] <= eyes.near).flatten().float()[None, :, None]
    fresh = now[..., eyes.named, None]
    return torch.stack([view.amax(dim=1) for view in (now, now * close, now * fresh)], dim=1)


def _tables(network):
    """For each place and heading (side * side * 4), which cell of the map each cell in view is, and
    which each cell of the window; one past the end stands for "outside"."""
    reach = network.reach
    forward, right = np.divmod(np.arange(network.in_view), network.aside)
    in_view = _cells(network.side, forward, right - network.aside // 2)
    down, across = np.divmod(np.arange(network.window), 2 * reach + 1)
    return in_view, _cells(network.side, reach - down, across - reach)


def _cells(side, forward, right):
    place = np.arange(side * side * 4)
    row, column, heading = place // 4 // side, place // 4 % side, place % 4
    aside = (heading + 1) % 4
    to_row, to_column = np.array(ROW_AHEAD), np.array(COLUMN_AHEAD)
    r = row[:, None] + np.outer(to_row[heading], forward) + np.outer(to_row[aside], right)
    c = column[:, None] + np.outer(to_column[heading], forward) + np.outer(to_column[aside], right)
    inside = (r >= 0) & (r < side) & (c >= 0) & (c < side)
    return torch.from_numpy(np.where(inside, r * side + c, side * side))


def _window(eyes, cells, place, around):
    """The map around the agent: (B, window, channels)."""
    known = cells[:, :-1, : eyes.named].sum(dim=2)
    is_open = (known - cells[:, :-1, WALL] > 0.5).scatter(1, place[:, None], True)
    side, largest = eyes.network.side, eyes.network.largest
    is_open = is_open.view(-1, side, side)
    rows, columns = (_fits(is_open.any(dim=k), largest) for k in (2, 1))
    possible = rows[:, :, None] & columns[:, None, :]
    unknown = F.pad((1 - known) * possible.flatten(1), (0, 1))
    channels = torch.cat((cells, unknown[..., None]), dim=2)
    return channels.gather(1, around[..., None].expand(-1, -1, channels.shape[2]))


def _fits(is_open, largest):
    """Which rows (B, side) the map may have, given those that are known to be open."""
    side = is_open.shape[1]
    row = torch.arange(side)
    first = torch.where(is_open, row, side).amin(dim=1, keepdim=True)
    last = torch.where(is_open, row, -1).amax(dim=1, keepdim=True)
    return (row > last - largest) & (row < first + largest)
