"""Every command and all code of docs/tutorial.md runs; training is shorter than what is shown."""

import io
import re
import shlex
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from errands import cli, presets
from errands.commands.screen import COMPILING
from test_docs import DOCS, Block, blocks, in_place_of_debug
from twins.pages import PATIENCE
from twins.terminal import started
from twins.training import tiny, tiny_meta

PAGE = DOCS / "tutorial.md"
SERVES = "errands watch"
LANGUAGES = ("python", "sh", "console", "text")


def numbers_masked(text: str) -> str:
    """What stays the same however long a run was: words, and the form of tables without widths."""
    return re.sub(r"[┏┳┓┡╇┩└┴┘┃│━─\s]+", " ", re.sub(r"-?[\d,.]+", "#", text)).strip()


def commands(block: Block) -> Iterator[str]:
    """The command lines of a block."""
    lines = block.text.splitlines()
    yield from lines[:1] if block.language == "console" else lines


def run_block(block: Block, names: dict[str, object]) -> str:
    """Run a block and return what it printed; a server is left to the test below."""
    said = io.StringIO()
    with redirect_stdout(said), redirect_stderr(said):
        if block.language == "python":
            exec(compile("\n" * (block.line - 1) + block.text, str(PAGE), "exec"), names)
        else:
            for line in commands(block):
                if SERVES not in line:
                    cli.main(shlex.split(line.removeprefix("$ "))[1:])
    lines = [line.rstrip() for line in said.getvalue().splitlines()]
    return "\n".join(line for line in lines if line != COMPILING)


def shorter(shrunk: Any, world: str, what: str, preset: str, **options: Any) -> Any:
    """A smaller training than `debug`, with the options that a command line or the page names."""
    named = {name: value for name, value in options.items() if name in ("skill", "seed")}
    return in_place_of_debug(shrunk, world, what, preset, **named)


@pytest.mark.slow
def test_all_of_it_runs_and_prints_what_it_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr("errands.commands.progress.PAUSE", 3600)
    for name, shrunk in (("skill_training", tiny), ("meta_training", tiny_meta)):
        monkeypatch.setattr(presets, name, partial(shorter, shrunk))
    names: dict[str, object] = {"__name__": PAGE.stem}
    said, trained = "", False
    for block in blocks(PAGE, *LANGUAGES):
        if block.language == "text":
            shown = block.text.rstrip()
            if trained:  # shown are the numbers of a longer run, at the end of its output
                assert numbers_masked(said).endswith(numbers_masked(shown)), block
            else:
                assert said == shown, block
            continue
        said = run_block(block, names)
        trained = "runs/" in block.text
        if block.language == "console":
            assert said == "\n".join(block.text.splitlines()[1:])
    with Image.open(DOCS / "images" / "beach.png") as kept:
        assert np.array_equal(np.asarray(kept), names["picture"])


@pytest.mark.slow
def test_the_page_that_it_opens_is_served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (line,) = (
        line
        for block in blocks(PAGE, "sh", "console")
        for line in commands(block)
        if SERVES in line
    )
    opened = tmp_path / "opened"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {opened}\n')
    browser.chmod(0o755)
    monkeypatch.setenv("BROWSER", str(browser))
    command = [sys.executable, "-m", "errands", *shlex.split(line)[1:], "--port", "0"]
    with started(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdout is not None
        address = running.stdout.readline().split()[2].decode()
        with urllib.request.urlopen(address, timeout=PATIENCE) as answer:
            assert b"<title>Errands</title>" in answer.read()
        running.send_signal(signal.SIGINT)
        running.communicate(timeout=PATIENCE)
    assert opened.read_text().strip() == address


def test_another_number_is_noticed_only_where_nothing_was_trained() -> None:
    assert numbers_masked("done: 44 of 100") == numbers_masked("done: 7 of 100")
    assert numbers_masked("done: 44 of 100") != numbers_masked("gave up: 44 of 100")
