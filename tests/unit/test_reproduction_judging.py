"""Each comparator on cases made by hand."""

import math
from typing import Any

import pytest
from pydantic import TypeAdapter

from thinkprior.errors import InputError
from thinkprior.measurements import Measurement, over_seeds
from thinkprior.reproduction.comparators import Comparator
from thinkprior.reproduction.judging import Evidence, judge, show, show_spread
from thinkprior.reproduction.published import parse
from thinkprior.reproduction.statuses import LABELS, Judgement, Status

ADAPTER: TypeAdapter[Any] = TypeAdapter(Comparator)
OTHER = {"arm": "other"}


def seeds(*values: float) -> Measurement:
    return over_seeds("t", "s", "a", "m", values)


def one(value: float, **fields: Any) -> Measurement:
    return Measurement("t", "s", "a", "m", value, **fields)


def interval(value: float, low: float, high: float) -> Measurement:
    return one(value, spread="interval", low=low, high=high, n=16)


def status(
    comparator: dict[str, Any],
    published: str,
    ours: Measurement | None,
    reference: tuple[str, Measurement | None] | None = None,
    scale: str = "miniature",
    **evidence: Any,
) -> Status:
    return judgement(comparator, published, ours, reference, scale, **evidence).status


def judgement(
    comparator: dict[str, Any],
    published: str,
    ours: Measurement | None,
    reference: tuple[str, Measurement | None] | None = None,
    scale: str = "miniature",
    **evidence: Any,
) -> Judgement:
    return judge(
        ADAPTER.validate_python(comparator),
        Evidence(
            parse(published),
            ours,
            parse(reference[0]) if reference else None,
            reference[1] if reference else None,
            "other",
            **evidence,
        ),
        scale,
        ["miniature"],
    )


ORDER = {"kind": "order", "reference": OTHER}
NULL = {"kind": "null", "reference": OTHER}


@pytest.mark.parametrize(
    ("ours", "other", "expected"),
    [
        (seeds(0.1, 0.2), seeds(0.3, 0.4), Status.SAME_SEPARATED),
        (seeds(0.1, 0.3), seeds(0.2, 0.5), Status.SAME_UNSEPARATED),
        (seeds(0.1, 0.3), seeds(0.3, 0.4), Status.SAME_UNSEPARATED),  # ranges that touch
        (seeds(0.2, 0.3), seeds(0.2, 0.3), Status.NO_DIFFERENCE),
        (seeds(0.2, 0.5), seeds(0.1, 0.3), Status.OTHER_UNSEPARATED),
        (seeds(0.4, 0.5), seeds(0.1, 0.3), Status.OTHER_SEPARATED),
        (seeds(0.1), seeds(0.3), Status.SAME_UNSEPARATED),  # one seed is never separated
        (seeds(0.1), seeds(0.3, 0.4), Status.SAME_UNSEPARATED),
        (one(0.1), one(0.3), Status.SAME_UNSEPARATED),
    ],
)
def test_order(ours: Any, other: Any, expected: Any) -> None:
    assert status(ORDER, "0.138", ours, ("0.204", other)) is expected


def test_an_order_is_read_from_the_papers_own_two_numbers() -> None:
    ours, other = seeds(0.4, 0.5), seeds(0.1, 0.3)
    assert status(ORDER, "0.379", ours, ("0.204", other)) is Status.SAME_SEPARATED


def test_equal_sums_in_another_order_are_no_difference() -> None:
    assert status(ORDER, "1", one(0.1 + 0.2), ("2", one(0.3))) is Status.NO_DIFFERENCE


@pytest.mark.parametrize(
    ("difference", "expected"),
    [
        (interval(-1, -2, -0.5), Status.SAME_SEPARATED),
        (interval(-1, -2, 0.5), Status.SAME_UNSEPARATED),
        (one(math.nan), Status.SAME_UNSEPARATED),  # no interval: the seed ranges decide
    ],
)
def test_the_interval_of_a_difference_decides_the_separation(
    difference: Any, expected: Any
) -> None:
    comparator = {**ORDER, "difference": {"metric": "d"}}
    ours, other = seeds(1, 3), seeds(2, 5)
    assert status(comparator, "1", ours, ("2", other), difference=difference) is expected


def test_an_order_that_the_paper_does_not_have_is_a_fault_of_the_rule() -> None:
    with pytest.raises(InputError, match=r"no order of 0\.605"):
        status(ORDER, "0.605", one(1), ("0.605", one(2)))


