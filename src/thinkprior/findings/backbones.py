"""Other policies, and the main one anew: accuracy and early silence of two arms (Table 3(a))."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from thinkprior.measurements import Measurement, over_seeds

TABLE = "table3a"
ARMS = ("thinkprior", "online_np")
METRICS = ("math500", "silent_at_10")


def backbone_measurements(runs: pd.DataFrame, campaigns: Sequence[str]) -> list[Measurement]:
    """Means and ranges over the seeds, by campaign and arm; nan where no run is finished.

    Args:
        runs: one row a finished run: campaign, arm, seed, math500 and silent_at_10 (fractions).
        campaigns: the campaigns, a policy each.
    """
    return [
        over_seeds(TABLE, campaign, arm, metric, _seeds(runs, campaign, arm)[metric])
        for campaign in campaigns
        for arm in ARMS
        for metric in METRICS
    ]


def _seeds(runs: pd.DataFrame, campaign: str, arm: str) -> pd.DataFrame:
    return runs[(runs["campaign"] == campaign) & (runs["arm"] == arm)].sort_values("seed")
