"""What the site shows: the repository's own pages, each at its own path.

The site is a mirror of the repository, so a relative link that works in a browser of the repository
works in the site as well. Source files and notebooks that a page links to become pages. Links to
what the site does not have (folders, data) become plain text. MkDocs calls `on_files` and
`on_page_markdown`.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

REPOSITORY = Path(__file__).resolve().parents[2]
PAGES = (
    *("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "results/REPORT.md"),
    *("docs/*.md", "src/errands/pretrained/*/*/README.md"),
)
PICTURES = ("docs/images/**/*", "results/figures/*", "src/errands/watch/page/icon.svg")
# Source files, by suffix, and their languages.
LANGUAGES = {".py": "python", ".cff": "yaml", ".yml": "yaml", "": "text"}

FENCED = re.compile(r"(^```.*?^```$|^~~~~~~.*?^~~~~~~$)", re.MULTILINE | re.DOTALL)
LINK = re.compile(
    r"\[(?P<text>(?:[^\[\]]|\[[^\]]*\])*)\]\((?P<path>[^)#\s]+)(?:#(?P<anchor>[^)\s]+))?\)"
)
NOTEBOOK = ".ipynb"
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
        content = notebook(path) if path.suffix == NOTEBOOK else numbered(path)
        files.append(File.generated(config, f"{path}.md", content=content))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Make the links of a page lead to pages of the site."""
    return relinked(markdown, Path(page.file.src_uri).parent)


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
    return path.suffix in (*LANGUAGES, NOTEBOOK) and (REPOSITORY / path).is_file()


def numbered(path: Path) -> str:
    """A page with the lines of a source file."""
    text = (REPOSITORY / path).read_text(encoding="utf-8").rstrip()
    return SOURCE_PAGE.format(path=path.as_posix(), language=LANGUAGES[path.suffix], text=text)


def notebook(path: Path) -> str:
    """A page with the cells of a Jupyter notebook and what they returned."""
    cells = json.loads((REPOSITORY / path).read_text(encoding="utf-8"))["cells"]
    parts = []
    for cell in cells:
        text = "".join(cell["source"])
        parts.append(text if cell["cell_type"] == "markdown" else f"```python\n{text}\n```")
        parts += [shown(output) for output in cell.get("outputs", [])]
    return "\n\n".join(parts)


def shown(output: dict[str, Any]) -> str:
    """One output of a cell: a picture, or text."""
    data = output.get("data", {})
    for kind in ("image/png", "image/gif"):
        if kind in data:
            encoded = "".join(data[kind]).replace("\n", "")
            return f'<img src="data:{kind};base64,{encoded}" alt="what the cell shows">'
    text = "".join(output.get("text", data.get("text/plain", "")))
    return f"```text\n{text.rstrip()}\n```"