def test_an_order_says_what_it_rests_on() -> None:
    found = judgement(
        {**ORDER, "paper": "not separated"}, "5085", seeds(10, 20), ("6099", seeds(30, 50))
    )
    assert found.explanation == (
        "5085 in the paper is lower than 6099 of other (not separated there); here "
        "15 (10 to 20, n = 2) against 40 (30 to 50, n = 2): lower, separated."
    )


@pytest.mark.parametrize(
    ("ours", "other", "expected"),
    [
        (seeds(0.1, 0.3), seeds(0.2, 0.5), Status.SAME),
        (seeds(0.1, 0.2), seeds(0.3, 0.5), Status.DIFFERENT),
        (seeds(0.3, 0.5), seeds(0.1, 0.2), Status.DIFFERENT),
        (seeds(0.1), seeds(0.2), Status.UNDECIDED),  # agreement by one seed would be cheap
        (one(0.1), one(0.2), Status.UNDECIDED),
    ],
)
def test_null_against_a_reference(ours: Any, other: Any, expected: Any) -> None:
    assert status(NULL, "0.561", ours, ("0.528", other)) is expected


@pytest.mark.parametrize(
    ("ours", "value", "expected"),
    [
        (interval(0.5, -2, 3), 0, Status.SAME),
        (interval(0.5, 0.1, 3), 0, Status.DIFFERENT),
        (interval(0.55, 0.4, 0.7), 0.5, Status.SAME),
        (interval(0.75, 0.6, 0.9), 0.5, Status.DIFFERENT),
        (one(0.5), 0, Status.UNDECIDED),
    ],
)
def test_null_of_a_number(ours: Any, value: Any, expected: Any) -> None:
    assert status({"kind": "null", "value": value}, "at chance", ours) is expected


@pytest.mark.parametrize(
    ("error", "expected"),
    [(0.01, Status.SAME), (0.006, Status.DIFFERENT), (0.0, Status.UNDECIDED)],
)
def test_null_by_a_standard_error(error: Any, expected: Any) -> None:
    comparator = {"kind": "null", "error": {"metric": "e"}}
    assert status(comparator, "-0.014", one(-0.014), error=one(error)) is expected


def test_null_of_a_change_by_the_ranges_of_its_arms() -> None:
    comparator = {"kind": "null", "between": [OTHER, OTHER]}
    apart, meeting = (seeds(1, 2), seeds(3, 4)), (seeds(1, 3), seeds(2, 4))
    assert status(comparator, "0.0 pts", one(1), between=apart) is Status.DIFFERENT
    assert status(comparator, "0.0 pts", one(1), between=meeting) is Status.SAME
    assert status(comparator, "0.0 pts", one(1), between=(seeds(1), None)) is Status.UNDECIDED


@pytest.mark.parametrize(
    ("ours", "expected"),
    [
        (interval(-13, -16, -10), Status.SAME_SEPARATED),
        (interval(-13, -30, 4), Status.SAME_UNSEPARATED),
        (interval(0, -1, 1), Status.NO_DIFFERENCE),
        (interval(3, -1, 7), Status.OTHER_UNSEPARATED),
        (interval(3, 1, 5), Status.OTHER_SEPARATED),
        (one(-13), Status.SAME_UNSEPARATED),
    ],
)
def test_sign(ours: Any, expected: Any) -> None:
    assert status({"kind": "sign"}, "-13.1 pts", ours) is expected


def test_sign_of_a_ratio_is_read_from_one() -> None:
    comparator = {"kind": "sign", "value": 1, "between": [OTHER, OTHER]}
    apart = (seeds(8, 9), seeds(1, 2))
    assert status(comparator, "5.6x", one(3.0), between=apart) is Status.SAME_SEPARATED
    assert status(comparator, "5.6x", one(0.8), between=apart) is Status.OTHER_SEPARATED


def test_an_end_of_an_interval_has_a_side_only() -> None:
    end = {"kind": "sign", "end": True}
    assert status(end, "-9.9", one(-0.2)) is Status.SAME
    assert status(end, "-9.9", one(0.2)) is Status.DIFFERENT


@pytest.mark.parametrize(
    ("published", "ours", "expected"),
    [
        ("<1e-4", 0.04, Status.SAME),
        ("<1e-4", 0.06, Status.DIFFERENT),
        ("0.63", 0.05, Status.SAME),
        ("0.63", 0.049, Status.DIFFERENT),
    ],
)
def test_significance(published: Any, ours: Any, expected: Any) -> None:
    assert status({"kind": "significance"}, published, one(ours)) is expected


