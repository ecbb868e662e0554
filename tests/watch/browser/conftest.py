"""A real browser, and pages that are opened in it without a single error."""

import os
import shutil
from collections.abc import Callable, Iterator
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from twins.browser import FASTEST, heard, set_speed
from twins.pages import PATIENCE

CHROMIUM = shutil.which("chromium")
# A browser for tests: no sandbox, since tests may run as root, and not a word to the network.
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        missing = "no Chromium here; make browser installs it"
        if os.environ.get("CI"):
            pytest.fail(missing, pytrace=False)
        pytest.skip(missing)
    expect.set_options(timeout=1000 * PATIENCE)
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(
            executable_path=CHROMIUM, args=FLAGS, timeout=1000 * PATIENCE
        )
        yield running
        running.close()


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    opened = browser.new_context(viewport={"width": 1280, "height": 900})
    opened.set_default_timeout(1000 * PATIENCE)
    yield opened
    opened.close()


@pytest.fixture
def visit(server: str, context: BrowserContext) -> Iterator[Callable[..., Page]]:
    """Opens the page with what a link says; in the end there must have been no errors."""
    errors: list[str] = []

    def open_page(**link: object) -> Page:
        page = context.new_page()
        keep = heard[page] = []
        page.on("websocket", lambda talk: talk.on("framereceived", lambda said: keep.append(said)))
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda line: errors.append(line.text) if line.type == "error" else None)
        page.goto(f"{server}?{urlencode(link)}" if link else server)
        expect(page.locator("#connection")).to_have_text("connected")
        set_speed(page, FASTEST)
        if link.get("agent") != "me" or "keys" in link:
            page.click("#play")  # the page starts paused
        return page

    yield open_page
    assert errors == []
