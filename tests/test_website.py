"""The site that `make docs` builds: it has every page, its links work, and it needs no network."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import griffe
import pytest
import yaml
from playwright.sync_api import Browser, Page, Route, expect

from errands.worlds.spec import WorldSpec
from twins.browser import chromium
from website.fields import FieldTables, attributes
from website.offline import faults
from website.pages import (
    REPOSITORY,
    destination,
    linked_sources,
    notebook,
    numbered,
    relinked,
    shown,
)

DOCS = REPOSITORY / "docs"


def nav_pages(entries: list[Any]) -> Iterator[str]:
    """The pages that a part of mkdocs.yml's `nav` leads to."""
    for entry in entries:
        for below in entry.values():
            yield from [below] if isinstance(below, str) else nav_pages(below)


def test_the_navigation_has_every_page() -> None:
    text = (REPOSITORY / "mkdocs.yml").read_text(encoding="utf-8")
    nav = yaml.safe_load(text[text.index("nav:\n  - Home") :])["nav"]
    listed = list(nav_pages(nav))
    assert len(listed) == len(set(listed))
    pages = {f"docs/{page.name}" for page in DOCS.glob("*.md")}
    others = {"README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "results/REPORT.md"}
    assert set(listed) == pages | others | {"docs/examples/first_steps.ipynb.md"}


# Links that leave a page


def test_links_between_pages_stay_as_they_are() -> None:
    text = "See [worlds](worlds.md#seeds), ![a map](images/garden.png), [x](https://example.org)."
    assert relinked(text, Path("docs")) == text


def test_links_to_source_lead_to_its_page_and_line() -> None:
    text = "[`c = 1`](../src/errands/seeds.py#L3) and [garden](examples/garden.py)"
    assert relinked(text, Path("docs")) == (
        "[`c = 1`](../src/errands/seeds.py.md#__codelineno-0-3) and [garden](examples/garden.py.md)"
    )


def test_links_to_folders_and_data_become_text() -> None:
    text = "[all\nresults](../results), [`a[0]`](../results/bench/worlds.json)"
    assert relinked(text, Path("docs")) == "all\nresults, `a[0]`"


def test_code_is_no_link() -> None:
    text = "```python\ntables[0](../results)\n```\n"
    assert relinked(text, Path("docs")) == text


def test_sources_that_a_page_links_to_are_shown_line_by_line() -> None:
    sources = set(linked_sources(Path("docs/design.md")))
    assert Path("src/errands/agents/updater.py") in sources
    assert destination(Path("docs"), "../LICENSE") == Path("LICENSE")
    page = numbered(Path("src/errands/seeds.py"))
    assert "# `src/errands/seeds.py`" in page
    assert (REPOSITORY / "src/errands/seeds.py").read_text().rstrip() in page


def test_notebooks_are_shown_with_what_their_cells_returned() -> None:
    page = notebook(Path("docs/examples/first_steps.ipynb"))
    assert page.startswith("# First steps\n")
    assert "```python\n" in page
    assert '<img src="data:image/png;base64,' in page
    assert shown({"output_type": "stream", "text": ["one\n", "two\n"]}) == "```text\none\ntwo\n```"


# What is wrong with a site


@pytest.mark.parametrize(
    ("html", "fault"),
    [
        ('<a href="b.html#there">b</a><img src="b.html">', None),
        ('<a href="https://example.org">elsewhere</a>', None),
        ('<a href="c.html">c</a>', "a.html leads to c.html, which does not exist"),
        ('<a href="b.html#gone">b</a>', "a.html leads to b.html#gone: no such place on that page"),
        ('<img src="c.png">', "a.html leads to c.png, which does not exist"),
        (
            '<script src="https://example.org/x.js"></script>',
            "a.html loads https://example.org/x.js: it needs a network",
        ),
        (
            '<link rel="stylesheet" href="//example.org/x.css">',
            "a.html loads //example.org/x.css: it needs a network",
        ),
    ],
)
def test_dead_links_and_remote_files_are_found(
    html: str, fault: str | None, tmp_path: Path
) -> None:
    (tmp_path / "a.html").write_text(html)
    (tmp_path / "b.html").write_text('<h1 id="there">B</h1>')
    assert list(faults(tmp_path)) == ([fault] if fault else [])


# Descriptions of fields


def test_comments_describe_fields() -> None:
    source = (
        "class Record:\n"
        "    one: int  # how many\n"
        "    # Above it,\n"
        "    # in two lines.\n"
        "    two: int = 2\n"
        "    three: int = setting(3, 'what it means', paper=4)\n"
        "    four: int\n"
        "    _five: int  # private\n"
        "    def __init__(self):\n"
        "        self.six = 6  # of the instance\n"
    )
    record = ast.parse(source).body[0]
    assert attributes(record, source.splitlines()) == (
        "\n\nAttributes:\n"
        "    one: How many.\n"
        "    two: Above it, in two lines.\n"
        "    three: What it means. The paper's value: 4.\n"
        "    six: Of the instance."
    )


def test_fields_of_the_api_are_described() -> None:
    found = griffe.load(
        "errands.worlds.spec",
        search_paths=[REPOSITORY / "src"],
        allow_inspection=False,
        extensions=griffe.load_extensions(FieldTables),
    )
    (table,) = (
        section.value
        for section in found["WorldSpec"].docstring.parse("google")
        if section.kind.value == "attributes"
    )
    assert [field.name for field in table] == [field.name for field in fields(WorldSpec)]
    assert str(table[0].annotation) == "str"


# The site itself, in a browser


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built as `make docs` does, which fails on dead links."""
    folder = tmp_path_factory.mktemp("site")
    mkdocs = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(folder)]
    subprocess.run(mkdocs, cwd=REPOSITORY, check=True)
    return folder


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as running:
        yield running


@pytest.mark.slow
def test_it_works_from_a_folder_without_a_network(site: Path, browser: Browser) -> None:
    """Pictures, the search and the switch between light and dark, and nothing is asked for."""
    asked: list[str] = []
    errors: list[str] = []

    def answer(route: Route) -> None:
        if route.request.url.startswith(("file:", "data:", "blob:")):
            route.continue_()
        else:
            asked.append(route.request.url)
            route.abort()

    page: Page = browser.new_page()
    page.route("**/*", answer)
    page.on("pageerror", lambda error: errors.append(str(error)))
    for path in ("index.html", "docs/gallery.html", "results/REPORT.html"):
        page.goto((site / path).as_uri())
        broken = "[...document.images].filter(i => i.complete && !i.naturalWidth).map(i => i.src)"
        assert page.evaluate(broken) == []

    page.goto((site / "index.html").as_uri())
    body = page.locator("body")
    expect(body).to_have_attribute("data-md-color-scheme", "default")
    page.get_by_title("Switch to dark").click()
    expect(body).to_have_attribute("data-md-color-scheme", "slate")

    page.get_by_label("Search", exact=True).first.click()
    page.get_by_placeholder("Search").press_sequentially("calibration")
    first = page.locator(".md-search-result__link").first
    expect(first).to_be_visible()
    first.click()
    expect(page).to_have_url(re.compile(r"^file:.*/docs/worlds\.html"))

    page.goto((site / "docs/design.html").as_uri())
    page.get_by_role("link", name="c = ").first.click()
    expect(page.locator("span:has(> a:target)")).to_be_visible()
    assert asked == []
    assert errors == []
