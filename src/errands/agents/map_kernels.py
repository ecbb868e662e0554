"""The inner loops of eyes that remember (mapping.py), compiled: a few microseconds a picture.

The same in PyTorch copies every map several times a step, and takes longer than the recogniser of
the pictures. Shapes: B worlds, S x S cells of a map, C = 1 + K numbers for each cell (the
probability of each kind of thing, and how fresh they are), W cells in the window around the agent.
This file imports no other kernel: the cache of compiled code relies on it.
"""

import numpy as np
from numba import prange
from numpy.typing import NDArray

from errands.kernel import batched, kernel

EMPTY, WALL = range(2)  # kinds; objects follow
LEFT, RIGHT, UP, DOWN, FORWARD, BACKWARD = range(6)  # actions of the block world
LEVEL, PITCHES = 1, 3
ROW_AHEAD, COLUMN_AHEAD = (-1, 0, 1, 0), (0, 1, 0, -1)  # of each heading
ROW, COLUMN, HEADING, PITCH = range(4)  # a pose

FEW = 16  # samples that one core is enough for

Bytes = NDArray[np.uint8]
Integers = NDArray[np.int64]
Numbers32 = NDArray[np.float32]
Truths = NDArray[np.bool_]


@batched(FEW)
def follow(
    actions: Integers,
    begins: Truths,
    images: Bytes,
    previous: Bytes,
    cells: Numbers32,
    poses: Integers,
    side: int,
    moved: Truths,
) -> None:
    """Where the agents (B,) are after their own actions; where an episode begins, all is forgotten.

    A step has failed if there is a wall on the map, or if the picture has not changed.
    """
    for i in prange(len(actions)):
        moved[i] = False
        pose = poses[i]
        if begins[i]:
            cells[i] = 0.0
            pose[ROW] = pose[COLUMN] = side // 2
            pose[HEADING], pose[PITCH] = 0, LEVEL
            continue
        action = actions[i]
        if action == LEFT:
            pose[HEADING] = (pose[HEADING] + 3) % 4
        elif action == RIGHT:
            pose[HEADING] = (pose[HEADING] + 1) % 4
        elif action == UP:
            pose[PITCH] = min(pose[PITCH] + 1, PITCHES - 1)
        elif action == DOWN:
            pose[PITCH] = max(pose[PITCH] - 1, 0)
        elif action in (FORWARD, BACKWARD):
            step = 1 if action == FORWARD else -1
            row = pose[ROW] + step * ROW_AHEAD[pose[HEADING]]
            column = pose[COLUMN] + step * COLUMN_AHEAD[pose[HEADING]]
            row, column = min(max(row, 0), side - 1), min(max(column, 0), side - 1)
            if cells[i, row * side + column, WALL] < 0.5 and _differ(images[i], previous[i]):
                moved[i] = True
                pose[ROW], pose[COLUMN] = row, column


@kernel()
def _differ(one: Bytes, other: Bytes) -> bool:
    """Whether two pictures (rows, bytes of a row) are different."""
    for row in range(one.shape[0]):
        difference = np.uint8(0)
        for k in range(one.shape[1]):  # without an exit, which would keep it from being vectorised
            difference |= one[row, k] ^ other[row, k]
        if difference:
            return True
    return False


@batched(FEW)
def remember(
    logits: Numbers32,
    named: Integers,
    actions: Integers,
    begins: Truths,
    poses: Integers,
    moved: Truths,
    aside: int,
    side: int,
    reach: int,
    largest: int,
    fade: float,
    sure: float,
    tried: bool,
    cells: Numbers32,
    seen: Bytes,
) -> None:
    """Enter what was recognised (B, V, 1 + K) of V cells in view on the maps (B, S S + 1, C).

    What is `seen` (B, size): the window on the map, the same as it was before, and the body: its
    pitch and its action, one-hot, and whether it moved.
    """
    window = (2 * reach + 1) ** 2 * (cells.shape[2] + 1)  # bytes
    body = 2 * window
    for i in prange(len(logits)):
        known = np.zeros(side * side, np.float32)
        for k in range(side * side):
            for kind in range(cells.shape[2] - 1):
                known[k] += cells[i, k, kind]
        _show(cells[i], known, poses[i], side, reach, largest, seen[i, window:body])
        for k in range(side * side):
            cells[i, k, -1] *= np.float32(fade)
        _enter(logits[i], named, poses[i], aside, side, sure, tried, cells[i], known)
        _show(cells[i], known, poses[i], side, reach, largest, seen[i, :window])
        seen[i, body:] = 0
        seen[i, body + poses[i, PITCH]] = 255
        if not begins[i]:
            seen[i, body + PITCHES + actions[i]] = 255
        if moved[i]:
            seen[i, -1] = 255


