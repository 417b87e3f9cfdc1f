"""How long jobs will take: from finished jobs, from given rates, or as a bound of the hardware."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from thinkprior.artifacts import read_parquet
from thinkprior.configuration import Configuration
from thinkprior.memory_plan import SIZES, Architecture
from thinkprior.usage import read_usage
from thinkprior.workload import Work

UNKNOWN = "not known"
GIVEN = "given rates"
BOUND = "bound: no less"


@dataclass(frozen=True)
class Duration:
    """Seconds of the jobs of a piece of work, all together.

    Attributes:
        seconds: nan where nothing tells them.
        source: what they rest on, as printed.
    """

    seconds: float
    source: str


@dataclass
class _Measured:
    """Sums over the finished jobs of a stage and a model."""

    jobs: int = 0
    completions: int = 0
    steps: int = 0
    per_completion: float = 0.0
    per_step: float = 0.0
    per_job: float = 0.0


def finished(folder: Path, work: Work) -> list[str]:
    """The jobs of a piece of work that are done."""
    return [one for one in work.files if _usage(folder, work.stage, one).exists()]


def durations(
    config: Configuration,
    works: Sequence[Work],
    architectures: Mapping[str, Architecture | None],
    folder: Path,
) -> list[Duration]:
    """Seconds of each piece of work.

    Measured ones come from finished jobs of the same stage and model under `folder`; else from the
    rates of `planning`; else, as a lower bound, from its memory bandwidth and arithmetic.

    Args:
        config: the configuration.
        works: as `thinkprior.workload.workload` counts them.
        architectures: model name to its architecture, None where it is not known.
        folder: what the scale has computed so far.
    """
    measured = _measure(folder, works)
    main = architectures.get(_main_policy(config))
    found = []
    for work in works:
        of_stage = measured.get((work.stage, work.model))
        sizes = architectures[work.model]
        if of_stage is not None:
            found.append(_from_measured(work, of_stage))
        elif work.stage == "model":
            # A download, a link or a short training: nothing here tells how long.
            found.append(Duration(math.nan, UNKNOWN))
        elif (seconds := _from_rates(config, work, sizes, main)) is not None:
            found.append(Duration(seconds, GIVEN))
        elif (seconds := _bound(config, work, sizes)) is not None:
            found.append(Duration(seconds, BOUND))
        else:
            found.append(Duration(math.nan, UNKNOWN))
    return found


def _measure(folder: Path, works: Sequence[Work]) -> dict[tuple[str, str], _Measured]:
    """Stage and model to the sums over finished jobs."""
    sums: dict[tuple[str, str], _Measured] = {}
    for work in works:
        for one in finished(folder, work):
            total = sums.setdefault((work.stage, work.model), _Measured())
            seconds = read_usage(_usage(folder, work.stage, one)).seconds
            total.jobs += 1
            if work.stage == "train":
                run = folder.joinpath("runs", *_run(one))
                timings = read_parquet(
                    run / "timings.parquet", ["generation", "verification", "update"]
                )
                groups = read_parquet(run / "groups.parquet", ["rollouts"])
                drawing = float(timings["generation"].sum() + timings["verification"].sum())
                update = float(timings["update"].sum())
                total.completions += int(groups["rollouts"].sum())
                total.steps += len(timings)
                total.per_completion += drawing
                total.per_step += update
                total.per_job += seconds - drawing - update
            elif work.completions:
                total.completions += work.completions // work.jobs
                total.per_completion += seconds
            else:
                total.per_job += seconds
    return sums


def _from_measured(work: Work, total: _Measured) -> Duration:
    seconds = total.per_job / total.jobs * work.jobs
    if total.completions:
        seconds += total.per_completion / total.completions * work.completions
    if total.steps:
        seconds += total.per_step / total.steps * work.steps
    return Duration(seconds, f"measured, {total.jobs} job{'s' * (total.jobs != 1)}")


def _from_rates(
    config: Configuration, work: Work, sizes: Architecture | None, main: Architecture | None
) -> float | None:
    planning = config.planning
    parts = [
        (planning.generated_tokens_per_second, work.tokens),
        (planning.prompt_tokens_per_second, work.prompt_tokens),
        (planning.update_tokens_per_second, work.update_tokens),
    ]
    if any(tokens and not rate for rate, tokens in parts):
        return None
    scale = sizes.parameters / main.parameters if sizes and main else 1.0
    return scale * sum(tokens / rate for rate, tokens in parts if tokens)


def _bound(config: Configuration, work: Work, sizes: Architecture | None) -> float | None:
    """Weights read once a token step, and two operations a weight and token.

    An update takes twice a forward pass' arithmetic, since frozen weights have no gradient, and
    three times where layers are computed anew; with its own forward pass 4 or 6 a weight and token.
    """
    planning, engine = config.planning, config.engine
    if sizes is None or not (planning.memory_bandwidth_gb_s and planning.tflops):
        return None
    reading = SIZES[engine.dtype] * sizes.parameters / (planning.memory_bandwidth_gb_s * 1e9)
    token_steps = work.tokens / engine.batch_rows
    update = 6 if config.training.activation_checkpointing else 4
    operations = sizes.parameters * (
        2 * (work.prompt_tokens + work.tokens) + update * work.update_tokens
    )
    return token_steps * reading + operations / (planning.tflops * 1e12)


def _main_policy(config: Configuration) -> str:
    return config.campaigns["main"].policy.partition("@")[0]


def _usage(folder: Path, stage: str, job: str) -> Path:
    return folder / "usage" / stage / f"{job}.json"


def _run(job: str) -> tuple[str, str, str]:
    campaign, arm, seed = job.split(".")
    return campaign, arm, f"seed{seed}"
