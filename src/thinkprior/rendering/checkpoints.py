"""An arm's course over its checkpoints."""

from collections.abc import Iterable

import pandas as pd

from thinkprior.errors import InputError
from thinkprior.rendering.seeds import summarise


def course(checkpoints: pd.DataFrame, arm: str, seeds: Iterable[int], measure: str) -> pd.DataFrame:
    """Mean and seed range of a measure at each checkpoint that all the given seeds share.

    Args:
        checkpoints: One row per run and checkpoint, with arm, seed, step, generated_rollouts
            (cumulative) and the measure.
        arm: Name of the arm.
        seeds: Seeds of its finished runs; others in `checkpoints` are left out.
        measure: Column of accuracies.

    Returns:
        Rows by step with the columns step, generated_rollouts (mean), value, low, high and n.

    Raises:
        InputError: For a finished run without any checkpoint.
    """
    rows = checkpoints[checkpoints["arm"] == arm].dropna(subset=[measure])
    wanted = sorted(seeds)
    for seed in wanted:
        if not (rows["seed"] == seed).any():
            raise InputError(
                f"the checkpoints lack {measure} of arm {arm}, seed {seed}, "
                "which the metrics list as finished: evaluate its checkpoints"
            )
    rows = rows[rows["seed"].isin(wanted)]
    points = []
    for step, at_step in rows.groupby("step"):
        summary = summarise(at_step[measure])
        if summary.n == len(wanted):
            rollouts = float(at_step["generated_rollouts"].mean())
            points.append((step, rollouts, summary.mean, summary.low, summary.high, summary.n))
    columns = ["step", "generated_rollouts", "value", "low", "high", "n"]
    return pd.DataFrame(points, columns=columns)
