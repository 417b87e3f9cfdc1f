"""Evaluating the adapters of a run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from thinkprior.benchmarks import ALONG_THE_RUN
from thinkprior.problems import read_problems
from thinkprior.progress import Progress


def evaluate_run(
    settings: Mapping[str, Any],
    code: str,
    policy: Path | str,
    checkpoints: Path | str,
    benchmarks: Mapping[str, Path | str],
    scores: Path | str,
    answers: Path | str,
    state: Path | str,
    training_state: Path | str,
    log: Path | str,
) -> None:
    """Evaluate a run's adapters.

    Args:
        settings: `name`, `lora`, `max_new_tokens`, `max_prompt_tokens`, `stop` (may be missing),
            `template`, `time_limit`, `engine`, `along_the_run` (missing for the paper's).
        code: digest of the code that the evaluation depends on.
        policy: model directory of the policy.
        checkpoints: directory of adapter directories.
        benchmarks: benchmark name to its file.
        scores: CSV that takes one row a benchmark of a checkpoint.
        answers: Parquet file that takes the answers behind them.
        state: folder of what is answered so far; gone at the end.
        training_state: folder of the run's own state, which is no longer needed.
        log: the job's log.
    """
    from thinkprior.adapters import Lora, add_adapter, load_adapter
    from thinkprior.evaluation import evaluate
    from thinkprior.prompts import Template
    from thinkprior.rollouts import Sampling
    from thinkprior.stages.engines import policy_engine
    from thinkprior.state import State, discard, job_identity
    from thinkprior.verification import Verifier

    progress = Progress(log, f"evaluate {settings['name']}")
    discard(training_state)
    model, engine = policy_engine(
        settings["engine"], policy, lambda base: add_adapter(base, Lora(**settings["lora"]), 0)
    )
    loaders = {
        int(folder.name.removeprefix("step-")): (lambda at=folder: load_adapter(model, at))
        for folder in sorted(Path(checkpoints).glob("step-*"))
    }
    inputs = {"policy": policy, "checkpoints": checkpoints, **benchmarks}
    with (
        State(state, job_identity(settings, code, inputs), progress.line) as job_state,
        Verifier(time_limit=settings["time_limit"]) as verifier,
    ):
        table, kept = evaluate(
            engine,
            verifier,
            {name: read_problems(path) for name, path in benchmarks.items()},
            Template(settings["template"]),
            Sampling(
                0.0,
                settings["max_new_tokens"],
                settings["max_prompt_tokens"],
                tuple(settings.get("stop", ())),
            ),
            loaders,
            progress.line,
            job_state,
            settings.get("along_the_run", ALONG_THE_RUN),
        )
        progress.line(f"verifier: {verifier.report}")
        table.to_csv(scores, index=False)
        kept.to_parquet(answers, index=False)
        job_state.finish()
