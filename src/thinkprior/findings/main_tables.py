"""The numbers of Tables 1 and 2, and what the paper derives from them, under their published names.

Tables 1 and 2 save one row an arm or a measure; here each number gets a row of its own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from thinkprior.measurements import Measurement, over_seeds
from thinkprior.rendering.arms import Block
from thinkprior.statistics import welch

ECONOMY = ("silent_at_10", "waste_at_30")
ACCURACY = ("math500", "math500_level5", "gsm8k", "minerva_math", "olympiadbench")
REFERENCE = "online_np"
OURS = "thinkprior"
FROZEN = "prior_only"
"""The arm with a verified prior that the paper's range of that family leaves out."""

VERIFIED_BLOCKS: tuple[Block, ...] = ("verified_prior", "composition")
EARLIER_SEEDS = 8
"""Seeds an arm before the paper doubled them."""

EARLIER_ACCURACY = ("math500", "math500_level5")
"""The accuracies whose intervals it counts at those seeds."""

PAIR = f"{OURS}-{REFERENCE}"
_GENERATED = {"generated_per_step": "generated_rollouts_per_step"}


def table1_measurements(table: pd.DataFrame, runs: pd.DataFrame) -> list[Measurement]:
    """Table 1 and the ranges of its families.

    Args:
        table: Table 1 as its rendering saves it, one row an arm.
        runs: metrics of the same campaign, for the seeds' own values.

    Returns:
        By arm: generated rollouts a step, silent@10, waste@30 and the five accuracies over the
        seeds; the changes against online-NP (silent@10 in points); the seed range of MATH500. By
        family, setting `families`: the range of the arms' means of silent@10, where the frozen
        prior stands on its own, and of MATH500, where it is among the verified ones as in the
        paper.
    """
    found: list[Measurement] = []
    for row in table.to_dict("records"):
        campaign, arm = str(row["campaign"]), str(row["arm"])
        seeds = runs[runs["arm"] == arm].sort_values("seed")
        for column in ("generated_per_step", *ECONOMY, *_measured(ACCURACY, table)):
            metric = _GENERATED.get(column, column)
            found.append(over_seeds("table1", campaign, arm, metric, seeds[column]))
        if arm != REFERENCE:
            for change in (
                f"silent_at_10_minus_{REFERENCE}_points",
                f"waste_at_30_minus_{REFERENCE}",
            ):
                found.append(_number("table1", campaign, arm, change, row[change], int(row["n"])))
        for end in ("min", "max") if "math500" in table.columns else ():
            name = f"math500_{end}"
            found.append(_number("table1", campaign, arm, name, row[name], int(row["math500_n"])))
    return [*found, *_families(table)]


def table2_measurements(table: pd.DataFrame, runs: pd.DataFrame) -> list[Measurement]:
    """Table 2 and the figures that the text draws from it.

    Args:
        table: Table 2 as its rendering saves it, one row a measure.
        runs: metrics of the same campaign, for the seeds' own values.

    Returns:
        By arm the means, deviations and the seed range of MATH500; of the pair the differences with
        their intervals (fractions in points), effect sizes, p values and checkpoints led; the
        relative reductions in per cent; how many no-prior seeds are worse than the worst with the
        prior; and how many of the accuracy intervals of the first eight seeds lie above zero.
        What few seeds cannot carry is nan.
    """
    found: list[Measurement] = []
    campaign = str(table["campaign"].iloc[0])
    for row in table.to_dict("records"):
        found += _table2_measure(row, runs)
    by_measure = {str(row["measure"]): row for row in table.to_dict("records")}
    for measure in ECONOMY:
        if measure in by_measure:
            found.append(_relative_reduction(by_measure[measure], campaign))
    return [*found, _worse_than_worst(runs, campaign), _earlier_intervals(runs)]


def _measured(names: Sequence[str], table: pd.DataFrame) -> list[str]:
    """Those accuracies of the paper that a table has."""
    return [name for name in names if name in table.columns]


def _families(table: pd.DataFrame) -> list[Measurement]:
    verified = table["block"].isin(VERIFIED_BLOCKS)
    frozen = table["arm"] == FROZEN
    groups: Sequence[tuple[str, str, pd.Series]] = (
        ("verified prior, updated online", "silent_at_10", verified),
        ("verified prior, frozen", "silent_at_10", frozen),
        ("no verified prior", "silent_at_10", ~verified & ~frozen),
        ("verified prior", "math500", verified | frozen),
        ("no verified prior", "math500", ~verified & ~frozen),
    )
    found = []
    for family, measure, inside in groups:
        if measure not in table.columns:
            continue
        part = table[inside & table[measure].notna()]
        found.append(
            over_seeds(
                "table1",
                "families",
                family,
                f"{measure}_range",
                part[measure],
                f"range of the means of {', '.join(part['arm'])}" if len(part) else "no arm",
            )
        )
    return found


