"""Judges a published number beside ours: a pure function of a comparator and the numbers.

Separated means that an interval excludes zero or that the ranges of the seeds do not meet; a single
seed is never separated from anything.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from thinkprior.errors import InputError
from thinkprior.measurements import Measurement
from thinkprior.rendering.rounding import printed as rounded
from thinkprior.reproduction.comparators import (
    REASONS,
    Comparator,
    Described,
    NotComparable,
    Null,
    Order,
    RelationBase,
    Sign,
)
from thinkprior.reproduction.published import UNIT_SIGNS, Printed
from thinkprior.reproduction.statuses import Judgement, Status
from thinkprior.statistics import fisher_two_sided

PAPER_SCALE = "paper"
SIGNIFICANCE = 0.05
LEAST_SEEDS = 2
ERRORS = 2
"""Standard errors within which a number without an interval counts as noise."""


@dataclass(frozen=True)
class Evidence:
    """The numbers that a comparator looks at; None where there is none.

    Attributes:
        published: The published number.
        ours: Ours.
        published_reference: What the paper's is held against.
        our_reference: What ours is held against.
        reference_name: That of the reference, for the explanation.
        difference: Our difference whose interval decides the separation.
        between: Our two numbers whose seed ranges decide it.
        error: Our standard error of the number.
    """

    published: Printed
    ours: Measurement | None
    published_reference: Printed | None = None
    our_reference: Measurement | None = None
    reference_name: str = "the reference"
    difference: Measurement | None = None
    between: tuple[Measurement | None, Measurement | None] | None = None
    error: Measurement | None = None


def judge(
    comparator: Comparator, evidence: Evidence, scale: str, designed_scales: Sequence[str] = ()
) -> Judgement:
    """Status of a published number beside ours.

    Args:
        comparator: What counts as the same.
        evidence: The numbers.
        scale: Name of the scale of our numbers.
        designed_scales: Scales whose world was chosen towards some of the paper's numbers.

    Raises:
        InputError: where the published numbers do not fit the comparator.
    """
    if isinstance(comparator, NotComparable):
        if comparator.reason != "set_by_design" or scale in designed_scales:
            return Judgement(
                Status.NOT_COMPARABLE, f"Not comparable: {REASONS[comparator.reason]}."
            )
        if comparator.otherwise is None:
            raise InputError("what a world was designed for needs a relation for other scales")
        comparator = comparator.otherwise
    missing = _missing(comparator, evidence)
    if missing:
        return Judgement(Status.NOT_RUN, missing)
    judgement = _RELATIONS[comparator.kind](comparator, evidence)
    if scale == PAPER_SCALE and comparator.level and comparator.kind in _WITH_LEVEL:
        return _level(evidence, judgement)
    return judgement


def show(measurement: Measurement, printed: Printed) -> str:
    """Our number in the form of the published one, without its range."""
    sign = UNIT_SIGNS[printed.unit]
    if printed.kind == "range" and not math.isnan(measurement.low):
        low, high = (_decimal(end, printed) for end in (measurement.low, measurement.high))
        return f"{low} to {high}{sign}"
    if printed.kind == "list" and measurement.values:
        return ", ".join(_decimal(value, printed) for value in measurement.values)
    if math.isnan(measurement.value):
        return ""
    if measurement.of is not None and printed.kind in ("count", "words"):
        return f"{measurement.value:.4g}/{measurement.of}"
    if printed.text.startswith(("+", "-")) and printed.unit in ("points", "percent"):
        return _decimal(measurement.value, printed, signed=True) + sign
    return _decimal(measurement.value, printed) + sign


def show_spread(measurement: Measurement, printed: Printed) -> str:
    """Our range or interval with the seeds behind it, in the form of the published number."""
    if not measurement.spread or math.isnan(measurement.low):
        return ""
    low, high = (_decimal(end, printed) for end in (measurement.low, measurement.high))
    kind = "interval " if measurement.spread == "interval" else ""
    behind = f", n = {measurement.n}" if measurement.n else ""
    return f"{kind}{low} to {high}{behind}"


def side(value: float, of: float = 0.0) -> int:
    """-1, 0 or 1: where a number lies; what differs by rounding of a sum is equal."""
    if math.isclose(value, of, rel_tol=1e-9, abs_tol=1e-12):
        return 0
    return 1 if value > of else -1


def ranges_separated(first: Measurement, second: Measurement) -> bool | None:
    """Whether two ranges do not meet; None where either has no range or a single seed."""
    for measurement in (first, second):
        if not measurement.spread or math.isnan(measurement.low):
            return None
        if measurement.spread == "seeds" and measurement.n < LEAST_SEEDS:
            return None
    return first.high < second.low or second.high < first.low


def interval_separated(measurement: Measurement, value: float = 0.0) -> bool | None:
    """Whether an interval excludes a value; None where there is no interval."""
    if measurement.spread != "interval" or math.isnan(measurement.low):
        return None
    return measurement.low > value or measurement.high < value


def _missing(comparator: RelationBase, evidence: Evidence) -> str:
    """Why there is nothing to compare, or nothing."""
    ours, reference = evidence.ours, evidence.our_reference
    if ours is None:
        return "Not run: this scale has no such number."
    if math.isnan(ours.value):
        return f"No number at this scale: {_absence(ours)}."
    if comparator.reference is not None:
        if reference is None:
            return f"Not run: this scale has no number for {evidence.reference_name}."
        if math.isnan(reference.value):
            return f"No number for {evidence.reference_name} at this scale: {_absence(reference)}."
    return ""


def _absence(measurement: Measurement) -> str:
    note = measurement.note.strip().rstrip(".")
    if not note:
        return "the runs are too few or too short for it"
    return f"the runs are too few or too short, or there is nothing to count ({note})"


def _exact(_: RelationBase, evidence: Evidence) -> Judgement:
    ours, published = _ours(evidence), evidence.published
    equal = side(ours.value, published.value) == 0
    if published.of is not None:
        equal = equal and ours.of == published.of
    if ours.spread == "seeds" and ours.low != ours.high:
        # A mean may round to the count while a run misses it.
        equal = False
    return Judgement(
        Status.SAME if equal else Status.DIFFERENT,
        f"A count that the design fixes: {published.text} in the paper, "
        f"{_described(evidence, counted=True)} here.",
    )


def _order(comparator: RelationBase, evidence: Evidence) -> Judgement:
    published, reference = evidence.published, _published_reference(evidence)
    ours, other = _ours(evidence), _our_reference(evidence)
    paper_side = side(published.value, reference.value)
    if not paper_side:
        raise InputError(
            f"the paper has no order of {published.text} and {reference.text}: use another "
            "comparator"
        )
    here = side(ours.value, other.value)
    separated = _separated(comparator, evidence, default=(ours, other))
    paper = comparator.paper if isinstance(comparator, Order) else "not said"
    said = "" if paper == "not said" else f" ({paper} there)"
    words = {1: "higher", -1: "lower", 0: "equal"}
    return Judgement(
        _direction(paper_side * here, bool(separated)),
        f"{published.text} in the paper is {words[paper_side]} than {reference.text} of "
        f"{evidence.reference_name}{said}; here {_described(evidence)} against "
        f"{_range(other, reference)}: {words[here]}{_how(separated) if here else ''}.",
    )


def _null(comparator: RelationBase, evidence: Evidence) -> Judgement:
    ours = _ours(evidence)
    value = comparator.value if isinstance(comparator, Null) else 0.0
    if evidence.our_reference is not None:
        separated = _separated(comparator, evidence, default=(ours, evidence.our_reference))
        against = f" against {_range(evidence.our_reference, evidence.published)}"
        against += f" of {evidence.reference_name}"
    else:
        separated = _separated(comparator, evidence, default=None, value=value)
        against = ""
        if separated is None and evidence.error is not None and evidence.error.value > 0:
            errors = (ours.value - value) / evidence.error.value
            separated = abs(errors) > ERRORS
            against = f", {errors:+.1f} standard errors"
    here = f"here {_described(evidence)}{against}"
    if separated is None:
        return Judgement(
            Status.UNDECIDED,
            f"The paper finds no separation; {here}, without the interval or the two seeds an arm "
            "that could show one.",
        )
    return Judgement(
        Status.DIFFERENT if separated else Status.SAME,
        f"The paper finds no separation; {here}: {'separated' if separated else 'none either'}.",
    )


def _sign(comparator: RelationBase, evidence: Evidence) -> Judgement:
    published, ours = evidence.published, _ours(evidence)
    value = comparator.value if isinstance(comparator, Sign) else 0.0
    paper_side, here = side(published.value, value), side(ours.value, value)
    if not paper_side:
        raise InputError(f"{published.text} lies on no side of {value:g}: use another comparator")
    words = {1: f"above {value:g}", -1: f"below {value:g}", 0: f"{value:g}"}
    start = f"{published.text} in the paper is {words[paper_side]}; here {_described(evidence)}"
    if isinstance(comparator, Sign) and comparator.end:
        return Judgement(Status.SAME if here == paper_side else Status.DIFFERENT, f"{start}.")
    separated = _separated(comparator, evidence, default=None, value=value)
    return Judgement(
        _direction(paper_side * here, bool(separated)),
        f"{start}, {words[here]}{_how(separated) if here else ''}.",
    )


def _significance(_: RelationBase, evidence: Evidence) -> Judgement:
    p = _ours(evidence).value
    # A printed bound (<1e-4) says that p is below it.
    paper, here = evidence.published.value < SIGNIFICANCE, p < SIGNIFICANCE
    return Judgement(
        Status.SAME if paper == here else Status.DIFFERENT,
        f"p {evidence.published.text} in the paper, {p:.2g} here: "
        f"{'below' if paper else 'not below'} .05 there, {'below' if here else 'not below'} here.",
    )


def _majority(_: RelationBase, evidence: Evidence) -> Judgement:
    ours, published = _ours(evidence), evidence.published
    if evidence.published_reference is not None:
        published_of: float | None = evidence.published_reference.value
        our_of: float | None = _our_reference(evidence).value
        name = f" of {evidence.reference_name}"
    else:
        published_of, our_of, name = published.of, ours.of, ""
    if not published_of or our_of is None:
        raise InputError(f"the total of which {published.text} is a share is not known")
    if not our_of:
        return Judgement(Status.UNDECIDED, f"There are 0{name} here, of which nothing is a share.")
    paper, here = side(published.value / published_of, 0.5), side(ours.value / our_of, 0.5)
    words = {1: "more than half", -1: "less than half", 0: "exactly half"}
    return Judgement(
        Status.SAME if paper == here else Status.DIFFERENT,
        f"{published.value:g} of {published_of:g}{name} in the paper, {words[paper]}; "
        f"{ours.value:g} of {our_of:g} here, {words[here]}.",
    )


def _events(_: RelationBase, evidence: Evidence) -> Judgement:
    published, reference = evidence.published, _published_reference(evidence)
    ours, other = _ours(evidence), _our_reference(evidence)
    if not (published.of and reference.of and ours.of and other.of):
        raise InputError(f"{published.text}: events need the runs that they are counted in")
    paper_side = side(published.value / published.of, reference.value / reference.of)
    here = side(ours.value / ours.of, other.value / other.of)
    p = fisher_two_sided(int(ours.value), ours.of, int(other.value), other.of)
    words = {1: "more", -1: "fewer", 0: "as many"}
    sentence = (
        f"{published.text} in the paper, {words[paper_side]} than {reference.text} of "
        f"{evidence.reference_name}; here {ours.value:g}/{ours.of} against "
        f"{other.value:g}/{other.of}, {words[here]} (Fisher p {p:.2g})."
    )
    if not paper_side:
        return Judgement(Status.DIFFERENT if here else Status.SAME, sentence)
    return Judgement(_direction(paper_side * here, p < SIGNIFICANCE), sentence)


def _ranges(_: RelationBase, evidence: Evidence) -> Judgement:
    ours, other = _ours(evidence), _our_reference(evidence)
    paper = _relation_of(evidence.published.ends, _published_reference(evidence).ends)
    here = _relation_of(_ends(ours), _ends(other))
    words = {1: "wholly above", -1: "wholly below", 0: "meeting"}
    return Judgement(
        Status.SAME if paper == here else Status.DIFFERENT,
        f"{evidence.published.text} in the paper, {words[paper]} "
        f"{_published_reference(evidence).text} of {evidence.reference_name}; here "
        f"{_ends_shown(ours, evidence.published)}, {words[here]} "
        f"{_ends_shown(other, _published_reference(evidence))}.",
    )


def _constant(_: RelationBase, evidence: Evidence) -> Judgement:
    ours = _ours(evidence)
    low, high = _ends(ours)
    constant = side(low, high) == 0
    if ours.n < LEAST_SEEDS:
        return Judgement(Status.UNDECIDED, "One run shares its value with no other.")
    shown = _decimal(low, evidence.published)
    between = "" if constant else f" to {_decimal(high, evidence.published)}"
    return Judgement(
        Status.SAME if constant else Status.DIFFERENT,
        f"All runs of the paper share {evidence.published.text}; the {ours.n} here have "
        f"{shown}{between}.",
    )


def _described_count(comparator: RelationBase, evidence: Evidence) -> Judgement:
    if not isinstance(comparator, Described):
        raise TypeError(comparator)
    ours = _ours(evidence)
    of = "" if ours.of is None else f" of {ours.of}"
    same = side(ours.value, comparator.means) == 0
    return Judgement(
        Status.SAME if same else Status.DIFFERENT,
        f"“{evidence.published.text}” in the paper means {comparator.means}{of}; "
        f"{ours.value:g}{of} here.",
    )


_RELATIONS = {
    "exact": _exact,
    "order": _order,
    "null": _null,
    "sign": _sign,
    "significance": _significance,
    "majority": _majority,
    "events": _events,
    "ranges": _ranges,
    "constant": _constant,
    "described": _described_count,
}

_WITH_LEVEL = ("order", "null", "sign", "majority", "constant")


def _level(evidence: Evidence, relation: Judgement) -> Judgement:
    """At the paper's own scale: whether the printed level lies inside our range."""
    published, ours = evidence.published, _ours(evidence)
    if published.kind not in ("number", "count", "deviation"):
        return relation
    low, high = _ends(ours)
    half = published.rounding * (1 + 1e-9)
    same = low - half <= published.value <= high + half
    return Judgement(
        Status.SAME_LEVEL if same else Status.DIFFERENT_LEVEL,
        f"{published.text} in the paper, {_described(evidence)} here. "
        f"As a relation: {relation.status.label}. {relation.explanation}",
    )


