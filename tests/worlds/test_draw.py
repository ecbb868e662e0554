"""Pictures, terminal maps and films of the worlds."""

import os
import re
import time
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from errands.worlds.art import load_art
from errands.worlds.draw import (
    Colour,
    ansi,
    generated_picture,
    object_codes,
    side_by_side,
    sprite_sheet,
    top_down,
)
from errands.worlds.film import (
    LAST_FRAME,
    LINE_HEIGHT,
    MARGIN,
    MARKED_TEXT,
    TICK,
    UNSEEN_TEXT,
    caption,
    save_gif,
)
from errands.worlds.spec import BLOCK, EMPTY, FIRST_OBJECT, GRID, WALL, WATER, WorldSpec

ART = load_art("grid")
ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


def busy_map() -> NDArray[np.uint8]:
    """A walled map with water and each object of the grid world once; (5, 5) is free."""
    tiles = np.full((10, 10), EMPTY, np.uint8)
    tiles[[0, -1]] = tiles[:, [0, -1]] = WALL
    tiles[8, 8] = WATER
    tiles[1:3, 1:9].flat[: len(GRID.objects)] = FIRST_OBJECT + np.arange(len(GRID.objects))
    return tiles


def cell_of(picture: NDArray[np.uint8], row: int, col: int, cell: int) -> NDArray[np.uint8]:
    return picture[row * cell : (row + 1) * cell, col * cell : (col + 1) * cell]


