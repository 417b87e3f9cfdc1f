"""Accuracies with what belongs beside them: n, an interval, answers cut off or without a box.

At step 0 all runs of a campaign evaluate the same untrained policy, so there is one row for it (arm
`untrained`). At the end each arm has its own, over its seeds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import pandas as pd

from thinkprior.measurements import Measurement, over_seeds
from thinkprior.statistics import wilson_interval

TABLE = "protocol"
UNTRAINED = "untrained"
COLUMNS = (
    *("step", "benchmark", "subset", "problems", "correct", "accuracy"),
    *("truncated", "no_box", "mean_tokens"),
)
"""Columns of the scores that are read."""

SAME_PROBLEMS = (
    "the interval is that of one evaluation at the seeds' mean number correct: seeds share the "
    "problems, so they do not add up to a larger n"
)
DIFFERENT = "runs differ at step 0, where all evaluate the same policy: compare their hosts"


def protocol_measurements(
    campaign: str, scores: Mapping[tuple[str, int], pd.DataFrame], confidence: float
) -> list[Measurement]:
    """Accuracies of a campaign at step 0 and at the end, and what belongs beside them.

    Args:
        campaign: its name.
        scores: the scores of each (arm, seed), with `COLUMNS`.
        confidence: level of the Wilson intervals.

    Returns:
        For the arm `untrained` and for each arm: `<benchmark>_accuracy` with its Wilson interval,
        `_problems`, `_truncated` and `_no_box` (fractions) and `_mean_tokens`, each the mean over
        the runs; of a subset, such as MATH500's Level 5, as `<benchmark>_<subset>_accuracy`.
    """
    rows = _of(campaign, UNTRAINED, [table[table["step"] == 0] for table in scores.values()])
    rows_of_end: list[Measurement] = []
    for arm in dict.fromkeys(arm for arm, _ in scores):
        ends = [
            table[(table["step"] == table["step"].max()) & (table["step"] > 0)]
            for (name, _), table in sorted(scores.items())
            if name == arm
        ]
        rows_of_end += _of(campaign, arm, ends)
    return [_with_interval(row, rows, confidence) for row in rows] + [
        _with_interval(row, rows_of_end, confidence) for row in rows_of_end
    ]


def _of(campaign: str, arm: str, runs: Sequence[pd.DataFrame]) -> list[Measurement]:
    rows: list[Measurement] = []
    together = pd.concat(runs) if runs else pd.DataFrame(columns=list(COLUMNS))
    for (benchmark, subset), part in together.groupby(["benchmark", "subset"], sort=False):
        name = str(benchmark) if subset == "all" else f"{benchmark}_{subset}"
        problems = part["problems"]
        values = {
            "accuracy": part["correct"] / problems,
            "problems": problems,
            "truncated": part["truncated"] / problems,
            "no_box": part["no_box"] / problems,
            "mean_tokens": part["mean_tokens"],
        }
        note = DIFFERENT if arm == UNTRAINED and part["correct"].nunique() > 1 else ""
        rows += [
            over_seeds(TABLE, campaign, arm, f"{name}_{metric}", of, note)
            for metric, of in values.items()
        ]
    return rows


def _with_interval(row: Measurement, rows: Sequence[Measurement], confidence: float) -> Measurement:
    name, _, metric = row.metric.rpartition("_")
    if metric != "accuracy" or math.isnan(row.value):
        return row
    problems = next(
        round(other.value)
        for other in rows
        if (other.arm, other.metric) == (row.arm, f"{name}_problems")
    )
    low, high = wilson_interval(round(row.value * problems), problems, confidence)
    return Measurement(
        TABLE,
        row.setting,
        row.arm,
        row.metric,
        row.value,
        n=row.n,
        spread="interval",
        low=low,
        high=high,
        values=row.values,
        note="; ".join(filter(None, [row.note, SAME_PROBLEMS if row.n > 1 else ""])),
    )
