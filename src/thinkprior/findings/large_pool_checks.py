"""Appendix E: what the larger pool's runs rest on, their seeds, and the rule that decides.

The paper fixed the rule before its runs finished: a result counts as supported only where the seed
ranges of the two arms are disjoint; no seed is added after an outcome was seen, and three seeds
carry no significance test.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from thinkprior.errors import InputError
from thinkprior.findings.large_pool import silent_share_through, wasted_rollouts_through
from thinkprior.findings.separation import separable
from thinkprior.measurements import Measurement, over_seeds
from thinkprior.probing import correct_counts

TABLE, SETTING = "appendixE", "large_pool"
OURS, OTHER = "thinkprior", "online_np"
PAIR = f"{OURS}-{OTHER}"
END = 200
"""Steps of the paper's runs, by which its endpoints are named."""

LOW_ACCURACY = 0.05
"""MATH500 below which a seed is shown with its other benchmarks."""

REPEATED = 0.99
"""Share of answers that are the same word for word above which a pass repeats the other."""

NO_NEW_DRAW = "the same random numbers, no new draw"

LATE_STEPS = 10
OTHER_BENCHMARKS = ("gsm8k", "minerva_math", "olympiadbench")


@dataclass(frozen=True)
class Endpoint:
    """A figure that the arms are compared by.

    Attributes:
        metric: its published name.
        better: which way is better.
        ruled: whether the paper's rule reads it: it made no claim of accuracy, and the non-silent
            rollouts are what the wasted ones leave of the same budget.
    """

    metric: str
    better: Literal["less", "greater"]
    ruled: bool = True


ENDPOINTS = (
    Endpoint("silent_at_10", "less"),
    Endpoint("silent_at_30", "less"),
    Endpoint("silent_at_200", "less"),
    Endpoint("wasted_rollouts_200", "less"),
    Endpoint("nonsilent_rollouts", "greater", ruled=False),
    Endpoint("math500", "greater", ruled=False),
)


def endpoint_table(runs: pd.DataFrame, steps: pd.DataFrame) -> pd.DataFrame:
    """The endpoints of each run.

    Args:
        runs: metrics of the large-pool campaign.
        steps: counts of each step of its runs.

    Returns:
        arm, seed and a column an endpoint; nan for a run too short for it.
    """
    table = runs[["arm", "seed", "math500", "nonsilent_rollouts"]].set_index(["arm", "seed"])
    for step in (10, 30, END):
        table[f"silent_at_{step}"] = silent_share_through(steps, step).reindex(table.index)
    waste = wasted_rollouts_through(steps, END)
    table[f"wasted_rollouts_{END}"] = waste.reindex(table.index)
    return table.reset_index()


def seed_measurements(endpoints: pd.DataFrame) -> list[Measurement]:
    """Each seed's endpoints, the arms' means, and what the means say.

    Args:
        endpoints: as `endpoint_table` gives them.

    Returns:
        The endpoints by seed and by arm; the worst seed's non-silent rollouts of our arm, and the
        per cent by which its waste is below the other arm's, on unrounded means.
    """
    found: list[Measurement] = []
    for endpoint in ENDPOINTS:
        for arm in (OTHER, OURS):
            of_arm = endpoints[endpoints["arm"] == arm]
            for seed, value in zip(of_arm["seed"], of_arm[endpoint.metric], strict=True):
                found.append(
                    Measurement(TABLE, f"seed {seed}", arm, endpoint.metric, float(value), n=1)
                )
            found.append(over_seeds(TABLE, SETTING, arm, endpoint.metric, of_arm[endpoint.metric]))
    ours = endpoints.loc[endpoints["arm"] == OURS]
    other = endpoints.loc[endpoints["arm"] == OTHER]
    worst = float(ours["nonsilent_rollouts"].min()) if len(ours) else math.nan
    saved, spent = ours["wasted_rollouts_200"].mean(), other["wasted_rollouts_200"].mean()
    reduction = 100 * (1 - saved / spent) if spent else math.nan
    return [
        *found,
        Measurement(TABLE, SETTING, OURS, "worst_seed_nonsilent_rollouts", worst, n=len(ours)),
        Measurement(
            TABLE,
            SETTING,
            "-",
            "relative_reduction_waste",
            reduction,
            n=min(len(ours), len(other)),
            note=f"per cent, {OURS} below {OTHER}, on unrounded means",
        ),
    ]


Verdict = Literal[
    "supported", "directional only", "against, overlapping", "against, disjoint", "undecided"
]


