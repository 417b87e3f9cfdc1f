"""Window rates and coverage, counted by hand."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from thinkprior.findings.windows import (
    coverage_measurements,
    published_rates,
    window_measurements,
    window_rates,
)
from thinkprior.measurements import Measurement
from thinkprior.rendering.arms import ArmRow
from thinkprior.rendering.scale import Scale
from thinkprior.rendering.windows import windows_table

SCALE = Scale("miniature", "Not the paper's models.")


def course(
    arm: str, seed: int, windows: list[tuple[int, int, float]], window: int = 10
) -> pd.DataFrame:
    """A run of 8 groups of 8 a step; a step of a window has all-correct, all-wrong, pass rate."""
    rows = []
    for place, (right, wrong, rate) in enumerate(windows):
        for step in range(place * window + 1, (place + 1) * window + 1):
            rows.append((arm, seed, step, 8, 64, right, wrong, 8 * (right + wrong), rate))
    names = "arm seed step generated_groups generated_rollouts silent_right silent_wrong"
    columns = [*names.split(), "silent_rollouts", "pass_rate"]
    return pd.DataFrame(rows, columns=columns).assign(campaign="x")


def runs(*rows: tuple[str, int, float, int]) -> pd.DataFrame:
    columns = ["arm", "seed", "waste_at_30", "waste_full"]
    return pd.DataFrame(list(rows), columns=columns).assign(campaign="x")


def by_name(measurements: list[Measurement]) -> dict[tuple[str, str, str], Measurement]:
    return {(one.setting, one.arm, one.metric): one for one in measurements}


def test_rates_are_of_the_groups_of_a_window() -> None:
    rates = window_rates(course("a", 0, [(1, 3, 0.25), (2, 0, 0.75)]))
    assert rates["first_step"].tolist() == [1, 11]
    assert rates["last_step"].tolist() == [10, 20]
    assert rates["silent_share"].tolist() == [4 / 8, 2 / 8]
    assert rates["all_correct_share"].tolist() == [1 / 8, 2 / 8]
    assert rates["all_wrong_share"].tolist() == [3 / 8, 0]
    assert rates["train_pass_rate"].tolist() == [0.25, 0.75]


def test_steps_of_more_groups_weigh_more() -> None:
    steps = course("dapo", 0, [(0, 2, 0.5)])
    steps.loc[steps["step"] == 1, ["generated_groups", "generated_rollouts"]] = [16, 128]
    steps.loc[steps["step"] == 1, "pass_rate"] = 0.0
    row = window_rates(steps).iloc[0]
    assert row["silent_share"] == 20 / (9 * 8 + 16)
    assert row["train_pass_rate"] == pytest.approx(9 * 64 * 0.5 / (9 * 64 + 128))


def test_late_silent_groups_by_side() -> None:
    # Of 40 steps the second half has 10 steps of (2, 2) and 10 of (4, 0): 60 right, 20 wrong.
    steps = course("a", 0, [(0, 8, 0), (0, 8, 0), (2, 2, 0.5), (4, 0, 0.75)])
    found = by_name(window_measurements("main", steps))
    assert found["main", "a", "late_silent_share"].value == 50
    assert found["main", "a", "late_all_correct_of_silent"].value == 75
    assert found["main", "a", "late_all_wrong_of_silent"].value == 25
    assert found["main", "a", "silent_share_steps_31_40"].value == 50
    assert found["main", "a", "train_pass_rate_steps_31_40"].value == 0.75


def test_no_late_silence_has_no_sides() -> None:
    found = by_name(window_measurements("main", course("a", 0, [(0, 0, 0.5)])))
    assert found["main", "a", "late_silent_share"].value == 0
    assert found["main", "a", "late_all_correct_of_silent"].n == 0


def test_coverage_counts_prompts_and_returns() -> None:
    visits = pd.DataFrame(
        [("a", 0, step, problem) for step, problem in ((1, "p"), (1, "q"), (30, "p"), (31, "r"))],
        columns=["arm", "seed", "step", "problem_id"],
    )
    found = by_name(coverage_measurements("main", visits, 250))
    assert found["main", "a", "unique_prompts_at_30"].value == 2
    assert found["main", "a", "unique_prompts"].value == 3
    assert found["main", "a", "revisits"].value == 1
    short = by_name(coverage_measurements("main", visits[visits["step"] < 30], 250))
    assert short["main", "a", "unique_prompts_at_30"].n == 0
    assert short["main", "a", "unique_prompts"].value == 2


def published() -> list[Measurement]:
    main = pd.concat(
        [
            course("random", 0, [(0, 3, 0.1), (0, 4, 0.1), (0, 3, 0.1)]),
            course("random", 1, [(0, 3, 0.1), (1, 3, 0.1), (2, 2, 0.1)]),
            course("thinkprior", 0, [(0, 1, 0.5)] * 3),
            course("dapo", 0, [(0, 3, 0.5)] * 3),
        ]
    )
    pair = pd.concat(
        [
            course("thinkprior", 0, [(0, 1, 0.5), (1, 0, 0.7), (2, 0, 0.9)]),
            course("online_np", 0, [(0, 2, 0.3), (0, 1, 0.6), (1, 0, 0.8)]),
        ]
    )
    return published_rates(
        main,
        runs(("dapo", 0, 1565, 3325), ("thinkprior", 0, 280, 960)),
        pair,
        runs(("thinkprior", 0, 280, 968), ("online_np", 0, 343, 885)),
    )


def test_published_window_rates() -> None:
    found = by_name(published())
    # Random: 3, 4 and (3 + 4) / 2 of 8 groups silent in the three windows.
    assert found["main", "random", "silent_early"].value == 37.5
    assert found["main", "random", "silent_full_run"].value == pytest.approx(100 * 10.5 / 24)
    assert found["main", "random", "window_rate_min"].value == 37.5
    assert found["main", "random", "window_rate_max"].value == 50
    assert found["main", "random", "window_rate_range"].value == 12.5
    assert found["reestimate", "online_np", "window_rate_first"].value == 25
    assert found["reestimate", "online_np", "window_rate_after_20_to_30_steps"].value == 12.5
    assert found["reestimate", "thinkprior", "late_train_pass_rate"].value == pytest.approx(0.9)
    assert found["reestimate", "online_np", "late_train_pass_rate"].value == pytest.approx(0.8)
    assert found["reestimate", "thinkprior", "full_run_wasted_rollouts"].value == 968
    # 1565 / 280 = 5.59, the paper's 5.6x.
    assert round(found["main", "dapo", "waste_ratio_to_thinkprior"].value, 1) == 5.6


def test_short_runs_and_missing_arms_have_no_value() -> None:
    short = course("thinkprior", 0, [(0, 1, 0.5)], window=8)
    found = by_name(published_rates(short, runs(), short, runs(("thinkprior", 0, math.nan, 64))))
    for setting, arm, metric in (
        ("main", "random", "silent_early"),
        ("main", "random", "window_rate_range"),
        ("reestimate", "thinkprior", "window_rate_first"),
        ("reestimate", "online_np", "late_train_pass_rate"),
        ("main", "dapo", "waste_ratio_to_thinkprior"),
    ):
        assert math.isnan(found[setting, arm, metric].value), metric
    # The last window is what there is: steps 1 to 8.
    late = found["reestimate", "thinkprior", "late_train_pass_rate"]
    assert (late.value, late.note) == (0.5, "steps 1-8")


def test_table_shows_every_arm_and_dashes_for_those_without_a_run() -> None:
    main = course("thinkprior", 0, [(1, 1, 0.5), (3, 1, 0.9), (0, 0, 0.5)])
    measurements = [
        *published_rates(main, runs(), main, runs()),
        *window_measurements("main", main),
        *window_measurements("reestimate", main),
    ]
    arms = [
        ArmRow("random", "random", "no_selection", True, False),
        ArmRow("thinkprior", "TP", "verified_prior", True, True),
    ]
    table = windows_table(
        measurements, arms, SCALE, reestimate_arms=["thinkprior"], steps=30, pool=250
    )
    lines = table.latex.splitlines()
    assert r"random & -- & -- & -- &  &  &  & 0 \\" in lines
    rates = r"TP & 25.0 (12.5) & 50.0 (37.5) & 0.0 (0.0) &  &  &  & 1 \\"
    assert rf"\rowcolor[HTML]{{F4B6CE}} {rates}" in lines
    assert sum("TP, re-estimate" in line for line in lines) == 3
    # Every row has as many cells as the table columns: a label, six figures and n.
    assert {line.count("&") for line in lines if line.startswith(("random", r"\rowcolor"))} == {7}
