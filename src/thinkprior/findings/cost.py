"""What the reproduction costs: seconds, memory, rollouts and tokens, and what accuracy they buy."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from thinkprior.benchmarks import ALONG_THE_RUN
from thinkprior.errors import InputError
from thinkprior.measurements import Measurement, over_seeds

TABLE = "cost"
PARTS = ("selection", "generation", "verification", "update")
"""Parts of a training step whose seconds the trainer logs."""

REST = "start, load, save"
"""The part of training that is outside the steps: start of the process, loading, saving, ending."""

TRAINING, ALL = "train", "all"
ARM_METRICS = (
    "generated_rollouts",
    "generated_tokens",
    "generation_seconds",
    "update_seconds",
    "run_seconds",
)
PASS_METRICS = ("generated_rollouts", "generated_tokens", "run_seconds")


@dataclass(frozen=True)
class JobCost:
    """What one job cost; nan where that was not measured.

    Attributes:
        seconds: of the whole job on the clock, start of its process included.
        cpu_seconds: processor time of its work and of its helpers.
        peak_memory_mib: the most resident memory of the process that did the work.
        gpu_memory_mib: the most that torch allocated on a CUDA device.
    """

    seconds: float
    cpu_seconds: float = math.nan
    peak_memory_mib: float = math.nan
    gpu_memory_mib: float = math.nan


@dataclass(frozen=True)
class RunCost:
    """What one training run cost.

    Attributes:
        arm, seed: the run.
        job: its job.
        course: `course_of` its logs.
        parts: seconds of each of `PARTS`.
    """

    arm: str
    seed: int
    job: JobCost
    course: pd.DataFrame
    parts: Mapping[str, float]


@dataclass(frozen=True)
class PassCost:
    """What one offline pass over a pool cost.

    Attributes:
        kind: `anchor`, `reference`, `thinking` or `respondent`.
        name: what was passed over what, as printed.
        job: its job, model loading and grading included.
        rollouts: answers drawn.
        tokens: tokens drawn.
    """

    kind: str
    name: str
    job: JobCost
    rollouts: int
    tokens: int


def course_of(groups: pd.DataFrame, timings: pd.DataFrame) -> pd.DataFrame:
    """What a run had spent after each step: step, rollouts, tokens, seconds; step 0 first.

    Args:
        groups: its groups log.
        timings: its timings log, a row a step.

    Raises:
        InputError: where the two logs have different steps.
    """
    drawn = groups.groupby("step")[["rollouts", "tokens"]].sum()
    spent = timings.set_index("step")[list(PARTS)].sum(axis=1)
    if not drawn.index.equals(spent.index):
        raise InputError(
            f"a run's groups log has the steps {drawn.index.min()} to {drawn.index.max()}, its "
            f"timings log {spent.index.min()} to {spent.index.max()}: train the run anew"
        )
    table = drawn.assign(seconds=spent).cumsum().reset_index()
    start = pd.DataFrame({"step": [0], "rollouts": [0], "tokens": [0], "seconds": [0.0]})
    return pd.concat([start, table], ignore_index=True)


def stage_costs(
    jobs: Mapping[str, Sequence[JobCost]], parts: Mapping[str, float]
) -> list[Measurement]:
    """Costs by stage, over all campaigns.

    Args:
        jobs: stage to its jobs.
        parts: seconds of each of `PARTS`, summed over the training runs.

    Returns:
        For each stage, for the parts of training (`train: generation`, ...) and for `all`: jobs,
        seconds (summed over jobs), seconds_per_job, cpu_seconds (summed) and peak_memory_mib (the
        largest job's), gpu_memory_mib too where a job had any. Processor time and memory of a stage
        are nan unless every job measured them.
    """
    rows: list[Measurement] = []
    for stage, members in jobs.items():
        rows += _stage(stage, members)
        if stage != TRAINING or not members:
            continue
        total = math.fsum(job.seconds for job in members)
        of_steps = math.fsum(parts[part] for part in PARTS)
        for part, seconds in (*((p, parts[p]) for p in PARTS), (REST, total - of_steps)):
            rows += [
                _number(f"{TRAINING}: {part}", "seconds", seconds),
                _number(f"{TRAINING}: {part}", "seconds_per_job", seconds / len(members)),
            ]
    rows += _stage(ALL, [job for members in jobs.values() for job in members])
    return rows


def _stage(name: str, jobs: Sequence[JobCost]) -> list[Measurement]:
    seconds = math.fsum(job.seconds for job in jobs)
    gpu = [job.gpu_memory_mib for job in jobs if not math.isnan(job.gpu_memory_mib)]
    return [
        _number(name, "jobs", len(jobs)),
        _number(name, "seconds", seconds),
        _number(name, "seconds_per_job", seconds / len(jobs) if jobs else math.nan),
        _number(name, "cpu_seconds", _known(math.fsum, [job.cpu_seconds for job in jobs])),
        _number(name, "peak_memory_mib", _known(max, [job.peak_memory_mib for job in jobs])),
        *([_number(name, "gpu_memory_mib", max(gpu))] if gpu else []),
    ]


def _known(combine: Callable[[Sequence[float]], float], values: Sequence[float]) -> float:
    """Sum or maximum, nan as soon as one value is unknown."""
    if not values or any(math.isnan(value) for value in values):
        return math.nan
    return combine(values)


def throughput(runs: Iterable[RunCost], passes: Iterable[PassCost]) -> list[Measurement]:
    """Rollouts and tokens a second.

    Training (arm `train: generation`) is measured over the seconds in which rollouts are drawn, of
    the runs of all campaigns; a pass over its whole job.

    Returns:
        rollouts, tokens, seconds, rollouts_per_second and tokens_per_second of each.
    """
    runs = list(runs)
    rows: list[Measurement] = []
    if runs:
        rows += _rates(
            f"{TRAINING}: generation",
            rollouts=sum(int(run.course["rollouts"].iloc[-1]) for run in runs),
            tokens=sum(int(run.course["tokens"].iloc[-1]) for run in runs),
            seconds=math.fsum(run.parts["generation"] for run in runs),
            note=f"{len(runs)} runs",
        )
    for one in passes:
        rows += _rates(
            one.name,
            rollouts=one.rollouts,
            tokens=one.tokens,
            seconds=one.job.seconds,
            note="whole job, model loading and grading included",
        )
    return rows


def _rates(
    name: str, *, rollouts: int, tokens: int, seconds: float, note: str
) -> list[Measurement]:
    per_second = (rollouts / seconds, tokens / seconds) if seconds > 0 else (math.nan, math.nan)
    names = ("rollouts", "tokens", "seconds", "rollouts_per_second", "tokens_per_second")
    values = (rollouts, tokens, seconds, *per_second)
    return [
        _number(name, metric, value, setting="throughput", note=note)
        for metric, value in zip(names, values, strict=True)
    ]


def arm_costs(
    campaign: str,
    arms: Sequence[str],
    metrics: pd.DataFrame,
    runs: Iterable[RunCost],
    benchmark: str = ALONG_THE_RUN,
) -> list[Measurement]:
    """What each arm of a campaign spends and reaches, over its seeds.

    Args:
        campaign: its name.
        arms: arms in order; one without a finished run gets nan.
        metrics: the campaign's metrics, a row a run: arm, seed and the benchmark's accuracy.
        runs: its runs.
        benchmark: the accuracy that is shown.

    Returns:
        The accuracy and `ARM_METRICS` of each arm; run_seconds is the whole training job, without
        the evaluation.
    """
    accuracy = metrics.set_index(["arm", "seed"])[benchmark]
    members: dict[str, list[RunCost]] = {arm: [] for arm in arms}
    for run in runs:
        if run.arm in members:
            members[run.arm].append(run)
    rows: list[Measurement] = []
    for arm, of_arm in members.items():
        values = [
            (
                float(accuracy.get((run.arm, run.seed), math.nan)),
                float(run.course["rollouts"].iloc[-1]),
                float(run.course["tokens"].iloc[-1]),
                run.parts["generation"],
                run.parts["update"],
                run.job.seconds,
            )
            for run in sorted(of_arm, key=lambda run: run.seed)
        ]
        for place, metric in enumerate((benchmark, *ARM_METRICS)):
            rows.append(over_seeds(TABLE, campaign, arm, metric, [row[place] for row in values]))
    return rows


def pass_costs(campaign: str, passes: Iterable[PassCost]) -> list[Measurement]:
    """What a campaign's passes cost once, by kind (arm `anchor pass`, ...): `PASS_METRICS`."""
    kinds: dict[str, list[PassCost]] = {}
    for one in passes:
        kinds.setdefault(one.kind, []).append(one)
    rows: list[Measurement] = []
    for kind, members in kinds.items():
        values = (
            sum(one.rollouts for one in members),
            sum(one.tokens for one in members),
            math.fsum(one.job.seconds for one in members),
        )
        note = "" if len(members) == 1 else f"{len(members)} passes"
        for metric, value in zip(PASS_METRICS, values, strict=True):
            rows.append(_number(f"{kind} pass", metric, value, setting=campaign, note=note))
    return rows


def accuracy_courses(
    checkpoints: pd.DataFrame, runs: Iterable[RunCost], benchmark: str = ALONG_THE_RUN
) -> pd.DataFrame:
    """Accuracy along the runs of a campaign against what they had spent by then.

    Args:
        checkpoints: a row a run and checkpoint: arm, seed, step and the benchmark's accuracy.
        runs: the campaign's runs.
        benchmark: the one along the run.

    Returns:
        A row an arm and checkpoint that all of the arm's seeds have: arm, n, step, and the means
        over seeds of rollouts, tokens, seconds and the accuracy, named after the benchmark, with
        its range low to high.
    """
    parts = []
    for run in runs:
        reached = checkpoints[(checkpoints["arm"] == run.arm) & (checkpoints["seed"] == run.seed)]
        parts.append(run.course.merge(reached[["step", benchmark]], on="step").assign(arm=run.arm))
    columns = ["arm", "n", "step", "rollouts", "tokens", "seconds", benchmark, "low", "high"]
    if not parts:
        return pd.DataFrame(columns=columns)
    grouped = pd.concat(parts).groupby(["arm", "step"], sort=False)
    table = grouped[["rollouts", "tokens", "seconds", benchmark]].mean()
    table["low"], table["high"] = grouped[benchmark].min(), grouped[benchmark].max()
    table["n"] = grouped[benchmark].count()
    table = table.reset_index()
    seeds = table.groupby("arm")["n"].transform("max")
    return table[table["n"] == seeds][columns].reset_index(drop=True)


def _number(
    arm: str, metric: str, value: float, *, setting: str = ALL, note: str = ""
) -> Measurement:
    return Measurement(TABLE, setting, arm, metric, float(value), note=note)
