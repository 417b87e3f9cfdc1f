"""Table 2: two arms compared over many seeds, or by their ranges over few."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pandas as pd

from thinkprior.benchmarks import Accuracies
from thinkprior.errors import InputError
from thinkprior.metrics import EARLY_STEPS, WASTE_STEPS
from thinkprior.rendering import latex
from thinkprior.rendering.checkpoints import course
from thinkprior.rendering.rounding import printed
from thinkprior.rendering.scale import Scale
from thinkprior.rendering.seeds import (
    FEW_SEEDS,
    SeedSummary,
    checked_runs,
    checked_series,
    summarise,
)
from thinkprior.rendering.table import Table
from thinkprior.statistics import TwoSample, checkpoints_led, disjoint, permutation_p, welch


@dataclass(frozen=True)
class _Measure:
    """A column: what it measures and with how many decimals the paper prints it."""

    name: str
    heading: str
    better: Literal["less", "greater"]
    digits: int
    difference_digits: int
    interval_digits: int
    fraction: bool

    @property
    def factor(self) -> float:
        """From the measure's own unit to that in which differences are printed."""
        return 100.0 if self.fraction else 1.0


ECONOMY = (
    _Measure("silent_at_10", "silent@10", "less", 3, 1, 1, fraction=True),
    _Measure("waste_at_30", "waste@30", "less", 0, 0, 0, fraction=False),
)
WHOLE_RUN = _Measure("waste_full", "waste, whole run", "less", 0, 0, 0, fraction=False)
"""Stands beside waste@30 where the runs are too short for it."""


@dataclass(frozen=True)
class _Comparison:
    """One column's numbers; the tests are absent where an arm has few seeds."""

    measure: _Measure
    first: SeedSummary
    second: SeedSummary
    test: TwoSample | None
    permutation_p: float
    led: tuple[int, int] | None

    @property
    def difference(self) -> float:
        """First mean minus second, nan where either is absent."""
        return self.first.mean - self.second.mean

    @property
    def excludes_zero(self) -> bool:
        """Whether the confidence interval of the difference does."""
        return self.test is not None and (self.test.interval_low > 0 or self.test.interval_high < 0)

    @property
    def disjoint(self) -> bool | None:
        """Whether the seed ranges are; None where an arm has fewer than two values, no range."""
        if min(self.first.n, self.second.n) < 2:
            return None
        return disjoint(self.first.values, self.second.values)