def _direction(agreement: int, separated: bool) -> Status:
    if not agreement:
        return Status.NO_DIFFERENCE
    if agreement > 0:
        return Status.SAME_SEPARATED if separated else Status.SAME_UNSEPARATED
    return Status.OTHER_SEPARATED if separated else Status.OTHER_UNSEPARATED


def _separated(
    comparator: RelationBase,
    evidence: Evidence,
    default: tuple[Measurement, Measurement] | None,
    value: float = 0.0,
) -> bool | None:
    """By the interval that decides it, else by the seed ranges; None where neither is there."""
    if comparator.difference is not None and evidence.difference is not None:
        decided = interval_separated(evidence.difference)
        if decided is not None:
            return decided
    if comparator.between is not None and evidence.between is not None:
        first, second = evidence.between
        return None if first is None or second is None else ranges_separated(first, second)
    if default is not None:
        return ranges_separated(*default)
    return interval_separated(_ours(evidence), value)


def _how(separated: bool | None) -> str:
    if separated is None:
        return ", with nothing that could show a separation"
    return ", separated" if separated else ", not separated"


def _relation_of(first: tuple[float, float], second: tuple[float, float]) -> int:
    if first[0] > second[1]:
        return 1
    return -1 if first[1] < second[0] else 0


def _ends(measurement: Measurement) -> tuple[float, float]:
    if math.isnan(measurement.low):
        return measurement.value, measurement.value
    return measurement.low, measurement.high


