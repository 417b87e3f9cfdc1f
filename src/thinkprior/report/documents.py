"""Markdown documents on the page, without anything in them that could act."""

from __future__ import annotations

from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup

from thinkprior.errors import InputError
from thinkprior.report.text import visible


def document(path: Path | str, section: str | None = None) -> Markup:
    """A Markdown file, or one section of it, in HTML.

    HTML in it is shown as text. Its headings become those of a part of a page; links to other files
    become plain text, since the page stands alone.

    Args:
        path: the file.
        section: the heading, of the second level, of the only section to show; its own heading is
            left out. None shows all but the title.

    Raises:
        InputError: for a section that the file does not have.
    """
    source = visible(Path(path).read_text(encoding="utf-8"))
    lines = source.split("\n")
    if section is not None:
        heading = f"## {section}"
        if heading not in lines:
            raise InputError(f"{path}: it has no section {heading!r}, which the report shows")
        lines = lines[lines.index(heading) + 1 :]
        ends = [number for number, line in enumerate(lines) if line.startswith("## ")]
        lines = lines[: ends[0]] if ends else lines
    else:
        lines = [line for line in lines if not line.startswith("# ")]
    # js-default: tables, and HTML as text.
    reader = MarkdownIt("js-default", {"html": False})
    tokens = reader.parse("\n".join(lines))
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(int(token.tag[1:]) + 2, 6)}"
        token.children = _without_links(token.children or [])
        token.attrs.pop("style", None)
    return Markup(reader.renderer.render(tokens, reader.options, {}))


def _without_links(tokens: list[Token]) -> list[Token]:
    """Inline tokens without links to files and without images; a web link stays."""
    kept = []
    dropped: list[bool] = []
    for token in tokens:
        if token.type == "link_open":
            dropped.append(not str(token.attrGet("href")).startswith("https://"))
            if dropped[-1]:
                continue
        elif token.type == "link_close" and dropped.pop():
            continue
        elif token.type == "image":
            token = Token("text", "", 0, content=token.content)
        kept.append(token)
    return kept
