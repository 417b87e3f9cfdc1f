"""Table 4: DAPO's refilling on its own and on top of ThinkPrior's selection."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import pandas as pd

from thinkprior.measurements import Measurement, over_seeds

TABLE, SETTING = "table4", "main"
ALONE, COMPOSED, CHANGE = "dapo", "thinkprior_dapo", "change"

Change = Literal["points", "per cent", "difference"]


@dataclass(frozen=True)
class Row:
    """A row of Table 4.

    Attributes:
        metric: its published name.
        column: the column of a campaign's metrics that it is read from.
        change: the unit of its change.
    """

    metric: str
    column: str
    change: Change


ACCURACY = "math500"
ROWS = (
    Row(ACCURACY, ACCURACY, "points"),
    Row("generated_rollouts", "generated_rollouts", "per cent"),
    Row("silent_generated_rollouts", "waste_full", "per cent"),
    Row("nonsilent_generated_rollouts", "nonsilent_rollouts", "per cent"),
    Row("update_rollouts", "update_rollouts", "difference"),
    Row("estimated_generation_gpu_hours", "generation_hours", "difference"),
    Row("silent_at_10", "silent_at_10", "points"),
    Row("waste_at_30", "waste_at_30", "per cent"),
)


def rows_for(benchmark: str) -> tuple[Row, ...]:
    """The rows of Table 4, whose accuracy is another benchmark's."""
    return (Row(benchmark, benchmark, "points"), *ROWS[1:])


def change_of(alone: float, composed: float, unit: Change) -> float:
    """Change from the first value to the second: in points, per cent of the first, or itself.

    Returns:
        nan where a value is, or where there is nothing to take per cent of.
    """
    if unit == "points":
        return 100 * (composed - alone)
    if unit == "difference":
        return composed - alone
    return 100 * (composed / alone - 1) if alone else math.nan


def composition(
    runs: pd.DataFrame, seconds_per_rollout: float, hardware: str, benchmark: str = ACCURACY
) -> list[Measurement]:
    """The numbers of Table 4.

    Args:
        runs: metrics of the main campaign.
        seconds_per_rollout: measured seconds of generation a rollout, both arms pooled; the hours
            are a run's generated rollouts times this.
        hardware: what it was measured on.
        benchmark: the one whose accuracy stands in it.

    Returns:
        A row a measure for either arm; its change, taken on unrounded means; the seeds' own
        accuracies and rollouts; and in how many of the seeds that both arms have the rollouts fall.
    """
    runs = runs.assign(generation_hours=runs["generated_rollouts"] * seconds_per_rollout / 3600)
    found: list[Measurement] = []
    for row in rows_for(benchmark):
        pair = []
        for arm in (ALONE, COMPOSED):
            of_arm = runs[runs["arm"] == arm]
            note = _note(row.metric, of_arm, seconds_per_rollout, hardware)
            pair.append(over_seeds(TABLE, SETTING, arm, row.metric, of_arm[row.column], note))
        found += pair
        found.append(
            Measurement(
                TABLE,
                SETTING,
                CHANGE,
                row.metric,
                change_of(pair[0].value, pair[1].value, row.change),
                n=min(pair[0].n, pair[1].n),
                note=f"{row.change}, on unrounded means",
            )
        )
    # The paper's caption lists the seeds of these.
    for metric in (benchmark, "generated_rollouts"):
        for arm in (ALONE, COMPOSED):
            of_arm = runs[runs["arm"] == arm]
            for seed, value in zip(of_arm["seed"], of_arm[metric], strict=True):
                found.append(Measurement(TABLE, f"seed {seed}", arm, metric, float(value), n=1))
    alone, composed = (
        runs[runs["arm"] == arm].set_index("seed")["generated_rollouts"]
        for arm in (ALONE, COMPOSED)
    )
    both = sorted(set(alone.index) & set(composed.index))
    fewer = float((composed[both] < alone[both]).sum()) if both else math.nan
    fall = Measurement(
        TABLE, SETTING, CHANGE, "seeds_with_fewer_rollouts", fewer, of=len(both), n=len(both)
    )
    return [*found, fall]


def _note(metric: str, of_arm: pd.DataFrame, seconds_per_rollout: float, hardware: str) -> str:
    if metric == "update_rollouts":
        short, steps = int(of_arm["shortfall_steps"].sum()), int(of_arm["steps"].sum())
        return f"as counted; {short} of {steps} steps had fewer than B non-silent groups"
    if metric == "estimated_generation_gpu_hours":
        return (
            f"generated rollouts times {seconds_per_rollout:.3g} s a rollout, both arms pooled; "
            f"measured on {hardware}"
        )
    return ""
