"""Learnable prompts that the anchor misjudges, and whether a run comes to them (Appendix B)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from thinkprior.findings.band import in_band
from thinkprior.measurements import Measurement, over_seeds
from thinkprior.metrics import WASTE_STEPS
from thinkprior.problems import Problem


def pool_composition(
    ids: Sequence[str],
    reference: NDArray[np.float64],
    anchor: NDArray[np.float64],
    group_size: int,
    campaign: str,
    logs: Mapping[int, pd.DataFrame],
) -> list[Measurement]:
    """Counts of the pool: the learnable band, the anchor's extremes, and what runs have touched.

    A prompt with phi = 0 or 1 has the lowest score U_beta that the prior can give, so a band
    prompt there starts low in the ordering.

    Args:
        ids: the pool's ids in order.
        reference: reference pass rates, shape [prompts].
        anchor: phi of the anchor.
        group_size: G.
        campaign: campaign whose pool it is.
        logs: groups log of each finished run of ThinkPrior, by seed.

    Returns:
        Rows of `appendixB`. Touched means that some group was generated on the prompt; a run
        shorter than 30 steps has no count by step 30.
    """
    band = in_band(reference, group_size)
    zero, one = anchor == 0, anchor == 1
    size, band_size = len(ids), int(band.sum())
    low = band & (zero | one)

    def count(metric: str, part: NDArray[np.bool_], of: int) -> Measurement:
        return Measurement("appendixB", campaign, "-", metric, float(part.sum()), of=of, n=size)

    def touched(metric: str, part: NDArray[np.bool_], by_step: int | None) -> Measurement:
        wanted = {problem_id for problem_id, inside in zip(ids, part, strict=True) if inside}
        counts = [_touched(log, wanted, by_step) for log in logs.values()]
        row = over_seeds("appendixB", campaign, "-", metric, counts)
        return replace(row, of=len(wanted))

    return [
        Measurement("appendixB", campaign, "-", "pool_size", float(size), n=size),
        count("band_size_U_above_0.8", band, size),
        count("anchor_phi_zero", zero, size),
        count("anchor_phi_zero_in_band", zero & band, int(zero.sum())),
        count("anchor_phi_one", one, size),
        count("anchor_phi_one_in_band", one & band, int(one.sum())),
        count("floor_scored_0_or_16_of_16", zero | one, size),
        count("band_starting_low", low, band_size),
        touched("band_touched_by_step_30", band, WASTE_STEPS),
        touched("band_touched", band, None),
        touched("band_starting_low_touched", low, None),
    ]


def _touched(log: pd.DataFrame, wanted: set[str], by_step: int | None) -> float:
    if by_step is not None:
        if log["step"].max() < by_step:
            return math.nan
        log = log[log["step"] <= by_step]
    return float(len(wanted & set(log["problem_id"])))


def starting_low(
    problems: Sequence[Problem],
    reference: NDArray[np.float64],
    anchor: NDArray[np.float64],
    group_size: int,
    logs: Mapping[int, pd.DataFrame],
) -> pd.DataFrame:
    """The band prompts with phi = 0 (underestimated) or phi = 1, one a row.

    Args:
        problems: the pool in order.
        reference: reference pass rates, shape [prompts].
        anchor: phi of the anchor.
        group_size: G.
        logs: groups log of each finished run of ThinkPrior, by seed.

    Returns:
        Rows with phi = 0 first, then by falling reference, with the columns problem_id, level,
        subject, reference, phi, seeds (finished), seeds_touching (that generated a group on it) and
        first_step (earliest such step over the seeds).
    """
    rows = []
    band = in_band(reference, group_size)
    for problem, p, phi, inside in zip(problems, reference, anchor, band, strict=True):
        if not inside or phi not in (0, 1):
            continue
        steps = [log.loc[log["problem_id"] == problem.id, "step"] for log in logs.values()]
        first = [int(of_run.min()) for of_run in steps if len(of_run)]
        rows.append(
            {
                "problem_id": problem.id,
                "level": problem.level,
                "subject": problem.subject,
                "reference": float(p),
                "phi": float(phi),
                "seeds": len(logs),
                "seeds_touching": len(first),
                "first_step": min(first, default=None),
            }
        )
    columns = ["problem_id", "level", "subject", "reference", "phi"]
    columns += ["seeds", "seeds_touching", "first_step"]
    frame = pd.DataFrame(rows, columns=columns).sort_values(
        ["phi", "reference"], ascending=[True, False], kind="stable", ignore_index=True
    )
    counts = ["level", "seeds", "seeds_touching", "first_step"]
    return frame.astype(dict.fromkeys(counts, "Int64"))
