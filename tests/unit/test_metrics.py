"""Economy figures by hand-counted groups logs."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd
import pytest

from thinkprior.errors import InputError
from thinkprior.metrics import (
    along_the_run,
    checkpoint_metrics,
    named,
    run_metrics,
    silent,
    step_metrics,
)


def groups_log(
    steps: list[list[tuple[str, int]]], used: list[list[bool]] | None = None
) -> pd.DataFrame:
    """A log of groups of 8 from (problem, correct) of each step; ten tokens a group."""
    rows: list[dict[str, Any]] = []
    for number, groups in enumerate(steps, start=1):
        for place, (problem, correct) in enumerate(groups):
            rows.append(
                {
                    "step": number,
                    "problem_id": problem,
                    "rollouts": 8,
                    "correct": correct,
                    "tokens": 10,
                    "used": used[number - 1][place] if used else True,
                }
            )
    return pd.DataFrame(rows)


def steps_log(shortfalls: list[int]) -> pd.DataFrame:
    return pd.DataFrame({"step": range(1, len(shortfalls) + 1), "shortfall": shortfalls})


def evaluation(last: int) -> pd.DataFrame:
    rows = [
        (0, "math500", "all", 0.10),
        (0, "math500", "level5", 0.05),
        (last, "math500", "all", 0.30),
        (last, "math500", "level5", 0.20),
        (last, "gsm8k", "all", 0.60),
    ]
    return pd.DataFrame(rows, columns=["step", "benchmark", "subset", "accuracy"])


def metrics_of(groups: pd.DataFrame) -> dict[str, Any]:
    last = int(groups["step"].max())
    return run_metrics(groups, steps_log([0] * last), evaluation(last))


def test_silence_is_all_right_or_all_wrong() -> None:
    groups = groups_log([[("a", 0), ("b", 1), ("c", 7), ("d", 8)]])
    assert silent(groups).tolist() == [True, False, False, True]


def test_silent_at_10_and_waste_at_30_of_a_fixed_budget_arm() -> None:
    # Two groups a step: one silent in steps 1-5, none in 6-10, both in 11-30, one in 31-40.
    steps = [[("a", 0), ("b", 4)]] * 5 + [[("a", 3), ("b", 4)]] * 5
    steps += [[("c", 8), ("d", 0)]] * 20 + [[("c", 8), ("d", 5)]] * 10
    row = metrics_of(groups_log(steps))
    assert row["silent_at_10"] == 5 / 20
    assert row["waste_at_30"] == 8 * (5 + 40)
    assert row["waste_full"] == 8 * (5 + 40 + 10)
    assert row["silent_full"] == 55 / 80
    assert row["generated_rollouts"] == row["update_rollouts"] == 640
    assert row["generated_per_step"] == 16
    assert row["nonsilent_rollouts"] == 640 - 8 * 55
    assert (row["unique_prompts"], row["revisits"]) == (4, 76)
    assert row["generated_tokens"] == 800
    assert (row["steps"], row["shortfall_steps"]) == (40, 0)


def test_dapo_divides_by_the_groups_that_it_generated() -> None:
    # Step 1 generates four groups of which two are silent, steps 2-10 two of which none is; three
    # groups in all are generated and not used.
    first = [("a", 0), ("b", 4), ("c", 8), ("d", 4)]
    steps = [first] + [[("e", 4), ("f", 4)]] * 9
    used = [[False, True, False, True], [True, False]] + [[True, True]] * 8
    row = run_metrics(groups_log(steps, used), steps_log([0, 1] + [0] * 8), evaluation(10))
    assert row["silent_at_10"] == 2 / 22
    assert row["generated_rollouts"] == 8 * 22
    assert row["update_rollouts"] == 8 * 19
    assert row["nonsilent_rollouts"] == 8 * 20
    assert row["shortfall_steps"] == 1
    assert row["generated_per_step"] == pytest.approx(17.6)


def test_silent_at_10_pools_the_groups_and_does_not_average_the_steps() -> None:
    # 9 silent of 9 in step 1, 0 of 1 in each of the nine others: 9 of 18, not 1 of 10.
    row = metrics_of(groups_log([[("a", 0)] * 9] + [[("b", 4)]] * 9))
    assert row["silent_at_10"] == 0.5


def test_a_run_that_is_too_short_has_no_early_figures() -> None:
    nine = metrics_of(groups_log([[("a", 0)]] * 9))
    assert math.isnan(nine["silent_at_10"])
    assert math.isnan(nine["waste_at_30"])
    ten = metrics_of(groups_log([[("a", 0)]] * 10))
    assert ten["silent_at_10"] == 1.0
    assert math.isnan(ten["waste_at_30"])
    assert metrics_of(groups_log([[("a", 0)]] * 30))["waste_at_30"] == 240


def test_the_accuracies_are_those_at_the_end() -> None:
    row = metrics_of(groups_log([[("a", 0)]] * 10))
    assert (row["math500"], row["math500_level5"], row["gsm8k"]) == (0.30, 0.20, 0.60)


def test_steps_are_counted_one_by_one() -> None:
    table = step_metrics(groups_log([[("a", 0), ("b", 8), ("c", 2)], [("a", 4)], [("a", 8)]]))
    assert table["step"].tolist() == [1, 2, 3]
    assert table["generated_groups"].tolist() == [3, 1, 1]
    assert table["generated_rollouts"].tolist() == [24, 8, 8]
    assert table["silent_right"].tolist() == [1, 0, 1]
    assert table["silent_wrong"].tolist() == [1, 0, 0]
    assert table["silent_rollouts"].tolist() == [16, 0, 8]
    assert table["pass_rate"].tolist() == [10 / 24, 0.5, 1.0]
    assert table["cumulative_waste"].tolist() == [16, 16, 24]


def test_checkpoints_stand_at_the_rollouts_spent_until_then() -> None:
    groups = groups_log([[("a", 0), ("b", 4)], [("a", 4)], [("a", 4)], [("c", 4), ("d", 1)]])
    scores = evaluation(4)
    middle = [(2, "math500", "all", 0.2), (2, "math500", "level5", 0.1)]
    scores = pd.concat([scores, pd.DataFrame(middle, columns=scores.columns)])
    table = checkpoint_metrics(groups, scores)
    assert table["step"].tolist() == [0, 2, 4]
    assert table["generated_rollouts"].tolist() == [0, 24, 48]
    assert table["math500"].tolist() == [0.10, 0.2, 0.30]
    assert table["math500_level5"].tolist() == [0.05, 0.1, 0.20]


def test_the_name_of_a_run_comes_first() -> None:
    table = named(pd.DataFrame({"x": [1, 2]}), {"campaign": "main", "arm": "random", "seed": 3})
    assert list(table) == ["campaign", "arm", "seed", "x"]
    assert table["seed"].tolist() == [3, 3]


def other_evaluation(*rows: tuple[int, str, str, float]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["step", "benchmark", "subset", "accuracy"])


def test_columns_are_named_after_the_benchmark_along_the_run() -> None:
    scores = other_evaluation(
        (0, "gsm8k", "all", 0.1), (1, "gsm8k", "all", 0.2), (1, "minerva_math", "all", 0.3)
    )
    groups = groups_log([[("a", 0), ("b", 1)]])
    assert along_the_run(scores) == "gsm8k"
    row = run_metrics(groups, steps_log([0]), scores)
    assert (row["gsm8k"], row["minerva_math"]) == (0.2, 0.3)
    assert not [name for name in row if "level5" in name or "math500" in name]
    course = checkpoint_metrics(groups, scores)
    assert list(course.columns) == ["step", "generated_rollouts", "gsm8k"]
    assert course["gsm8k"].tolist() == [0.1, 0.2]
    assert course["generated_rollouts"].tolist() == [0, 16]


def test_levels_of_another_benchmark_carry_its_name() -> None:
    rows = [(step, "math", subset, 0.5) for step in (0, 1) for subset in ("all", "level5")]
    groups = groups_log([[("a", 0)]])
    assert run_metrics(groups, steps_log([0]), other_evaluation(*rows))["math_level5"] == 0.5
    course = checkpoint_metrics(groups, other_evaluation(*rows))
    assert list(course.columns[2:]) == ["math", "math_level5"]


def test_a_first_checkpoint_of_several_benchmarks_is_refused() -> None:
    scores = other_evaluation((0, "gsm8k", "all", 0.1), (0, "math500", "all", 0.2))
    with pytest.raises(InputError, match="evaluated on gsm8k, math500, not on one"):
        along_the_run(scores)
