"""A server that all tests of the page share, and a page that is open on it."""

from collections.abc import Iterator

import pytest

from twins.pages import Page, opened, serving


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    with serving() as running:
        yield running


@pytest.fixture
def page(server: str) -> Iterator[Page]:
    with opened(server) as talking:
        yield talking
