"""Views of random maps: a label says of a cell what its picture shows."""

import numpy as np

from errands.worlds.art import load_art
from errands.worlds.block import AHEAD_COLUMN, AHEAD_ROW
from errands.worlds.raycast import build_tables, render_view, texture_atlas
from errands.worlds.scenes import (
    FEWEST_PIXELS,
    HIDDEN,
    UNCLEAR,
    Scenes,
    count_pixels,
    scatter,
)
from errands.worlds.spec import BLOCK, EMPTY, FIRST_OBJECT, MAP_SIZE, WALL

AHEAD, ASIDE = 9, 9
KINDS = len(BLOCK.objects)


def _map(seed):
    random = np.random.default_rng(seed)
    tiles = np.empty((MAP_SIZE, MAP_SIZE), np.uint8)
    size = scatter(random, KINDS, tiles)
    row, column = random.integers(1, size - 1, 2)
    tiles[row, column] = random.choice((EMPTY, FIRST_OBJECT))
    return tiles, int(row), int(column), int(random.integers(4)), int(random.integers(-1, 2))


ATLAS = texture_atlas(load_art("block"), BLOCK.objects)


def _picture(tiles, row, column, heading, pitch):
    out = np.empty((64, 64, 3), np.uint8)
    render_view(tiles, row, column, heading, pitch, build_tables(), ATLAS, out)
    return out


def test_a_cell_counts_as_hidden_exactly_if_the_picture_does_not_depend_on_it():
    assert sum(_compare_with_pictures(seed) for seed in range(80)) > 100


def _compare_with_pictures(seed):
    """Change one object after the other; returns how many there were in front of the agent."""
    tiles, row, column, heading, pitch = _map(seed)
    tables = build_tables()
    shows, codes = np.empty((AHEAD, ASIDE), np.int32), np.empty((AHEAD, ASIDE), np.uint8)
    elevated = int(tiles[row, column] >= FIRST_OBJECT)
    starts = tables.starts[elevated, pitch + 1]
    count_pixels(tiles, row, column, heading, starts, tables.spans, shows, codes)
    before = _picture(tiles, row, column, heading, pitch)
    looked_at = 0
    for forward in range(1, AHEAD):
        for right in range(-4, 5):
            r = row + forward * AHEAD_ROW[heading] + right * AHEAD_ROW[(heading + 1) % 4]
            c = column + forward * AHEAD_COLUMN[heading] + right * AHEAD_COLUMN[(heading + 1) % 4]
            if not (0 <= r < MAP_SIZE and 0 <= c < MAP_SIZE):
                continue
            tile = tiles[r, c]
            assert codes[forward, right + 4] == tile
            if tile < FIRST_OBJECT:
                continue
            # Another object of the same size covers the same pixels, in other colours.
            tiles[r, c] = FIRST_OBJECT + (tile - FIRST_OBJECT + 1) % KINDS
            after = _picture(tiles, row, column, heading, pitch)
            tiles[r, c] = tile
            changed = int((before != after).any(axis=2).sum())
            assert changed <= shows[forward, right + 4]
            # A pixel may have the same colour in both, but not all of them.
            assert (changed > 0) == (shows[forward, right + 4] > 0)
            looked_at += 1
    return looked_at


def test_labels_are_hidden_unclear_or_a_kind():
    views = Scenes(BLOCK, AHEAD, ASIDE).draw(300, np.random.default_rng(0))
    assert views.images.shape == (300, 64, 64, 3)
    assert views.labels.shape == (300, AHEAD * ASIDE)
    known = views.labels[views.labels != UNCLEAR]
    assert set(np.unique(known)) == set(range(3 + KINDS))
    assert set(np.unique(views.pitch)) == {0, 1, 2}
    # Looking down always shows the cell ahead.
    ahead = views.labels[views.pitch == 0, ASIDE + ASIDE // 2]
    assert (ahead > HIDDEN).all()
    assert FEWEST_PIXELS > 1


def test_views_follow_from_the_random_numbers():
    scenes = Scenes(BLOCK, AHEAD, ASIDE)
    one, two = (scenes.draw(20, np.random.default_rng(3)) for _ in range(2))
    for a, b in zip(one, two, strict=True):
        assert (a == b).all()
    other = scenes.draw(20, np.random.default_rng(4))
    assert (one.images != other.images).any()


def test_a_map_has_walls_around_it():
    tiles = np.empty((MAP_SIZE, MAP_SIZE), np.uint8)
    random = np.random.default_rng(0)
    sizes = set()
    for _ in range(50):
        size = scatter(random, KINDS, tiles)
        sizes.add(size)
        assert (tiles[0] == WALL).all()
        assert (tiles[size - 1 :] == WALL).all()
        assert (tiles[:, size - 1 :] == WALL).all()
    assert sizes == {7, 8, 9, 10}
