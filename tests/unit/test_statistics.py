import itertools
import math
import time
from fractions import Fraction
from typing import Literal, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from thinkprior.errors import InputError
from thinkprior.statistics import (
    TwoSample,
    auc,
    checkpoints_led,
    disjoint,
    fisher_two_sided,
    mean_absolute_error,
    permutation_p,
    seed_range,
    spearman,
    welch,
    welch_from_summary,
    wilson_interval,
)

Alternative = Literal["less", "greater"]


class Comparison(NamedTuple):
    """A column of Table 2: means and standard deviations, then (value, unit of its last digit)."""

    means: tuple[float, float]  # of ThinkPrior and online-NP
    sds: tuple[float, float]
    unit: float  # of the last digit of means and standard deviations
    difference: tuple[float, float]
    interval_low: tuple[float, float]
    interval_high: tuple[float, float]
    cohens_d: tuple[float, float]
    welch_p: tuple[float, float]


TABLE_2 = {
    "silent@10": Comparison(
        means=(0.106, 0.238),
        sds=(0.036, 0.051),
        unit=0.001,
        difference=(-0.131, 0.001),
        interval_low=(-0.164, 0.001),
        interval_high=(-0.099, 0.001),
        cohens_d=(-2.95, 0.01),
        welch_p=(0.0, 2e-4),  # printed as < 1e-4
    ),
    "waste@30": Comparison(
        means=(266, 329),
        sds=(30, 77),
        unit=1,
        difference=(-63, 1),
        interval_low=(-106, 1),
        interval_high=(-20, 1),
        cohens_d=(-1.07, 0.01),
        welch_p=(0.007, 0.001),
    ),
    "MATH500": Comparison(
        means=(0.569, 0.562),
        sds=(0.037, 0.042),
        unit=0.001,
        difference=(0.0068, 0.0001),
        interval_low=(-0.022, 0.001),
        interval_high=(0.035, 0.001),
        cohens_d=(0.17, 0.01),
        welch_p=(0.63, 0.01),
    ),
    "Level-5": Comparison(
        means=(0.306, 0.293),
        sds=(0.037, 0.046),
        unit=0.001,
        difference=(0.0126, 0.0001),
        interval_low=(-0.018, 0.001),
        interval_high=(0.043, 0.001),
        cohens_d=(0.30, 0.01),
        welch_p=(0.40, 0.01),
    ),
}

# Appendix E: seeds 0, 1, 2 of ThinkPrior, of online-NP, and whether the paper calls the ranges
# disjoint; then the means that it prints with the number of their digits after the point.
APPENDIX_E = {
    "silent through 10": ((0.150, 0.113, 0.100), (0.287, 0.175, 0.263), True, 0.121, 0.242, 3),
    "silent through 30": ((0.092, 0.075, 0.067), (0.250, 0.225, 0.212), True, None, None, 3),
    "silent through 200": ((0.455, 0.388, 0.349), (0.507, 0.477, 0.445), False, 0.397, 0.476, 3),
    "wasted through 200": ((5824, 4960, 4472), (6488, 6112, 5696), False, 5085, 6099, 0),
}


@pytest.mark.parametrize("metric", TABLE_2)
@pytest.mark.parametrize("statistic", ["interval_low", "interval_high", "cohens_d", "welch_p"])
def test_table_2_follows_from_its_own_rounded_means_and_deviations(
    metric: str, statistic: str
) -> None:
    # The paper computed on unrounded values: any value of the rounding boxes may be the true one.
    row = TABLE_2[metric]
    between_means = row.means[0] - row.means[1]
    low = max(between_means - row.unit, row.difference[0] - row.difference[1] / 2)
    high = min(between_means + row.unit, row.difference[0] + row.difference[1] / 2)
    assert low <= high
    offsets = np.linspace(-row.unit / 2, row.unit / 2, 5)
    possible = [
        getattr(
            welch_from_summary(difference, row.sds[0] + i, 16, 0.0, row.sds[1] + j, 16), statistic
        )
        for difference in (low, high)
        for i in offsets
        for j in offsets
    ]
    printed, unit = getattr(row, statistic)
    assert min(possible) - unit / 2 <= printed <= max(possible) + unit / 2
    # The boxes are narrow enough to tell a right formula from a wrong one.
    assert max(possible) - min(possible) < 0.25 * max(abs(printed), 10 * unit)


def test_table_2_bold_columns_are_those_whose_interval_excludes_zero() -> None:
    excludes = {}
    for metric, row in TABLE_2.items():
        result = welch_from_summary(row.means[0], row.sds[0], 16, row.means[1], row.sds[1], 16)
        excludes[metric] = result.interval_low > 0 or result.interval_high < 0
    assert excludes == {"silent@10": True, "waste@30": True, "MATH500": False, "Level-5": False}


