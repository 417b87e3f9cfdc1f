"""Priors against the reference, the length signal and the pool's composition, by hand."""

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import bisect

from thinkprior.errors import InputError
from thinkprior.findings.band import in_band
from thinkprior.findings.length_signal import length_signal
from thinkprior.findings.prior_quality import prior_quality
from thinkprior.findings.starting_low import pool_composition, starting_low
from thinkprior.measurements import Measurement
from thinkprior.problems import Problem
from thinkprior.statistics import auc_interval, mann_whitney_p


def by_metric(measurements: list[Measurement]) -> dict[str, Measurement]:
    return {measurement.metric: measurement for measurement in measurements}


# --- Statistics ---------------------------------------------------------------------------------


def test_auc_interval_by_hand() -> None:
    # Positives 3 and 1, negatives 2 and 0. 3 beats both, 1 beats one: shares 1 and 1/2, variance
    # 1/8; 2 is beaten by one of two, 0 by both: the same. Variance 1/8/2 + 1/8/2 = 1/8 about 3/4.
    low, high = auc_interval([3, 1, 2, 0], [1, 1, 0, 0], confidence=0.5)
    half_width = 0.6744897501960817 * math.sqrt(1 / 8)
    assert (low, high) == pytest.approx((0.75 - half_width, 0.75 + half_width))
    low, high = auc_interval([3, 1, 2, 0], [1, 1, 0, 0])
    assert (low, high) == pytest.approx((0.75 - 1.959963984540054 * math.sqrt(1 / 8), 1.0))


def test_auc_interval_counts_ties_half() -> None:
    # One bit, which 3 of 4 positives and 1 of 4 negatives show. A positive with the bit beats 3
    # and ties 1 of 4 (7/8), without it ties 3 (3/8): the mean, the AUC, is 3/4. Negatives mirror
    # that. The sample variance of (7/8, 7/8, 7/8, 3/8) is 1/16, so the AUC's is 1/64 twice.
    scores, labels = [1, 1, 1, 0, 1, 0, 0, 0], [1, 1, 1, 1, 0, 0, 0, 0]
    low, high = auc_interval(scores, labels, confidence=0.6826894921370859)
    assert (low, high) == pytest.approx((0.75 - math.sqrt(1 / 32), 0.75 + math.sqrt(1 / 32)))


@pytest.mark.parametrize(
    ("scores", "labels"), [([1, 2, 3], [0, 1, 1]), ([1, 2, 3, 4], [0, 0, 1, 1])]
)
def test_auc_interval_absent(scores: list[int], labels: list[int]) -> None:
    assert all(math.isnan(end) for end in auc_interval(scores, labels))


def test_mann_whitney() -> None:
    # Of the 20 ways to place three of six ranks, the two extreme ones are as far out.
    assert mann_whitney_p([1, 2, 3], [4, 5, 6]) == pytest.approx(2 / 20)
    assert mann_whitney_p([2, 2], [2, 2, 2]) == 1
    assert math.isnan(mann_whitney_p([], [1]))
    with pytest.raises(InputError, match="not finite"):
        mann_whitney_p([math.nan], [1])


# --- The band -----------------------------------------------------------------------------------


def test_band_limits_for_eight_rollouts() -> None:
    def excess(p: float) -> float:
        return 0.2 - p**8 - (1 - p) ** 8

    low = float(bisect(excess, 0.01, 0.5))
    assert in_band([low - 1e-9, low + 1e-9, 1 - low - 1e-9, 1 - low + 1e-9], 8).tolist() == [
        False,
        True,
        True,
        False,
    ]
    # (27/32)^8 = .257, (26/32)^8 = .190: of 32 reference samples 6 to 26 must be correct.
    assert np.flatnonzero(in_band(np.arange(33) / 32, 8)).tolist() == list(range(6, 27))


# --- Priors -------------------------------------------------------------------------------------


def quality(**changes: Any) -> dict[tuple[str, str, str, str], Measurement]:
    arguments: dict[str, Any] = {
        # For G = 2, U = 2p(1 - p) never passes .8; for G = 8 the band is .25, .5, .75.
        "reference": np.array([0.0, 0.25, 0.5, 0.75, 1.0]),
        "priors": {"anchor": np.array([0.0, 0.5, 0.25, 1.0, 0.75])},
        "group_size": 8,
        "campaign": "main",
        "fitted_on": {},
        **changes,
    }
    return {measurement.key: measurement for measurement in prior_quality(**arguments)}


