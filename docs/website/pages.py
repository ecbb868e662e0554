"""What the site shows: the repository's own pages, each at its own path.

The site is a mirror of the repository, so a relative link that works in a browser of the repository
works in the site as well. Source files that a page links to become pages with numbered lines. Links
to what the site does not have (folders, data) become plain text. MkDocs calls `on_files` and
`on_page_markdown`.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

REPOSITORY = Path(__file__).resolve().parents[2]
PAGES = ("README.md", "CHANGELOG.md", "SECURITY.md", "results/REPORT.md", "docs/*.md")
PICTURES = ("docs/images/**/*", "results/figures/*", "src/errands/watch/page/icon.svg")
# Source files, by suffix, and their languages.
LANGUAGES = {".py": "python", ".cff": "yaml", ".yml": "yaml", "": "text"}

FENCED = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
LINK = re.compile(
    r"\[(?P<text>(?:[^\[\]]|\[[^\]]*\])*)\]\((?P<path>[^)#\s]+)(?:#(?P<anchor>[^)\s]+))?\)"
)
# A page for the lines of a file: found by links, not by a search.
SOURCE_PAGE = """---
hide: [toc]
search: {{exclude: true}}
---

# `{path}`

~~~~~~{{.{language} linenums="1"}}
{text}
~~~~~~
"""


def on_files(files: Any, config: Any) -> Any:
    """Add what the repository has to MkDocs's own list of files."""
    pages = list(matching(*PAGES))
    for path in (*pages, *matching(*PICTURES)):
        files.append(
            File(path.as_posix(), str(REPOSITORY), config.site_dir, config.use_directory_urls)
        )
    for path in sorted({source for page in pages for source in linked_sources(page)}):
        files.append(File.generated(config, f"{path}.md", content=numbered(path)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Make the links of a page lead to pages of the site."""
    if page.file.src_uri.startswith("docs/") or "/" not in page.file.src_uri:
        return relinked(markdown, Path(page.file.src_uri).parent)
    return markdown


def matching(*patterns: str) -> Iterator[Path]:
    """Files of the repository, relative to it."""
    for pattern in patterns:
        for path in sorted(REPOSITORY.glob(pattern)):
            if path.is_file():
                yield path.relative_to(REPOSITORY)


def linked_sources(page: Path) -> Iterator[Path]:
    """The source files that a page links to."""
    text = FENCED.sub("", (REPOSITORY / page).read_text(encoding="utf-8"))
    for link in LINK.finditer(text):
        path = destination(page.parent, link["path"])
        if path is not None and is_source(path):
            yield path


def relinked(text: str, folder: Path) -> str:
    """The text of a page in that folder, with links that the site can follow."""

    def rewrite(link: re.Match[str]) -> str:
        path = destination(folder, link["path"])
        if path is None or path.suffix in (".md", ".png", ".gif"):
            return link[0]
        if not is_source(path):
            return link["text"]
        line = link["anchor"]
        anchor = f"#__codelineno-0-{line.removeprefix('L')}" if line else ""
        return f"[{link['text']}]({link['path']}.md{anchor})"

    return "".join(
        part if FENCED.fullmatch(part) else LINK.sub(rewrite, part) for part in FENCED.split(text)
    )


def destination(folder: Path, path: str) -> Path | None:
    """Where a link from that folder leads, relative to the repository; None: out of it."""
    if re.match(r"\w+:", path):
        return None
    return (REPOSITORY / folder / path).resolve().relative_to(REPOSITORY)


def is_source(path: Path) -> bool:
    return path.suffix in LANGUAGES and (REPOSITORY / path).is_file()


def numbered(path: Path) -> str:
    """A page with the lines of a source file."""
    text = (REPOSITORY / path).read_text(encoding="utf-8").rstrip()
    return SOURCE_PAGE.format(path=path.as_posix(), language=LANGUAGES[path.suffix], text=text)