def verdict(ours: Measurement, other: Measurement, better: Literal["less", "greater"]) -> Verdict:
    """What the rule says of an endpoint.

    Returns:
        `supported` for disjoint seed ranges with ours better; `directional only` for overlapping
        ones with the better mean ours; `against, ...` where the mean is not better; `undecided`
        where an arm has fewer than two seeds.
    """
    apart = separable(ours, other)
    if apart is None:
        return "undecided"
    difference = ours.value - other.value
    favourable = difference < 0 if better == "less" else difference > 0
    if apart:
        return "supported" if favourable else "against, disjoint"
    return "directional only" if favourable else "against, overlapping"


def rule_measurements(endpoints: pd.DataFrame) -> list[Measurement]:
    """The rule at every endpoint, and over those that the paper's rule reads.

    Returns:
        `rule_<endpoint>`: 1 where it is supported, else 0, in words as the note;
        `rule_supported_endpoints`: at how many of the endpoints that the rule reads.
    """
    found, ruled = [], []
    for endpoint in ENDPOINTS:
        ours, other = (
            over_seeds(
                TABLE,
                SETTING,
                arm,
                endpoint.metric,
                endpoints.loc[endpoints["arm"] == arm, endpoint.metric],
            )
            for arm in (OURS, OTHER)
        )
        words = verdict(ours, other, endpoint.better)
        value = math.nan if words == "undecided" else float(words == "supported")
        found.append(
            Measurement(
                TABLE,
                SETTING,
                PAIR,
                f"rule_{endpoint.metric}",
                value,
                n=min(ours.n, other.n),
                note=words,
            )
        )
        if endpoint.ruled:
            ruled.append(words)
    return [
        *found,
        Measurement(
            TABLE,
            SETTING,
            PAIR,
            "rule_supported_endpoints",
            math.nan if set(ruled) == {"undecided"} else float(ruled.count("supported")),
            of=len(ruled),
            note=f"supported as a whole only where all are; undecided: {ruled.count('undecided')}",
        ),
    ]


def low_seed_measurements(runs: pd.DataFrame, steps: pd.DataFrame) -> list[Measurement]:
    """Seeds that end with a MATH500 below .05, and the accuracy without them (post hoc).

    Args:
        runs: metrics of the large-pool campaign, with the final accuracies.
        steps: counts of each step of its runs.

    Returns:
        By arm: `low_seeds` of all seeds; the low seeds' other benchmarks and train pass rate of the
        last ten steps (means, where there are several); `math500_without_low_seed`. Without a low
        seed the last five do not exist.
    """
    found: list[Measurement] = []
    for arm in (OTHER, OURS):
        of_arm = runs[runs["arm"] == arm]
        low = of_arm["math500"] < LOW_ACCURACY
        seeds = of_arm.loc[low, "seed"].tolist()
        which = f"seed {', '.join(map(str, seeds))}" if seeds else "no low seed"
        found.append(
            Measurement(
                TABLE,
                SETTING,
                arm,
                "low_seeds",
                float(len(seeds)) if len(of_arm) else math.nan,
                of=len(of_arm),
                n=len(of_arm),
                note=f"MATH500 below {LOW_ACCURACY:g} at the end: {which}",
            )
        )
        for name in OTHER_BENCHMARKS:
            found.append(
                over_seeds(TABLE, SETTING, arm, f"low_seed_{name}", of_arm.loc[low, name], which)
            )
        late = [_late_pass_rate(steps, arm, seed) for seed in seeds]
        found.append(
            over_seeds(
                TABLE,
                SETTING,
                arm,
                "low_seed_train_pass_rate",
                late,
                f"{which}; last {LATE_STEPS} steps",
            )
        )
        others = of_arm.loc[~low & bool(seeds), "math500"]
        found.append(
            over_seeds(
                TABLE,
                SETTING,
                arm,
                "math500_without_low_seed",
                others,
                f"post hoc; left out: {which}" if seeds else which,
            )
        )
    return found


def _late_pass_rate(steps: pd.DataFrame, arm: str, seed: int) -> float:
    run = steps[(steps["arm"] == arm) & (steps["seed"] == seed)]
    late = run[run["step"] > run["step"].max() - LATE_STEPS]
    rollouts = late["generated_rollouts"]
    return float((late["pass_rate"] * rollouts).sum() / rollouts.sum())


def integrity_measurements(
    prior_ids: Sequence[str], pool_ids: Sequence[str], checkpoints: pd.DataFrame
) -> list[Measurement]:
    """Whether the prior covers the pool, and whether all runs start from the same model.

    Args:
        prior_ids: ids that the prior has.
        pool_ids: ids of the pool.
        checkpoints: accuracies along the runs of the large-pool campaign.

    Returns:
        prior_coverage, and the MATH500 at step 0 over the runs, whose range is a point where all
        start alike.
    """
    covered, extra = set(prior_ids) & set(pool_ids), set(prior_ids) - set(pool_ids)
    start = checkpoints.loc[checkpoints["step"] == 0, "math500"]
    alike = start.nunique() == 1
    return [
        Measurement(
            TABLE,
            SETTING,
            "-",
            "prior_coverage",
            float(len(covered)),
            of=len(set(pool_ids)),
            n=len(set(pool_ids)),
            note=f"{len(extra)} ids that the pool lacks",
        ),
        over_seeds(
            TABLE,
            SETTING,
            "-",
            "step0_math500_fingerprint",
            start,
            f"{'the same' if alike else 'not the same'} in {len(start)} runs",
        ),
    ]