def test_prior_quality_by_hand() -> None:
    found = quality()
    # Without ties 1 - 6 sum(d^2) / (n (n^2 - 1)): rank differences 0, 1, 1, 1, 1 -> 1 - 24/120;
    # in the band ranks 1 2 3 against 2 1 3 -> 1 - 12/24.
    whole = found["table5", "all", "anchor", "spearman_with_reference"]
    band = found["table5", "band", "anchor", "spearman_with_reference"]
    assert [whole.value, band.value] == pytest.approx([0.8, 0.5])
    assert (whole.n, band.n) == (5, 3)
    assert found["text", "main", "anchor", "mae_with_reference"].value == pytest.approx(1 / 5)
    assert found["text", "band", "anchor", "mae_with_reference"].value == pytest.approx(1 / 4)


def test_prior_quality_outside_the_fit() -> None:
    fitted = {"anchor": np.array([False, False, False, True, True])}
    found = quality(fitted_on=fitted)
    rank = found["table5", "unfitted", "anchor", "spearman_with_reference"]
    assert rank.value == pytest.approx(0.5)
    assert rank.n == 3
    error = found["text", "unfitted", "anchor", "mae_with_reference"]
    assert error.value == pytest.approx(1 / 6)


def test_prior_quality_of_an_empty_band() -> None:
    found = quality(group_size=2)
    assert math.isnan(found["table5", "band", "anchor", "spearman_with_reference"].value)
    assert found["text", "band", "anchor", "mae_with_reference"].n == 0


# --- The length signal --------------------------------------------------------------------------


def signal(**changes: Any) -> dict[str, Measurement]:
    arguments: dict[str, Any] = {
        "reference": np.array([0.5, 0.0, 0.5, 0.0, 0.25, 0.0]),
        "lengths": np.array([3, 9, 9, 5, 4, 9]),
        "capped": np.array([False, True, True, False, False, True]),
        "answer_truncated": np.array([False, True, True, False, False, True]),
        "anchor": np.array([0.5, 0.0, 0.0, 0.25, 1.0, 0.0]),
        "campaign": "main",
        "confidence": 0.95,
        **changes,
    }
    return by_metric(length_signal(**arguments))


def test_length_signal_by_hand() -> None:
    found = signal()
    assert (found["length_truncated"].value, found["length_truncated"].of) == (3, 6)
    assert found["length_truncated_mean_reference"].value == pytest.approx(0.5 / 3)
    assert found["length_finished_mean_reference"].value == pytest.approx(0.75 / 3)
    # Positives finish 2 of 3 times, negatives 1 of 3: (2*2 + (2*1 + 1*2)/2) / 9.
    assert found["truncation_auc"].value == pytest.approx(6 / 9)
    # Lengths 3, 9, 4 against 9, 5, 9: 3 and 4 are shorter than all, 9 ties two.
    assert found["reciprocal_length_auc"].value == pytest.approx((3 + 3 + 1) / 9)
    # phi .5, 0, 1 against 0, .25, 0: 3, 3 and two ties.
    assert found["anchor_auc"].value == pytest.approx((3 + 3 + 1) / 9)
    among = found["length_auc_among_finished"]
    assert (among.value, among.n, among.spread) == (1.0, 3, "")
    # Exact: of the three places of one value among three, the two outer ones are as far out.
    assert found["length_auc_among_finished_p"].value == pytest.approx(2 / 3)
    assert "answer_truncated" not in found
    assert {found[name].arm for name in ("truncation_auc", "reciprocal_length_auc")} == {"length"}
    assert found["anchor_auc"].arm == "anchor"
    assert found["length_truncated"].arm == "-"


def test_length_signal_of_the_papers_counts() -> None:
    # 155 capped prompts of mean .112 and 95 others of .205 make the pool's mean, .147.
    capped = np.arange(250) < 155
    reference = np.where(capped, 0.112, 0.205)
    found = signal(
        reference=reference,
        lengths=np.where(capped, 2560, 700),
        capped=capped,
        answer_truncated=capped,
        anchor=reference,
    )
    count, low, high = (
        found[f"length_{name}"].value
        for name in ("truncated", "truncated_mean_reference", "finished_mean_reference")
    )
    assert round((count * low + (250 - count) * high) / 250, 3) == 0.147
    # All are solvable: there is nothing to rank.
    assert math.isnan(found["truncation_auc"].value)
    assert found["truncation_auc"].spread == ""
    assert math.isnan(found["length_auc_among_finished_p"].value)


def test_length_signal_with_answers_cut_after_their_thinking() -> None:
    found = signal(answer_truncated=np.array([False, True, True, True, True, True]))
    assert found["length_truncated"].value == 3
    assert found["answer_truncated"].value == 5
    assert found["answer_finished_mean_reference"].value == 0.5
    # One of three positives finishes, no negative: 1/3 wins, 2/3 ties.
    assert found["answer_truncation_auc"].value == pytest.approx(1 / 3 + 1 / 3)


