"""How strong the anchor must be: its pass rate, and the runs that start from it (Table 3(b))."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import pandas as pd

from thinkprior.measurements import Measurement, over_seeds

TABLE = "table3b"
ARM = "thinkprior"
METRICS = ("math500", "silent_at_10")


def anchor_measurements(
    runs: pd.DataFrame, phi: Mapping[str, npt.ArrayLike | None]
) -> list[Measurement]:
    """The anchor's mean pass rate over the pool, and means and ranges over the seeds.

    Args:
        runs: one row a finished run: campaign, arm, seed, math500 and silent_at_10 (fractions).
        phi: of each campaign, the anchor's pass rate on every prompt of the pool; None where it
            is not known, since no run of the campaign is finished.
    """
    found = []
    for campaign, rates in phi.items():
        prior = np.asarray([] if rates is None else rates, dtype=np.float64)
        found.append(
            Measurement(
                TABLE,
                campaign,
                ARM,
                "mean_anchor_pass_rate",
                float(prior.mean()) if len(prior) else math.nan,
                n=len(prior),
                note="n counts prompts of the pool",
            )
        )
        seeds = runs[(runs["campaign"] == campaign) & (runs["arm"] == ARM)].sort_values("seed")
        found += [over_seeds(TABLE, campaign, ARM, metric, seeds[metric]) for metric in METRICS]
    return found