@kernel()
def _enter(
    logits: Numbers32,
    named: Integers,
    pose: Integers,
    aside: int,
    side: int,
    sure: float,
    tried: bool,
    cells: Numbers32,
    known: Numbers32,
) -> None:
    """What was recognised for sure replaces what was known, as far as it is not hidden.

    What remains unknown is marked as `tried`: the agent has just looked there, in vain.
    """
    heading = pose[HEADING]
    to_row, to_column = ROW_AHEAD[heading], COLUMN_AHEAD[heading]
    right_row, right_column = ROW_AHEAD[(heading + 1) % 4], COLUMN_AHEAD[(heading + 1) % 4]
    kinds = logits.shape[1] - 1
    chances = np.empty(kinds + 1, np.float32)
    for k in range(len(logits)):
        forward, right = named[k] // aside, named[k] % aside - aside // 2
        r = pose[ROW] + forward * to_row + right * right_row
        c = pose[COLUMN] + forward * to_column + right * right_column
        if not (0 <= r < side and 0 <= c < side):
            continue
        highest = logits[k].max()
        total, surest = np.float32(0.0), np.float32(0.0)
        for kind in range(kinds + 1):
            chances[kind] = np.exp(logits[k, kind] - highest)
            total += chances[kind]
        shown = np.float32(0.0)
        for kind in range(kinds):
            chances[kind] = chances[kind + 1] / total  # the first is that the cell is hidden
            surest = max(surest, chances[kind])
            shown += chances[kind]
        cell = cells[r * side + c]
        if surest < np.float32(sure):
            if tried and known[r * side + c] < np.float32(0.5):
                cell[kinds] = np.float32(1.0)
            continue
        known[r * side + c] = np.float32(0.0)
        for kind in range(kinds):
            cell[kind] = chances[kind] + (np.float32(1.0) - shown) * cell[kind]
            known[r * side + c] += cell[kind]
        cell[kinds] = max(shown, cell[kinds])


@kernel()
def _show(
    cells: Numbers32,
    known: Numbers32,
    pose: Integers,
    side: int,
    reach: int,
    largest: int,
    window: Bytes,
) -> None:
    """The map around an agent, turned its way, as bytes (W (C + 1)): unknown is the last channel.

    Unknown is what was not seen, if a map that fits what is open so far may extend to there.
    `known` is how probable it is of each cell that it is any kind that the map names.
    """
    kinds, channels = cells.shape[1] - 1, cells.shape[1] + 1
    row, column, heading = pose[ROW], pose[COLUMN], pose[HEADING]
    top, bottom, left, right = row, row, column, column
    for k in range(side * side):
        if known[k] - cells[k, WALL] > 0.5:
            top, bottom = min(top, k // side), max(bottom, k // side)
            left, right = min(left, k % side), max(right, k % side)
    to_row, to_column = ROW_AHEAD[heading], COLUMN_AHEAD[heading]
    right_row, right_column = ROW_AHEAD[(heading + 1) % 4], COLUMN_AHEAD[(heading + 1) % 4]
    scale = np.float32(255.0)
    for k in range((2 * reach + 1) ** 2):
        shown = window[k * channels : (k + 1) * channels]
        forward, aside = reach - k // (2 * reach + 1), k % (2 * reach + 1) - reach
        r = row + forward * to_row + aside * right_row
        c = column + forward * to_column + aside * right_column
        shown[:] = 0
        if not (0 <= r < side and 0 <= c < side):
            continue
        place = r * side + c
        if known[place] > 0 or cells[place, kinds] > 0:  # else all are 0
            for channel in range(kinds + 1):
                shown[channel] = np.uint8(np.rint(cells[place, channel] * scale))
        if bottom - largest < r < top + largest and right - largest < c < left + largest:
            shown[kinds + 1] = np.uint8(np.rint((np.float32(1.0) - known[place]) * scale))


@batched(FEW)
def summarise(features: Bytes, close: Truths, channels: int, kinds: Numbers32) -> None:
    """Of each channel of a window (N, at least W C), the largest number (N, 3, C): anywhere, close
    by, and weighed by how fresh it is, which is the last channel but one."""
    for i in prange(len(features)):
        most = np.zeros((3, channels), np.int32)
        for k in range(len(close)):
            cell = features[i, k * channels : (k + 1) * channels]
            fresh = np.int32(cell[channels - 2])
            for channel in range(channels):
                value = np.int32(cell[channel])
                most[0, channel] = max(most[0, channel], value)
                if close[k]:
                    most[1, channel] = max(most[1, channel], value)
                most[2, channel] = max(most[2, channel], value * fresh)
        for channel in range(channels):
            kinds[i, 0, channel] = np.float32(most[0, channel]) / np.float32(255)
            kinds[i, 1, channel] = np.float32(most[1, channel]) / np.float32(255)
            kinds[i, 2, channel] = np.float32(most[2, channel]) / np.float32(255 * 255)
