"""Run this file as a program to draw the reference pictures anew after a wanted change."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from PIL import Image

from errands.worlds.art import load_art
from errands.worlds.raycast import build_tables, render_view, texture_atlas
from twins.raycast import render as render_slowly

OBJECTS = ("pig", "sheep", "greenbot", "horse", "cat", "box", "ice")
PIG, SHEEP, GREENBOT, HORSE, CAT, BOX, ICE = range(3, 10)
WALL, WATER = 1, 2
NORTH, EAST, SOUTH, WEST = range(4)
DOWN, LEVEL, UP = -1, 0, 1
REFERENCE = Path(__file__).parent / "reference"
PICTURES = load_art("block")
ATLAS = texture_atlas(PICTURES, OBJECTS)

Tiles = NDArray[np.uint8]


def walled(things: dict[tuple[int, int], int] | None = None) -> Tiles:
    tiles = np.zeros((10, 10), np.uint8)
    tiles[[0, -1]] = tiles[:, [0, -1]] = WALL
    for place, tile in (things or {}).items():
        tiles[place] = tile
    return tiles


def view(
    tiles: Tiles, row: int, col: int, heading: int, pitch: int, atlas: Tiles = ATLAS, size: int = 64
) -> Tiles:
    out = np.empty((size, size, 3), np.uint8)
    render_view(tiles, row, col, heading, pitch, build_tables(10, size), atlas, out)
    return out


def random_map(
    rng: np.random.Generator, elevated: bool, border: bool = True
) -> tuple[Tiles, int, int]:
    """A map, and the agent's cell: on an object if it is elevated, else on the floor."""
    kinds = [0, WALL, WATER, *range(PIG, ICE + 1)]
    chances = np.array([0.6, 0.08, 0.04, *[0.04] * 7])
    tiles = rng.choice(kinds, p=chances, size=(10, 10)).astype(np.uint8)
    if border:
        tiles[[0, -1]] = tiles[:, [0, -1]] = WALL
    row, col = (int(place) for place in rng.integers(1, 9, size=2))
    tiles[row, col] = rng.integers(PIG, ICE + 1) if elevated else 0
    return tiles, row, col


@pytest.mark.parametrize("elevated", [False, True])
@pytest.mark.parametrize("pitch", [DOWN, LEVEL, UP])
@pytest.mark.parametrize("border", [True, False])
def test_agrees_with_rays_that_walk_through_the_map(
    elevated: bool, pitch: int, border: bool
) -> None:
    rng = np.random.default_rng(7)
    size = 64 if border else 32
    for heading in range(4):
        tiles, row, col = random_map(rng, elevated, border)
        fast = view(tiles, row, col, heading, pitch, size=size)
        slow = render_slowly(tiles, row, col, heading, pitch, PICTURES, OBJECTS, size)
        # A ray through an edge may fall on either side of it.
        assert (fast != slow).any(axis=2).mean() < 0.005


@given(st.integers(0, 2**32), st.integers(0, 3), st.integers(-1, 1), st.booleans())
def test_turning_the_map_with_the_agent_changes_nothing(
    seed: int, heading: int, pitch: int, elevated: bool
) -> None:
    tiles, row, col = random_map(np.random.default_rng(seed), elevated)
    turned = np.ascontiguousarray(np.rot90(tiles))  # to the left: (4, 6) becomes (3, 4)
    assert turned[9 - col, row] == tiles[row, col]
    before = view(tiles, row, col, heading, pitch)
    np.testing.assert_array_equal(view(turned, 9 - col, row, (heading + 3) % 4, pitch), before)


@given(st.integers(0, 2**32), st.booleans(), st.integers(-1, 1))
def test_a_mirrored_map_gives_a_mirrored_picture(seed: int, elevated: bool, pitch: int) -> None:
    plain = {name: np.full_like(picture, i) for i, (name, picture) in enumerate(PICTURES.items())}
    for picture in plain.values():
        picture *= 12
        picture[..., 3] = 255
    atlas = texture_atlas(plain, OBJECTS)
    tiles, row, col = random_map(np.random.default_rng(seed), elevated)
    mirrored = np.ascontiguousarray(tiles[:, ::-1])
    seen = view(tiles, row, col, NORTH, pitch, atlas)
    there = view(mirrored, row, 9 - col, NORTH, pitch, atlas)
    # Two rays of a level view meet an edge exactly, and go by what is right of it in both pictures.
    on_an_edge = {(45, 19), (45, 44)} if pitch == LEVEL else set()
    assert set(zip(*(there != seen[:, ::-1]).any(axis=2).nonzero(), strict=True)) <= on_an_edge


def test_a_wall_hides_what_is_behind_it() -> None:
    hidden, shown = {(3, 5): PIG}, {(4, 5): WALL}
    assert (view(walled(hidden), 7, 5, NORTH, LEVEL) != view(walled(), 7, 5, NORTH, LEVEL)).any()
    for pitch in (DOWN, LEVEL, UP):
        np.testing.assert_array_equal(
            view(walled(hidden | shown), 7, 5, NORTH, pitch),
            view(walled(shown), 7, 5, NORTH, pitch),
        )


def test_an_object_is_higher_than_the_floor_and_lower_than_the_eye() -> None:
    plain = view(walled(), 7, 5, NORTH, LEVEL)
    changed = (view(walled({(4, 5): BOX}), 7, 5, NORTH, LEVEL) != plain).any(axis=(1, 2))
    assert changed.any()
    assert not changed[:32].any()


