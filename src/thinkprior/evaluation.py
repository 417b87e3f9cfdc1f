"""Greedy evaluation of saved adapters on the benchmarks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pandas as pd

from thinkprior.benchmarks import ALONG_THE_RUN, HARDEST_LEVEL
from thinkprior.probing import probe
from thinkprior.problems import Problem
from thinkprior.prompts import Template
from thinkprior.rollouts import Engine, Sampling
from thinkprior.state import State
from thinkprior.verification import Verdict, Verifier


def evaluate(
    engine: Engine,
    verifier: Verifier,
    benchmarks: Mapping[str, Sequence[Problem]],
    template: Template,
    sampling: Sampling,
    checkpoints: Mapping[int, Callable[[], None]],
    report: Callable[[str], None],
    state: State | None = None,
    along_the_run: str = ALONG_THE_RUN,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Evaluate the checkpoints of one run: one benchmark at each, every one at the last.

    Args:
        engine: samples from the policy.
        verifier: the verifier.
        benchmarks: benchmark name to its problems.
        template: how a problem becomes a prompt.
        sampling: greedy, with its caps.
        checkpoints: step to a function that puts that checkpoint's weights into the engine.
        report: takes lines of progress.
        state: keeps the answers of each benchmark of a checkpoint, for `probe`.
        along_the_run: the benchmark that is evaluated at every checkpoint.

    Returns:
        The scores, one row a benchmark of a checkpoint (and one for Level 5 of the benchmark along
        the run, subset `level5`, where it has levels), and the answers behind them.
    """
    last = max(checkpoints)
    scores: list[dict[str, object]] = []
    answers: list[pd.DataFrame] = []
    for step in sorted(checkpoints):
        checkpoints[step]()
        for name, problems in benchmarks.items():
            if name != along_the_run and step != last:
                continue
            table = probe(
                engine,
                verifier,
                problems,
                template,
                samples=1,
                sampling=sampling,
                name=("evaluation", name),
                report=_quiet,
                state=state,
                part=f"step-{step:05d}-{name}",
            )
            answers.append(table.assign(step=step, benchmark=name))
            hardest = {p.id for p in problems if p.level == HARDEST_LEVEL}
            subsets = {"all": table}
            if name == along_the_run and hardest:
                subsets["level5"] = table[table["problem_id"].isin(hardest)]
            for subset, part in subsets.items():
                scores.append(
                    {
                        "step": step,
                        "benchmark": name,
                        "subset": subset,
                        "problems": len(part),
                        "correct": int(part["correct"].sum()),
                        "accuracy": float(part["correct"].mean()),
                        "truncated": int(part["truncated"].sum()),
                        "no_box": int((part["verdict"] == Verdict.no_box.value).sum()),
                        "mean_tokens": float(part["tokens"].mean()),
                    }
                )
        reached = scores_at(scores, step, along_the_run)
        report(f"step {step}/{last}: {along_the_run} {reached:.3f}")
    return pd.DataFrame(scores), pd.concat(answers, ignore_index=True)


def _quiet(line: str) -> None:
    """Progress of a single benchmark, which nobody reads."""


def scores_at(
    scores: Sequence[Mapping[str, object]], step: int, along_the_run: str = ALONG_THE_RUN
) -> float:
    """Accuracy on the benchmark along the run at a step."""
    return next(
        float(str(row["accuracy"]))
        for row in scores
        if row["step"] == step and row["benchmark"] == along_the_run and row["subset"] == "all"
    )
