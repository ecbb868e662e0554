"""What tests of the page do in a browser, and how they read what it shows."""

from typing import Any
from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import Page, expect

FASTEST = 7  # the speed's last notch
LIST = "pick up the pig, visit the box, transform all cows"
heard: dict[Page, list[Any]] = {}  # what the server said to each page


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
