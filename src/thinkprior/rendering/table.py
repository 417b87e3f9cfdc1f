"""A rendered table and where it is saved."""

from dataclasses import dataclass
from pathlib import Path

import pandas as pd


@dataclass(frozen=True)
class Table:
    """A table in its two forms.

    Attributes:
        frame: The unrounded values, for the CSV; its first column `scale` names the scale.
        latex: A complete table environment.
    """

    frame: pd.DataFrame
    latex: str


def save_table(table: Table, csv_path: Path, tex_path: Path) -> None:
    """Writes the CSV, which begins with its header, and the LaTeX."""
    write_csv(table.frame, csv_path)
    tex_path.parent.mkdir(parents=True, exist_ok=True)
    tex_path.write_text(table.latex, encoding="utf-8", newline="\n")


def write_csv(frame: pd.DataFrame, path: Path) -> None:
    """Writes a frame with its header first and without its index; absent values stay empty."""
    path.parent.mkdir(parents=True, exist_ok=True)
    frame.to_csv(path, index=False, lineterminator="\n")
