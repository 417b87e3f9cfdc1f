"""The larger pool: silent groups and wasted rollouts through a step (Table 3(d), Appendix E)."""

from __future__ import annotations

import math

import pandas as pd

from thinkprior.measurements import Measurement, over_seeds

TABLE = "table3d"
ARMS = ("thinkprior", "online_np")
SILENT_THROUGH = (10, 30, 200)
WASTE_THROUGH = 200


def silent_share_through(steps: pd.DataFrame, step: int) -> pd.Series:
    """Silent groups over all generated groups of the steps 1 to `step`, of each run.

    Args:
        steps: one row a step of a run (`metrics/<campaign>.steps.csv`): arm, seed, step,
            generated_groups, silent_right, silent_wrong.
        step: the last step that counts.

    Returns:
        The share, indexed by arm and seed; nan for a run that ends before `step`.
    """
    sums = _sums_through(steps, step, ["generated_groups", "silent_right", "silent_wrong"])
    return (sums["silent_right"] + sums["silent_wrong"]) / sums["generated_groups"]


def wasted_rollouts_through(steps: pd.DataFrame, step: int) -> pd.Series:
    """Rollouts in silent groups of the steps 1 to `step`, of each run; as `silent_share_through`.

    The columns read are arm, seed, step and silent_rollouts.
    """
    return _sums_through(steps, step, ["silent_rollouts"])["silent_rollouts"]


def large_pool_measurements(
    runs: pd.DataFrame, steps: pd.DataFrame, campaign: str = "large_pool"
) -> list[Measurement]:
    """Table 3(d): means and ranges over the seeds of each arm.

    Beside the paper's columns stand the silent share through step 30, which Appendix E gives by
    seed, and the rollouts generated through step 200, out of which the wasted ones are.

    Args:
        runs: one row a run: campaign, arm, seed, math500. Other campaigns are ignored.
        steps: one row a step of a run, as for `silent_share_through`, with campaign,
            generated_rollouts and silent_rollouts.
        campaign: the campaign on the larger pool.
    """
    runs, steps = (frame[frame["campaign"] == campaign] for frame in (runs, steps))
    generated = _sums_through(steps, WASTE_THROUGH, ["generated_rollouts"])["generated_rollouts"]
    columns = {
        f"wasted_rollouts_{WASTE_THROUGH}": wasted_rollouts_through(steps, WASTE_THROUGH),
        f"generated_rollouts_{WASTE_THROUGH}": generated,
        **{f"silent_at_{step}": silent_share_through(steps, step) for step in SILENT_THROUGH},
        "math500": runs.set_index(["arm", "seed"])["math500"],
    }
    return [
        over_seeds(TABLE, campaign, arm, metric, _of_arm(values, arm))
        for arm in ARMS
        for metric, values in columns.items()
    ]


def _sums_through(steps: pd.DataFrame, step: int, columns: list[str]) -> pd.DataFrame:
    run = ["arm", "seed"]
    long_enough = steps.groupby(run)["step"].max() >= step
    sums = steps[steps["step"] <= step].groupby(run)[columns].sum().astype("float64")
    sums.loc[~long_enough] = math.nan
    return sums


def _of_arm(values: pd.Series, arm: str) -> list[float]:
    mine = values[values.index.get_level_values("arm") == arm]
    return [float(value) for value in mine.sort_index()]
