"""`snakemake plan`: jobs, tokens, hours and disk, printed before anything is spent."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from thinkprior.artifacts import read_json
from thinkprior.configuration import Configuration, parse
from thinkprior.throughput import BOUND, GIVEN, UNKNOWN, durations, finished
from thinkprior.workload import STAGES, Work, architectures_of, workload
from thinkprior.world.tokenizer import vocabulary

COLUMNS = (
    "stage",
    "what",
    "model",
    "jobs",
    "done",
    "prompts",
    "completions",
    "tokens",
    "update_tokens",
    "hours",
    "hours_from",
    "disk_gb",
)
COUNTS = ("jobs", "done", "prompts", "completions", "tokens", "update_tokens")
TOTAL = "total"


def print_plan(config: Mapping[str, Any], folder: str) -> None:
    """Print what the configuration's jobs will take, and write it to `<folder>/plan.csv`.

    Args:
        config: the configuration, as YAML gives it.
        folder: the scale's folder, such as `results/miniature`.
    """
    settings = parse(dict(config), "the configuration")
    table, works = plan_table(settings, Path(folder))
    path = Path(folder, "plan.csv")
    path.parent.mkdir(parents=True, exist_ok=True)
    table.to_csv(path, index=False)
    print(_text(settings, table, works, Path(folder)), flush=True)
    print(f"\nEvery line of it: {path}", flush=True)


def plan_table(config: Configuration, folder: Path) -> tuple[pd.DataFrame, list[Work]]:
    """The plan, a row a piece of work, then a row a stage and one in all.

    Returns:
        The table with `COLUMNS`, and the pieces of work that it is of. Hours are of all jobs of the
        row, done ones included; nan where nothing tells them.
    """
    architectures = architectures_of(config, len(vocabulary()), folder)
    works = workload(config, architectures)
    spent = durations(config, works, architectures, folder)
    rows = [
        {
            "stage": work.stage,
            "what": work.what,
            "model": work.model,
            "jobs": work.jobs,
            "done": len(finished(folder, work)),
            "prompts": work.prompts,
            "completions": work.completions,
            "tokens": work.tokens,
            "update_tokens": work.update_tokens,
            "hours": duration.seconds / 3600,
            "hours_from": duration.source,
            "disk_gb": work.disk / 1e9,
        }
        for work, duration in zip(works, spent, strict=True)
    ]
    sums = [_sum(stage, [row for row in rows if row["stage"] == stage]) for stage in STAGES]
    return pd.DataFrame([*rows, *sums, _sum(TOTAL, rows)], columns=list(COLUMNS)), works


def _sum(stage: str, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    known = [row["hours"] for row in rows if not math.isnan(row["hours"])]
    sources = list(dict.fromkeys(str(row["hours_from"]).partition(",")[0] for row in rows))
    return {
        "stage": stage,
        "what": TOTAL,
        "model": "",
        **{name: sum(row[name] for row in rows) for name in COUNTS},
        "hours": math.fsum(known) if known else math.nan,
        "hours_from": "; ".join(sources),
        "disk_gb": math.fsum(row["disk_gb"] for row in rows),
    }


def _text(config: Configuration, table: pd.DataFrame, works: list[Work], folder: Path) -> str:
    engine = config.engine
    sums = table[table["what"] == TOTAL]
    lines = [
        f"{config.scale}: what its jobs take at most, on {engine.device}, "
        f"{engine.gpus} GPU(s) and {engine.threads} thread(s) a job",
        "",
        f"{'stage':<10}{'jobs':>6}{'done':>6}{'prompts':>11}{'completions':>13}"
        f"{'tokens':>16}{'update tokens':>16}{'hours':>10}{'disk, GB':>11}  hours from",
    ]
    lines += [
        f"{row['stage']:<10}{row['jobs']:>6}{row['done']:>6}{row['prompts']:>11,}"
        f"{row['completions']:>13,}{row['tokens']:>16,}{row['update_tokens']:>16,}"
        f"{_number(row['hours']):>10}{_number(row['disk_gb']):>11}  {row['hours_from']}"
        for row in sums.to_dict("records")
    ]
    lines += ["", *_notes(config, table, works, folder)]
    return "\n".join(lines)


def _number(value: float) -> str:
    if math.isnan(value):
        return "?"
    return f"{value:,.2f}" if value < 100 else f"{value:,.0f}"


def _notes(
    config: Configuration, table: pd.DataFrame, works: list[Work], folder: Path
) -> list[str]:
    notes = [
        "Tokens: every prompt and completion as long as its cap; arms that refill, "
        f"{config.training.most_refill_rounds} rounds in every step.",
    ]
    working = max(works, key=lambda work: work.working_disk)
    if working.working_disk:
        notes.append(
            f"Besides, a run keeps its state until its evaluation begins: "
            f"{_number(working.working_disk / 1e9)} GB each in {working.what}, which keeps most."
        )
    unknown = [work.model for work in works if work.stage == "model" and not work.disk]
    if unknown:
        notes.append(
            f"Disk leaves out models that take none of their own or whose size is not known here: "
            f"{', '.join(unknown)}."
        )
    sources = set(table["hours_from"].str.partition(",")[0])
    if any(source.startswith("measured") for source in sources):
        notes.append(f"Measured: on {', '.join(_hosts(folder)) or 'this machine'}.")
    if GIVEN in sources:
        notes.append("Given rates: from `planning`, at the caps on tokens.")
    if BOUND in sources:
        notes.append(
            "Bound: weights read once for each token step of engine.batch_rows sequences, and the "
            "arithmetic, with planning.memory_bandwidth_gb_s and planning.tflops, at the caps on "
            "tokens. Shorter completions take less; engines, loading and grading take more."
        )
    if UNKNOWN in sources:
        notes.append(
            "Not known: no finished job tells, and `planning` gives no rates or bandwidth, or the "
            "model's size is not known here. The total leaves them out."
        )
    if config.engine.gpus:
        notes.append(f"GPU-hours: hours x {config.engine.gpus}.")
    return notes


def _hosts(folder: Path) -> list[str]:
    """Machines that finished runs were made on."""
    found = []
    for path in sorted(folder.glob("runs/*/*/*/manifest.json")):
        host = read_json(path, ["host"])["host"]
        found.append(f"{host['processor']} ({host['cores']} cores)")
    return list(dict.fromkeys(found))
