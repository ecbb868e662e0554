"""What tests of the page do in a browser, and how they read what it shows."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from twins.pages import PATIENCE

# A browser for tests: no sandbox, since tests may run as root, and not a word to the network.
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
FASTEST = 7  # the speed's last notch
LIST = "pick up the pig, visit the box, transform all cows"
heard: dict[Page, list[Any]] = {}  # what the server said to each page


@contextmanager
def chromium() -> Iterator[Browser]:
    """A running browser. Where there is none, the test is skipped, except in CI."""
    path = shutil.which("chromium")
    if path is None:
        missing = "no Chromium here; make browser installs it"
        if os.environ.get("CI"):
            pytest.fail(missing, pytrace=False)
        pytest.skip(missing)
    expect.set_options(timeout=1000 * PATIENCE)
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(
            executable_path=path, args=FLAGS, timeout=1000 * PATIENCE
        )
        yield running
        running.close()


def set_speed(page: Page, notch: int) -> None:
    page.locator("#speed").evaluate(
        "(slider, notch) => { slider.value = notch; slider.dispatchEvent(new Event('input')) }",
        notch,
    )


def wait_for_end(page: Page, outcome: str = "Done") -> None:
    expect(page.locator("#outcome:visible")).to_contain_text(outcome)


def link_of(page: Page) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(page.url).query).items()}


def counts(page: Page) -> tuple[str | None, str | None]:
    return page.text_content("#count-step"), page.text_content("#count-reward")


def ink(page: Page, canvas: str) -> int:
    """How many colours a canvas shows."""
    return int(
        page.locator(canvas).evaluate(
            """canvas => {
                const pen = canvas.getContext("2d");
                const { data } = pen.getImageData(0, 0, canvas.width, canvas.height);
                return new Set(new Uint32Array(data.buffer)).size;
            }"""
        )
    )