@pytest.mark.parametrize(
    ("published", "ours", "expected"),
    [
        ("13/16", one(9, of=16), Status.SAME),
        ("13/16", one(8, of=16), Status.DIFFERENT),
        ("3/6", one(2, of=4), Status.SAME),  # half is a side of its own
        ("3/6", one(4, of=6), Status.DIFFERENT),
        ("21/76", one(10, of=106), Status.SAME),
    ],
)
def test_majority(published: Any, ours: Any, expected: Any) -> None:
    assert status({"kind": "majority"}, published, ours) is expected


def test_majority_of_another_number() -> None:
    comparator = {"kind": "majority", "reference": OTHER}
    assert status(comparator, "155", one(30), ("250", one(40))) is Status.SAME
    assert status(comparator, "155", one(10), ("250", one(40))) is Status.DIFFERENT
    assert status(comparator, "13", one(0), ("19", one(0))) is Status.UNDECIDED


@pytest.mark.parametrize(
    ("published", "ours", "expected"),
    [
        # Fisher two-sided: 6/6 v 0/6 p = 2/924 = .0022; 4/6 v 0/6 p = .061.
        (("4/6", "0/6"), (6, 0), Status.SAME_SEPARATED),
        (("4/6", "0/6"), (4, 0), Status.SAME_UNSEPARATED),
        (("4/6", "0/6"), (1, 1), Status.NO_DIFFERENCE),
        (("4/6", "0/6"), (0, 4), Status.OTHER_UNSEPARATED),
        (("4/6", "0/6"), (0, 6), Status.OTHER_SEPARATED),
        (("2/6", "2/6"), (1, 1), Status.SAME),
        (("2/6", "2/6"), (1, 2), Status.DIFFERENT),
    ],
)
def test_events(published: Any, ours: Any, expected: Any) -> None:
    mine, other = (one(count, of=6) for count in ours)
    comparator = {"kind": "events", "reference": OTHER}
    assert status(comparator, published[0], mine, (published[1], other)) is expected


@pytest.mark.parametrize(
    ("ours", "other", "expected"),
    [
        (seeds(0.1, 0.2), seeds(0.3, 0.4), Status.SAME),
        (seeds(0.1, 0.3), seeds(0.2, 0.4), Status.DIFFERENT),
        (seeds(0.5, 0.6), seeds(0.3, 0.4), Status.DIFFERENT),
    ],
)
def test_ranges_disjoint_in_the_paper(ours: Any, other: Any, expected: Any) -> None:
    comparator = {"kind": "ranges", "reference": OTHER}
    assert status(comparator, "0.125-0.167", ours, ("0.204-0.425", other)) is expected


def test_ranges_that_meet_in_the_paper() -> None:
    comparator = {"kind": "ranges", "reference": OTHER}
    printed = "0.533-0.605", "0.525-0.605"
    meeting = seeds(0.1, 0.3), seeds(0.3, 0.4)
    apart = seeds(0.1, 0.2), seeds(0.3, 0.4)
    assert status(comparator, printed[0], meeting[0], (printed[1], meeting[1])) is Status.SAME
    assert status(comparator, printed[0], apart[0], (printed[1], apart[1])) is Status.DIFFERENT


def test_a_range_may_be_held_against_a_number() -> None:
    comparator = {"kind": "ranges", "reference": OTHER}
    ours, other = one(1, low=30, high=40), seeds(20, 22)
    assert status(comparator, "37.5-40.8%", ours, ("23.8%", other)) is Status.SAME


@pytest.mark.parametrize(
    ("ours", "expected"),
    [
        (seeds(64, 64, 64), Status.SAME),
        (seeds(63, 65), Status.DIFFERENT),  # the mean is right, the runs are not
        (seeds(62, 63), Status.DIFFERENT),
        (one(64.0), Status.SAME),
    ],
)
def test_exact(ours: Any, expected: Any) -> None:
    assert status({"kind": "exact"}, "64", ours) is expected


def test_exact_of_a_total() -> None:
    assert status({"kind": "exact"}, "1200/1200", one(1200, of=1200)) is Status.SAME
    assert status({"kind": "exact"}, "1200/1200", one(1199, of=1200)) is Status.DIFFERENT
    assert status({"kind": "exact"}, "1200/1200", one(1200, of=1250)) is Status.DIFFERENT
    # A total beside a number that the paper prints alone says nothing against it.
    assert status({"kind": "exact"}, "250", one(250, of=250)) is Status.SAME


def test_constant() -> None:
    assert status({"kind": "constant"}, "0.126", seeds(0.09, 0.09, 0.09)) is Status.SAME
    assert status({"kind": "constant"}, "0.126", seeds(0.09, 0.10)) is Status.DIFFERENT
    assert status({"kind": "constant"}, "0.126", seeds(0.09)) is Status.UNDECIDED


