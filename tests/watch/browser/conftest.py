"""A real browser, and pages that are opened in it without a single error."""

from collections.abc import Callable, Iterator
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from twins.browser import FASTEST, chromium, heard, set_speed
from twins.pages import PATIENCE


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as running:
        yield running


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
