"""Refuses a site with a dead link, or with anything that is fetched from elsewhere.

MkDocs checks the links of pages. This checks what it has written: links and pictures in HTML, those
of the API and of the theme as well. MkDocs calls `on_post_build`.
"""

from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from mkdocs.exceptions import PluginError

ABSENT = "404.html"  # for servers: its links begin at their root


class Addresses(HTMLParser):
    """What a page links to, what it loads, and the places in it that others can link to."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.places: set[str] = set()
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.places |= {given[name] for name in ("id", "name") if name in given}
        if "src" in given:
            self.loads.append(given["src"])
        elif tag == "link" and given.get("rel") in ("stylesheet", "icon"):
            self.loads.append(given["href"])
        elif "href" in given:
            self.links.append(given["href"])


def on_post_build(config: Any) -> None:
    """End the build with a message if something is wrong with the site."""
    found = list(faults(Path(config.site_dir)))
    if found:
        raise PluginError("\n".join(found))


def faults(site: Path) -> Iterator[str]:
    """What is wrong with a site, in a line each."""
    pages = {
        path.resolve(): Addresses(path.read_text(encoding="utf-8"))
        for path in sorted(site.rglob("*.html"))
        if path.name != ABSENT
    }
    for page, found in pages.items():
        name = page.relative_to(site.resolve())
        for address in (*found.loads, *found.links):
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                if address in found.loads and parts.scheme != "data":
                    yield f"{name} loads {address}: it needs a network"
                continue
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            place = unquote(parts.fragment)
            if not target.is_file():
                yield f"{name} leads to {address}, which does not exist"
            elif place and target in pages and place not in pages[target].places:
                yield f"{name} leads to {address}: no such place on that page"