def _table2_measure(row: Mapping[Any, Any], runs: pd.DataFrame) -> list[Measurement]:
    campaign, measure = str(row["campaign"]), str(row["measure"])
    factor = 100.0 if row["unit"] == "fraction" else 1.0
    found: list[Measurement] = []
    for place in ("first", "second"):
        arm, n = str(row[place]), int(str(row[f"n_{place}"]))
        seeds = runs[runs["arm"] == arm].sort_values("seed")
        found.append(over_seeds("table2", campaign, arm, measure, seeds[measure]))
        deviation = _float(row[f"sd_{place}"])
        found.append(_tested(campaign, arm, f"{measure}_sd", deviation, n))
        if measure == "math500":
            for end in ("min", "max"):
                value = _float(row[f"{end}_{place}"])
                found.append(_number("table2", campaign, arm, f"{measure}_{end}", value, n))
    pair = f"{row['first']}-{row['second']}"
    n = min(int(str(row["n_first"])), int(str(row["n_second"])))
    low, high = (factor * _float(row[f"interval_{end}"]) for end in ("low", "high"))
    found.append(
        Measurement(
            "table2",
            campaign,
            pair,
            f"{measure}_delta",
            factor * _float(row["difference"]),
            n=n,
            spread="" if math.isnan(low) else "interval",
            low=low,
            high=high,
            note="points" if factor != 1 else "",
        )
    )
    for name, value in (
        ("ci95_low", low),
        ("ci95_high", high),
        ("cohens_d", _float(row["cohens_d"])),
        ("welch_p_two_sided", _float(row["welch_p"])),
        ("permutation_p_one_sided", _float(row["permutation_p"])),
    ):
        found.append(_tested(campaign, pair, f"{measure}_{name}", value, n))
    of = _float(row["checkpoints"])
    if not math.isnan(of):
        led = _float(row["checkpoints_led"])
        metric = f"{measure}_checkpoints_led"
        found.append(Measurement("table2", campaign, pair, metric, led, of=int(of), n=n))
    return found


def _relative_reduction(row: Mapping[Any, Any], campaign: str) -> Measurement:
    ours, other = _float(row["mean_first"]), _float(row["mean_second"])
    reduction = 100 * (1 - ours / other) if other else math.nan
    return Measurement(
        "text",
        campaign,
        f"{row['first']}-{row['second']}",
        f"relative_reduction_{row['measure']}",
        reduction,
        n=min(int(str(row["n_first"])), int(str(row["n_second"]))),
        note="" if math.isnan(reduction) else "per cent, of unrounded means",
    )


def _worse_than_worst(runs: pd.DataFrame, campaign: str) -> Measurement:
    ours, other = (
        runs.loc[runs["arm"] == arm, "silent_at_10"].dropna() for arm in (OURS, REFERENCE)
    )
    known = len(ours) > 0 and len(other) > 0
    return Measurement(
        "text",
        campaign,
        REFERENCE,
        "seeds_worse_than_worst_thinkprior",
        float((other > ours.max()).sum()) if known else math.nan,
        of=len(other) if known else None,
        n=len(other),
        note="silent@10" if known else "no run is long enough for silent@10",
    )


def _earlier_intervals(runs: pd.DataFrame) -> Measurement:
    """How many accuracy intervals lie above zero at the first eight seeds."""
    pair = [
        runs[runs["arm"] == arm].sort_values("seed").head(EARLIER_SEEDS)
        for arm in (OURS, REFERENCE)
    ]
    name = ("text", f"{EARLIER_SEEDS} seeds", PAIR, "accuracy_intervals")
    if min(len(part) for part in pair) < EARLIER_SEEDS:
        return Measurement(*name, math.nan, note=f"needs {EARLIER_SEEDS} seeds an arm")
    if len(_measured(EARLIER_ACCURACY, runs)) < len(EARLIER_ACCURACY):
        return Measurement(*name, math.nan, note=f"needs {' and '.join(EARLIER_ACCURACY)}")
    above, said = 0, []
    for measure in EARLIER_ACCURACY:
        test = welch(pair[0][measure], pair[1][measure])
        above += test.interval_low > 0
        said.append(
            f"{measure} {100 * test.interval_low:.1f} to {100 * test.interval_high:.1f} points"
        )
    note = f"95% intervals above zero at the first {EARLIER_SEEDS} seeds: {', '.join(said)}"
    return Measurement(*name, float(above), of=2, n=EARLIER_SEEDS, note=note)


def _tested(campaign: str, arm: str, metric: str, value: float, n: int) -> Measurement:
    note = "so few seeds carry no deviation, interval or test" if math.isnan(value) else ""
    return Measurement("table2", campaign, arm, metric, value, n=n, note=note)


def _number(table: str, setting: str, arm: str, metric: str, value: Any, n: int) -> Measurement:
    return Measurement(table, setting, arm, metric, _float(value), n=n)


def _float(cell: Any) -> float:
    return math.nan if cell is None or pd.isna(cell) else float(str(cell))
