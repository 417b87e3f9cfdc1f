"""Prompt calibration: the answers of the untrained policy, and the table."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from thinkprior.artifacts import read_csv
from thinkprior.problems import Problem, read_problems
from thinkprior.progress import Progress
from thinkprior.randomness import stream

COLUMNS = ("set", "stop", "cap", "box_rule", "answers", "correct", "truncated", "no_box")


def calibrate_template(
    name: str,
    settings: Mapping[str, Any],
    policy: Path | str,
    benchmark: Path | str,
    pool: Path | str,
    cells: Path | str,
    log: Path | str,
) -> None:
    """Answer the benchmark greedily and the pool by sampling under one template; grade the grid.

    Args:
        name: the template's name.
        settings: `template`, `stops`, `caps`, `box_rules`, `problems`, `pool_problems`,
            `pool_samples`, `seed`, `temperature`, `max_prompt_tokens`, `time_limit`, `engine`.
        policy: model directory of the untrained policy.
        benchmark: its problems.
        pool: the pool whose mean pass rate is wanted.
        cells: CSV that takes a row a cell: set (`benchmark` or `pool`) and the counts.
        log: the job's log.
    """
    import pandas as pd

    from thinkprior.calibration import Answered, calibrate
    from thinkprior.models import load_tokenizer
    from thinkprior.probing import PROBLEMS_AT_ONCE
    from thinkprior.prompts import Template
    from thinkprior.randomness import stream_seed
    from thinkprior.rollouts import Sampling
    from thinkprior.stages.engines import start_engine
    from thinkprior.verification import Verifier

    progress = Progress(log, f"calibrate {name}")
    engine, tokenizer = start_engine(settings["engine"], policy), load_tokenizer(policy)
    template, cap = Template(settings["template"]), max(settings["caps"])

    def answered(path: Path | str, size: int, samples: int, temperature: float) -> Answered:
        problems = _drawn(read_problems(path), size, settings["seed"])
        sampling = Sampling(temperature, cap, settings["max_prompt_tokens"])
        completions = []
        for start in range(0, len(problems), PROBLEMS_AT_ONCE):
            asked = problems[start : start + PROBLEMS_AT_ONCE]
            results = engine.generate(
                [template.prompt(problem.problem) for problem in asked],
                samples,
                sampling,
                [stream_seed("calibration", problem.id) for problem in asked],
            )
            completions += [result.completions for result in results]
            progress.line(f"{start + len(asked)}/{len(problems)} problems of {path} answered")
        return Answered([problem.answer for problem in problems], completions)

    sets = {
        "benchmark": answered(benchmark, settings["problems"], 1, 0.0),
        "pool": answered(
            pool, settings["pool_problems"], settings["pool_samples"], settings["temperature"]
        ),
    }
    with Verifier(time_limit=settings["time_limit"]) as verifier:
        tables = [
            calibrate(
                of,
                settings["stops"],
                settings["caps"],
                settings["box_rules"],
                lambda tokens: str(tokenizer.decode(tokens, skip_special_tokens=True)),
                verifier,
            ).assign(set=which)
            for which, of in sets.items()
        ]
        progress.line(f"verifier: {verifier.report}")
    pd.concat(tables)[list(COLUMNS)].to_csv(cells, index=False)


def _drawn(problems: list[Problem], size: int, seed: int) -> list[Problem]:
    """So many of the problems in their order, drawn by the seed; all for 0."""
    if not 0 < size < len(problems):
        return problems
    chosen = stream("calibration", seed).permutation(len(problems))[:size]
    return [problems[place] for place in sorted(chosen)]


def render_calibration(
    settings: Mapping[str, Any],
    cells: Mapping[str, Path | str],
    csv: Path | str,
    tex: Path | str,
) -> None:
    """The calibration table from the cells of each template.

    Args:
        settings: `scale`, `note`, `benchmark` (its label), `pool`, `confidence`.
        cells: template to its cells.
        csv: takes the measurements.
        tex: takes the table.
    """
    from thinkprior.findings.calibration import calibration_measurements
    from thinkprior.rendering.calibration import calibration_table
    from thinkprior.rendering.scale import Scale
    from thinkprior.rendering.table import save_table

    measurements = [
        one
        for template, path in cells.items()
        for one in calibration_measurements(
            template, read_csv(path, COLUMNS), settings["confidence"]
        )
    ]
    table = calibration_table(
        measurements,
        Scale(settings["scale"], settings["note"]),
        benchmark=settings["benchmark"],
        pool=settings["pool"],
        confidence=settings["confidence"],
    )
    save_table(table, Path(csv), Path(tex))
