"""The look of the figures: sizes, fonts, and marks that differ without colour."""

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from matplotlib import rc_context
from matplotlib.figure import Figure as Canvas
from matplotlib.layout_engine import ConstrainedLayoutEngine

WIDTH = 7.0
"""Width of a figure in inches, a two-column page's text width."""

SMALLEST_TEXT = 7.0
"""Smallest text in points at that width."""

RC: Mapping[str, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 8.0,
    "axes.titlesize": 8.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 8.0,
    "xtick.labelsize": SMALLEST_TEXT,
    "ytick.labelsize": SMALLEST_TEXT,
    "legend.fontsize": 7.5,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.5,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "lines.linewidth": 1.5,
    "lines.markersize": 3.5,
    "hatch.linewidth": 0.5,
    "legend.frameon": False,
    "legend.handlelength": 2.8,
    # Type 42 keeps text as text; publishers refuse Type 3.
    "pdf.fonttype": 42,
    "ps.fonttype": 42,
    "savefig.dpi": 200,
}


@dataclass(frozen=True)
class Mark:
    """How a series is drawn: colour of the Okabe-Ito palette, line style and marker."""

    colour: str
    line: str
    marker: str

    def line_arguments(self) -> dict[str, Any]:
        """Keyword arguments of a matplotlib line."""
        return {"color": self.colour, "linestyle": self.line, "marker": self.marker}


THINKPRIOR = Mark("#D55E00", "-", "o")
NO_PRIOR = Mark("#0072B2", "--", "s")
BANK = Mark("#009E73", "-.", "^")
LENGTH_PRIOR = Mark("#CC79A7", ":", "D")
RULES = Mark("#999999", "-", "")

BAND_OPACITY = 0.17
"""Opacity of a band of seeds."""

_LINE_SPACING = 1.25  # of a line of the note, in units of its text size
_CHARACTERS = 128  # of the smallest text on a line of a figure's width


def canvas(height: float, note: str) -> Canvas:
    """An empty figure whose panels lay themselves out above a note, such as the scale.

    Args:
        height: In inches; the width is the common one.
        note: Plain text, wrapped under the panels.
    """
    lines = textwrap.wrap(note, _CHARACTERS)
    share = (len(lines) * SMALLEST_TEXT * _LINE_SPACING + 4) / (72 * height)
    engine = ConstrainedLayoutEngine(rect=(0, share, 1, 1 - share))
    figure = Canvas(figsize=(WIDTH, height), layout=engine)
    figure.text(
        0.01,
        0.01,
        plain("\n".join(lines)),
        fontsize=SMALLEST_TEXT,
        linespacing=_LINE_SPACING,
        va="bottom",
        color="#333333",
    )
    return figure


def plain(text: str) -> str:
    """Text that matplotlib prints as it stands, dollar signs included."""
    return text.replace("$", r"\$")


def minus(text: str) -> str:
    """A number printed in ASCII with a true minus sign."""
    return text.replace("-", "\N{MINUS SIGN}")


def styled() -> Any:
    """Context within which figures are drawn and saved."""
    return rc_context(dict(RC))
