"""The reproduction page's content: each published row beside ours, and counts by status."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import pandas as pd

from thinkprior.errors import InputError
from thinkprior.measurements import Measurement
from thinkprior.reproduction.claims import Claim
from thinkprior.reproduction.comparators import Comparator, Locator, NotComparable, Null
from thinkprior.reproduction.judging import Evidence, judge, show, show_spread
from thinkprior.reproduction.published import PublishedRow
from thinkprior.reproduction.rules import Rules, located, relation_of
from thinkprior.reproduction.statuses import Judgement, Status

Key = tuple[str, str, str, str]

HEADINGS: Mapping[str, str] = {
    "table1": "Table 1: main comparison",
    "table2": "Table 2: sixteen seeds",
    "table3a": "Table 3(a): backbones",
    "table3b": "Table 3(b): strength of the anchor",
    "table3c": "Table 3(c): collapse counts at 300 steps",
    "table3d": "Table 3(d): the larger pool",
    "table4": "Table 4: ThinkPrior + DAPO",
    "table5": "Table 5: rank correlation with the reference pass rate",
    "appendixB": "Appendix B: length signal and pool composition",
    "appendixD": "Appendix D: behaviour at 300 steps",
    "appendixE": "Appendix E: the larger pool, seed by seed",
    "text": "Figures of the text",
}
"""The parts of the page, in order."""


@dataclass(frozen=True)
class ComparedRow:
    """A published number, ours, and what can be said of the two.

    Attributes:
        published: The published row.
        ours: Our number; None where this scale has none.
        shown: Our number in the form of the published one.
        comparator: Kind of comparator, with what it compares against.
        why: Why that is what can be compared.
        judgement: Status and explanation.
        artifact: File that holds our number.
    """

    published: PublishedRow
    ours: Measurement | None
    shown: str
    comparator: str
    why: str
    judgement: Judgement
    artifact: str

    @property
    def spread(self) -> str:
        """Our range or interval with what is behind it, or nothing."""
        return "" if self.ours is None else show_spread(self.ours, self.published.printed)


class Ours:
    """Our numbers by name, with the file that each is from.

    Raises:
        InputError: where two files hold a number of the same name.
    """

    def __init__(self, found: Mapping[str, Sequence[Measurement]]) -> None:
        self._by_key: dict[Key, tuple[Measurement, str]] = {}
        for path, measurements in found.items():
            for measurement in measurements:
                if measurement.key in self._by_key:
                    raise InputError(
                        f"{' / '.join(measurement.key)} stands in both "
                        f"{self._by_key[measurement.key][1]} and {path}"
                    )
                self._by_key[measurement.key] = (measurement, path)

    def get(self, key: Key, settings: Iterable[str]) -> tuple[Measurement | None, str]:
        """The number in the first setting that has it, and its file."""
        table, _, arm, metric = key
        for setting in settings:
            if (table, setting, arm, metric) in self._by_key:
                measurement, path = self._by_key[table, setting, arm, metric]
                return self._with_ends(measurement), path
        return None, ""

    def _with_ends(self, measurement: Measurement) -> Measurement:
        """A range given as its width gets its ends from the `_min` and `_max` beside it."""
        if not measurement.metric.endswith("_range") or not math.isnan(measurement.low):
            return measurement
        name = measurement.metric.removesuffix("_range")
        ends = [
            self._by_key.get((measurement.table, measurement.setting, measurement.arm, other))
            for other in (f"{name}_min", f"{name}_max")
        ]
        if None in ends:
            return measurement
        low, high = (end[0].value for end in ends if end is not None)
        return replace(measurement, low=low, high=high)


def compare(
    published: Sequence[PublishedRow],
    rules: Rules,
    found: Mapping[str, Sequence[Measurement]],
    scale: str,
    absent_campaigns: Collection[str] = (),
) -> list[ComparedRow]:
    """Every published row, in order, beside ours.

    Args:
        published: The published rows.
        rules: The checked-in comparators.
        found: File to the numbers of ours in it.
        scale: Name of the scale of our numbers.
        absent_campaigns: Campaigns of the paper that this scale does not declare.

    Raises:
        InputError: for a row without a rule, a rule that names a published row that is not there,
            or a number of ours that stands twice.
    """
    ours = Ours(found)
    by_key = {row.key: row for row in published}
    return [_compared(row, rules, by_key, ours, scale, absent_campaigns) for row in published]


def grouped(rows: Sequence[ComparedRow]) -> list[tuple[str, list[ComparedRow]]]:
    """The rows by part of the page, in the order of `HEADINGS`; unknown tables come last."""
    names = dict.fromkeys([*HEADINGS, *(row.published.table for row in rows)])
    parts = [(name, [row for row in rows if row.published.table == name]) for name in names]
    return [(HEADINGS.get(name, name), part) for name, part in parts if part]


def status_counts(rows: Iterable[ComparedRow]) -> list[tuple[Status, int]]:
    """How many rows have each status, in the order of the statuses; those of none are left out."""
    counts = Counter(row.judgement.status for row in rows)
    return [(status, counts[status]) for status in Status if counts[status]]


def page_frame(rows: Sequence[ComparedRow], scale: str) -> pd.DataFrame:
    """The rows as a table, whose first column names the scale."""
    records = [
        {
            "scale": scale,
            "table": row.published.table,
            "setting": row.published.setting,
            "arm": row.published.arm,
            "metric": row.published.metric,
            "published": row.published.printed.text,
            "ours": row.shown,
            "value": math.nan if row.ours is None else row.ours.value,
            "low": math.nan if row.ours is None else row.ours.low,
            "high": math.nan if row.ours is None else row.ours.high,
            "spread": "" if row.ours is None else row.ours.spread,
            "n": 0 if row.ours is None else row.ours.n,
            "our_setting": "" if row.ours is None else row.ours.setting,
            "comparator": row.comparator,
            "status": row.judgement.status.value,
            "explanation": row.judgement.explanation,
            "why": row.why,
            "artifact": row.artifact,
            "our_note": "" if row.ours is None else row.ours.note,
            "note": row.published.note,
        }
        for row in rows
    ]
    return pd.DataFrame(records)


def claims_frame(claims: Sequence[Claim], scale: str) -> pd.DataFrame:
    """The claims as a table, whose first column names the scale."""
    return pd.DataFrame(
        [
            {
                "scale": scale,
                "claim": claim.text.id,
                "statement": claim.text.statement,
                "where": claim.text.where,
                "rule": claim.text.rule,
                "verdict": claim.decision.verdict.value,
                "finding": claim.decision.finding,
            }
            for claim in claims
        ]
    )


def _compared(
    row: PublishedRow,
    rules: Rules,
    by_key: Mapping[Key, PublishedRow],
    ours: Ours,
    scale: str,
    absent_campaigns: Collection[str],
) -> ComparedRow:
    rule = rules.rule_for(row)
    settings = rules.our_settings(row)
    measurement, path = ours.get(row.key, settings)
    evidence = _evidence(row, rule.comparator, measurement, rules, by_key, ours)
    try:
        judgement = judge(rule.comparator, evidence, scale, rules.designed_scales)
    except InputError as error:
        raise InputError(f"{' / '.join(row.key)}: {error}") from None
    absent = [setting for setting in settings if setting in absent_campaigns]
    if judgement.status is Status.NOT_RUN and measurement is None and absent:
        reason = f"Not run: this scale has no campaign {' or '.join(absent)}."
        judgement = Judgement(Status.NOT_RUN, reason)
    return ComparedRow(
        published=row,
        ours=measurement,
        shown=_shown(measurement, row, rule.comparator),
        comparator=_described(rule.comparator, row),
        why=rule.why,
        judgement=judgement,
        artifact=path,
    )


def _evidence(
    row: PublishedRow,
    comparator: Comparator,
    measurement: Measurement | None,
    rules: Rules,
    by_key: Mapping[Key, PublishedRow],
    ours: Ours,
) -> Evidence:
    def of_ours(locator: Locator) -> Measurement | None:
        key = located(locator, row)
        other = by_key.get(key)
        settings = rules.our_settings(other if other is not None else row)
        return ours.get(key, settings)[0]

    relation = relation_of(comparator)
    if relation is None:
        return Evidence(row.printed, measurement)
    reference = relation.reference
    if reference is not None and located(reference, row) not in by_key:
        raise InputError(f"the rule of {' / '.join(row.key)} names no published row")
    error = relation.error if isinstance(relation, Null) else None
    return Evidence(
        published=row.printed,
        ours=measurement,
        published_reference=None if reference is None else by_key[located(reference, row)].printed,
        our_reference=None if reference is None else of_ours(reference),
        reference_name="" if reference is None else _difference_of(located(reference, row), row),
        difference=None if relation.difference is None else of_ours(relation.difference),
        between=(
            None
            if relation.between is None
            else (of_ours(relation.between[0]), of_ours(relation.between[1]))
        ),
        error=None if error is None else of_ours(error),
    )


def _shown(measurement: Measurement | None, row: PublishedRow, comparator: Comparator) -> str:
    if measurement is None or math.isnan(measurement.value):
        return ""
    if comparator.kind == "significance":
        # With the paper's decimals .049 would read as the limit itself.
        return f"{measurement.value:.2g}"
    return show(measurement, row.printed)


def _difference_of(key: Key, row: PublishedRow) -> str:
    """What a name has other than the row's, in words: `online_np`."""
    differing = [other for other, mine in zip(key, row.key, strict=True) if other != mine]
    return " / ".join(differing) or "itself"


def _described(comparator: Comparator, row: PublishedRow) -> str:
    if isinstance(comparator, NotComparable):
        return f"not comparable: {comparator.reason}"
    if comparator.reference is None:
        return comparator.kind
    return f"{comparator.kind}: {_difference_of(located(comparator.reference, row), row)}"