def test_the_top_of_the_object_under_the_agent_is_seen() -> None:
    # The lowest ray falls 80 degrees: 0.29 blocks ahead on a top 1.62 below, well within the cube.
    on_ice = view(walled({(7, 5): ICE}), 7, 5, NORTH, DOWN)
    on_pig = view(walled({(7, 5): PIG}), 7, 5, NORTH, DOWN)
    differs = (on_ice != on_pig).any(axis=2)
    assert differs[-4:, 24:40].all()
    assert not differs[:48].any()


def test_upright_edges_converge_only_when_pitched() -> None:
    def left_edge(pitch: int, rows: slice) -> list[int]:
        pillar = walled({(4, 5): WALL})
        plain = np.zeros_like(ATLAS)
        plain[WALL] = 255
        pillar[[0, -1]] = pillar[:, [0, -1]] = 0
        return [
            int(np.argmax(line)) for line in view(pillar, 7, 5, NORTH, pitch, plain)[rows, :, 0]
        ]

    assert len(set(left_edge(LEVEL, slice(14, 50)))) == 1
    downward = left_edge(DOWN, slice(0, 20))  # narrower towards the foot
    assert downward == sorted(downward)
    assert downward[-1] > downward[0] + 2


def test_a_larger_picture_shows_the_same() -> None:
    tiles, row, col = random_map(np.random.default_rng(1), elevated=False)
    large = view(tiles, row, col, SOUTH, LEVEL, size=256)
    reduced = large.reshape(64, 4, 64, 4, 3).mean(axis=(1, 3))
    assert np.abs(reduced - view(tiles, row, col, SOUTH, LEVEL)).mean() < 6


def test_maps_may_be_smaller_or_larger_than_the_tables() -> None:
    small = walled()[:7, :7].copy()
    assert view(small, 3, 3, EAST, LEVEL).any()
    large = np.zeros((30, 40), np.uint8)
    large[15, 36:] = PIG  # ten blocks away and more: out of reach
    np.testing.assert_array_equal(
        view(large, 15, 20, EAST, LEVEL), view(np.zeros_like(large), 15, 20, EAST, LEVEL)
    )


def test_an_object_without_pictures_is_drawn_from_its_name() -> None:
    atlas = texture_atlas(PICTURES, ["moon", "pig", "comet"])
    assert atlas.shape == (6, ATLAS.shape[1], 4)
    np.testing.assert_array_equal(atlas[4], ATLAS[PIG])
    assert (atlas[3] != atlas[5]).any()
    again = texture_atlas({}, ["moon"])
    np.testing.assert_array_equal(again[3], atlas[3])


def test_one_picture_serves_for_side_and_top() -> None:
    both = texture_atlas({"moon": PICTURES["pig.side"]}, ["moon"])[3]
    apart = texture_atlas({f"moon.{p}": PICTURES["pig.side"] for p in ("side", "top")}, ["moon"])[3]
    np.testing.assert_array_equal(both, apart)


def test_what_cannot_be_drawn_is_refused() -> None:
    with pytest.raises(ValueError, match="picture of moon must be 16 by 16"):
        texture_atlas({"moon": np.zeros((8, 8, 4), np.uint8)}, ["moon"])
    with pytest.raises(ValueError, match="must be even"):
        build_tables(10, 33)
    out = np.empty((32, 32, 3), np.uint8)
    with pytest.raises(AssertionError):
        render_view(walled(), 5, 5, NORTH, LEVEL, build_tables(), ATLAS, out)


def scenes() -> dict[str, Tiles]:
    corridor = walled({(row, col): WALL for row in range(1, 9) for col in (4, 6)} | {(2, 5): CAT})
    mixed = walled({(6, 4): PIG, (5, 5): ICE, (6, 6): HORSE, (3, 3): WALL, (4, 6): SHEEP})
    on_box = mixed.copy()
    on_box[7, 5] = BOX
    animals = walled({(4, 4): PIG, (4, 5): SHEEP, (4, 6): HORSE})
    things = walled({(4, 4): GREENBOT, (4, 5): CAT, (4, 6): BOX})
    return {
        "animals": view(animals, 7, 5, NORTH, LEVEL),
        "things": view(things, 7, 5, NORTH, LEVEL),
        "things_from_the_east": view(things, 5, 8, WEST, LEVEL),
        "corridor": view(corridor, 8, 5, NORTH, LEVEL),
        "looking_down": view(mixed, 7, 5, NORTH, DOWN),
        "on_top_looking_down": view(on_box, 7, 5, NORTH, DOWN),
        "on_top": view(on_box, 7, 5, NORTH, LEVEL),
        "looking_up_at_walls": view(corridor, 8, 5, WEST, UP),
        "water": view(walled({(5, 5): WATER, (5, 6): WATER, (4, 6): ICE}), 7, 5, NORTH, DOWN),
    }


@pytest.mark.parametrize("scene", sorted(scenes()))
def test_looks_as_it_did(scene: str) -> None:
    with Image.open(REFERENCE / f"{scene}.png") as picture:
        np.testing.assert_array_equal(scenes()[scene], np.asarray(picture))


if __name__ == "__main__":
    for name, image in scenes().items():
        Image.fromarray(image).save(REFERENCE / f"{name}.png", optimize=True)
