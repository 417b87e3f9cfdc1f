"""The reproduction page: published numbers beside ours, as rows of text for the page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from thinkprior.report.numbers import read_rows, short
from thinkprior.reproduction.claims import Verdict
from thinkprior.reproduction.page import HEADINGS
from thinkprior.reproduction.statuses import Status

COLUMNS = (
    *("table", "setting", "arm", "metric", "published", "note"),
    *("ours", "low", "high", "spread", "n", "our_note", "artifact"),
    *("comparator", "why", "status", "explanation"),
)

CLAIM_COLUMNS = ("statement", "where", "rule", "verdict", "finding")

VERDICTS: Mapping[Verdict, str] = {
    Verdict.HOLDS: "agrees",
    Verdict.FAILS: "differs",
    Verdict.UNDECIDED: "open",
    Verdict.NOT_RUN: "none",
}
"""Colour of a verdict."""

TONES: Mapping[str, tuple[Status, ...]] = {
    "agrees": (Status.SAME, Status.SAME_SEPARATED, Status.SAME_LEVEL),
    "open": (Status.SAME_UNSEPARATED, Status.NO_DIFFERENCE, Status.UNDECIDED),
    "differs": (
        Status.OTHER_UNSEPARATED,
        Status.OTHER_SEPARATED,
        Status.DIFFERENT,
        Status.DIFFERENT_LEVEL,
    ),
    "none": (Status.NOT_COMPARABLE, Status.NOT_RUN),
}
"""Colour of a status: for the eye only, its words stand beside it."""


@dataclass(frozen=True)
class Badge:
    """A status as shown: its name, its words, and the class of its colour."""

    name: str
    words: str
    tone: str


@dataclass(frozen=True)
class Row:
    """One published number beside ours, as text."""

    setting: str
    arm: str
    metric: str
    published: str
    note: str
    ours: str
    spread: str
    our_note: str
    artifact: str
    comparator: str
    why: str
    badge: Badge
    explanation: str


@dataclass(frozen=True)
class Comparison:
    """All rows.

    Attributes:
        tables: heading of the paper's table or appendix to its rows.
        counts: status to the number of its rows, in the order of the statuses.
    """

    tables: Mapping[str, Sequence[Row]]
    counts: Sequence[tuple[Badge, int]]

    @property
    def total(self) -> int:
        """How many rows there are."""
        return sum(count for _, count in self.counts)

    def table_counts(self, table: str) -> list[tuple[Badge, int]]:
        """The counts of one table."""
        return _counted([row.badge for row in self.tables[table]])


@dataclass(frozen=True)
class ClaimView:
    """A claim of the paper and what became of it, as text."""

    badge: Badge
    statement: str
    finding: str
    rule: str
    where: str


def read_claims(path: Path | str) -> list[ClaimView]:
    """The claims, from the CSV of the reproduction."""
    claims = []
    for row in read_rows(path, CLAIM_COLUMNS):
        verdict = row["verdict"]
        tone = next((tone for known, tone in VERDICTS.items() if known.value == verdict), "none")
        claims.append(
            ClaimView(
                Badge(verdict, verdict, tone),
                row["statement"],
                row["finding"],
                row["rule"],
                row["where"],
            )
        )
    return claims


def badge(status: str) -> Badge:
    """How a status is shown; one that is not known stands as it is."""
    if status not in {known.value for known in Status}:
        return Badge(status, status, "none")
    known = Status(status)
    tone = next(tone for tone, members in TONES.items() if known in members)
    return Badge(known.value, known.label, tone)


def read_comparison(path: Path | str) -> Comparison:
    """The published numbers and ours, from the CSV of the reproduction."""
    tables: dict[str, list[Row]] = {}
    for row in read_rows(path, COLUMNS):
        heading = HEADINGS.get(row["table"], row["table"])
        tables.setdefault(heading, []).append(_row(row))
    return Comparison(tables, _counted([row.badge for rows in tables.values() for row in rows]))


def _row(row: Mapping[str, str]) -> Row:
    spread = ""
    if row["low"] and row["high"]:
        over = f", n = {row['n']}" if row["spread"] == "seeds" else f" {row['spread']}"
        spread = f"[{short(row['low'])}, {short(row['high'])}]{over}".rstrip()
    taken = ("setting", "arm", "metric", "published", "note", "our_note", "artifact")
    return Row(
        **{name: row[name] for name in (*taken, "comparator", "why", "explanation")},
        ours=short(row["ours"]),
        spread=spread,
        badge=badge(row["status"]),
    )


def _counted(badges: Sequence[Badge]) -> list[tuple[Badge, int]]:
    order = [status.value for status in Status]
    counts = Counter(badges)
    return sorted(
        counts.items(),
        key=lambda pair: order.index(pair[0].name) if pair[0].name in order else len(order),
    )
