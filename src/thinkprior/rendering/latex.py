"""LaTeX of the tables: escaping, numbers, rows and the table environment, with booktabs.

A document that inputs a table needs the packages booktabs, graphicx and xcolor, the last with its
option `table`.
"""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from thinkprior.rendering.rounding import printed

DASH = "--"
"""Cell of a value that does not exist."""

OURS = "F4B6CE"
"""Row colour of the paper's own method."""

VERIFIED_PRIOR = "FCE7EF"
"""Row colour of the other verifier-scored priors."""

_BETTER, _WORSE = "1B7837", "B2182B"

# A bracket or star that opens a cell would be read as an argument of the row end before it.
_SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': "''",
    "[": "{[}",
    "]": "{]}",
    "*": "{*}",
    "×": r"$\times$",
    "±": r"$\pm$",
    "−": "$-$",
    "–": "--",
    "—": "---",
    "α": r"$\alpha$",
    "β": r"$\beta$",
    "ε": r"$\varepsilon$",
    "κ": r"$\kappa$",
    "φ": r"$\varphi$",
    "Δ": r"$\Delta$",
}

# What LaTeX sets without a further font or package, besides ASCII: letters with these accents
# (combining characters), and these signs. Any other character would stop it with an error.
_ACCENTS = frozenset("\u0300\u0301\u0302\u0303\u0304\u0306\u0307\u0308\u030a\u030b\u030c\u0327")
_LAST_LATIN = "\u017f"
_SIGNS = frozenset("’‘“”…·•°§©®ßæøåœłıÆØÅŒŁ")


def escape(text: str) -> str:
    """Plain text as LaTeX that prints it.

    Specials are escaped, white space and controls become spaces, and a character that LaTeX has no
    glyph for stands as its number, such as [U+4E2D].
    """
    printable = "".join(character if character.isprintable() else " " for character in text)
    return "".join(_escaped(character) for character in " ".join(printable.split()))


def _escaped(character: str) -> str:
    if character in _SPECIAL:
        return _SPECIAL[character]
    if character.isascii() or character in _SIGNS:
        return character
    if character <= _LAST_LATIN and unicodedata.normalize("NFD", character)[1:] in _ACCENTS:
        return character
    return f"{{[}}U+{ord(character):04X}{{]}}"


def bold(text: str) -> str:
    """LaTeX in bold, its mathematics included."""
    return rf"\textbf{{\boldmath {text}}}"


def mathematics(text: str) -> str:
    """A number printed in ASCII as LaTeX with a true minus sign."""
    return f"${text}$"


def change_subscript(change: float, digits: int) -> str:
    """A change as a signed subscript, where less is better: green below zero, red above.

    The colour only repeats the sign; what prints as zero has neither.
    """
    text = printed(change, digits, signed=True)
    if text[0] in "+-":
        text = rf"\textcolor[HTML]{{{_WORSE if text[0] == '+' else _BETTER}}}{{{text}}}"
    return f"$_{{{text}}}$"


def p_value(p: float) -> str:
    """A p value as Table 2 prints it: <10^-4, or with as many decimals as keep a digit or two."""
    if p < 1e-4:
        return "$<10^{-4}$"
    digits = 2 if p >= 0.1 else 3 if p >= 0.001 else 4
    return printed(p, digits)


def row(cells: Sequence[str], colour: str | None = None) -> str:
    """A table row, shaded in a colour given as six hexadecimal digits."""
    shade = rf"\rowcolor[HTML]{{{colour}}} " if colour else ""
    return rf"{shade}{' & '.join(cells)} \\"


def spanning(columns: int, alignment: str, text: str) -> str:
    """A cell across several columns."""
    return rf"\multicolumn{{{columns}}}{{{alignment}}}{{{text}}}"


@dataclass(frozen=True)
class Tabular:
    """The parts of a table environment, all of them LaTeX.

    Attributes:
        columns: Column specification of the tabular, without column separators.
        head: Lines between the top rule and the rule under the head.
        body: Lines between that rule and the bottom rule.
        caption: Text of the caption.
        label: Key of the label.
        notes: Sentences under the table.
        wide: Whether it spans both columns of a two-column page.
    """

    columns: str
    head: Sequence[str]
    body: Sequence[str]
    caption: str
    label: str
    notes: Sequence[str] = ()
    wide: bool = False

    def environment(self) -> str:
        """A complete table environment, for a document to input."""
        name = "table*" if self.wide else "table"
        notes = []
        if self.notes:
            notes = [
                r"\par\smallskip",
                rf"\parbox{{\linewidth}}{{\footnotesize {' '.join(self.notes)}}}",
            ]
        lines = [
            r"% needs \usepackage{booktabs,graphicx} and \usepackage[table]{xcolor}",
            rf"\begin{{{name}}}[t]",
            r"\centering",
            r"\small" if self.wide else r"\footnotesize",
            r"\setlength{\tabcolsep}{4pt}",
            # Narrower than the line it keeps its size, wider it shrinks to the line.
            r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
            rf"\begin{{tabular}}{{{self.columns}}}",
            r"\toprule",
            *self.head,
            r"\midrule",
            *self.body,
            r"\bottomrule",
            r"\end{tabular}}",
            *notes,
            rf"\caption{{{self.caption}}}",
            rf"\label{{{self.label}}}",
            rf"\end{{{name}}}",
        ]
        return "\n".join(lines) + "\n"