def test_words_mean_a_count() -> None:
    comparator = {"kind": "described", "means": 2}
    assert status(comparator, "just clear of zero", one(2, of=2)) is Status.SAME
    assert status(comparator, "just clear of zero", one(1, of=2)) is Status.DIFFERENT


DESIGNED = {
    "kind": "not_comparable",
    "reason": "set_by_design",
    "otherwise": {"kind": "majority", "reference": OTHER},
}


def test_what_a_world_was_designed_for_is_compared_elsewhere() -> None:
    evidence = "76", one(10), ("250", one(40))
    assert status(DESIGNED, *evidence) is Status.NOT_COMPARABLE
    assert status(DESIGNED, *evidence, scale="bench") is Status.SAME
    assert status(DESIGNED, *evidence, scale="paper") is Status.DIFFERENT_LEVEL


def test_not_comparable_says_its_reason() -> None:
    found = judgement({"kind": "not_comparable", "reason": "one_seed"}, "0.287", None)
    assert found.status is Status.NOT_COMPARABLE
    assert "other random streams" in found.explanation


@pytest.mark.parametrize(
    ("ours", "reference"),
    [
        (None, one(1)),
        (one(math.nan), one(1)),
        (one(1), None),
        (one(1), one(math.nan)),
    ],
)
def test_absent_numbers_are_not_run(ours: Any, reference: Any) -> None:
    assert status(ORDER, "1", ours, ("2", reference)) is Status.NOT_RUN


def test_an_absent_number_gives_its_own_reason() -> None:
    found = judgement({"kind": "exact"}, "1", one(math.nan, note="no low seed"))
    assert found.explanation == (
        "No number at this scale: the runs are too few or too short, or there is nothing to count "
        "(no low seed)."
    )
    bare = judgement({"kind": "exact"}, "1", one(math.nan))
    assert bare.explanation.endswith("the runs are too few or too short for it.")


@pytest.mark.parametrize(
    ("ours", "expected"),
    [
        (seeds(0.10, 0.15), Status.SAME_LEVEL),
        (seeds(0.1385, 0.15), Status.SAME_LEVEL),  # prints as .138 or .139: within the rounding
        (seeds(0.139, 0.15), Status.DIFFERENT_LEVEL),
        (one(0.1376), Status.SAME_LEVEL),
        (one(0.1369), Status.DIFFERENT_LEVEL),
    ],
)
def test_levels_at_the_papers_scale(ours: Any, expected: Any) -> None:
    found = judgement(ORDER, "0.138", ours, ("0.204", seeds(0.3, 0.4)), scale="paper")
    assert found.status is expected
    assert "As a relation: same direction" in found.explanation


def test_times_have_no_level_at_any_scale() -> None:
    comparator = {**ORDER, "level": False}
    found = status(comparator, "1.87", seeds(0.1, 0.2), ("1.68", seeds(0.3, 0.4)), scale="paper")
    assert found is Status.OTHER_SEPARATED


def test_a_p_value_is_no_level() -> None:
    assert status({"kind": "significance"}, "0.63", one(0.2), scale="paper") is Status.SAME


@pytest.mark.parametrize(
    ("published", "ours", "shown"),
    [
        ("0.138", seeds(0.1375), "0.138"),
        ("-13.1 pts", one(-13.28), "-13.3 pts"),
        ("+0.68 pts", one(1.1), "+1.10 pts"),
        ("55%", one(62.5), "63%"),
        ("5.6x", one(10.29), "10.3x"),
        ("4/6", one(3, of=6), "3/6"),
        ("0.125-0.167", one(0.1, low=0.054, high=0.104), "0.054 to 0.104"),
        ("0.098, 0.290", one(0.2, values=(0.1, 0.3)), "0.100, 0.300"),
        ("<1e-4", one(2.5e-6), "2.5e-06"),
        ("64", one(math.nan), ""),
        ("-2.95", one(-math.inf), "-∞"),
    ],
)
def test_our_number_takes_the_form_of_the_published_one(
    published: Any, ours: Any, shown: Any
) -> None:
    assert show(ours, parse(published)) == shown


def test_the_spread_says_what_it_is() -> None:
    assert show_spread(seeds(0.1, 0.2), parse("0.138")) == "0.100 to 0.200, n = 2"
    assert show_spread(interval(1, -1, 3), parse("0.1")) == "interval -1.0 to 3.0, n = 16"
    assert show_spread(one(1), parse("0.1")) == ""


def test_every_status_has_its_words() -> None:
    assert set(LABELS) == set(Status)
    assert len(set(LABELS.values())) == len(LABELS)
