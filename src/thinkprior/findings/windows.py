"""Window rates and coverage: when groups are silent, on which side, and on how many prompts."""

from __future__ import annotations

import math

import pandas as pd

from thinkprior.findings.large_pool import silent_share_through
from thinkprior.measurements import Measurement, over_seeds
from thinkprior.metrics import WASTE_STEPS

TABLE = "text"
WINDOW = 10
"""Steps of a window."""

MAIN, REESTIMATE = "main", "reestimate"


def window_rates(steps: pd.DataFrame, window: int = WINDOW) -> pd.DataFrame:
    """Rates of each run within consecutive windows of steps.

    Args:
        steps: counts of each step of the runs of one campaign.
        window: steps of a window; the last may be shorter.

    Returns:
        arm, seed, first_step, last_step; silent_share, all_correct_share and all_wrong_share
        (fractions of the candidate groups); train_pass_rate (over the rollouts).
    """
    rows = steps.assign(
        window=(steps["step"] - 1) // window,
        correct=steps["pass_rate"] * steps["generated_rollouts"],
    )
    sums = rows.groupby(["arm", "seed", "window"], as_index=False, sort=False).agg(
        first_step=("step", "min"),
        last_step=("step", "max"),
        groups=("generated_groups", "sum"),
        rollouts=("generated_rollouts", "sum"),
        right=("silent_right", "sum"),
        wrong=("silent_wrong", "sum"),
        correct=("correct", "sum"),
    )
    return pd.DataFrame(
        {
            **{name: sums[name] for name in ("arm", "seed", "first_step", "last_step")},
            "silent_share": (sums["right"] + sums["wrong"]) / sums["groups"],
            "all_correct_share": sums["right"] / sums["groups"],
            "all_wrong_share": sums["wrong"] / sums["groups"],
            "train_pass_rate": sums["correct"] / sums["rollouts"],
        }
    )


def window_metric(name: str, first_step: int, last_step: int) -> str:
    """Name of a rate of a window: `silent_share_steps_1_10`."""
    return f"{name}_steps_{first_step}_{last_step}"


RATES = ("silent_share", "all_correct_share", "all_wrong_share", "train_pass_rate")


def window_measurements(campaign: str, steps: pd.DataFrame) -> list[Measurement]:
    """Every arm's rates by window, and its late silent groups by side.

    Args:
        campaign: its name.
        steps: counts of each step of its runs.

    Returns:
        By window, in per cent of the candidate groups: silent_share, all_correct_share,
        all_wrong_share; train_pass_rate as a fraction. Of the second half of the run:
        late_silent_share in per cent of the groups, and late_all_correct_of_silent and
        late_all_wrong_of_silent in per cent of the silent ones.
    """
    found: list[Measurement] = []
    rates = window_rates(steps)
    windows = rates[["arm", "first_step", "last_step"]].drop_duplicates()
    for arm, first, last in windows.itertuples(index=False):
        inside = (rates["first_step"] == first) & (rates["last_step"] == last)
        part = rates[(rates["arm"] == arm) & inside]
        for rate in RATES:
            name = window_metric(rate, first, last)
            values = part[rate] * (1 if rate == "train_pass_rate" else 100)
            found.append(over_seeds(TABLE, campaign, str(arm), name, values))
    late = steps[steps["step"] > steps.groupby(["arm", "seed"])["step"].transform("max") / 2]
    counts = late.groupby(["arm", "seed"], sort=False)[
        ["generated_groups", "silent_right", "silent_wrong"]
    ].sum()
    silent = counts["silent_right"] + counts["silent_wrong"]
    shares = pd.DataFrame(
        {
            "late_silent_share": 100 * silent / counts["generated_groups"],
            "late_all_correct_of_silent": 100 * counts["silent_right"] / silent,
            "late_all_wrong_of_silent": 100 * counts["silent_wrong"] / silent,
        }
    )
    for arm, part in shares.groupby("arm", sort=False):
        for name in shares.columns:
            found.append(
                over_seeds(TABLE, campaign, str(arm), name, part[name], "second half of the run")
            )
    return found


def coverage_measurements(campaign: str, visits: pd.DataFrame, pool: int) -> list[Measurement]:
    """Distinct prompts that training generated for, and how often it came back to them.

    Args:
        campaign: its name.
        visits: one row a candidate group of its runs: arm, seed, step, problem_id.
        pool: prompts in the pool.

    Returns:
        By arm: unique_prompts_at_30 (through step 30; of runs that have so many), unique_prompts
        and revisits (candidate groups of a prompt that was generated for before).
    """
    found: list[Measurement] = []
    for arm, of_arm in visits.groupby("arm", sort=False):
        early, whole, again = [], [], []
        for _, run in of_arm.groupby("seed"):
            whole.append(run["problem_id"].nunique())
            again.append(len(run) - whole[-1])
            reached = run["step"].max() >= WASTE_STEPS
            through = run.loc[run["step"] <= WASTE_STEPS, "problem_id"].nunique()
            early.append(float(through) if reached else math.nan)
        note = f"of {pool} prompts"
        found += [
            over_seeds(TABLE, campaign, str(arm), "unique_prompts_at_30", early, note),
            over_seeds(TABLE, campaign, str(arm), "unique_prompts", whole, note),
            over_seeds(TABLE, campaign, str(arm), "revisits", again),
        ]
    return found


