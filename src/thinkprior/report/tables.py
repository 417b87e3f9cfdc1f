"""LaTeX tables of this package as HTML: exactly the macros that `rendering/latex.py` writes."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from thinkprior.errors import InputError
from thinkprior.rendering import latex
from thinkprior.report.text import visible


class UnknownMacroError(InputError):
    """LaTeX that this converter does not know; the page shows its source instead."""


ROW_CLASSES = {latex.OURS: "ours", latex.VERIFIED_PRIOR: "prior"}
TEXT_CLASSES = {"1B7837": "better", "B2182B": "worse"}
ALIGNMENTS = {"l": "left", "c": "centre", "r": "right"}

THIN_SPACE = "\u2009"

_SYMBOLS = {
    "textbackslash": "\\",
    "textasciitilde": "~",
    "textasciicircum": "^",
    "textless": "<",
    "textgreater": ">",
    "textbar": "|",
    "quad": "\u2003",
    "sim": "~",
    "Delta": "Δ",
    "alpha": "α",
    "beta": "β",
    "kappa": "κ",
    "varphi": "φ",
    "varepsilon": "ε",
    "leq": "≤",
    "geq": "≥",
    "infty": "∞",
    "downarrow": "↓",
    "uparrow": "↑",
}
# Spaced where they stand between two operands.
_OPERATORS = {"times": "×", "pm": "±"}
_BETWEEN = {*_OPERATORS.values(), "=", "≤", "≥", "&lt;", "&gt;"}
# Commands that change nothing in a browser.
_IGNORED = {"boldmath", "footnotesize"}
_WITH_ARGUMENTS = {"textbf", "textit", "emph", "textcolor", "makebox", "hat"}
_ESCAPED = "%_#&${}"
_LIGATURES = (("---", "—"), ("--", "–"), ("''", '"'))

MACROS = frozenset({*_SYMBOLS, *_OPERATORS, *_IGNORED, *_WITH_ARGUMENTS, *_ESCAPED, ","})
"""Every macro within a cell, a note or a caption that has an HTML form."""


@dataclass(frozen=True)
class HtmlTable:
    """A table environment in HTML.

    Attributes:
        table: the table element, its head and body.
        caption: inline HTML.
        notes: inline HTML; empty where there are none.
    """

    table: Markup
    caption: Markup
    notes: Markup


_ENVIRONMENT = re.compile(
    r"""
    (?:%[^\n]*\n)*
    \\begin\{(?P<name>table\*?)\}\[t\]\n
    \\centering\n
    \\(?:small|footnotesize)\n
    \\setlength\{\\tabcolsep\}\{\d+pt\}\n
    \\resizebox\{[^\n]*\}\{!\}\{%\n
    \\begin\{tabular\}\{(?P<columns>[lcr]+)\}\n
    \\toprule\n
    (?P<head>.*?)\n
    \\midrule\n
    (?P<body>.*)\n
    \\bottomrule\n
    \\end\{tabular\}\}\n
    (?:\\par\\smallskip\n\\parbox\{\\linewidth\}\{\\footnotesize[ ](?P<notes>.*)\}\n)?
    \\caption\{(?P<caption>.*)\}\n
    \\label\{(?P<label>[^}\n]*)\}\n
    \\end\{(?P=name)\}\n?
    """,
    re.VERBOSE | re.DOTALL,
)


def html_table(source: str) -> HtmlTable:
    r"""A table environment, as `latex.Tabular.environment` writes it, in HTML.

    Raises:
        UnknownMacroError: for another environment, and for a macro that `latex` does not write; the
            message names it.
    """
    match = _ENVIRONMENT.fullmatch(source)
    if match is None:
        raise UnknownMacroError("this is no table environment as rendering/latex.py writes it")
    columns = match["columns"]
    head = _rows(match["head"], columns, _head_cell)
    body = _rows(match["body"], columns, _body_cell)
    table = Markup("<table>\n<thead>\n{}\n</thead>\n<tbody>\n{}\n</tbody>\n</table>").format(
        head, body
    )
    return HtmlTable(table, inline(match["caption"]), inline(match["notes"] or ""))


def inline(source: str) -> Markup:
    """LaTeX text, without rows and cells, in HTML.

    Raises:
        UnknownMacroError: for a macro that `latex` does not write.
    """
    return _Reader(source).text()


@dataclass(frozen=True)
class _Cell:
    content: Markup
    alignment: str
    span: int
    first: bool
    whole: bool


def _rows(source: str, columns: str, element: Callable[[_Cell], Markup]) -> Markup:
    rows: list[Markup] = []
    ruled = False
    for line in source.split("\n"):
        if line == r"\midrule":
            ruled = True
            continue
        # Short rules under spanning heads: a spanning head has one of its own in the style sheet.
        if re.fullmatch(r"(?:\\cmidrule\(lr\)\{\d+-\d+\} ?)+", line):
            continue
        rows.append(_row(line, columns, element, ruled))
        ruled = False
    return Markup("\n").join(rows)


def _row(line: str, columns: str, element: Callable[[_Cell], Markup], ruled: bool) -> Markup:
    if not line.endswith(r" \\"):
        raise UnknownMacroError(f"no table row: {line[:80]}")
    line = line.removesuffix(r" \\")
    classes = ["rule"] if ruled else []
    if match := re.match(r"\\rowcolor\[HTML\]\{([0-9A-F]{6})\} ", line):
        classes.append(_class(ROW_CLASSES, match[1]))
        line = line[match.end() :]
    cells = []
    column = 0
    for source in _split(line):
        span, alignment = 1, columns[min(column, len(columns) - 1)]
        if match := re.match(r"\\multicolumn\{(\d+)\}\{([lcr])\}", source):
            span, alignment = int(match[1]), match[2]
            source = source[match.end() :]
        whole = span == len(columns)
        cells.append(element(_Cell(inline(source), ALIGNMENTS[alignment], span, not column, whole)))
        column += span
    if column > len(columns):
        raise UnknownMacroError(f"a row of {column} cells in a table of {len(columns)} columns")
    attribute = Markup(' class="{}"').format(" ".join(classes)) if classes else Markup()
    return Markup("<tr{}>{}</tr>").format(attribute, Markup().join(cells))


def _head_cell(cell: _Cell) -> Markup:
    if not cell.content:
        return Markup("<td{}></td>").format(_span(cell))
    scope = "colgroup" if cell.span > 1 else "col"
    return Markup('<th scope="{}" class="{}"{}>{}</th>').format(
        scope, cell.alignment, _span(cell), cell.content
    )


def _body_cell(cell: _Cell) -> Markup:
    if cell.first and cell.content:
        scope = "rowgroup" if cell.whole else "row"
        return Markup('<th scope="{}" class="{}"{}>{}</th>').format(
            scope, cell.alignment, _span(cell), cell.content
        )
    return Markup('<td class="{}"{}>{}</td>').format(cell.alignment, _span(cell), cell.content)


def _span(cell: _Cell) -> Markup:
    return Markup(' colspan="{}"').format(cell.span) if cell.span > 1 else Markup()


def _split(line: str) -> list[str]:
    """Cells of a row: `&` parts them where it is not escaped."""
    return [cell.strip(" ") for cell in re.split(r"(?<!\\)&", line)]


def _class(names: dict[str, str], colour: str) -> str:
    if colour not in names:
        raise UnknownMacroError(f"colour {colour}")
    return names[colour]


class _Reader:
    """Reads LaTeX from left to right."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.at = 0

    def text(self) -> Markup:
        found: list[Markup] = []
        while self.at < len(self.source):
            found.append(self._text_item())
        return Markup().join(found)

    def _text_item(self) -> Markup:
        for source, printed in _LIGATURES:
            if self.source.startswith(source, self.at):
                self.at += len(source)
                return escape(printed)
        character = self.source[self.at]
        if character == "\\":
            return self.command(inline)
        if character == "{":
            return inline(self.group())
        if character == "$":
            return self._mathematics()
        self.at += 1
        if character in "}&#_^%":
            raise UnknownMacroError(f"a bare {character}")
        return escape("\u00a0" if character == "~" else visible(character))

    def command(self, inside: Callable[[str], Markup]) -> Markup:
        """The command at this place with its arguments, which `inside` reads."""
        name = self._name()
        if name in _IGNORED:
            return Markup()
        if name in _SYMBOLS:
            return escape(_SYMBOLS[name])
        if name in _OPERATORS:
            return escape(_OPERATORS[name])
        if len(name) == 1 and name in _ESCAPED:
            return escape(name)
        if name == ",":
            return escape(THIN_SPACE)
        if name == "textbf":
            return Markup("<strong>{}</strong>").format(inside(self.group()))
        if name in ("textit", "emph"):
            return Markup("<em>{}</em>").format(inside(self.group()))
        if name == "textcolor":
            self._expect(r"\[HTML\]")
            colour = _class(TEXT_CLASSES, self.group())
            return Markup('<span class="{}">{}</span>').format(colour, inside(self.group()))
        if name == "makebox":
            self._expect(r"\[\d+(\.\d+)?em\]\[l\]")
            return Markup('<span class="change">{}</span>').format(inside(self.group()))
        if name == "hat":
            return inside(self.group()) + Markup("\u0302")
        raise UnknownMacroError(f"the macro \\{name}")

    def _name(self) -> str:
        r"""Name of the command at the backslash; what TeX skips behind it is skipped."""
        match = re.compile(r"\\([A-Za-z]+)(?: +|\{\})?|\\(.)", re.DOTALL).match(
            self.source, self.at
        )
        if match is None:
            raise UnknownMacroError("a backslash at the end")
        self.at = match.end()
        return match[1] or match[2]

    def _expect(self, pattern: str) -> None:
        match = re.compile(pattern).match(self.source, self.at)
        if match is None:
            raise UnknownMacroError(f"the argument {self.source[self.at : self.at + 20]}")
        self.at = match.end()

    def group(self) -> str:
        """The braces at this place, without them."""
        if not self.source.startswith("{", self.at):
            raise UnknownMacroError(f"no argument: {self.source[self.at : self.at + 20]}")
        depth, end = 0, self.at
        while end < len(self.source):
            character = self.source[end]
            if character == "\\":
                end += 1
            elif character == "{":
                depth += 1
            elif character == "}":
                depth -= 1
                if not depth:
                    inner = self.source[self.at + 1 : end]
                    self.at = end + 1
                    return inner
            end += 1
        raise UnknownMacroError("a brace that is never closed")

    def _mathematics(self) -> Markup:
        match = re.compile(r"\$((?:[^$\\]|\\.)*)\$", re.DOTALL).match(self.source, self.at)
        if match is None:
            raise UnknownMacroError("a dollar that is never closed")
        self.at = match.end()
        return _formula(match[1])


