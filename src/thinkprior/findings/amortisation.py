"""What the anchor pass costs against what it saves: in generations, tokens and seconds."""

from __future__ import annotations

import math
from dataclasses import dataclass

import pandas as pd

from thinkprior.findings.composition import ALONE, COMPOSED
from thinkprior.findings.generation_time import pooled_seconds_per_rollout
from thinkprior.measurements import Measurement, over_seeds

TABLE, PASS, RUNS, TIMING = "text", "amortisation", "main", "timing"


@dataclass(frozen=True)
class AnchorPass:
    """What the anchor's pass over a pool cost.

    Attributes:
        generations: answers sampled.
        tokens: tokens of them.
        seconds: on the clock, for the whole job.
    """

    generations: int
    tokens: int
    seconds: float


def amortisation(
    anchor: AnchorPass, length_generations: int, times: pd.DataFrame
) -> list[Measurement]:
    """The amortisation figures of the text, and beside its counts the tokens and seconds.

    A generation of the small anchor and one of the policy count alike in the paper's ratio, which
    it calls no measured break-even; the ratios in tokens and seconds are ours.

    Args:
        anchor: the anchor's pass.
        length_generations: reference answers that the length map is fitted on.
        times: rollouts, tokens and seconds of generation of the runs of the two arms with DAPO's
            refilling (`generation_time.generation_times`).

    Returns:
        The pass's cost, what a run saves by the prior (difference of the arms' means) and how many
        runs pay the pass back, nan where a run saves nothing: in generations, tokens and seconds;
        and the seconds of generation a rollout by arm and pooled.
    """
    found = [
        _one("anchor_generations", anchor.generations),
        _one("anchor_tokens", anchor.tokens),
        _one("anchor_seconds", anchor.seconds, "the whole job, loading and grading included"),
        _one("length_prior_generations", length_generations, "reference answers of the map's fit"),
    ]
    for unit, column, cost, saved_name, ratio_name in (
        (
            "rollouts",
            "rollouts",
            anchor.generations,
            "rollouts_saved_per_run_with_dapo",
            "runs_per_anchor_pass",
        ),
        (
            "tokens",
            "tokens",
            anchor.tokens,
            "tokens_saved_per_run_with_dapo",
            "runs_per_anchor_pass_tokens",
        ),
        (
            "seconds of generation",
            "seconds",
            anchor.seconds,
            "generation_seconds_saved_per_run_with_dapo",
            "runs_per_anchor_pass_seconds",
        ),
    ):
        alone, composed = (
            over_seeds(TABLE, RUNS, arm, column, times.loc[times["arm"] == arm, column])
            for arm in (ALONE, COMPOSED)
        )
        saved = alone.value - composed.value
        n = min(alone.n, composed.n)
        found.append(_one(saved_name, saved, f"{unit}, {ALONE} minus {COMPOSED}, means", n))
        note = "a run saves nothing: never" if saved <= 0 else ""
        found.append(_one(ratio_name, cost / saved if saved > 0 else math.nan, note, n))
    return [*found, *_timing(times)]


def _one(metric: str, value: float, note: str = "", n: int = 0) -> Measurement:
    return Measurement(TABLE, PASS, "-", metric, float(value), n=n, note=note)


def _timing(times: pd.DataFrame) -> list[Measurement]:
    found = []
    for letter, arm in (("a", ALONE), ("b", COMPOSED)):
        of_arm = times[times["arm"] == arm]
        found.append(
            over_seeds(
                TABLE,
                TIMING,
                "-",
                f"seconds_per_rollout_{letter}",
                of_arm["seconds"] / of_arm["rollouts"],
                f"generation in the campaign's own runs of {arm}",
            )
        )
    pooled = Measurement(
        TABLE,
        TIMING,
        "-",
        "seconds_per_rollout_pooled",
        pooled_seconds_per_rollout(times),
        n=len(times),
        note="all seconds over all rollouts of both arms",
    )
    return [*found, pooled]