def _ends_shown(measurement: Measurement, printed: Printed) -> str:
    low, high = (_decimal(end, printed) for end in _ends(measurement))
    sign = UNIT_SIGNS[printed.unit]
    return f"{low}{sign}" if low == high else f"{low} to {high}{sign}"


def _range(measurement: Measurement, printed: Printed) -> str:
    """A number of ours with its range and what that is of."""
    shown = show(measurement, printed) or "no number"
    spread = show_spread(measurement, printed)
    return shown if not spread or printed.kind == "range" else f"{shown} ({spread})"


def _described(evidence: Evidence, counted: bool = False) -> str:
    ours = _ours(evidence)
    if counted and ours.of is None and evidence.published.of is None:
        low, high = _ends(ours)
        ends = "" if low == high else f" ({low:g} to {high:g})"
        return f"{ours.value:g}{ends}"
    return _range(ours, evidence.published)


def _decimal(value: float, printed: Printed, *, signed: bool = False) -> str:
    """With the decimals of the published number; two digits of what they would round to zero."""
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    digits = 4 if printed.kind == "words" else printed.digits
    text = rounded(value, digits, signed=signed)
    if value and not float(text):
        return f"{value:+.2g}" if signed else f"{value:.2g}"
    return text


def _ours(evidence: Evidence) -> Measurement:
    if evidence.ours is None:
        raise InputError("there is no number of ours to compare")
    return evidence.ours


def _our_reference(evidence: Evidence) -> Measurement:
    if evidence.our_reference is None:
        raise InputError(f"there is no number of ours for {evidence.reference_name}")
    return evidence.our_reference


def _published_reference(evidence: Evidence) -> Printed:
    if evidence.published_reference is None:
        raise InputError(f"there is no published number of {evidence.reference_name}")
    return evidence.published_reference
