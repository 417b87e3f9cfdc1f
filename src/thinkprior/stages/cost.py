"""Adding up what the jobs cost, and rendering it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from thinkprior.artifacts import GROUPS, RUNS, read_csv, read_json, read_parquet
from thinkprior.benchmarks import Accuracies
from thinkprior.findings import cost
from thinkprior.rendering.arms import ArmRow
from thinkprior.rendering.cost import cost_table
from thinkprior.rendering.scale import Scale
from thinkprior.rendering.table import save_table
from thinkprior.usage import read_usage

CAMPAIGN = "main"


def render_cost(
    settings: Mapping[str, Any],
    runs: Sequence[tuple[str, str, int]],
    passes: Sequence[Mapping[str, str]],
    benchmarks: Mapping[str, Sequence[Path | str]],
    usage: Mapping[str, Sequence[Path | str]],
    logs: Mapping[str, Sequence[Path | str]],
    responses: Sequence[Path | str],
    metrics: Path | str,
    checkpoints: Path | str,
    outputs: Mapping[str, Path | str],
) -> None:
    """The cost table and figure.

    Args:
        settings: as `plans.table_settings` gives them for the campaign `main`.
        runs: campaign, arm and seed of the training runs, in the order of their files.
        passes: `kind`, `name` (as printed) and `main` (whether the campaign `main` uses it) of the
            passes over the pools, in the order of their files.
        benchmarks: stage to the benchmark files of its jobs, which Snakemake writes.
        usage: stage to the usage files of its jobs; a stage without an entry ran in the processes
            that Snakemake watched, so its benchmark files tell all.
        logs: `groups`, `timings` and `manifest` of the runs.
        responses: answers of the passes.
        metrics: metrics of `main`, a row a run.
        checkpoints: its metrics by checkpoint.
        outputs: `csv` and `tex` of the table, `pdf`, `png` and `figure_csv` of the figure; its
            caption goes beside the latter.
    """
    from thinkprior.rendering.cost_figure import cost_figure
    from thinkprior.rendering.figure import save_figure

    accuracies = Accuracies(**settings.get("accuracies", {}))
    jobs = {
        stage: _jobs(files, usage.get(stage))
        for stage, files in benchmarks.items()
        if files or stage == cost.TRAINING
    }
    spent, parts = _runs(runs, logs, jobs[cost.TRAINING])
    passed = [
        cost.PassCost(one["kind"], one["name"], job, len(answers), int(answers["tokens"].sum()))
        for one, job, path in zip(passes, jobs.get("probe", []), responses, strict=True)
        for answers in [read_parquet(path, ["tokens"])]
    ]
    of_main = [run for name, run in spent if name == CAMPAIGN]
    arms = [ArmRow(**arm) for arm in settings["arms"]]
    scale = Scale(settings["scale"], settings["note"])
    measurements = [
        *cost.stage_costs(jobs, parts),
        *cost.throughput(
            [run for _, run in spent], [one for one in passed if one.kind == "anchor"]
        ),
        *cost.arm_costs(
            CAMPAIGN,
            [arm.name for arm in arms],
            read_csv(metrics, RUNS),
            of_main,
            accuracies.first,
        ),
        *cost.pass_costs(
            CAMPAIGN, [one for one, row in zip(passed, passes, strict=True) if row["main"]]
        ),
    ]
    table = cost_table(
        measurements, arms, CAMPAIGN, _hosts(logs["manifest"]), scale, accuracies=accuracies
    )
    save_table(table, Path(outputs["csv"]), Path(outputs["tex"]))
    courses = cost.accuracy_courses(read_csv(checkpoints, RUNS), of_main, accuracies.along)
    figure = cost_figure(courses, arms, scale, accuracies=accuracies)
    save_figure(figure, Path(outputs["pdf"]), Path(outputs["png"]), Path(outputs["figure_csv"]))


def _jobs(
    benchmarks: Sequence[Path | str], usages: Sequence[Path | str] | None
) -> list[cost.JobCost]:
    jobs = []
    for place, path in enumerate(benchmarks):
        row = read_csv(path, ["s"], sep="\t", na_values=["-", "NA"]).iloc[0]
        if usages is None:
            jobs.append(cost.JobCost(row["s"], row["cpu_time"], row["max_rss"]))
            continue
        if not Path(usages[place]).exists():
            jobs.append(cost.JobCost(row["s"]))
            continue
        used = read_usage(usages[place])
        gpu = math.nan if used.gpu_memory_mib is None else used.gpu_memory_mib
        jobs.append(cost.JobCost(row["s"], used.cpu_seconds, used.peak_memory_mib, gpu))
    return jobs


def _runs(
    runs: Sequence[tuple[str, str, int]],
    logs: Mapping[str, Sequence[Path | str]],
    jobs: Sequence[cost.JobCost],
) -> tuple[list[tuple[str, cost.RunCost]], dict[str, float]]:
    """Campaign and cost of each run, and the seconds of the parts over all of them."""
    spent = []
    total = dict.fromkeys(cost.PARTS, 0.0)
    for (campaign, arm, seed), groups, timings, job in zip(
        runs, logs["groups"], logs["timings"], jobs, strict=True
    ):
        seconds = read_parquet(timings, ["step", *cost.PARTS])
        parts = {part: float(seconds[part].sum()) for part in cost.PARTS}
        course = cost.course_of(read_parquet(groups, GROUPS), seconds)
        spent.append((campaign, cost.RunCost(arm, seed, job, course, parts)))
        for part, value in parts.items():
            total[part] += value
    return spent, total


def _hosts(manifests: Sequence[Path | str]) -> dict[str, int]:
    """Machine as printed, to the training runs made on it."""
    found: dict[str, int] = {}
    for path in manifests:
        host = read_json(path, ["host"])["host"]
        cores = host["cores"]
        name = f"{host['processor']}, {cores} core{'s' if cores != 1 else ''}"
        found[name] = found.get(name, 0) + 1
    return found