def pass_measurements(old: pd.DataFrame, new: pd.DataFrame) -> list[Measurement]:
    """The anchor's new pass against its old one, on the prompts that both asked.

    Under binomial noise the two counts of a prompt are draws at one pass rate, for which the
    rate of both together stands in. Given the sum of both counts, each is then hypergeometric,
    which makes the standard error exact: the difference of the two rates has the variance
    4 p (1 - p) / (2 k - 1). The expected number of identical counts is that of two binomial draws
    at the pooled rates, somewhat high, since a rate that came out at 0 or 1 leaves no room for a
    difference.

    Args:
        old: responses of the earlier pass: problem_id, sample, text, correct.
        new: responses of the pass over the larger pool.

    Returns:
        anchor_rerun_mean_difference (new minus old) and its standard error under that noise;
        anchor_rerun_identical of the shared prompts and the number to be expected. A note says when
        nearly all answers are the same, so that the second pass was no new draw.

    Raises:
        InputError: for passes that share no prompt or differ in their samples a prompt.
    """
    shared = sorted(set(old["problem_id"]) & set(new["problem_id"]))
    if not shared:
        raise InputError("the anchor's two passes share no prompt: give passes of nested pools")
    (old_correct, k), (new_correct, new_k) = _counts(old, shared), _counts(new, shared)
    if k != new_k:
        raise InputError(f"the anchor's passes have {k} and {new_k} samples a prompt: give one k")
    n = len(shared)
    error = math.sqrt(difference_variances(old_correct + new_correct, k).sum()) / n
    difference = float((new_correct - old_correct).sum()) / (k * n)
    note, same = "", _same_answers(old, new, shared)
    if same >= REPEATED:
        note = f"{100 * same:.0f}% of the answers are the same in both passes: {NO_NEW_DRAW}"
    elif error:
        note = f"{difference / error:+.1f} standard errors"
    identical = int((old_correct == new_correct).sum())
    expected = float(identical_probabilities(old_correct + new_correct, k).sum())
    return [
        Measurement(
            TABLE, SETTING, "-", "anchor_rerun_mean_difference", difference, n=n, note=note
        ),
        Measurement(
            TABLE,
            SETTING,
            "-",
            "anchor_rerun_standard_error",
            error,
            n=n,
            note=f"of the mean difference under binomial noise at k = {k}",
        ),
        Measurement(
            TABLE, SETTING, "-", "anchor_rerun_identical", float(identical), of=n, n=n, note=note
        ),
        Measurement(
            TABLE,
            SETTING,
            "-",
            "anchor_rerun_expected_identical",
            expected,
            of=n,
            n=n,
            note=f"two binomial draws of {k} at each prompt's pooled rate",
        ),
    ]


def difference_variances(sums: NDArray[np.int64], k: int) -> NDArray[np.float64]:
    """Variance of the difference of two pass rates at k samples, given the sum of their counts."""
    rate = np.asarray(sums) / (2 * k)
    return np.asarray(4 * rate * (1 - rate) / (2 * k - 1), dtype=np.float64)


def identical_probabilities(sums: NDArray[np.int64], k: int) -> NDArray[np.float64]:
    """Probability that two binomial counts of k are equal, at the rate of both together."""
    rates = np.asarray(sums)[:, None] / (2 * k)
    chances = stats.binom.pmf(np.arange(k + 1)[None, :], k, rates)
    return np.asarray(np.sum(np.square(chances), axis=1), dtype=np.float64)


def _counts(responses: pd.DataFrame, ids: Sequence[str]) -> tuple[NDArray[np.int64], int]:
    correct, trials = correct_counts(responses, ids)
    if len(set(trials.tolist())) > 1:
        raise InputError("a pass of the anchor has prompts of different numbers of samples")
    return correct, int(trials[0])


def _same_answers(old: pd.DataFrame, new: pd.DataFrame, shared: Sequence[str]) -> float:
    """Share of the answers that are word for word those of the same place in the other pass."""
    first, second = (
        responses[responses["problem_id"].isin(shared)]
        .sort_values(["problem_id", "sample"])["text"]
        .to_numpy()
        for responses in (old, new)
    )
    return float(np.mean(first == second))
