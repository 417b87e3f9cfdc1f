"""The paper's statistics: two-sample comparisons, seed ranges, event counts, ranking quality.

Table 2 compares sixteen seeds an arm by Welch's interval and test, Cohen's d and a permutation
test; Tables 3(a), (b), (d) and Appendix E compare two or three seeds by their ranges alone;
Table 3(c) and Appendix D count events by Fisher's exact test; Appendix B rates priors by Spearman
correlation, mean absolute error and AUC. No p value is meant for three seeds: whoever reports
decides that, the functions here only refuse samples of one.
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy import stats

from thinkprior.errors import InputError

FloatArray = npt.NDArray[np.float64]

_PERMUTED_ELEMENTS = 1_000_000  # of a chunk of resamples: 8 MB


@dataclass(frozen=True)
class TwoSample:
    """A comparison of two samples by their means, in the samples' own unit.

    Where both standard deviations are 0 there is no scale to judge a difference by: the interval,
    the degrees of freedom and the p value are nan; d and t are infinite with the difference's
    sign, or nan without a difference.

    Attributes:
        n_first: Size of the first sample.
        n_second: Size of the second sample.
        mean_first: Mean of the first sample.
        mean_second: Mean of the second sample.
        sd_first: Sample standard deviation (n - 1) of the first sample.
        sd_second: Sample standard deviation (n - 1) of the second sample.
        difference: First mean minus second.
        interval_low: Lower end of Welch's two-sided confidence interval of the difference.
        interval_high: Its upper end.
        cohens_d: Difference over the pooled sample standard deviation.
        welch_t: Difference over its standard error, variances not assumed equal.
        welch_degrees: Degrees of freedom after Welch and Satterthwaite.
        welch_p: Two-sided p value of `welch_t`.
    """

    n_first: int
    n_second: int
    mean_first: float
    mean_second: float
    sd_first: float
    sd_second: float
    difference: float
    interval_low: float
    interval_high: float
    cohens_d: float
    welch_t: float
    welch_degrees: float
    welch_p: float


def welch(first: npt.ArrayLike, second: npt.ArrayLike, confidence: float = 0.95) -> TwoSample:
    """Compares two samples by Welch's unequal-variances t test (Table 2).

    Args:
        first: Values of the first sample, a seed each.
        second: Values of the second sample.
        confidence: Coverage of the interval, within (0, 1).

    Raises:
        InputError: For a sample of fewer than 2 values or with values that are not finite.
    """
    first_values, second_values = _sample(first, "first"), _sample(second, "second")
    mean_first, sd_first = _mean_and_sd(first_values)
    mean_second, sd_second = _mean_and_sd(second_values)
    return welch_from_summary(
        mean_first,
        sd_first,
        len(first_values),
        mean_second,
        sd_second,
        len(second_values),
        confidence,
    )


def welch_from_summary(
    mean_first: float,
    sd_first: float,
    n_first: int,
    mean_second: float,
    sd_second: float,
    n_second: int,
    confidence: float = 0.95,
) -> TwoSample:
    """Compares two samples of which only means and sample standard deviations are known.

    Raises:
        InputError: For a sample of fewer than 2 values or a negative standard deviation.
    """
    if min(n_first, n_second) < 2:
        raise InputError(f"Welch's test needs 2 values a sample, not {n_first} and {n_second}")
    if not (sd_first >= 0 and sd_second >= 0):
        raise InputError(f"no standard deviations: {sd_first} and {sd_second}")
    _check_confidence(confidence)
    difference = mean_first - mean_second
    variance_first, variance_second = sd_first**2 / n_first, sd_second**2 / n_second
    variance = variance_first + variance_second
    pooled_sd = math.sqrt(
        ((n_first - 1) * sd_first**2 + (n_second - 1) * sd_second**2) / (n_first + n_second - 2)
    )
    if variance > 0:
        error = math.sqrt(variance)
        share = variance_first / variance
        degrees = 1 / (share**2 / (n_first - 1) + (1 - share) ** 2 / (n_second - 1))
        t = difference / error
        cohens_d = difference / pooled_sd
        p = 2 * float(stats.t.sf(abs(t), degrees))
        half_width = float(stats.t.isf((1 - confidence) / 2, degrees)) * error
    else:
        t = cohens_d = math.copysign(math.inf, difference) if difference else math.nan
        degrees = p = half_width = math.nan
    return TwoSample(
        n_first=n_first,
        n_second=n_second,
        mean_first=mean_first,
        mean_second=mean_second,
        sd_first=sd_first,
        sd_second=sd_second,
        difference=difference,
        interval_low=difference - half_width,
        interval_high=difference + half_width,
        cohens_d=cohens_d,
        welch_t=t,
        welch_degrees=degrees,
        welch_p=p,
    )


def permutation_p(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    *,
    alternative: Literal["less", "greater"],
    resamples: int = 400_000,
    generator: np.random.Generator,
) -> float:
    """One-sided p value of a difference of means by a permutation test (Table 2).

    The difference rises with the sum of the first sample, the total being fixed, so a resample is a
    hit when that sum is at least (or at most) the observed one. Sums of the same values in another
    order differ by rounding; a resample within the bound of that error, 4 n eps sum |x|, counts as
    a tie, hence as a hit. The bound is some 1e-13 for thirty-two fractions, far below the smallest
    difference that counts of groups or problems can make.

    Args:
        first: Values of the first sample.
        second: Values of the second sample.
        alternative: "less" where the first mean is claimed to be the lower one, or "greater".
        resamples: Random reassignments of the pooled values to the two samples.
        generator: Source of the reassignments.

    Returns:
        (hits + 1) / (resamples + 1), which is never 0.

    Raises:
        InputError: For a sample of fewer than 2 values, values that are not finite, no resamples or
            an unknown alternative.
    """
    first_values, second_values = _sample(first, "first"), _sample(second, "second")
    if resamples < 1:
        raise InputError(f"resamples must be at least 1, not {resamples}")
    if alternative not in ("less", "greater"):
        raise InputError(f"alternative must be 'less' or 'greater', not {alternative!r}")
    pooled = np.concatenate([first_values, second_values])
    tolerance = 4 * len(pooled) * np.finfo(np.float64).eps * np.abs(pooled).sum()
    sign = 1 if alternative == "greater" else -1
    threshold = sign * first_values.sum() - tolerance
    rows = max(1, _PERMUTED_ELEMENTS // len(pooled))
    hits = 0
    for start in range(0, resamples, rows):
        shape = (min(rows, resamples - start), len(pooled))
        permuted = generator.permuted(np.broadcast_to(pooled, shape), axis=1)
        sums = permuted[:, : len(first_values)].sum(axis=1)
        hits += int(np.count_nonzero(sign * sums >= threshold))
    return (hits + 1) / (resamples + 1)


def seed_range(values: npt.ArrayLike) -> tuple[float, float]:
    """Lowest and highest value over the seeds.

    Raises:
        InputError: For no values or values that are not finite.
    """
    sample = _sample(values, "seed", least=1)
    return float(sample.min()), float(sample.max())


def disjoint(first: npt.ArrayLike, second: npt.ArrayLike) -> bool:
    """Whether two arms' seed ranges do not overlap (the decision rule of Appendix E).

    Ranges that touch overlap.

    Raises:
        InputError: As for `seed_range`.
    """
    first_low, first_high = seed_range(first)
    second_low, second_high = seed_range(second)
    return first_high < second_low or second_high < first_low


def checkpoints_led(first_means: npt.ArrayLike, second_means: npt.ArrayLike) -> tuple[int, int]:
    """Checkpoints at which the first arm's mean is strictly higher, and how many there are.

    Means that differ by rounding only (a relative 1e-12) are equal.

    Raises:
        InputError: For arms with different numbers of checkpoints, or none.
    """
    first, second = _pair(first_means, second_means, "the arms' checkpoints")
    higher = (first > second) & ~np.isclose(first, second, rtol=1e-12, atol=0)
    return int(higher.sum()), len(first)


def fisher_two_sided(events_first: int, n_first: int, events_second: int, n_second: int) -> float:
    """Two-sided p value of Fisher's exact test of two event rates (Table 3(c), Appendix D).

    Raises:
        InputError: For events outside 0 to n.
    """
    _check_count(events_first, n_first)
    _check_count(events_second, n_second)
    table = np.array(
        [[events_first, n_first - events_first], [events_second, n_second - events_second]]
    )
    return float(stats.fisher_exact(table, alternative="two-sided").pvalue)


def wilson_interval(successes: int, n: int, confidence: float = 0.95) -> tuple[float, float]:
    """Wilson's score interval of a proportion.

    Raises:
        InputError: For successes outside 0 to n, or n of 0.
    """
    _check_count(successes, n)
    _check_confidence(confidence)
    z = float(stats.norm.isf((1 - confidence) / 2))
    rate = successes / n
    centre = (rate + z**2 / (2 * n)) / (1 + z**2 / n)
    half_width = z / (1 + z**2 / n) * math.sqrt(rate * (1 - rate) / n + z**2 / (4 * n**2))
    # At 0 and n successes an end is exactly 0 or 1, which rounding would miss.
    low = 0.0 if successes == 0 else centre - half_width
    high = 1.0 if successes == n else centre + half_width
    return low, high


def spearman(x: npt.ArrayLike, y: npt.ArrayLike) -> float:
    """Spearman's rank correlation, ties at their mean rank; nan where one side is constant.

    Raises:
        InputError: For sides of different lengths or values that are not finite.
    """
    first, second = _pair(x, y, "the two sides of a rank correlation")
    first_ranks = stats.rankdata(first) - (len(first) + 1) / 2
    second_ranks = stats.rankdata(second) - (len(second) + 1) / 2
    scale = math.sqrt(float(first_ranks @ first_ranks) * float(second_ranks @ second_ranks))
    return float(first_ranks @ second_ranks) / scale if scale else math.nan


def mean_absolute_error(predicted: npt.ArrayLike, actual: npt.ArrayLike) -> float:
    """Mean of |predicted - actual|.

    Raises:
        InputError: For sides of different lengths or values that are not finite.
    """
    first, second = _pair(predicted, actual, "predicted and actual values")
    return float(np.abs(first - second).mean())


def auc(scores: npt.ArrayLike, labels: npt.ArrayLike) -> float:
    """Probability that a positive's score exceeds a negative's, ties counting half.

    Args:
        scores: Higher for what is thought positive.
        labels: Booleans, or 0 and 1.

    Returns:
        The area under the receiver operating characteristic; nan when a class is missing.

    Raises:
        InputError: For lengths that differ, scores that are not finite or labels other than 0, 1.
    """
    values, classes = _pair(scores, labels, "scores and labels")
    if not np.isin(classes, (0, 1)).all():
        raise InputError("labels must be 0 or 1")
    positive = classes == 1
    positives, negatives = int(positive.sum()), int((~positive).sum())
    if not positives or not negatives:
        return math.nan
    rank_sum = float(stats.rankdata(values)[positive].sum())
    return (rank_sum - positives * (positives + 1) / 2) / (positives * negatives)


def auc_interval(
    scores: npt.ArrayLike, labels: npt.ArrayLike, confidence: float = 0.95
) -> tuple[float, float]:
    """Confidence interval of the AUC after DeLong, cut to [0, 1].

    Args:
        scores: As for `auc`.
        labels: As for `auc`.
        confidence: Coverage of the interval, within (0, 1).

    Returns:
        Its ends; nan where a class has fewer than 2 values, or where the scores separate the
        classes, of which the estimated variance is 0.

    Raises:
        InputError: As for `auc`.
    """
    area = auc(scores, labels)
    _check_confidence(confidence)
    values, positive = np.asarray(scores, np.float64), np.asarray(labels, np.float64) == 1
    positives, negatives = int(positive.sum()), int((~positive).sum())
    if min(positives, negatives) < 2:
        return math.nan, math.nan
    ranks = stats.rankdata(values)
    # Share of the other class that each value beats (or is beaten by), ties counting half.
    above = (ranks[positive] - stats.rankdata(values[positive])) / negatives
    below = 1 - (ranks[~positive] - stats.rankdata(values[~positive])) / positives
    variance = above.var(ddof=1) / positives + below.var(ddof=1) / negatives
    if variance == 0:
        return math.nan, math.nan
    half_width = float(stats.norm.isf((1 - confidence) / 2)) * math.sqrt(variance)
    return max(0.0, area - half_width), min(1.0, area + half_width)


def mann_whitney_p(first: npt.ArrayLike, second: npt.ArrayLike) -> float:
    """Two-sided p value of the Mann-Whitney test, that of an AUC of 1/2.

    Exact for small samples without ties, else by the normal approximation, corrected for ties and
    continuity.

    Returns:
        The p value; nan for a sample without values, 1 where all values are equal.

    Raises:
        InputError: For values that are not finite.
    """
    first_values = _sample(first, "first", least=0)
    second_values = _sample(second, "second", least=0)
    if not len(first_values) or not len(second_values):
        return math.nan
    if np.ptp(np.concatenate([first_values, second_values])) == 0:
        return 1.0
    return float(stats.mannwhitneyu(first_values, second_values, alternative="two-sided").pvalue)


def _sample(values: npt.ArrayLike, name: str, least: int = 2) -> FloatArray:
    sample = np.asarray(values, dtype=np.float64)
    if sample.ndim != 1 or len(sample) < least:
        raise InputError(
            f"the {name} sample needs at least {least} values in a row, not shape {sample.shape}"
        )
    if not np.isfinite(sample).all():
        raise InputError(f"the {name} sample has values that are not finite")
    return sample


def _pair(first: npt.ArrayLike, second: npt.ArrayLike, what: str) -> tuple[FloatArray, FloatArray]:
    left, right = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if left.ndim != 1 or left.shape != right.shape or not len(left):
        raise InputError(f"{what} must pair up, not have shapes {left.shape} and {right.shape}")
    if not (np.isfinite(left).all() and np.isfinite(right).all()):
        raise InputError(f"{what} hold values that are not finite")
    return left, right


def _mean_and_sd(sample: FloatArray) -> tuple[float, float]:
    # Of equal values the rounded mean can miss the value, and leave a spread of some 1e-17.
    if np.ptp(sample) == 0:
        return float(sample[0]), 0.0
    return float(sample.mean()), float(sample.std(ddof=1))


def _check_count(events: int, n: int) -> None:
    if n < 1 or not 0 <= events <= n:
        raise InputError(f"no event count: {events} of {n}")


def _check_confidence(confidence: float) -> None:
    if not 0 < confidence < 1:
        raise InputError(f"confidence must lie within (0, 1), not {confidence}")
