"""Measured seconds of generation a rollout, for the hours of Table 4 and the timing of the text."""

from __future__ import annotations

import math
from collections.abc import Mapping

import pandas as pd

from thinkprior.errors import InputError


def generation_times(runs: pd.DataFrame, seconds: Mapping[tuple[str, int], float]) -> pd.DataFrame:
    """Rollouts, tokens and seconds of generation of runs.

    Args:
        runs: metrics of the runs of one campaign: arm, seed, generated_rollouts, generated_tokens.
        seconds: (arm, seed) of each run to time, to its seconds of generation.

    Returns:
        arm, seed, rollouts, tokens, seconds, in the order of `seconds`.

    Raises:
        InputError: for a time of a run that the metrics lack.
    """
    known = {
        (str(arm), int(seed)): (int(rollouts), int(tokens))
        for arm, seed, rollouts, tokens in zip(
            runs["arm"],
            runs["seed"],
            runs["generated_rollouts"],
            runs["generated_tokens"],
            strict=True,
        )
    }
    rows = []
    for (arm, seed), spent in seconds.items():
        if (arm, seed) not in known:
            raise InputError(
                f"the metrics hold no run {arm}/seed{seed}, whose seconds are given: make the "
                "metrics of its campaign anew"
            )
        rows.append((arm, seed, *known[arm, seed], spent))
    return pd.DataFrame(rows, columns=["arm", "seed", "rollouts", "tokens", "seconds"])


def pooled_seconds_per_rollout(times: pd.DataFrame) -> float:
    """All seconds over all rollouts, as `generation_times` has them; nan without any."""
    rollouts = int(times["rollouts"].sum())
    return float(times["seconds"].sum()) / rollouts if rollouts else math.nan