def distinct_frames(count: int) -> list[NDArray[np.uint8]]:
    tiles = np.zeros((4, 8), np.uint8)
    return [top_down(tiles, k // 8, k % 8, (), ART, cell=16) for k in range(count)]


def read_gif(path: Path) -> tuple[list[NDArray[np.uint8]], list[int]]:
    frames, durations = [], []
    with Image.open(path) as film:
        for k in range(getattr(film, "n_frames", 1)):
            film.seek(k)
            frames.append(np.array(film.convert("RGB")))
            durations.append(film.info["duration"])
    return frames, durations


def test_every_grid_object_has_its_own_picture() -> None:
    things = [*GRID.objects, "agent", "block", "water", "floor", "floor.alt"]
    assert set(things) <= ART.keys()
    for one, other in combinations(things, 2):
        # Told apart at a glance, not by a pixel.
        differing = np.any(ART[one] != ART[other], axis=2).mean()
        assert differing > 0.3, (one, other)


def test_objects_leave_the_floor_in_sight_and_tiles_do_not() -> None:
    for name in (*GRID.objects, "agent"):
        assert 0.1 < (ART[name][..., 3] == 0).mean() < 0.7, name
    for name in ("block", "water", "floor", "floor.alt"):
        assert (ART[name][..., 3] == 255).all(), name


@pytest.mark.parametrize("cell", [7, 16, 32, 50])
@pytest.mark.parametrize("heading", [None, 0, 3])
def test_map_has_the_asked_size(cell: int, heading: int | None) -> None:
    picture = top_down(busy_map(), 5, 5, GRID.objects, ART, heading=heading, cell=cell)
    assert picture.shape == (10 * cell, 10 * cell, 3)
    assert picture.dtype == np.uint8


def test_numbers_may_be_small_numpy_scalars() -> None:
    nine: Any = np.uint8(9)  # an index out of a state array, which times 32 is more than 255
    one: Any = np.uint8(1)
    small = top_down(
        busy_map(), nine, nine, GRID.objects, ART, heading=one, highlight=[(nine, nine)]
    )
    plain = top_down(busy_map(), 9, 9, GRID.objects, ART, heading=1, highlight=[(9, 9)])
    np.testing.assert_array_equal(small, plain)


def test_map_need_not_be_square() -> None:
    assert top_down(np.zeros((3, 7), np.uint8), 0, 6, (), ART, cell=16).shape == (48, 112, 3)


def test_only_the_cells_of_the_agent_change_when_it_moves() -> None:
    before = top_down(busy_map(), 5, 5, GRID.objects, ART, cell=16)
    after = top_down(busy_map(), 5, 6, GRID.objects, ART, cell=16)
    changed = np.any(before != after, axis=2)
    assert cell_of(changed, 5, 5, 16).mean() > 0.5
    assert cell_of(changed, 5, 6, 16).mean() > 0.5
    changed[80:96, 80:112] = False
    assert not changed.any()


def test_agent_is_drawn_over_floor_as_in_its_picture() -> None:
    here = cell_of(top_down(busy_map(), 5, 5, GRID.objects, ART, cell=16), 5, 5, 16)
    solid = ART["agent"][..., 3] == 255
    np.testing.assert_array_equal(here[solid], ART["agent"][solid][:, :3])
    np.testing.assert_array_equal(here[~solid], ART["floor"][~solid][:, :3])


@pytest.mark.parametrize("heading", [None, 2])
def test_what_the_agent_stands_on_can_be_told(heading: int | None) -> None:
    looks = set()
    for tile in (EMPTY, WATER, *range(FIRST_OBJECT, FIRST_OBJECT + len(GRID.objects))):
        tiles = np.full((1, 1), tile, np.uint8)
        looks.add(top_down(tiles, 0, 0, GRID.objects, ART, heading=heading).tobytes())
    assert len(looks) == 2 + len(GRID.objects)


def test_arrow_turns_with_the_heading() -> None:
    art = {**ART, "floor": ART["floor"][:1, :1].repeat(16, 0).repeat(16, 1)}  # no grain to turn
    tiles = np.zeros((1, 1), np.uint8)
    north, east, south, west = (
        top_down(tiles, 0, 0, (), art, heading=heading) for heading in range(4)
    )
    np.testing.assert_array_equal(np.rot90(north, -1), east)
    np.testing.assert_array_equal(np.rot90(north, -2), south)
    np.testing.assert_array_equal(np.rot90(north, 1), west)
    dark = np.argwhere((north == north.min(axis=(0, 1))).all(axis=2))
    # The arrow is narrow where it points to.
    assert (dark[:, 0] < 8).sum() < (dark[:, 0] >= 24).sum()


def test_highlight_marks_its_cell_alone() -> None:
    plain = top_down(busy_map(), 5, 5, GRID.objects, ART)
    marked = top_down(busy_map(), 5, 5, GRID.objects, ART, highlight=[(2, 3)])
    changed = np.any(plain != marked, axis=2)
    assert cell_of(changed, 2, 3, 32).any()
    cell_of(changed, 2, 3, 32)[:] = False
    assert not changed.any()


def test_objects_without_pictures_get_the_same_tile_every_time() -> None:
    names = ["dragon", "red key", "blue key", "é", "7", "飯", "a-very-long_name"]
    pictures = [generated_picture(name) for name in names]
    for one, other in combinations(pictures, 2):
        assert not np.array_equal(one, other)
    # Fixed numbers: a hash that changes from run to run would pass a comparison within one run.
    assert pictures[0][3, 3].tolist() == [217, 98, 105, 255]
    tiles = np.full((1, 2), FIRST_OBJECT, np.uint8)
    drawn = top_down(tiles, 0, 0, ["dragon"], {}, cell=16)
    solid = pictures[0][..., 3] == 255
    np.testing.assert_array_equal(drawn[:, 16:][solid], pictures[0][solid][:, :3])


def test_pictures_from_above_are_found() -> None:
    art = {"crate.top": ART["box"]}
    tiles = np.array([[EMPTY, FIRST_OBJECT]], np.uint8)
    named = top_down(tiles, 0, 0, ["crate"], art)
    np.testing.assert_array_equal(named, top_down(tiles, 0, 0, ["box"], {"box": ART["box"]}))


def test_block_world_draws_with_its_own_art() -> None:
    art = load_art("block")
    assert all(name in art or f"{name}.top" in art for name in BLOCK.objects)
    tiles = np.zeros((1, 3), np.uint8)
    tiles[0, 2] = FIRST_OBJECT
    picture = top_down(tiles, 0, 0, BLOCK.objects, art, heading=1, cell=16)
    np.testing.assert_array_equal(picture[:, 16:32], art["floor"][..., :3])
    np.testing.assert_array_equal(picture[:, 32:], art["pig.top"][..., :3])


def test_changed_art_is_seen_at_once() -> None:
    art = {name: picture.copy() for name, picture in ART.items()}
    tiles = np.array([[EMPTY, FIRST_OBJECT]], np.uint8)
    before = top_down(tiles, 0, 0, GRID.objects, art)
    art["cow"][:] = 255
    assert (top_down(tiles, 0, 0, GRID.objects, art)[:, 32:] == 255).all()
    art["cow"] = ART["cow"]
    np.testing.assert_array_equal(top_down(tiles, 0, 0, GRID.objects, art), before)


def test_mistakes_are_named() -> None:
    tiles = busy_map()
    with pytest.raises(ValueError, match="no cell"):
        top_down(tiles, 10, 0, GRID.objects, ART)
    with pytest.raises(ValueError, match="no cell"):
        top_down(tiles, 1, 1, GRID.objects, ART, highlight=[(-1, 0)])
    with pytest.raises(ValueError, match="not one of 2 objects"):
        ansi(tiles, 1, 1, ["cow", "pig"])
    with pytest.raises(ValueError, match="square uint8 RGBA"):
        top_down(tiles, 1, 1, GRID.objects, {"cow": np.zeros((16, 16, 3), np.uint8)})
    with pytest.raises(ValueError, match="0 pixels"):
        top_down(tiles, 1, 1, GRID.objects, ART, cell=0)


def test_drawing_is_quick_once_the_sprites_are_scaled() -> None:
    tiles = busy_map()
    durations = []
    for _ in range(30):
        start = time.perf_counter()
        top_down(tiles, 5, 5, GRID.objects, ART)
        durations.append(time.perf_counter() - start)
    assert min(durations) < 1e-3


def test_view_and_map_stand_side_by_side() -> None:
    view = np.arange(64 * 64 * 3, dtype=np.uint32).reshape(64, 64, 3).astype(np.uint8)
    top = top_down(busy_map(), 5, 5, GRID.objects, ART)
    both = side_by_side(view, top)
    assert both.dtype == np.uint8
    assert both.shape[0] == 320
    assert 640 < both.shape[1] < 660
    np.testing.assert_array_equal(both[:, :320], view.repeat(5, axis=0).repeat(5, axis=1))
    np.testing.assert_array_equal(both[:, -320:], top)


@pytest.mark.parametrize("heading", [None, 0, 1, 2, 3])
def test_terminal_map_has_a_line_a_row_and_two_characters_a_cell(heading: int | None) -> None:
    lines = ESCAPE.sub("", ansi(busy_map(), 5, 5, GRID.objects, heading)).split("\n")
    assert [len(line) for line in lines] == [20] * 10
    assert lines[5][10] == ("@" if heading is None else "^>v<"[heading])
    shown = [lines[1 + k // 8][2 * (1 + k % 8) :][:2] for k in range(len(GRID.objects))]
    assert tuple(shown) == object_codes(GRID.objects)


@pytest.mark.parametrize(
    "names",
    [
        GRID.objects,
        BLOCK.objects,
        ("red key", "red kite", "rk", "r", "飯", "餅", "42", "4"),
        tuple(f"thing{k}" for k in range(250)),
    ],
)
def test_codes_and_colours_are_distinct(names: tuple[str, ...]) -> None:
    codes = object_codes(names)
    assert len(set(codes)) == len(names)
    assert all(len(code) == 2 and code.isascii() and code.isprintable() for code in codes)
    if len(names) <= 30:
        tiles = np.arange(FIRST_OBJECT + len(names), dtype=np.uint8)[None]
        text = ansi(tiles, 0, 0, names)
        backgrounds = re.findall(r"48;2;(\d+;\d+;\d+)m", text)[1:]  # the first is the agent
        assert len(set(backgrounds)) == FIRST_OBJECT + len(names)


def test_legend_lists_only_what_is_there() -> None:
    tiles = np.zeros((3, 3), np.uint8)
    tiles[0, 0], tiles[1, 1] = WALL, FIRST_OBJECT + GRID.objects.index("duck")
    text = ESCAPE.sub("", ansi(tiles, 1, 1, GRID.objects, legend=True))
    legend = text.split("\n\n")[1]
    assert set(re.findall(r"[a-z]{2,}", legend)) == {"agent", "wall", "duck"}


def test_film_is_read_back_as_it_was(tmp_path: Path) -> None:
    frames = distinct_frames(12)
    save_gif(frames, tmp_path / "film.gif", fps=10)
    shown, durations = read_gif(tmp_path / "film.gif")
    assert durations == [100] * 11 + [LAST_FRAME]
    np.testing.assert_array_equal(shown, frames)  # few colours: exact
    assert [path.name for path in tmp_path.iterdir()] == ["film.gif"]


def test_film_of_many_colours_keeps_still_parts_still(tmp_path: Path) -> None:
    still = distinct_frames(1)[0]
    shades = np.random.default_rng(0).integers(0, 256, (6, 64, 32, 3), dtype=np.uint8)
    frames = (np.concatenate([still, noise], axis=1) for noise in shades)  # any iterable will do
    save_gif(frames, tmp_path / "film.gif")
    shown, _ = read_gif(tmp_path / "film.gif")
    assert len(shown) == 6
    for frame, noise in zip(shown, shades, strict=True):
        np.testing.assert_array_equal(frame[:, :-32], still)
        assert np.abs(frame[:, -32:].astype(int) - noise).mean() < 32


def test_film_may_have_colours_that_the_palette_was_not_chosen_from(tmp_path: Path) -> None:
    frames = 20 * distinct_frames(2)
    frames[4] = frames[4].copy()  # 512 colours, in a frame that the sample leaves out
    frames[4][:16, :32, 0] = np.arange(32) * 8
    frames[4][:16, :32, 1] = np.arange(16)[:, None] * 16
    save_gif(frames, tmp_path / "film.gif")
    shown, _ = read_gif(tmp_path / "film.gif")
    assert len(shown) == 40
    np.testing.assert_array_equal(shown[:4], frames[:4])


def test_equal_frames_keep_their_time(tmp_path: Path) -> None:
    one, other = distinct_frames(2)
    save_gif([one, one, one, other], tmp_path / "film.gif", fps=10)
    shown, durations = read_gif(tmp_path / "film.gif")
    np.testing.assert_array_equal(shown, [one, other])
    assert durations == [300, LAST_FRAME]


def test_film_needs_frames_of_one_size(tmp_path: Path) -> None:
    frame = distinct_frames(1)[0]
    with pytest.raises(ValueError, match="at least one frame"):
        save_gif([], tmp_path / "film.gif")
    with pytest.raises(ValueError, match="differ in shape"):
        save_gif([frame, frame[:-1]], tmp_path / "film.gif")
    with pytest.raises(ValueError, match="uint8 RGB"):
        save_gif([frame[..., 0]], tmp_path / "film.gif")
    with pytest.raises(ValueError, match="frames a second"):
        save_gif([frame], tmp_path / "film.gif", fps=0)
    assert not list(tmp_path.iterdir())


def test_failed_write_leaves_the_old_film(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "film.gif"
    save_gif(distinct_frames(2), path)
    old = path.read_bytes()

    def full_disk(image: Image.Image, target: Path, **options: object) -> None:
        Path(target).write_bytes(b"GIF89a, half of it")
        raise OSError("no space left on device")

    monkeypatch.setattr(Image.Image, "save", full_disk)
    with pytest.raises(OSError, match="no space"):
        save_gif(distinct_frames(5), path)
    assert path.read_bytes() == old
    assert list(tmp_path.iterdir()) == [path]


def test_film_takes_the_place_of_files_alone(tmp_path: Path) -> None:
    pipe, link = tmp_path / "pipe", tmp_path / "link.gif"
    os.mkfifo(pipe)
    link.symlink_to(tmp_path / "film.gif")
    with pytest.raises(ValueError, match="not a file"):
        save_gif(distinct_frames(2), pipe)
    save_gif(distinct_frames(2), link)
    assert pipe.is_fifo()
    assert link.is_symlink()
    assert (tmp_path / "film.gif").is_file()


def test_caption_goes_below_and_keeps_its_height() -> None:
    frame = top_down(busy_map(), 5, 5, GRID.objects, ART)
    lines = ["visit cow", "pick up all diamond", "transform pig, then " + "wait " * 30]
    frames = [caption(frame, lines, marked=k) for k in (None, 0, 1, 2)]
    for captioned in frames:
        assert captioned.dtype == np.uint8
        np.testing.assert_array_equal(captioned[:320], frame)
    assert len({captioned.shape for captioned in frames}) == 1
    assert len({captioned.tobytes() for captioned in frames}) == 4
    np.testing.assert_array_equal(caption(frame, []), frame)


def test_a_caption_ticks_what_is_done_and_notes_what_was_never_trained() -> None:
    frame = np.zeros((8, 320, 3), np.uint8)
    lines = ["visit cow", "pick up egg", "visit pig"]

    def rows_with(colour: Colour, **options: Any) -> list[int]:
        strip = caption(frame, lines, **options)[8:]
        found = (strip == colour).all(axis=2).any(axis=1)
        return sorted({(int(y) - MARGIN) // LINE_HEIGHT for y in np.flatnonzero(found)})

    assert rows_with(TICK, marked=0) == []
    assert rows_with(TICK, marked=2) == [0, 1]
    assert rows_with(TICK, marked=3) == [0, 1, 2]
    assert rows_with(UNSEEN_TEXT, marked=0) == []
    assert rows_with(UNSEEN_TEXT, marked=0, unseen={1}) == [1]
    assert rows_with(MARKED_TEXT, marked=1, title="step 3") == [2]  # the title is above all lines
    tall, plain = (caption(frame, lines, title=title) for title in ("step 3", ""))
    assert tall.shape[0] == plain.shape[0] + LINE_HEIGHT
    assert (tall != caption(frame, lines, title="step 4")).any()


def test_long_captions_are_set_in_columns() -> None:
    lines = [f"visit {name}" for name in GRID.objects]
    narrow = caption(np.zeros((8, 120, 3), np.uint8), lines)
    wide = caption(np.zeros((8, 640, 3), np.uint8), lines)
    assert wide.shape[0] < narrow.shape[0] * 2 / 3


def test_of_a_long_list_a_caption_shows_what_is_around_the_marked_line() -> None:
    lines = [f"visit {GRID.objects[k % 15]}" for k in range(100)]
    places = [*range(12), *range(45, 55), *range(88, 101)]  # first, middle and last windows
    for width in (320, 640):
        frame = np.zeros((8, width, 3), np.uint8)
        frames = [caption(frame, lines, marked=k) for k in places]
        assert {captioned.shape for captioned in frames} == {frames[0].shape}
        assert frames[0].shape[0] < 8 + 200
        bright = [(captioned == MARKED_TEXT).all(axis=2).any() for captioned in frames]
        assert bright == [k < 100 for k in places]  # the end of the list, all of it done
    few = caption(np.zeros((8, 320, 3), np.uint8), lines[:3], marked=1)
    assert few.shape[0] < 100


def test_captions_leave_colours_to_the_picture() -> None:
    strip = caption(np.zeros((1, 640, 3), np.uint8), list(GRID.objects), marked=3)
    assert len(np.unique(strip.reshape(-1, 3), axis=0)) < 16


@pytest.mark.parametrize("spec", [GRID, BLOCK], ids=lambda spec: spec.name)
def test_a_sheet_has_every_sprite_in_its_place(spec: WorldSpec) -> None:
    art = load_art(spec.name)
    sheet = sprite_sheet((*spec.objects, "kite"), art)
    sprites = np.split(sheet, sheet.shape[1] // 16, axis=1)
    assert len(sprites) == 4 + len(spec.objects) + 1 + 3
    for name, sprite in zip(spec.objects, sprites[4:], strict=False):
        np.testing.assert_array_equal(sprite, art.get(name, art.get(f"{name}.top")))
    np.testing.assert_array_equal(sprites[-4], generated_picture("kite"))
    np.testing.assert_array_equal(sprites[-2], load_art("grid")["agent.top"])
    assert (sprites[0][..., 3] == 255).all()  # floors leave nothing open