def published_rates(
    main_steps: pd.DataFrame,
    main: pd.DataFrame,
    pair_steps: pd.DataFrame,
    pair: pd.DataFrame,
    campaign: str = REESTIMATE,
) -> list[Measurement]:
    """The window rates that the paper's text prints.

    The rates of `random` and DAPO's waste are of the main campaign. The paper does not say which
    campaign the others are from; its first rate is that of the sixteen-seed one, and so are these,
    or of the main campaign where there is no other.

    Args:
        main_steps: counts of each step of the main campaign.
        main: its metrics.
        pair_steps: counts of each step of the sixteen-seed campaign.
        pair: its metrics.
        campaign: its name.
    """
    return [
        *_random_rates(main_steps),
        *_pair_rates(pair_steps, pair, campaign),
        _waste_ratio(main),
    ]


def _random_rates(steps: pd.DataFrame) -> list[Measurement]:
    random = steps[steps["arm"] == "random"]
    rates = window_rates(random)
    whole = rates[rates["last_step"] - rates["first_step"] == WINDOW - 1]
    means = (100 * whole.groupby("first_step")["silent_share"].mean()).tolist()
    low, high = (min(means), max(means)) if means else (math.nan, math.nan)
    n = int(random["seed"].nunique())
    last = random.groupby("seed")["step"].max()
    to_end = random.groupby("seed")[["silent_right", "silent_wrong", "generated_groups"]].sum()
    full = 100 * (to_end["silent_right"] + to_end["silent_wrong"]) / to_end["generated_groups"]
    early = 100 * silent_share_through(random, WINDOW)
    extremes = f"means over seeds, windows of {WINDOW} steps"
    return [
        over_seeds(TABLE, MAIN, "random", "silent_early", early, f"per cent, steps 1-{WINDOW}"),
        over_seeds(
            TABLE,
            MAIN,
            "random",
            "silent_full_run",
            full,
            f"per cent, {int(last.max())} steps" if len(last) else "",
        ),
        Measurement(
            TABLE,
            MAIN,
            "random",
            "window_rate_range",
            high - low,
            n=n,
            note=f"points from the lowest window to the highest, {extremes}",
        ),
        Measurement(
            TABLE, MAIN, "random", "window_rate_min", low, n=n, note=f"per cent, {extremes}"
        ),
        Measurement(
            TABLE, MAIN, "random", "window_rate_max", high, n=n, note=f"per cent, {extremes}"
        ),
    ]


def _pair_rates(steps: pd.DataFrame, runs: pd.DataFrame, campaign: str) -> list[Measurement]:
    rates = window_rates(steps)

    def silent_in(arm: str, metric: str, first: int) -> Measurement:
        last = first + WINDOW - 1
        inside = (rates["first_step"] == first) & (rates["last_step"] == last)
        values = 100 * rates.loc[(rates["arm"] == arm) & inside, "silent_share"]
        return over_seeds(TABLE, campaign, arm, metric, values, f"per cent, steps {first}-{last}")

    found = [
        silent_in("online_np", "window_rate_first", 1),
        silent_in("online_np", "window_rate_after_20_to_30_steps", 2 * WINDOW + 1),
        silent_in("thinkprior", "window_rate_first", 1),
    ]
    for arm in ("thinkprior", "online_np"):
        of_arm = rates[rates["arm"] == arm]
        last = of_arm[of_arm["last_step"] == of_arm.groupby("seed")["last_step"].transform("max")]
        ends = (
            "" if last.empty else f"steps {last.iloc[0]['first_step']}-{last.iloc[0]['last_step']}"
        )
        found += [
            over_seeds(TABLE, campaign, arm, "late_train_pass_rate", last["train_pass_rate"], ends),
            over_seeds(
                TABLE,
                campaign,
                arm,
                "full_run_wasted_rollouts",
                runs.loc[runs["arm"] == arm, "waste_full"],
                "" if campaign == REESTIMATE else f"runs of {int(rates['last_step'].max())} steps",
            ),
        ]
    return found


def _waste_ratio(runs: pd.DataFrame) -> Measurement:
    dapo, ours = (
        over_seeds(TABLE, MAIN, arm, "waste_at_30", runs.loc[runs["arm"] == arm, "waste_at_30"])
        for arm in ("dapo", "thinkprior")
    )
    return Measurement(
        TABLE,
        MAIN,
        "dapo",
        "waste_ratio_to_thinkprior",
        dapo.value / ours.value if ours.value else math.nan,
        n=min(dapo.n, ours.n),
        note="waste@30, mean over mean",
    )