def test_welch_agrees_with_scipy() -> None:
    first = np.array([0.11, 0.08, 0.15, 0.10, 0.09])
    second = np.array([0.21, 0.35, 0.18, 0.29])
    result = welch(first, second, confidence=0.9)
    expected = stats.ttest_ind(first, second, equal_var=False)
    interval = expected.confidence_interval(0.9)
    assert result.welch_t == pytest.approx(expected.statistic, rel=1e-12)
    assert result.welch_degrees == pytest.approx(expected.df, rel=1e-12)
    assert result.welch_p == pytest.approx(expected.pvalue, rel=1e-10)
    assert result.interval_low == pytest.approx(interval.low, rel=1e-10)
    assert result.interval_high == pytest.approx(interval.high, rel=1e-10)
    assert (result.n_first, result.n_second) == (5, 4)


def test_cohens_d_by_hand() -> None:
    # Means 2 and 5; sums of squares 2 and 8; pooled variance (2 + 8) / 4 = 2.5.
    result = welch([1, 2, 3], [3, 5, 7])
    assert (result.mean_first, result.mean_second, result.difference) == (2, 5, -3)
    assert (result.sd_first, result.sd_second) == (1, 2)
    assert result.cohens_d == pytest.approx(-3 / math.sqrt(2.5), rel=1e-12)
    # Variances of the means 1/3 and 4/3, so t = -3 / sqrt(5/3).
    assert result.welch_t == pytest.approx(-3 / math.sqrt(5 / 3), rel=1e-12)
    # (5/3)^2 / ((1/9 + 16/9) / 2)
    assert result.welch_degrees == pytest.approx(50 / 17, rel=1e-12)


@pytest.mark.parametrize(("first", "second", "infinite"), [(0.1, 0.3, -1), (0.3, 0.1, 1)])
def test_without_any_spread_a_difference_is_infinite_and_has_no_p(
    first: float, second: float, infinite: int
) -> None:
    result = welch([first] * 3, [second] * 3)
    assert (result.sd_first, result.sd_second) == (0, 0)
    assert result.difference == pytest.approx(first - second)
    assert result.cohens_d == result.welch_t == infinite * math.inf
    for name in ("welch_degrees", "welch_p", "interval_low", "interval_high"):
        assert math.isnan(getattr(result, name)), name


def test_without_any_spread_or_difference_nothing_is_defined() -> None:
    result = welch([0.1] * 3, [0.1] * 4)
    assert result.difference == 0
    assert all(math.isnan(value) for value in (result.cohens_d, result.welch_t, result.welch_p))


def test_a_single_constant_sample_is_no_obstacle() -> None:
    # As a one-sample t test of the varying sample: 2 degrees of freedom.
    result = welch([1, 2, 3], [0, 0, 0])
    expected = stats.ttest_1samp([1, 2, 3], 0)
    assert result.welch_degrees == pytest.approx(2)
    assert result.welch_p == pytest.approx(expected.pvalue)


values = st.lists(st.integers(-800, 800), min_size=2, max_size=8).map(
    lambda counts: [count / 80 for count in counts]
)


@given(values, values, st.integers(-50, 50))
def test_welch_is_antisymmetric_and_free_of_the_origin(
    first: list[float], second: list[float], shift: int
) -> None:
    result, swapped = welch(first, second), welch(second, first)
    moved = welch([value + shift for value in first], [value + shift for value in second])
    assert swapped.difference == pytest.approx(-result.difference)
    assert swapped.interval_low == pytest.approx(-result.interval_high, nan_ok=True)
    for name in ("difference", "interval_low", "interval_high", "welch_p", "welch_degrees"):
        expected = pytest.approx(getattr(result, name), rel=1e-6, abs=1e-9, nan_ok=True)
        assert getattr(moved, name) == expected, name


@pytest.mark.parametrize("function", [welch, lambda a, b: _permutation(a, b, "less")])
@pytest.mark.parametrize(
    ("first", "second"), [([1], [1, 2]), ([1, 2], []), ([1, math.nan], [1, 2])]
)
def test_samples_that_cannot_be_compared_are_refused(
    function: object, first: list[float], second: list[float]
) -> None:
    assert callable(function)
    with pytest.raises(InputError, match="sample"):
        function(first, second)


def _permutation(
    first: list[float], second: list[float], alternative: Alternative, resamples: int = 2000
) -> float:
    return permutation_p(
        first,
        second,
        alternative=alternative,
        resamples=resamples,
        generator=np.random.default_rng(11),
    )


def _enumerated_p(first: list[float], second: list[float], alternative: Alternative) -> float:
    """Share of all assignments at least as extreme, in exact arithmetic on the printed decimals."""
    pooled = [Fraction(str(value)) for value in first + second]
    sums = [sum(chosen) for chosen in itertools.combinations(pooled, len(first))]
    observed = sum(pooled[: len(first)])
    hits = [s >= observed if alternative == "greater" else s <= observed for s in sums]
    return sum(hits) / len(hits)


