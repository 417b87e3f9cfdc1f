"""Gathering the runs of a campaign into its metric tables."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from thinkprior.artifacts import GROUPS, SCORES, STEPS, read_csv, read_parquet
from thinkprior.errors import InputError
from thinkprior.metrics import checkpoint_metrics, named, run_metrics, step_metrics


def gather_metrics(
    campaign: str,
    runs: Sequence[tuple[str, int]],
    groups: Sequence[Path | str],
    steps: Sequence[Path | str],
    scores: Sequence[Path | str],
    run_table: Path | str,
    step_table: Path | str,
    checkpoint_table: Path | str,
) -> None:
    """Write a campaign's metrics: one row a run, a step of a run, a checkpoint of a run.

    Args:
        campaign: its name.
        runs: (arm, seed) of each run, in the order of the files.
        groups: the runs' groups logs.
        steps: their steps logs.
        scores: their evaluations.
        run_table: CSV that takes the figures of the runs.
        step_table: CSV that takes the counts of each step.
        checkpoint_table: CSV that takes the accuracies along the runs.
    """
    if not runs:
        raise InputError(
            f"campaign {campaign}: no run is finished. Leave finished_runs_only away, and the runs "
            "that are missing are trained."
        )
    rows: list[dict[str, Any]] = []
    by_step: list[pd.DataFrame] = []
    by_checkpoint: list[pd.DataFrame] = []
    for (arm, seed), group_path, step_path, score_path in zip(
        runs, groups, steps, scores, strict=True
    ):
        name = {"campaign": campaign, "arm": arm, "seed": seed}
        group_log, score_table = read_parquet(group_path, GROUPS), read_csv(score_path, SCORES)
        rows.append({**name, **run_metrics(group_log, read_parquet(step_path, STEPS), score_table)})
        by_step.append(named(step_metrics(group_log), name))
        by_checkpoint.append(named(checkpoint_metrics(group_log, score_table), name))
    pd.DataFrame(rows).to_csv(run_table, index=False)
    pd.concat(by_step).to_csv(step_table, index=False)
    pd.concat(by_checkpoint).to_csv(checkpoint_table, index=False)