def _formula(source: str) -> Markup:
    reader = _Reader(source)
    pieces: list[Markup] = []
    while reader.at < len(source):
        pieces.append(_formula_item(reader))
    return Markup().join(_spaced(pieces))


def _formula_item(reader: _Reader) -> Markup:
    character = reader.source[reader.at]
    if character == "\\":
        return reader.command(_formula)
    if character == "{":
        return _formula(reader.group())
    reader.at += 1
    if character in "_^":
        name = "sub" if character == "_" else "sup"
        argument = reader.source[reader.at : reader.at + 1]
        if argument == "{":
            argument = reader.group()
        else:
            reader.at += 1
        return Markup("<{0}>{1}</{0}>").format(Markup(name), _formula(argument))
    if character == " ":
        return Markup()
    if character == ",":
        return Markup(", ")
    if character == "-":
        return Markup("−")
    if character in "}&#%~":
        raise UnknownMacroError(f"a bare {character}")
    if character.isalpha() and character.isascii():
        return Markup("<i>{}</i>").format(character)
    return escape(visible(character))


def _spaced(pieces: Sequence[Markup]) -> list[Markup]:
    """Thin spaces around an operator that has something on both sides."""
    shown = [piece for piece in pieces if piece]
    spaced = []
    for index, piece in enumerate(shown):
        between = piece in _BETWEEN and 0 < index < len(shown) - 1
        spaced.append(THIN_SPACE + piece + THIN_SPACE if between else piece)
    return spaced
