"""Probing a model on a pool, and what is read off its answers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from thinkprior.problems import read_problems
from thinkprior.progress import Progress


def probe_model(
    name: str,
    settings: Mapping[str, Any],
    code: str,
    model: Path | str,
    pool: Path | str,
    responses: Path | str,
    state: Path | str,
    log: Path | str,
) -> None:
    """Sample a model's answers to every problem of a pool and grade them.

    Args:
        name: name of the pass, which also names its random streams.
        settings: `samples`, `temperature` (0: greedy), `max_new_tokens`, `max_prompt_tokens`,
            `stop` (may be missing), `template`, `time_limit`, `engine`.
        code: digest of the code that the pass depends on.
        model: model directory.
        pool: problem file.
        responses: Parquet file that takes the answers.
        state: folder of what is answered so far; gone at the end.
        log: the job's log.
    """
    from thinkprior.probing import probe
    from thinkprior.prompts import Template
    from thinkprior.rollouts import Sampling
    from thinkprior.stages.engines import start_engine
    from thinkprior.state import State, job_identity
    from thinkprior.verification import Verifier

    progress = Progress(log, f"probe {name}")
    problems = read_problems(pool)
    engine = start_engine(settings["engine"], model)
    sampling = Sampling(
        settings["temperature"],
        settings["max_new_tokens"],
        settings["max_prompt_tokens"],
        tuple(settings.get("stop", ())),
    )
    identity = job_identity({"name": name, **settings}, code, {"model": model, "pool": pool})
    with (
        State(state, identity, progress.line) as job_state,
        Verifier(time_limit=settings["time_limit"]) as verifier,
    ):
        table = probe(
            engine,
            verifier,
            problems,
            Template(settings["template"]),
            samples=settings["samples"],
            sampling=sampling,
            name=("probe", name),
            report=progress.line,
            state=job_state,
        )
        progress.line(f"verifier: {verifier.report}")
        table.to_parquet(responses, index=False)
        job_state.finish()
    progress.line(f"mean pass rate {table['correct'].mean():.3f}")
