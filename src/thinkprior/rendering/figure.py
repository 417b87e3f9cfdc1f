"""A drawn figure and where it is saved."""

from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure as Canvas

from thinkprior.rendering.style import styled
from thinkprior.rendering.table import write_csv


@dataclass(frozen=True)
class Figure:
    """A figure with what it was drawn from.

    Attributes:
        canvas: The matplotlib figure.
        frame: What was drawn, a row per mark; its first column `scale` names the scale.
        caption: Plain text that says what is shown, over how many seeds and at which scale.
    """

    canvas: Canvas
    frame: pd.DataFrame
    caption: str


def save_figure(figure: Figure, pdf_path: Path, png_path: Path, csv_path: Path) -> None:
    """Writes the PDF, the PNG, the CSV and, under the CSV's name ending in .txt, the caption.

    The report and the document set that caption beside the picture. No file carries a date or a
    program's version, so the same figure gives the same bytes under the same matplotlib.
    """
    for path in (pdf_path, png_path):
        path.parent.mkdir(parents=True, exist_ok=True)
    with styled():
        figure.canvas.savefig(
            pdf_path,
            format="pdf",
            metadata={"CreationDate": None, "Creator": None, "Producer": None},
        )
        figure.canvas.savefig(png_path, format="png", metadata={"Software": None})
    write_csv(figure.frame, csv_path)
    text = figure.caption + "\n"
    csv_path.with_suffix(".txt").write_text(text, encoding="utf-8", newline="\n")
