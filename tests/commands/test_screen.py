"""What the terminal shows: long lists, small views, and the notice of a compiler at work."""

import io

import numpy as np
import pytest
from numba.core import event
from rich.console import Console

from errands.commands.screen import COMPILING, compiling_notice, half_blocks, halved, scene, window
from errands.worlds.gym import instruction_worlds


@pytest.mark.parametrize(
    ("length", "current", "rows", "expected"),
    [(4, 0, 10, (0, 4)), (20, 0, 10, (0, 9)), (20, 10, 10, (6, 15)), (20, 20, 10, (11, 20))],
)
def test_window_keeps_the_current_instruction_in_sight(
    length: int, current: int, rows: int, expected: tuple[int, int]
) -> None:
    assert window(length, current, rows) == expected


def test_half_blocks_show_two_pixels_a_character() -> None:
    view = np.zeros((4, 6, 3), np.uint8)
    view[0, 0] = 255, 0, 0
    text = half_blocks(view)
    assert text.plain == "▀▀▀▀▀▀\n▀▀▀▀▀▀"
    assert str(text.spans[0].style) == "#ff0000 on #000000"


def test_halved_pixels_are_means() -> None:
    view = np.arange(16, dtype=np.uint8).reshape(4, 4, 1).repeat(3, axis=2)
    assert halved(view)[:, :, 0].tolist() == [[2, 4], [10, 12]]


@pytest.mark.parametrize("world", ["grid", "block"])
def test_scene_fits_a_small_terminal(world: str) -> None:
    worlds = instruction_worlds(world, 1, length=20)
    worlds.seed(1)
    worlds.reset()
    console = Console(width=80, height=24, record=True, file=io.StringIO())
    console.print(scene(worlds, console, ["a note", "another"]))
    lines = console.export_text().splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80
    assert "of 20" in "".join(lines)


def test_compiling_is_announced_once_and_only_if_it_happens(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with compiling_notice():
        pass
    assert capsys.readouterr().err == ""
    with compiling_notice():
        for _ in range(3):
            with event.trigger_event("numba:compile"):
                pass
    assert capsys.readouterr().err == f"{COMPILING}\n"
