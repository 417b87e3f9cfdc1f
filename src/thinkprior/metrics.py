"""Economy and accuracy of finished runs, all from their groups logs and evaluations."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pandas as pd

from thinkprior.errors import InputError

EARLY_STEPS, WASTE_STEPS = 10, 30


def silent(groups: pd.DataFrame) -> pd.Series:
    """Whether each group is all right or all wrong, decided on the integer counts."""
    return (groups["correct"] == 0) | (groups["correct"] == groups["rollouts"])


def step_metrics(groups: pd.DataFrame) -> pd.DataFrame:
    """Counts of each step of a run, one row a step.

    Args:
        groups: the run's groups log.

    Returns:
        step, generated_groups, generated_rollouts, silent_right and silent_wrong (groups),
        silent_rollouts, pass_rate, cumulative_waste.
    """
    right = groups["correct"] == groups["rollouts"]
    wrong = groups["correct"] == 0
    table = pd.DataFrame(
        {
            "step": groups["step"],
            "generated_groups": 1,
            "generated_rollouts": groups["rollouts"],
            "silent_right": right.astype(int),
            "silent_wrong": wrong.astype(int),
            "silent_rollouts": groups["rollouts"].where(right | wrong, 0),
            "correct": groups["correct"],
        }
    )
    sums = table.groupby("step", as_index=False).sum()
    sums["pass_rate"] = sums["correct"] / sums["generated_rollouts"]
    sums["cumulative_waste"] = sums["silent_rollouts"].cumsum()
    return sums.drop(columns="correct")


def run_metrics(groups: pd.DataFrame, steps: pd.DataFrame, scores: pd.DataFrame) -> dict[str, Any]:
    """Figures of one run (Section "Metrics and seeds").

    Args:
        groups: its groups log.
        steps: its steps log.
        scores: its evaluation.

    Returns:
        silent_at_10: silent candidate groups over all candidate groups of the first 10 steps (not
        a number for a shorter run); waste_at_30: rollouts in silent candidate groups through step
        30; the same over the whole run; generated, non-silent and update rollouts as counted;
        unique prompts and revisits; and the accuracies at the end.
    """
    quiet = silent(groups)
    last = int(groups["step"].max())
    early = groups["step"] <= EARLY_STEPS
    to_thirty = groups["step"] <= WASTE_STEPS
    generated = int(groups["rollouts"].sum())
    waste = int(groups["rollouts"][quiet].sum())
    row: dict[str, Any] = {
        "steps": last,
        "generated_rollouts": generated,
        "generated_per_step": generated / last,
        "silent_at_10": float(quiet[early].mean()) if last >= EARLY_STEPS else math.nan,
        "waste_at_30": (
            int(groups["rollouts"][quiet & to_thirty].sum()) if last >= WASTE_STEPS else math.nan
        ),
        "silent_full": float(quiet.mean()),
        "waste_full": waste,
        "nonsilent_rollouts": generated - waste,
        "update_rollouts": int(groups["rollouts"][groups["used"]].sum()),
        "shortfall_steps": int((steps["shortfall"] > 0).sum()),
        "unique_prompts": int(groups["problem_id"].nunique()),
        "revisits": len(groups) - int(groups["problem_id"].nunique()),
        "generated_tokens": int(groups["tokens"].sum()),
    }
    final = scores[scores["step"] == scores["step"].max()]
    for benchmark, part in final[final["subset"] == "all"].groupby("benchmark"):
        row[str(benchmark)] = float(part["accuracy"].iloc[0])
    for benchmark, part in final[final["subset"] == "level5"].groupby("benchmark"):
        row[f"{benchmark}_level5"] = float(part["accuracy"].iloc[0])
    return row


def along_the_run(scores: pd.DataFrame) -> str:
    """The benchmark that a run's evaluation has at every checkpoint: the one of the first.

    Raises:
        InputError: where the first checkpoint has none, or more than one.
    """
    first = scores[(scores["step"] == scores["step"].min()) & (scores["subset"] == "all")]
    names = sorted(set(first["benchmark"]))
    if len(names) != 1:
        raise InputError(
            f"the first checkpoint is evaluated on {', '.join(names) or 'nothing'}, not on one "
            "benchmark: evaluate the run anew"
        )
    return str(names[0])


def checkpoint_metrics(groups: pd.DataFrame, scores: pd.DataFrame) -> pd.DataFrame:
    """Accuracy along a run, by checkpoint.

    Returns:
        step, generated_rollouts, and columns named after the benchmark along the run: `math500` and
        `math500_level5`, the latter where it has levels.
    """
    name = along_the_run(scores)
    along = scores[scores["benchmark"] == name]
    table = along.pivot(index="step", columns="subset", values="accuracy").reset_index()
    table = table.rename(columns={"all": name, "level5": f"{name}_level5"})
    spent = groups.groupby("step")["rollouts"].sum().cumsum()
    table["generated_rollouts"] = [
        int(spent[spent.index <= step].iloc[-1]) if step > 0 else 0 for step in table["step"]
    ]
    levels = [f"{name}_level5"] if f"{name}_level5" in table.columns else []
    return table[["step", "generated_rollouts", name, *levels]]


def named(table: pd.DataFrame, name: Mapping[str, Any]) -> pd.DataFrame:
    """A table with the run's campaign, arm and seed as its first columns."""
    for position, (key, value) in enumerate(name.items()):
        table.insert(position, key, value)
    return table