@pytest.mark.parametrize("alternative", ["less", "greater"])
@pytest.mark.parametrize(
    ("first", "second"),
    [
        ([0.11, 0.24, 0.31, 0.18], [0.22, 0.41, 0.35]),
        # Tenths, whose sums tie but for rounding: 0.1 + 0.2 = 0.3 and the like.
        ([0.1, 0.2, 0.3], [0.3, 0.1, 0.6, 0.0]),
        ([0.7, 0.1, 0.3], [0.2, 0.6, 0.3]),
        # Around zero, where a tolerance relative to the observed statistic would vanish.
        ([0.1, 0.2, -0.3], [-0.1, 0.3, -0.2]),
    ],
)
def test_permutation_agrees_with_exact_enumeration(
    first: list[float], second: list[float], alternative: Alternative
) -> None:
    resamples = 40_000
    exact = _enumerated_p(first, second, alternative)
    estimate = _permutation(first, second, alternative, resamples)
    assert abs(estimate - exact) < 4 * math.sqrt(exact * (1 - exact) / resamples) + 1 / resamples


@pytest.mark.parametrize("alternative", ["less", "greater"])
def test_permutation_agrees_with_scipy(alternative: Alternative) -> None:
    generator = np.random.default_rng(3)
    first, second = generator.normal(0.0, 1, 6), generator.normal(0.8, 1, 5)
    exact = stats.permutation_test(
        (first, second),
        lambda a, b, axis: a.mean(axis=axis) - b.mean(axis=axis),
        alternative=alternative,
        n_resamples=10_000,  # more than the 462 assignments: scipy enumerates them
        vectorized=True,
    ).pvalue
    estimate = _permutation(list(first), list(second), alternative, 40_000)
    assert estimate == pytest.approx(exact, abs=4 * math.sqrt(exact * (1 - exact) / 40_000))


def test_permutation_counts_the_observed_assignment_among_the_resamples() -> None:
    # 100 values a side without overlap: no resample will ever reach the observed sum.
    assert _permutation([0.0] * 100, [1.0] * 100, "less", 999) == 1 / 1000
    assert _permutation([0.0] * 100, [1.0] * 100, "greater", 999) == 1


def test_permutation_of_400_000_resamples_is_fast() -> None:
    generator = np.random.default_rng(5)
    first, second = generator.normal(0.106, 0.036, 16), generator.normal(0.238, 0.051, 16)
    start = time.process_time()
    p = permutation_p(first, second, alternative="less", generator=generator)
    assert time.process_time() - start < 2
    assert p < 1e-4


@settings(deadline=None, max_examples=50)
@given(values, values, st.integers(-1000, 1000), st.sampled_from([0.5, 1.0, 3.0]))
def test_permutation_is_free_of_origin_and_unit(
    first: list[float], second: list[float], shift: int, unit: float
) -> None:
    moved = [[unit * (value + shift) for value in sample] for sample in (first, second)]
    assert _permutation(moved[0], moved[1], "less") == _permutation(first, second, "less")


@settings(deadline=None, max_examples=50)
@given(values, values)
def test_permutation_mirrors_when_values_change_sign(
    first: list[float], second: list[float]
) -> None:
    less = _permutation(first, second, "less")
    mirrored = _permutation([-v for v in first], [-v for v in second], "greater")
    assert 0 < less <= 1
    assert mirrored == less
    # Every assignment is at least as low or at least as high as the observed one.
    assert less + _permutation(first, second, "greater") > 1


def test_permutation_refuses_what_it_does_not_know() -> None:
    generator = np.random.default_rng(0)
    with pytest.raises(InputError, match="two-sided"):
        permutation_p([1, 2], [3, 4], alternative="two-sided", generator=generator)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="resamples"):
        permutation_p([1, 2], [3, 4], alternative="less", resamples=0, generator=generator)


@pytest.mark.parametrize("endpoint", APPENDIX_E)
def test_appendix_e(endpoint: str) -> None:
    ours, theirs, is_disjoint, our_mean, their_mean, digits = APPENDIX_E[endpoint]
    assert disjoint(ours, theirs) is disjoint(theirs, ours) is is_disjoint
    result: TwoSample = welch(ours, theirs)
    if our_mean is not None:
        assert round(result.mean_first, digits) == our_mean
        assert round(result.mean_second, digits) == their_mean


def test_seed_ranges_that_touch_overlap() -> None:
    assert seed_range([3, 1, 2]) == (1, 3)
    assert not disjoint([1, 2], [2, 3])
    assert not disjoint([1, 4], [2, 3])
    assert disjoint([1], [2, 3])
    with pytest.raises(InputError, match="seed sample"):
        seed_range([])


