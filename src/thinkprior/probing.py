"""Offline passes: many models, many problems, every answer kept."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from thinkprior.artifacts import read_parquet
from thinkprior.errors import InputError, NonFiniteError
from thinkprior.memory import memory_advice
from thinkprior.problems import Problem
from thinkprior.prompts import Template
from thinkprior.randomness import stream_seed
from thinkprior.rollouts import Engine, Sampling
from thinkprior.state import State
from thinkprior.verification import Verdict, Verifier

PROBLEMS_AT_ONCE = 500
"""Problems a call of the engine, between two lines of progress."""


def probe(
    engine: Engine,
    verifier: Verifier,
    problems: Sequence[Problem],
    template: Template,
    *,
    samples: int,
    sampling: Sampling,
    name: Sequence[str | int],
    report: Callable[[str], None],
    state: State | None = None,
    part: str = "part",
) -> pd.DataFrame:
    """Sample answers to every problem and grade them (Eq. 3, line 3 of Algorithm 1).

    Args:
        engine: the model.
        verifier: the verifier, the same that grades training rollouts.
        problems: problems in order.
        template: how a problem becomes a prompt.
        samples: k, answers a problem.
        sampling: how they are drawn.
        name: name of the pass; each problem's draws come from the stream (name, problem id).
        report: takes lines of progress.
        state: keeps the answers of each call of the engine; those that it has are not drawn anew.
        part: name in the state of this pass's answers.

    Returns:
        The responses, one row an answer: problem_id, sample, text, tokens, truncated, verdict,
        correct.
    """
    rows: list[dict[str, Any]] = []
    for start in range(0, len(problems), PROBLEMS_AT_ONCE):
        asked = problems[start : start + PROBLEMS_AT_ONCE]
        kept = f"{part}-{start:06d}"
        saved = None if state is None else state.get(kept)
        if state is not None and saved is not None:
            rows += json.loads(saved)
            state.report(f"{kept}: {len(asked)} problems had been answered before")
            continue
        answers = _answers(engine, verifier, asked, template, samples, sampling, name)
        if state is not None:
            state.put_bytes(kept, json.dumps(answers).encode())
        rows += answers
        report(f"{start + len(asked)}/{len(problems)} problems answered")
    return pd.DataFrame(rows)


def _answers(
    engine: Engine,
    verifier: Verifier,
    problems: Sequence[Problem],
    template: Template,
    samples: int,
    sampling: Sampling,
    name: Sequence[str | int],
) -> list[dict[str, Any]]:
    """The rows of `probe` for one call of the engine."""
    try:
        with memory_advice(f"{' '.join(map(str, name))} generated", "engine.batch_rows"):
            results = engine.generate(
                [template.prompt(problem.problem) for problem in problems],
                samples,
                sampling,
                [stream_seed(*name, problem.id) for problem in problems],
            )
    except NonFiniteError as error:
        ids = ", ".join(problems[place].id for place in error.prompts)
        raise NonFiniteError(
            f"{' '.join(map(str, name))}: {error}, at problems {ids}. Look for the fault in the "
            "model's weights or the machine."
        ) from error
    texts = [completion.text for result in results for completion in result.completions]
    golds = [problem.answer for problem in problems for _ in range(samples)]
    verdicts, _ = verifier.grade(golds, texts)
    drawn = [
        (problem, sample, completion)
        for problem, result in zip(problems, results, strict=True)
        for sample, completion in enumerate(result.completions)
    ]
    return [
        {
            "problem_id": problem.id,
            "sample": sample,
            "text": completion.text,
            "tokens": len(completion.tokens),
            "truncated": completion.truncated,
            "verdict": str(verdict),
            "correct": verdict is Verdict.correct,
        }
        for (problem, sample, completion), verdict in zip(drawn, verdicts, strict=True)
    ]


def read_responses(
    path: Path | str, problem_ids: Sequence[str], columns: Sequence[str] = ("correct",)
) -> pd.DataFrame:
    """Read a responses artifact that must cover exactly these problems, all with as many samples.

    Args:
        path: the artifact.
        problem_ids: the pool's ids.
        columns: those to read besides problem_id.

    Raises:
        InputError: naming the file and the ids that are missing, extra, or answered otherwise.
    """
    table = read_parquet(path, ["problem_id", *columns])
    missing = sorted(set(problem_ids) - set(table["problem_id"]))
    extra = sorted(set(table["problem_id"]) - set(problem_ids))
    if missing or extra:
        raise InputError(
            f"{path}: responses do not cover the pool: missing {missing[:5]}, extra {extra[:5]}. "
            "Delete the file and let the probe run anew."
        )
    counts = table["problem_id"].value_counts()
    usual = counts.mode().iloc[0]
    if odd := sorted(counts.index[counts != usual]):
        raise InputError(
            f"{path}: {usual} answers a problem, but not for {odd[:5]}. Delete the file and let "
            "the probe run anew."
        )
    return table


def correct_counts(
    responses: pd.DataFrame, problem_ids: Sequence[str]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Correct answers and all answers of each problem, in the order of the ids."""
    grouped = (
        responses.groupby("problem_id")["correct"].agg(["sum", "count"]).loc[list(problem_ids)]
    )
    return grouped["sum"].to_numpy(dtype=np.int64), grouped["count"].to_numpy(dtype=np.int64)


def pass_rates(responses: pd.DataFrame, problem_ids: Sequence[str]) -> NDArray[np.float64]:
    """Empirical pass rate of each problem (Eq. 3), in the order of the ids."""
    correct, trials = correct_counts(responses, problem_ids)
    return correct / trials


THINKING_START, THINKING_END = "<think>", "</think>"


def thinking_lengths(
    responses: pd.DataFrame,
    problem_ids: Sequence[str],
    count_tokens: Callable[[str], int],
    cap: int,
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Token distance between the think delimiters (Appendix F).

    Args:
        responses: one greedy answer a problem.
        problem_ids: the pool's ids in order.
        count_tokens: counts the tokens of a text.
        cap: the pass's token cap, which stands where the closing delimiter never came.

    Returns:
        Lengths in tokens, and whether the thinking was cut off, both in the order of the ids.
    """
    texts = responses.set_index("problem_id")["text"]
    lengths, cut = [], []
    for problem_id in problem_ids:
        opened = str(texts[problem_id]).partition(THINKING_START)[2]
        thinking, end, _ = opened.partition(THINKING_END)
        cut.append(not end)
        lengths.append(count_tokens(thinking) if end else cap)
    return np.array(lengths, dtype=np.int64), np.array(cut)