def table2(
    metrics: pd.DataFrame,
    checkpoints: pd.DataFrame,
    scale: Scale,
    *,
    generator: np.random.Generator,
    first: str = "thinkprior",
    second: str = "online_np",
    first_label: str = "ThinkPrior",
    second_label: str = "online-NP",
    confidence: float = 0.95,
    resamples: int = 400_000,
    accuracies: Accuracies | None = None,
) -> Table:
    """Renders Table 2.

    With at most three seeds in either arm no interval, deviation or p value is given, in print or
    in the CSV: seed ranges stand instead, and whether they are disjoint. The permutation p is
    one-sided towards improvement: less for silent@10 and waste@30, greater for accuracy.

    Args:
        metrics: One row per finished run of one campaign: campaign, arm, seed, steps,
            silent_at_10 (fraction), waste_at_30 (rollouts), waste_full for runs that are too short
            for it, and the accuracies (fractions): the first benchmark's, and its Level 5.
        checkpoints: One row per run and checkpoint: campaign, arm, seed, step, generated_rollouts
            (cumulative), and the accuracies of the benchmark along the run.
        scale: What produced the numbers.
        generator: Source of the permutations; each column draws from a child of its own.
        first: Arm whose row is ours; differences are first minus second.
        second: The other arm.
        first_label: The first arm as printed.
        second_label: The second arm as printed.
        confidence: Coverage of the intervals.
        resamples: Permutations of each test.
        accuracies: The benchmarks; by default the paper's.

    Returns:
        The table; its frame has a row per measure, in the measure's own unit.

    Raises:
        InputError: For metrics or checkpoints of several campaigns, repeated rows, missing columns,
            an arm without a finished run, or a finished run without checkpoints.
    """
    accuracies = accuracies or Accuracies()
    measures = _measures(metrics, accuracies)
    names = [measure.name for measure in measures]
    runs = checked_runs(metrics, names, "metrics of Table 2")
    courses = checked_series(
        checkpoints,
        ["generated_rollouts", *(n for n in names if _along(n, accuracies))],
        "checkpoints of Table 2",
    )
    campaign = str(runs["campaign"].iloc[0])
    pair = [runs[runs["arm"] == arm] for arm in (first, second)]
    for arm, arm_runs in zip((first, second), pair, strict=True):
        if arm_runs.empty:
            raise InputError(
                f"Table 2 needs a finished run of arm {arm} in the campaign {campaign}"
            )
    comparisons = []
    for measure, stream in zip(measures, generator.spawn(len(measures)), strict=True):
        comparison = _compare(measure, pair, confidence, resamples, stream)
        if _along(measure.name, accuracies):
            comparison = replace(comparison, led=_led(measure.name, pair, courses))
        comparisons.append(comparison)
    counts = len(pair[0]), len(pair[1])
    labels = latex.escape(first_label), latex.escape(second_label)
    few = min(counts) <= FEW_SEEDS
    frame = pd.DataFrame(
        [
            {
                "scale": scale.name,
                "campaign": campaign,
                "measure": comparison.measure.name,
                "unit": "fraction" if comparison.measure.fraction else "rollouts",
                "first": first,
                "second": second,
                **_frame_cells(comparison, confidence, resamples),
            }
            for comparison in comparisons
        ]
    )
    counted = ["checkpoints_led", "checkpoints", "permutation_resamples"]
    frame = frame.astype(dict.fromkeys(counted, "Int64"))
    tabular = latex.Tabular(
        columns="l" + "c" * len(measures),
        head=[_head(comparisons, few)],
        body=_body(comparisons, labels, few, confidence),
        caption=_caption(labels, counts, few, confidence, resamples, comparisons, campaign, scale),
        label="tab:reestimate",
        notes=_notes(comparisons, labels, counts),
    )
    return Table(frame, tabular.environment())


def _measures(metrics: pd.DataFrame, accuracies: Accuracies) -> list[_Measure]:
    """The columns: economy, then the first benchmark with the one along the run and its levels."""
    measures = list(ECONOMY)
    if "steps" in metrics and metrics["steps"].max() < WASTE_STEPS:
        measures.append(WHOLE_RUN)
    shown = (accuracies.first, accuracies.along, accuracies.levels)
    columns = accuracies.columns(metrics.columns)
    return measures + [
        _Measure(name, latex.escape(columns[name]), "greater", 3, 2, 1, fraction=True)
        for name in dict.fromkeys(shown)
        if name in columns
    ]


def _along(measure: str, accuracies: Accuracies) -> bool:
    """Whether a measure is known at every checkpoint."""
    return measure in (accuracies.along, accuracies.levels)


def _compare(
    measure: _Measure,
    pair: Sequence[pd.DataFrame],
    confidence: float,
    resamples: int,
    generator: np.random.Generator,
) -> _Comparison:
    first, second = (summarise(runs[measure.name]) for runs in pair)
    test, p = None, math.nan
    if min(first.n, second.n) > FEW_SEEDS:
        test = welch(first.values, second.values, confidence)
        p = permutation_p(
            first.values,
            second.values,
            alternative=measure.better,
            resamples=resamples,
            generator=generator,
        )
    return _Comparison(measure, first, second, test, p, None)


def _led(
    measure: str, pair: Sequence[pd.DataFrame], courses: pd.DataFrame
) -> tuple[int, int] | None:
    """Checkpoints after step 0 at which the first arm leads, of those both arms have."""
    first, second = (
        course(courses, str(runs["arm"].iloc[0]), runs["seed"], measure) for runs in pair
    )
    common = first.merge(second, on="step", suffixes=("_first", "_second"))
    common = common[common["step"] > 0]
    if common.empty:
        return None
    return checkpoints_led(
        common["value_first"].to_numpy(dtype=np.float64),
        common["value_second"].to_numpy(dtype=np.float64),
    )


