"""The measured world beside its target: what the pool is for the policy and for the anchor."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from thinkprior.findings.band import in_band
from thinkprior.learnability import silence
from thinkprior.probing import pass_rates, read_responses
from thinkprior.problems import read_problems
from thinkprior.statistics import spearman


def measure_world(
    group_size: int,
    pool: Path | str,
    reference: Path | str,
    anchor: Path | str,
    world: Path | str,
) -> None:
    """Write the figures by which the world was chosen, as CSV.

    Args:
        group_size: G.
        pool: the main pool.
        reference: the policy's reference answers on it.
        anchor: the anchor's answers on it.
        world: CSV that takes quantity, measured value, the target's bounds and the paper's value.
    """
    ids = [problem.id for problem in read_problems(pool)]
    p = pass_rates(read_responses(reference, ids), ids)
    phi = pass_rates(read_responses(anchor, ids), ids)
    band = in_band(p, group_size)
    extremes = (phi == 0) | (phi == 1)
    rows = [
        ("reference mean pass rate", p.mean(), 0.10, 0.25, 0.147),
        ("silence of uniform sampling", silence(p, group_size).mean(), 0.33, 0.45, 0.379),
        ("share of the pool in the band U(p) > .8", band.mean(), 0.25, 0.45, 76 / 250),
        ("anchor mean pass rate", phi.mean(), 0.20, 0.30, 0.252),
        ("share of the pool at anchor 0/16 or 16/16", extremes.mean(), 0.33, 0.50, 118 / 250),
        ("Spearman of anchor and reference", spearman(phi, p), 0.50, 0.80, 0.62),
    ]
    table = pd.DataFrame(
        rows, columns=["quantity", "measured", "target_low", "target_high", "paper"]
    )
    inside = (table["measured"] >= table["target_low"]) & (
        table["measured"] <= table["target_high"]
    )
    table["inside"] = np.where(inside, "yes", "no")
    table.to_csv(world, index=False)
