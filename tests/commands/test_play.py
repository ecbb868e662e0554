"""`errands play`: keys, what they mean, and a game in a real pseudo-terminal."""

import os
import pty
import select
import subprocess
import sys
import termios
import time

import pytest

from errands.cli import main
from errands.commands.keys import Keyboard
from errands.commands.play import choose
from errands.worlds.actions import BlockAction, GridAction
from errands.worlds.kinds import KINDS


def test_keys_are_read_one_at_a_time_and_the_terminal_is_restored() -> None:
    master, slave = pty.openpty()
    before = termios.tcgetattr(slave)
    with Keyboard(slave) as keyboard:
        assert termios.tcgetattr(slave) != before
        os.write(master, b"\x1b[A\x1bOBpP \x1b[C\x1b[D")
        keys = [keyboard.read() for _ in range(7)]
        os.write(master, b"\x1b")
        keys.append(keyboard.read())
    assert keys == ["up", "down", "p", "p", "space", "right", "left", "escape"]
    assert termios.tcgetattr(slave) == before
    os.close(master)
    os.close(slave)


def test_every_action_has_keys() -> None:
    def names(world: str, keys: str) -> set[str]:
        found, first = set(), ""
        for key in keys.split():
            name, first = choose(KINDS[world], key, first)
            found.add(name)
        return found - {""}

    every = {action.name.lower().replace("_", " ") for action in GridAction}
    arrows = "up down left right"
    deeds = " ".join(f"{deed} {way}" for deed in "pt" for way in arrows.split())
    assert names("grid", f"space {arrows} {deeds}") == every
    assert names("grid", "w s a d") == names("grid", arrows)
    every = {action.name.lower().replace("_", " ") for action in BlockAction}
    assert names("block", f"space {arrows} u j p t") == every


def test_other_keys_do_nothing_and_end_the_wait_for_a_direction() -> None:
    assert choose(KINDS["grid"], "p", "") == ("", "p")
    assert choose(KINDS["grid"], "escape", "p") == ("", "")
    assert choose(KINDS["grid"], "t", "p") == ("", "t")
    assert choose(KINDS["grid"], "space", "p") == ("no op", "")
    assert choose(KINDS["block"], "x", "") == ("", "")


def test_without_a_terminal_it_declines_politely(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["play"]) == 2
    said = capsys.readouterr().err
    assert "needs a terminal" in said
    assert said.count("\n") == 1


def test_wrong_words_are_found_first(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["play", "--world", "block", "--instructions", "visit cow"]) == 2
    assert "'cow' is not an object" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("world", ["grid", "block"])
def test_a_game_in_a_terminal(world: str) -> None:
    master, slave = pty.openpty()
    termios.tcsetwinsize(slave, (40, 100))
    before = termios.tcgetattr(slave)
    script = "import sys; from errands.cli import main; sys.exit(main())"
    process = subprocess.Popen(
        [sys.executable, "-c", script, "play", "--world", world, "--instructions", "visit pig"],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env={**os.environ, "TERM": "xterm-256color"},
    )
    try:
        assert "visit pig" in read_until(master, "0 of 1 instructions", seconds=120)
        os.write(master, b"\x1b[D")
        shown = read_until(master, "step 1 of")
        assert ("look left" if world == "block" else "move west") in shown
        os.write(master, b" q")
        read_until(master, "step 2 of")
        assert process.wait(timeout=30) == 0
    finally:
        process.kill()
        process.wait()
    assert termios.tcgetattr(slave) == before
    os.close(master)
    os.close(slave)


def read_until(master: int, words: str, seconds: float = 30) -> str:
    """Everything on the screen up to some words and a moment longer."""
    shown = b""
    end = time.monotonic() + seconds
    while words.encode() not in shown:
        assert time.monotonic() < end, shown.decode(errors="replace")
        if select.select([master], [], [], 0.2)[0]:
            shown += os.read(master, 65536)
    time.sleep(0.1)
    while select.select([master], [], [], 0.1)[0]:
        shown += os.read(master, 65536)
    return shown.decode(errors="replace")