def test_length_signal_without_a_finished_prompt() -> None:
    found = signal(capped=np.ones(6, dtype=bool), answer_truncated=np.ones(6, dtype=bool))
    assert math.isnan(found["length_finished_mean_reference"].value)
    assert math.isnan(found["length_auc_among_finished"].value)
    assert found["length_auc_among_finished"].n == 0


# --- The pool -----------------------------------------------------------------------------------

IDS = [f"p{index}" for index in range(6)]
# For G = 8 the first four are in the band, the last two are not.
REFERENCE = np.array([0.5, 0.25, 0.75, 0.5, 0.0, 1.0])
ANCHOR = np.array([0.0, 0.0, 1.0, 0.5, 0.0, 1.0])


def log(*groups: tuple[int, str]) -> pd.DataFrame:
    return pd.DataFrame(groups, columns=["step", "problem_id"])


def composition(logs: dict[int, pd.DataFrame]) -> dict[str, Measurement]:
    return by_metric(pool_composition(IDS, REFERENCE, ANCHOR, 8, "main", logs))


def test_pool_composition_by_hand() -> None:
    logs = {
        0: log((1, "p3"), (30, "p0"), (31, "p2"), (40, "p5")),
        2: log((1, "p3"), (2, "p3"), (60, "p4")),
    }
    found = composition(logs)
    counts = {name: (int(m.value), m.of) for name, m in found.items() if "touched" not in name}
    assert counts == {
        "pool_size": (6, None),
        "band_size_U_above_0.8": (4, 6),
        "anchor_phi_zero": (3, 6),
        "anchor_phi_zero_in_band": (2, 3),
        "anchor_phi_one": (2, 6),
        "anchor_phi_one_in_band": (1, 2),
        "floor_scored_0_or_16_of_16": (5, 6),
        "band_starting_low": (3, 4),
    }
    by_thirty = found["band_touched_by_step_30"]
    assert (by_thirty.value, by_thirty.values, by_thirty.of) == (1.5, (2.0, 1.0), 4)
    assert (by_thirty.low, by_thirty.high, by_thirty.n) == (1, 2, 2)
    assert found["band_touched"].values == (3.0, 1.0)
    low = found["band_starting_low_touched"]
    assert (low.values, low.of) == ((2.0, 0.0), 3)


def test_pool_composition_of_short_and_missing_runs() -> None:
    short = composition({0: log((1, "p3"), (10, "p0"))})
    assert math.isnan(short["band_touched_by_step_30"].value)
    assert short["band_touched"].value == 2
    none = composition({})
    assert none["band_touched"].n == 0
    assert math.isnan(none["band_touched"].value)
    assert none["band_size_U_above_0.8"].value == 4


def test_published_counts_add_up() -> None:
    # Appendix B: 99 + 19 at the floor are 118; 8 + 13 of them in the band are 21.
    size = 250
    ids = [str(index) for index in range(size)]
    anchor = np.repeat([0.0, 1.0, 0.5], [99, 19, size - 118])
    reference = np.repeat([0.5, 0.0, 0.5, 0.0, 0.5, 0.0], [8, 91, 13, 6, 55, size - 173])
    found = by_metric(pool_composition(ids, reference, anchor, 8, "main", {}))
    assert {name: found[name].value for name in ("floor_scored_0_or_16_of_16",)} == {
        "floor_scored_0_or_16_of_16": 118
    }
    assert (found["band_starting_low"].value, found["band_starting_low"].of) == (21, 76)


def test_starting_low() -> None:
    problems = [
        Problem(name, "text", "1", level=index or None, subject="Algebra")
        for index, name in enumerate(IDS)
    ]
    logs = {0: log((1, "p1"), (7, "p2")), 1: log((4, "p2"))}
    rows = starting_low(problems, REFERENCE, ANCHOR, 8, logs)
    assert rows["problem_id"].tolist() == ["p0", "p1", "p2"]
    assert rows["phi"].tolist() == [0, 0, 1]
    assert rows["reference"].tolist() == [0.5, 0.25, 0.75]
    assert rows["seeds"].tolist() == [2, 2, 2]
    assert rows["seeds_touching"].tolist() == [0, 1, 2]
    assert rows["level"].isna().tolist() == [True, False, False]
    assert rows["first_step"].fillna(0).tolist() == [0, 1, 4]
    assert starting_low(problems, REFERENCE, REFERENCE, 2, {}).empty