def _frame_cells(comparison: _Comparison, confidence: float, resamples: int) -> dict[str, Any]:
    test = comparison.test
    led, of = comparison.led or (None, None)
    cells: dict[str, Any] = {}
    for name, summary in (("first", comparison.first), ("second", comparison.second)):
        cells |= {
            f"n_{name}": summary.n,
            f"mean_{name}": summary.mean,
            f"sd_{name}": summary.sd if test else None,
            f"min_{name}": summary.low,
            f"max_{name}": summary.high,
        }
    cells |= {
        "difference": comparison.difference,
        "ranges_disjoint": comparison.disjoint,
        "confidence": confidence if test else None,
        "interval_low": test.interval_low if test else None,
        "interval_high": test.interval_high if test else None,
        "cohens_d": test.cohens_d if test else None,
        "welch_p": test.welch_p if test else None,
        "permutation_p": comparison.permutation_p,
        "permutation_alternative": comparison.measure.better if test else None,
        "permutation_resamples": resamples if test else None,
        "checkpoints_led": led,
        "checkpoints": of,
    }
    return cells


def _head(comparisons: Sequence[_Comparison], few: bool) -> str:
    cells = [""]
    for comparison in comparisons:
        arrow = r"$\downarrow$" if comparison.measure.better == "less" else r"$\uparrow$"
        heading = f"{comparison.measure.heading} {arrow}"
        cells.append(latex.bold(heading) if _marked(comparison, few) else heading)
    return latex.row(cells)


def _marked(comparison: _Comparison, few: bool) -> bool:
    return bool(comparison.disjoint) if few else comparison.excludes_zero


def _body(
    comparisons: Sequence[_Comparison],
    labels: tuple[str, str],
    few: bool,
    confidence: float,
) -> list[str]:
    def line(name: str, cell: Callable[[_Comparison], str], colour: str | None = None) -> str:
        return latex.row([name, *(cell(comparison) for comparison in comparisons)], colour)

    def marked(cell: Callable[[_Comparison], str]) -> Callable[[_Comparison], str]:
        return lambda c: latex.bold(cell(c)) if _marked(c, few) else cell(c)

    if few:
        return [
            line(labels[0], lambda c: _mean(c.measure, c.first), latex.OURS),
            line(r"\quad seed range", lambda c: _range(c.measure, c.first), latex.OURS),
            line(labels[1], lambda c: _mean(c.measure, c.second)),
            line(r"\quad seed range", lambda c: _range(c.measure, c.second)),
            r"\midrule",
            line(r"$\Delta$", marked(_difference)),
            line("Ranges disjoint", marked(_disjoint)),
            line("Ckpts led", _checkpoints_led),
        ]
    return [
        line(labels[0], lambda c: _mean_and_deviation(c.measure, c.first), latex.OURS),
        line(labels[1], lambda c: _mean_and_deviation(c.measure, c.second)),
        r"\midrule",
        line(r"$\Delta$", marked(_difference)),
        line(rf"{100 * confidence:g}\% CI", marked(_interval)),
        line("Cohen's $d$", _cohens_d),
        line("Welch $p$", lambda c: _p(c.test.welch_p if c.test else math.nan)),
        line("Perm. $p$", lambda c: _p(c.permutation_p)),
        line("Ckpts led", _checkpoints_led),
    ]


def _mean(measure: _Measure, summary: SeedSummary) -> str:
    return printed(summary.mean, measure.digits) if summary.n else latex.DASH


def _mean_and_deviation(measure: _Measure, summary: SeedSummary) -> str:
    if summary.n <= FEW_SEEDS:
        return _mean(measure, summary)
    mean, deviation = printed(summary.mean, measure.digits), printed(summary.sd, measure.digits)
    return rf"${mean}\pm{deviation}$"


def _range(measure: _Measure, summary: SeedSummary) -> str:
    if not summary.n:
        return latex.DASH
    low, high = printed(summary.low, measure.digits), printed(summary.high, measure.digits)
    return f"$[{low}, {high}]$"


def _difference(comparison: _Comparison) -> str:
    measure = comparison.measure
    if math.isnan(comparison.difference):
        return latex.DASH
    value = printed(measure.factor * comparison.difference, measure.difference_digits, signed=True)
    return latex.mathematics(value) + (" pts" if measure.fraction else "")


def _interval(comparison: _Comparison) -> str:
    test, measure = comparison.test, comparison.measure
    if test is None or math.isnan(test.interval_low):
        return latex.DASH
    low, high = (
        printed(measure.factor * end, measure.interval_digits)
        for end in (test.interval_low, test.interval_high)
    )
    return f"$[{low}, {high}]$"


