"""How well each prior knows the policy's pass rates (Table 5 and the Results section)."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from thinkprior.findings.band import in_band
from thinkprior.measurements import Measurement
from thinkprior.statistics import mean_absolute_error, spearman


def prior_quality(
    reference: NDArray[np.float64],
    priors: Mapping[str, NDArray[np.float64]],
    group_size: int,
    campaign: str,
    fitted_on: Mapping[str, NDArray[np.bool_]],
) -> list[Measurement]:
    """Rank correlation and mean absolute error of priors with the reference pass rates.

    Args:
        reference: reference pass rates in pool order, shape [prompts].
        priors: phi of each prior in pool order, by the prior's name.
        group_size: G, which decides the learnable band.
        campaign: campaign whose pool it is.
        fitted_on: for a prior that was fitted on some of these reference pass rates, which; both
            figures are then given for the other prompts too, as setting `unfitted`.

    Returns:
        `spearman_with_reference` (table5, settings `all`, `band`, `unfitted`) and
        `mae_with_reference` (text, settings of the campaign's name, `band`, `unfitted`), whose n
        are prompts.
    """
    everywhere = np.ones(len(reference), dtype=bool)
    band = in_band(reference, group_size)
    found = []
    for name, phi in priors.items():
        parts = [("all", campaign, everywhere), ("band", "band", band)]
        if name in fitted_on:
            parts.append(("unfitted", "unfitted", ~fitted_on[name]))
        for rank_setting, error_setting, part in parts:
            n = int(part.sum())
            found += [
                Measurement(
                    "table5",
                    rank_setting,
                    name,
                    "spearman_with_reference",
                    spearman(phi[part], reference[part]) if n else math.nan,
                    n=n,
                    note="" if n > 1 else "fewer than two prompts",
                ),
                Measurement(
                    "text",
                    error_setting,
                    name,
                    "mae_with_reference",
                    mean_absolute_error(phi[part], reference[part]) if n else math.nan,
                    n=n,
                ),
            ]
    return found
