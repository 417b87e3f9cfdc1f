"""The paper's numbers as it prints them, and what a printed string says.

`resources/published/published.csv` holds one printed number a row. A string is read into numbers,
a unit and the number of decimals; what is no number (`at chance`) must be one of `WORDS`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pandas as pd

from thinkprior.errors import InputError

Kind = Literal["number", "count", "below", "range", "deviation", "list", "words"]
Unit = Literal["", "points", "percent", "ratio"]

WORDS = ("at chance", "just clear of zero")
"""What the paper says in words where it gives no number."""

UNIT_SIGNS: dict[Unit, str] = {"": "", "points": " pts", "percent": "%", "ratio": "x"}
COLUMNS = ("table", "setting", "arm", "metric", "printed", "note")

_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?"
_UNIT = r"(?P<unit> pts|%|x)?"
_FORMS: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    ("number", re.compile(rf"(?:~|about )?(?P<a>{_NUMBER}){_UNIT}")),
    ("count", re.compile(r"(?P<a>\d+)/(?P<of>\d+)")),
    ("below", re.compile(rf"<\s?(?P<a>{_NUMBER})")),
    ("range", re.compile(rf"(?P<a>{_NUMBER})-(?P<b>{_NUMBER}){_UNIT}")),
    ("deviation", re.compile(rf"(?P<a>{_NUMBER}) \+- (?P<b>{_NUMBER})")),
)
_UNITS: dict[str | None, Unit] = {None: "", " pts": "points", "%": "percent", "x": "ratio"}


@dataclass(frozen=True)
class Printed:
    """What a printed string says.

    Attributes:
        text: the string.
        kind: a number; a count of a total (`4/6`); a bound from above (`<1e-4`); a range; a number
            with its deviation; a list of numbers or counts; words.
        values: its numbers: one for a number, a count or a bound; low and high of a range; number
            and deviation; all of a list (of a list of counts the counts); none for words.
        unit: of the numbers.
        of: the total of a count.
        digits: decimals of the first number.
        approximate: whether it is printed as `~138` or `about 5`.
    """

    text: str
    kind: Kind
    values: tuple[float, ...] = ()
    unit: Unit = ""
    of: int | None = None
    digits: int = 0
    approximate: bool = False

    @property
    def value(self) -> float:
        """The first number, nan for words."""
        return self.values[0] if self.values else math.nan

    @property
    def ends(self) -> tuple[float, float]:
        """The range, or the number twice."""
        return (self.values[0], self.values[1]) if self.kind == "range" else (self.value,) * 2

    @property
    def rounding(self) -> float:
        """Half a unit of the last printed decimal: how far the unrounded number may be."""
        return 0.5 * 10.0**-self.digits


@dataclass(frozen=True)
class PublishedRow:
    """One printed number of the paper and where it stands."""

    table: str
    setting: str
    arm: str
    metric: str
    printed: Printed
    note: str

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What the number is of, in the paper's words."""
        return (self.table, self.setting, self.arm, self.metric)


def parse(text: str) -> Printed:
    """What a printed string says.

    Raises:
        InputError: for a string of no known form that is not one of `WORDS`.
    """
    stripped = text.strip()
    if stripped in WORDS:
        return Printed(stripped, "words")
    for kind, form in _FORMS:
        found = form.fullmatch(stripped)
        if found is None:
            continue
        parts = found.groupdict()
        numbers = [parts[name] for name in ("a", "b") if parts.get(name) is not None]
        return Printed(
            stripped,
            kind,
            values=tuple(float(number) for number in numbers),
            unit=_UNITS[parts.get("unit")],
            of=int(parts["of"]) if parts.get("of") else None,
            digits=_digits(numbers[0]),
            approximate=stripped.startswith(("~", "about ")),
        )
    pieces = stripped.split(", ")
    if len(pieces) > 1:
        parsed = [parse(piece) for piece in pieces]
        if all(piece.kind in ("number", "count") for piece in parsed):
            values = tuple(piece.value for piece in parsed)
            return Printed(stripped, "list", values, digits=max(piece.digits for piece in parsed))
    raise InputError(
        f"published number {text!r}: neither a number of a known form nor one of the words "
        f"{', '.join(map(repr, WORDS))}"
    )


def read_published(path: Path | str) -> list[PublishedRow]:
    """The rows of a file of published numbers.

    Raises:
        InputError: naming the file, for missing columns, a string that cannot be read or a row
            that stands twice.
    """
    frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    missing = [column for column in COLUMNS if column not in frame.columns]
    if missing:
        raise InputError(f"{path}: published numbers lack the columns {', '.join(missing)}")
    rows = []
    for line, row in enumerate(frame.to_dict("records"), start=2):
        try:
            printed = parse(row["printed"])
        except InputError as error:
            raise InputError(f"{path}, line {line}: {error}") from None
        rows.append(
            PublishedRow(
                row["table"], row["setting"], row["arm"], row["metric"], printed, row["note"]
            )
        )
    _require_unique(rows, path)
    return rows


def _digits(number: str) -> int:
    mantissa, _, exponent = number.partition("e")
    return max(0, len(mantissa.partition(".")[2]) - int(exponent or 0))


def _require_unique(rows: Sequence[PublishedRow], path: Path | str) -> None:
    seen = set()
    for row in rows:
        if row.key in seen:
            raise InputError(f"{path}: {' / '.join(row.key)} stands twice")
        seen.add(row.key)
