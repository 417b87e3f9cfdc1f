"""Table 4, the window rates, Appendix E and the amortisation figures: read, compute, render."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from thinkprior.artifacts import RESPONSES, RUNS, read_csv, read_json, read_parquet
from thinkprior.benchmarks import Accuracies
from thinkprior.findings.amortisation import AnchorPass, amortisation
from thinkprior.findings.composition import composition
from thinkprior.findings.generation_time import generation_times, pooled_seconds_per_rollout
from thinkprior.findings.large_pool_checks import (
    endpoint_table,
    integrity_measurements,
    low_seed_measurements,
    pass_measurements,
    rule_measurements,
    seed_measurements,
)
from thinkprior.findings.windows import (
    MAIN,
    REESTIMATE,
    coverage_measurements,
    published_rates,
    window_measurements,
)
from thinkprior.problems import read_problems
from thinkprior.rendering.amortisation import amortisation_table
from thinkprior.rendering.appendix_e import appendix_e
from thinkprior.rendering.arms import ArmRow
from thinkprior.rendering.scale import Scale
from thinkprior.rendering.table import save_table
from thinkprior.rendering.table4 import table4
from thinkprior.rendering.windows import windows_table

Run = tuple[str, int]


def render_table4(
    settings: Mapping[str, Any],
    runs: Sequence[Run],
    metrics: Path | str,
    timings: Sequence[Path | str],
    manifests: Sequence[Path | str],
    csv: Path | str,
    tex: Path | str,
) -> None:
    """Table 4.

    Args:
        settings: as `plans.composition_settings` gives them.
        runs: (arm, seed) of the runs of the two arms, in the order of their files.
        metrics: metrics of the main campaign.
        timings: timings logs of the runs.
        manifests: their manifests, which name the hosts.
        csv: takes the numbers.
        tex: takes the table.
    """
    metric_table = read_csv(metrics, RUNS)
    seconds = pooled_seconds_per_rollout(_times(metric_table, runs, timings))
    accuracies = Accuracies(**settings.get("accuracies", {}))
    measurements = composition(
        metric_table, seconds, _hardware(settings["hardware"], manifests), accuracies.first
    )
    table = table4(
        measurements,
        _scale(settings),
        labels=_pair(settings),
        steps=settings["steps"],
        batch_prompts=settings["batch_prompts"],
        most_rounds=settings["most_rounds"],
        accuracies=accuracies,
    )
    save_table(table, Path(csv), Path(tex))


def render_windows(
    settings: Mapping[str, Any],
    runs: Mapping[str, Sequence[Run]],
    groups: Mapping[str, Sequence[Path | str]],
    metrics: Mapping[str, Path | str],
    steps: Mapping[str, Path | str],
    csv: Path | str,
    tex: Path | str,
) -> None:
    """The window rates and the coverage.

    Args:
        settings: as `plans.windows_settings` gives them.
        runs: campaign (`main`, and `reestimate` where there is one) to (arm, seed) of its runs, in
            the order of the files.
        groups: campaign to the groups logs of its runs.
        metrics: campaign to its metrics.
        steps: campaign to its counts of each step.
        csv: takes the numbers.
        tex: takes the table.
    """
    step_tables = {name: read_csv(steps[name], RUNS) for name in runs}
    metric_tables = {name: read_csv(metrics[name], RUNS) for name in runs}
    pair = REESTIMATE if REESTIMATE in runs else MAIN
    measurements = published_rates(
        step_tables[MAIN], metric_tables[MAIN], step_tables[pair], metric_tables[pair], pair
    )
    for name in (MAIN, REESTIMATE):
        if name not in runs:
            continue
        measurements += window_measurements(name, step_tables[name])
        measurements += coverage_measurements(
            name, _visits(runs[name], groups[name]), settings["pools"][name]
        )
    table = windows_table(
        measurements,
        [ArmRow(**arm) for arm in settings["arms"]],
        _scale(settings),
        reestimate_arms=settings["reestimate_arms"],
        steps=settings["steps"],
        pool=settings["pools"][MAIN],
        pair=pair,
    )
    save_table(table, Path(csv), Path(tex))


def render_appendix_e(
    settings: Mapping[str, Any],
    metrics: Path | str,
    steps: Path | str,
    checkpoints: Path | str,
    pool: Path | str,
    prior: Path | str,
    old_pass: Path | str,
    new_pass: Path | str,
    csv: Path | str,
    tex: Path | str,
) -> None:
    """Appendix E.

    Args:
        settings: as `plans.appendix_e_settings` gives them.
        metrics: metrics of the large-pool campaign.
        steps: its counts of each step.
        checkpoints: accuracies along its runs.
        pool: the larger pool.
        prior: the anchor's prior on it.
        old_pass: the anchor's responses on the main pool.
        new_pass: those on the larger pool.
        csv: takes the numbers.
        tex: takes the table.
    """
    runs, step_table = read_csv(metrics, RUNS), read_csv(steps, RUNS)
    endpoints = endpoint_table(runs, step_table)
    prior_ids = read_csv(prior, ("problem_id",), dtype={"problem_id": str}, keep_default_na=False)[
        "problem_id"
    ].tolist()
    pool_ids = [problem.id for problem in read_problems(pool)]
    measurements = [
        *seed_measurements(endpoints),
        *rule_measurements(endpoints),
        *low_seed_measurements(runs, step_table),
        *integrity_measurements(prior_ids, pool_ids, read_csv(checkpoints, RUNS)),
        *pass_measurements(read_parquet(old_pass, RESPONSES), read_parquet(new_pass, RESPONSES)),
    ]
    table = appendix_e(
        measurements,
        _scale(settings),
        labels=_pair(settings),
        benchmarks=settings["benchmarks"],
        steps=settings["steps"],
        pool=settings["pool"],
    )
    save_table(table, Path(csv), Path(tex))


def render_amortisation(
    settings: Mapping[str, Any],
    runs: Sequence[Run],
    metrics: Path | str,
    timings: Sequence[Path | str],
    manifests: Sequence[Path | str],
    anchor: Path | str,
    anchor_benchmark: Path | str,
    lengths: Path | str,
    csv: Path | str,
    tex: Path | str,
) -> None:
    """The amortisation figures.

    Args:
        settings: as `plans.amortisation_settings` gives them.
        runs: (arm, seed) of the runs of the two arms with refilling, in the order of their files.
        metrics: metrics of the main campaign.
        timings: timings logs of the runs.
        manifests: their manifests, which name the hosts.
        anchor: the anchor's responses on the main pool.
        anchor_benchmark: what Snakemake measured of that pass.
        lengths: thinking lengths, with the prompts that the length map was fitted on.
        csv: takes the numbers.
        tex: takes the table.
    """
    tokens = read_parquet(anchor, ["tokens"])["tokens"]
    seconds = float(read_csv(anchor_benchmark, ["s"], sep="\t")["s"].iloc[0])
    fitted = int(read_csv(lengths, ["fitted_on"])["fitted_on"].sum())
    measurements = amortisation(
        AnchorPass(len(tokens), int(tokens.sum()), seconds),
        settings["reference_samples"] * fitted,
        _times(read_csv(metrics, RUNS), runs, timings),
    )
    table = amortisation_table(
        measurements,
        _scale(settings),
        anchor=settings["anchor"],
        samples=settings["samples"],
        pool=settings["pool"],
        labels=_pair(settings),
        hardware=_hardware(settings["hardware"], manifests),
    )
    save_table(table, Path(csv), Path(tex))


def _scale(settings: Mapping[str, Any]) -> Scale:
    return Scale(settings["scale"], settings["note"])


def _pair(settings: Mapping[str, Any]) -> tuple[str, str]:
    first, second = settings["labels"]
    return first, second


def _times(
    metrics: pd.DataFrame, runs: Sequence[Run], timings: Sequence[Path | str]
) -> pd.DataFrame:
    seconds = {
        (arm, seed): float(read_parquet(path, ["generation"])["generation"].sum())
        for (arm, seed), path in zip(runs, timings, strict=True)
    }
    return generation_times(metrics, seconds)


def _visits(runs: Sequence[Run], groups: Sequence[Path | str]) -> pd.DataFrame:
    """The candidate groups of all runs: arm, seed, step, problem_id."""
    columns = ["step", "problem_id"]
    logs = [
        read_parquet(path, columns).assign(arm=arm, seed=seed)
        for (arm, seed), path in zip(runs, groups, strict=True)
    ]
    return pd.concat(logs, ignore_index=True)


def _hardware(settings: Mapping[str, Any], manifests: Sequence[Path | str]) -> str:
    """Processors behind the runs, the device of a job and its threads, in words."""
    found = []
    for path in manifests:
        host = read_json(path, ["host"])["host"]
        cores = host["cores"]
        found.append(f"{host['processor']} with {cores} core{'' if cores == 1 else 's'}")
    machines = " and ".join(dict.fromkeys(found)) or "no machine, since no run has finished"
    threads = settings["threads"]
    return (
        f"{machines} (device {settings['device']}, {threads} thread{'' if threads == 1 else 's'})"
    )