def test_checkpoints_led_counts_strict_leads() -> None:
    # The third pair ties, though its floats differ by rounding.
    assert checkpoints_led([0.5, 0.4, 0.1 + 0.2, 0.7], [0.4, 0.5, 0.3, 0.6]) == (2, 4)
    assert checkpoints_led([1, 2, 3, 4, 5, 6], [0, 1, 2, 3, 4, 5]) == (6, 6)
    with pytest.raises(InputError, match="pair up"):
        checkpoints_led([1, 2], [1])


@pytest.mark.parametrize(
    ("events_first", "n_first", "events_second", "n_second", "printed", "digits"),
    [
        (2, 6, 0, 6, 0.455, 3),
        (4, 6, 0, 6, 0.061, 3),
        (6, 10, 0, 10, 0.011, 3),
        (4, 6, 2, 4, 1.00, 2),
    ],
)
def test_fisher_of_table_3c(
    events_first: int, n_first: int, events_second: int, n_second: int, printed: float, digits: int
) -> None:
    p = fisher_two_sided(events_first, n_first, events_second, n_second)
    assert round(p, digits) == printed


def test_fisher_refuses_more_events_than_runs() -> None:
    with pytest.raises(InputError, match="7 of 6"):
        fisher_two_sided(7, 6, 0, 6)


def test_wilson_by_hand() -> None:
    # With no success the centre equals the half width, z^2 / 2 / (n + z^2): the top is twice that.
    z_squared = 1.959963984540054**2
    low, high = wilson_interval(0, 6)
    assert low == 0
    assert high == pytest.approx(z_squared / (6 + z_squared), rel=1e-12)
    low, high = wilson_interval(6, 6)
    assert low == pytest.approx(6 / (6 + z_squared), rel=1e-12)
    assert high == 1


@pytest.mark.parametrize(("successes", "n"), [(0, 4), (1, 4), (8, 10), (119, 250), (250, 250)])
@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_wilson_agrees_with_scipy(successes: int, n: int, confidence: float) -> None:
    expected = stats.binomtest(successes, n).proportion_ci(confidence, method="wilson")
    low, high = wilson_interval(successes, n, confidence)
    assert low == pytest.approx(expected.low, abs=1e-12)
    assert high == pytest.approx(expected.high, abs=1e-12)


@pytest.mark.parametrize(("successes", "n", "confidence"), [(0, 0, 0.95), (-1, 4, 0.95), (1, 4, 1)])
def test_wilson_refuses_what_is_no_proportion(successes: int, n: int, confidence: float) -> None:
    with pytest.raises(InputError):
        wilson_interval(successes, n, confidence)


def test_spearman_by_hand_and_scipy() -> None:
    # Rank differences 0, 1, 1, 0: 1 - 6 x 2 / (4 x 15).
    assert spearman([1, 2, 3, 4], [10, 30, 20, 40]) == pytest.approx(0.8, rel=1e-12)
    generator = np.random.default_rng(2)
    x, y = generator.integers(0, 5, 40), generator.integers(0, 5, 40)
    assert spearman(x, y) == pytest.approx(stats.spearmanr(x, y).statistic, rel=1e-12)
    assert math.isnan(spearman([1, 1, 1], [1, 2, 3]))


def test_mean_absolute_error_by_hand() -> None:
    assert mean_absolute_error([0.5, 1.0, 0.0], [0.25, 0.5, 0.75]) == 0.5
    with pytest.raises(InputError, match="pair up"):
        mean_absolute_error([1], [1, 2])


def test_auc_by_hand() -> None:
    # Positives 0.9, 0.5, 0.4 against negatives 0.5, 0.1: of six pairs 0.9 and 0.5 win three, 0.5
    # ties once, 0.4 wins one.
    scores = [0.9, 0.5, 0.4, 0.5, 0.1]
    assert auc(scores, [1, 1, 1, 0, 0]) == pytest.approx((4 + 0.5) / 6, rel=1e-12)


def test_auc_agrees_with_mann_and_whitney() -> None:
    generator = np.random.default_rng(4)
    scores, labels = generator.integers(0, 9, 60), generator.random(60) < 0.3
    u = stats.mannwhitneyu(scores[labels], scores[~labels]).statistic
    assert auc(scores, labels) == pytest.approx(u / (labels.sum() * (~labels).sum()), rel=1e-12)


def test_auc_without_one_of_the_classes_is_not_defined() -> None:
    assert math.isnan(auc([1, 2], [True, True]))
    assert math.isnan(auc([1, 2], [0, 0]))
    with pytest.raises(InputError, match="labels"):
        auc([1, 2], [0.5, 1])