def _cohens_d(comparison: _Comparison) -> str:
    if comparison.test is None or math.isnan(comparison.test.cohens_d):
        return latex.DASH
    d = comparison.test.cohens_d
    if math.isinf(d):
        return r"$\infty$" if d > 0 else r"$-\infty$"
    return latex.mathematics(printed(d, 2))


def _p(p: float) -> str:
    return latex.DASH if math.isnan(p) else latex.p_value(p)


def _disjoint(comparison: _Comparison) -> str:
    if comparison.disjoint is None:
        return latex.DASH
    return "yes" if comparison.disjoint else "no"


def _checkpoints_led(comparison: _Comparison) -> str:
    if comparison.led is None:
        return latex.DASH
    led, of = comparison.led
    return f"{led}/{of}"


def _caption(
    labels: tuple[str, str],
    counts: tuple[int, int],
    few: bool,
    confidence: float,
    resamples: int,
    comparisons: Sequence[_Comparison],
    campaign: str,
    scale: Scale,
) -> str:
    if counts[0] == counts[1]:
        seeds = f"{_seeds(counts[0])} per arm"
    else:
        seeds = f"{_seeds(counts[0])} of {labels[0]} and {_seeds(counts[1])} of {labels[1]}"
    where = "" if campaign == "reestimate" else f" of the campaign {latex.escape(campaign)}"
    sentences = [
        f"{labels[0]} against {labels[1]}: {seeds}{where}.",
        "silent@10 is the silent fraction among the candidate groups generated per seed in steps "
        "1--10; waste@30 is rollouts in silent candidate groups through step 30.",
    ]
    if few:
        sentences += [
            f"So few seeds carry no test: seed ranges stand instead of deviations, intervals and "
            f"$p$ values, the pink rows are those of {labels[0]}, and bold marks the columns whose "
            "seed ranges are disjoint.",
            rf"$\Delta$ is {labels[0]} minus {labels[1]}, taken on unrounded values.",
        ]
    else:
        number = f"{resamples:,}".replace(",", r"\,")
        sentences += [
            rf"$\pm$ is the sample standard deviation, the pink row is {labels[0]}, and bold marks "
            "the columns whose interval excludes zero.",
            rf"$\Delta$ is {labels[0]} minus {labels[1]} and, like the tests, is taken on "
            "unrounded values.",
            rf"{100 * confidence:g}\% intervals and Welch $p$ two-sided; permutation $p$ one-sided "
            f"in the direction of improvement over {number} resamples.",
        ]
    sentences += _too_short(comparisons)
    sentences += [
        f"Ckpts led counts the checkpoints after step 0 at which the mean of {labels[0]} is "
        "higher.",
        latex.escape(scale.note),
    ]
    return " ".join(sentences)


def _too_short(comparisons: Sequence[_Comparison]) -> list[str]:
    """Why the runs have no value of a measure that counts the first so many steps."""
    needed = {"silent_at_10": EARLY_STEPS, "waste_at_30": WASTE_STEPS}
    shown = {one.measure.name: one.measure.heading for one in comparisons}
    sentences = [
        f"{one.measure.heading} needs runs of {needed[one.measure.name]} steps, and these are "
        "shorter."
        for one in comparisons
        if one.measure.name in needed and not (one.first.n or one.second.n)
    ]
    if WHOLE_RUN.name in shown:
        sentences.append(
            f"{shown[WHOLE_RUN.name].capitalize()}, is rollouts in silent candidate groups over "
            "all steps."
        )
    return sentences


def _seeds(count: int) -> str:
    return f"{count} seed{'s' if count != 1 else ''}"


def _notes(
    comparisons: Sequence[_Comparison], labels: tuple[str, str], counts: tuple[int, int]
) -> list[str]:
    """Names the cells that rest on fewer seeds than their arm has."""
    return [
        f"{comparison.measure.heading} of {label} is over {summary.n} of {count} seeds."
        for comparison in comparisons
        for label, count, summary in zip(
            labels, counts, (comparison.first, comparison.second), strict=True
        )
        if 0 < summary.n < count
    ]
