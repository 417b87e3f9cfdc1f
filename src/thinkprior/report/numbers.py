"""CSV files as rows of text for the page."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from thinkprior.errors import InputError

DIGITS = 4
"""Significant digits on the page; the CSV has them all."""


@dataclass(frozen=True)
class Cell:
    """A cell.

    Attributes:
        text: as shown.
        number: whether it is one.
    """

    text: str
    number: bool


@dataclass(frozen=True)
class Numbers:
    """A CSV file.

    Attributes:
        columns: its header.
        rows: its cells.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]

    @property
    def numeric(self) -> set[int]:
        """Columns, from 0, that hold numbers or nothing."""
        return {
            column
            for column, cells in enumerate(zip(*self.rows, strict=True))
            if any(cell.number for cell in cells)
            and all(cell.number or not cell.text for cell in cells)
        }


def read_numbers(path: Path | str) -> Numbers:
    """A CSV file whose cells are shown as they are, numbers shortened."""
    columns, rows = _read(path)
    return Numbers(columns, [[Cell(short(text), _is_number(text)) for text in row] for row in rows])


def read_rows(path: Path | str, columns: Sequence[str]) -> list[dict[str, str]]:
    """The rows of a CSV file by column, as text.

    Raises:
        InputError: for a file without one of the columns.
    """
    header, rows = _read(path)
    missing = [name for name in columns if name not in header]
    if missing:
        raise InputError(f"{path}: it lacks the columns {', '.join(missing)}. Make it anew.")
    return [dict(zip(header, row, strict=True)) for row in rows]


def short(text: str) -> str:
    """A number with at most `DIGITS` significant digits; whole numbers and words as they are."""
    if not _is_number(text) or _is_whole(text):
        return text
    value = float(text)
    magnitude = math.floor(math.log10(abs(value))) if value else 0
    # Never 1.23e+04, for a count that happens to be a mean.
    if magnitude >= -4:
        shortened = f"{value:.{max(DIGITS - 1 - magnitude, 0)}f}"
    else:
        shortened = f"{value:.{DIGITS - 1}e}"
    return min(text, shortened, key=len)


def _read(path: Path | str) -> tuple[list[str], list[list[str]]]:
    with Path(path).open(encoding="utf-8", newline="") as handle:
        lines = list(csv.reader(handle))
    if not lines:
        raise InputError(f"{path}: an empty file. Make it anew.")
    header, rows = lines[0], lines[1:]
    for number, row in enumerate(rows, start=2):
        if len(row) != len(header):
            raise InputError(f"{path}, line {number}: {len(row)} cells, not {len(header)}")
    return header, rows


def _is_whole(text: str) -> bool:
    return text.lstrip("+-").isdigit()


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
