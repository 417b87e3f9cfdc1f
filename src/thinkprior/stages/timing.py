"""Where the time goes: seconds of each stage, and of the parts of training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

PARTS = ("selection", "generation", "verification", "update")


def measure_time(
    benchmarks: Mapping[str, Sequence[Path | str]],
    timings: Sequence[Path | str],
    table: Path | str,
) -> None:
    """Write the seconds of each stage as CSV.

    Args:
        benchmarks: stage to the benchmark files of its jobs, which Snakemake writes.
        timings: timings logs of the training runs.
        table: CSV that takes stage, jobs, seconds (the sum over jobs of the time on the clock) and
            seconds a job. Rows `train: ...` divide the stage `train`; what is left of it is the
            start of the process, loading, and saving.
    """
    rows: list[dict[str, object]] = []
    totals: dict[str, float] = {}
    for stage, files in benchmarks.items():
        totals[stage] = sum(float(pd.read_csv(file, sep="\t")["s"].iloc[0]) for file in files)
        rows.append({"stage": stage, "jobs": len(files), "seconds": totals[stage]})
    parts = pd.concat([pd.read_parquet(file) for file in timings])[list(PARTS)].sum()
    for part in PARTS:
        rows.append({"stage": f"train: {part}", "jobs": len(timings), "seconds": parts[part]})
    rest = totals.get("train", 0.0) - float(parts.sum())
    rows.append({"stage": "train: start, load, save", "jobs": len(timings), "seconds": rest})
    frame = pd.DataFrame(rows)
    frame["seconds_a_job"] = frame["seconds"] / frame["jobs"]
    frame.round(3).to_csv(table, index=False)
