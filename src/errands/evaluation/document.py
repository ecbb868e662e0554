"""A report as a list of parts, written as Markdown or as one page of HTML that needs nothing else.

Text may hold `code`, *emphasis* and [links](target), as in Markdown; nothing more is understood.
"""

import base64
import html
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Heading:
    text: str
    level: int = 2


@dataclass(frozen=True)
class Paragraph:
    text: str


@dataclass(frozen=True)
class Table:
    """Cells are text; the first `words` columns stand to the left, as words do."""

    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: int = 1

    def markdown(self) -> str:
        ruler = ("---",) * self.words + ("---:",) * (len(self.headings) - self.words)
        lines = (self.headings, ruler, *self.rows)
        return "\n".join("| " + " | ".join(line) + " |" for line in lines)


@dataclass(frozen=True)
class Figure:
    """A picture in a file below the report's folder."""

    path: str
    says: str  # what it shows: alternative text and caption


Part = Heading | Paragraph | Table | Figure


def to_markdown(parts: Sequence[Part]) -> str:
    return "\n\n".join(_markdown(part) for part in parts) + "\n"


def _markdown(part: Part) -> str:
    if isinstance(part, Heading):
        return f"{'#' * part.level} {part.text}"
    if isinstance(part, Table):
        return part.markdown()
    return f"![{part.says}]({part.path})" if isinstance(part, Figure) else part.text


def to_html(title: str, parts: Sequence[Part], folder: Path) -> str:
    """One page; pictures are looked up in the folder and become part of it."""
    anchors = {part.text: _anchor(part.text) for part in parts if isinstance(part, Heading)}
    links = "".join(
        f'<a href="#{anchors[part.text]}">{html.escape(part.text)}</a>'
        for part in parts
        if isinstance(part, Heading) and part.level == 2
    )
    body = "\n".join(_html(part, folder, anchors) for part in parts)
    return PAGE.format(title=html.escape(title), style=STYLE, links=links, body=body)


def _html(part: Part, folder: Path, anchors: dict[str, str]) -> str:
    if isinstance(part, Heading):
        tag = f"h{part.level}"
        return f'<{tag} id="{anchors[part.text]}">{_inline(part.text)}</{tag}>'
    if isinstance(part, Paragraph):
        return f"<p>{_inline(part.text)}</p>"
    if isinstance(part, Figure):
        picture = base64.b64encode((folder / part.path).read_bytes()).decode()
        image = f'<img alt="{html.escape(part.says)}" src="data:image/png;base64,{picture}">'
        return f"<figure>{image}<figcaption>{_inline(part.says)}</figcaption></figure>"

    def row(cells: Sequence[str], tag: str) -> str:
        words = (f"<{tag}>{_inline(cell)}</{tag}>" for cell in cells[: part.words])
        # What stands in parentheses gets a line of its own, so that wide tables fit a screen.
        numbers = (
            f'<{tag} class="number">{_inline(cell).replace(" (", "<br>(")}</{tag}>'
            for cell in cells[part.words :]
        )
        return "".join((*words, *numbers))

    head = f"<thead><tr>{row(part.headings, 'th')}</tr></thead>"
    rows = "\n".join(f"<tr>{row(cells, 'td')}</tr>" for cells in part.rows)
    return f'<div class="table"><table>{head}<tbody>\n{rows}\n</tbody></table></div>'


def _inline(text: str) -> str:
    """Markdown within a line as HTML."""
    text = html.escape(text, quote=False)
    text = re.sub(r"`([^`]+)`", r"<code>\1</code>", text)
    text = re.sub(r"\[([^\]]+)\]\(([^)\s]+)\)", r'<a href="\2">\1</a>', text)
    return re.sub(r"(?<!\w)\*([^*]+)\*(?!\w)", r"<em>\1</em>", text)


def _anchor(text: str) -> str:
    return re.sub(r"[^\w\- ]", "", text).strip().lower().replace(" ", "-")


STYLE = """
:root { color-scheme: light dark; --ink: #1d2329; --paper: #fdfdfb; --line: #d8d8d2;
  --soft: #5c666f; --link: #0b6bcb; --stripe: #f4f4ef; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e6e8; --paper: #16191d; --line: #373d44;
  --soft: #9aa4ad; --link: #6cb2ff; --stripe: #1d2126; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2rem 1.2rem 4rem; max-width: 78rem; color: var(--ink);
  background: var(--paper); font: 16px/1.55 system-ui, sans-serif; }
h1, h2, h3 { line-height: 1.2; } h2 { margin-top: 3rem; } p { max-width: 46rem; }
a { color: var(--link); } nav { display: flex; flex-wrap: wrap; gap: .3rem 1.2rem; }
code { font-size: .92em; } .table { overflow-x: auto; margin: 1.2rem 0; }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; }
th, td { padding: .35rem .6rem; border-bottom: 1px solid var(--line); text-align: left;
  vertical-align: top; } th.number { min-width: 4.5rem; } td.number { white-space: nowrap; }
.number { text-align: right; } tbody tr:nth-child(even) { background: var(--stripe); }
figure { margin: 1.6rem 0; } figcaption { color: var(--soft); font-size: .9rem; }
@media print { nav { display: none; } body { max-width: none; padding: 0; }
  table { font-size: .68rem; } .table { overflow: visible; } tr, figure { break-inside: avoid; }
  h2, h3 { break-after: avoid; } td.number { white-space: normal; } }
img { max-width: 100%; height: auto; background: #fff; border-radius: 6px; padding: .4rem; }
"""

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<nav>{links}</nav>
{body}
</body>
</html>
"""
