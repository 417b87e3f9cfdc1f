"""Costs counted by hand, and their table and figure."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from thinkprior.errors import InputError
from thinkprior.findings.cost import (
    JobCost,
    PassCost,
    RunCost,
    accuracy_courses,
    arm_costs,
    course_of,
    pass_costs,
    stage_costs,
    throughput,
)
from thinkprior.measurements import Measurement
from thinkprior.rendering.arms import ArmRow
from thinkprior.rendering.cost import cost_table
from thinkprior.rendering.scale import Scale

SCALE = Scale("miniature", "Miniature scale: not the paper's models.")
ARMS = [
    ArmRow("random", "random", "no_selection", fixed_budget=True, ours=False),
    ArmRow("thinkprior", "ThinkPrior", "verified_prior", fixed_budget=True, ours=True),
    ArmRow("bank", "2PL bank", "verified_prior", fixed_budget=True, ours=False),
]
PARTS = {"selection": 1.0, "generation": 20.0, "verification": 2.0, "update": 7.0}


def groups(*steps: tuple[int, int, int]) -> pd.DataFrame:
    """Groups given as step, rollouts, tokens."""
    return pd.DataFrame(steps, columns=["step", "rollouts", "tokens"])


def timings(*generation: float) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "step": range(1, len(generation) + 1),
            "selection": 0.25,
            "generation": generation,
            "verification": 0.25,
            "update": 0.5,
        }
    )


def run(arm: str, seed: int, rollouts: int, seconds: float) -> RunCost:
    """A run of two steps of equal cost, whose job takes twice as long as its steps."""
    course = pd.DataFrame(
        {
            "step": [0, 1, 2],
            "rollouts": [0, rollouts // 2, rollouts],
            "tokens": [0, 5 * rollouts // 2, 5 * rollouts],
            "seconds": [0.0, seconds / 2, seconds],
        }
    )
    parts = {"selection": 0.0, "generation": 0.6 * seconds, "verification": 0.0}
    parts["update"] = 0.4 * seconds
    return RunCost(arm, seed, JobCost(2 * seconds), course, parts)


def values(measurements: list[Measurement], arm: str) -> dict[str, float]:
    return {m.metric: m.value for m in measurements if m.arm == arm}


def test_a_course_adds_up_groups_and_seconds_from_zero() -> None:
    # Step 1: two rounds of 8 rollouts, 1.0 + 2 s; step 2: one group, 1.0 + 3 s.
    course = course_of(groups((1, 8, 30), (1, 8, 34), (2, 8, 40)), timings(2.0, 3.0))
    assert course["step"].tolist() == [0, 1, 2]
    assert course["rollouts"].tolist() == [0, 16, 24]
    assert course["tokens"].tolist() == [0, 64, 104]
    assert course["seconds"].tolist() == [0.0, 3.0, 7.0]


def test_logs_of_different_steps_are_refused() -> None:
    with pytest.raises(InputError, match="steps 1 to 2, its timings log 1 to 3"):
        course_of(groups((1, 8, 30), (2, 8, 40)), timings(1.0, 1.0, 1.0))


def test_stages_sum_seconds_and_take_the_largest_memory() -> None:
    jobs = {
        "model": [JobCost(60.0, 55.0, 400.0), JobCost(40.0, 41.0, 700.0)],
        "train": [JobCost(50.0, 45.0, 500.0)],
    }
    found = stage_costs(jobs, PARTS)
    model = values(found, "model")
    assert model == {
        "jobs": 2,
        "seconds": 100.0,
        "seconds_per_job": 50.0,
        "cpu_seconds": 96.0,
        "peak_memory_mib": 700.0,
    }
    # 50 s less the 30 s of the parts.
    assert values(found, "train: start, load, save")["seconds"] == 20.0
    assert values(found, "train: generation")["seconds"] == 20.0
    everything = values(found, "all")
    assert (everything["jobs"], everything["seconds"]) == (3, 150.0)
    assert (everything["cpu_seconds"], everything["peak_memory_mib"]) == (141.0, 700.0)


def test_a_job_that_measured_nothing_leaves_no_partial_sum() -> None:
    found = stage_costs({"train": [JobCost(5.0, 4.0, 300.0), JobCost(6.0)]}, PARTS)
    train = values(found, "train")
    assert train["seconds"] == 11.0
    assert math.isnan(train["cpu_seconds"])
    assert math.isnan(train["peak_memory_mib"])
    assert "gpu_memory_mib" not in train


def test_gpu_memory_stands_where_a_job_had_any() -> None:
    found = stage_costs({"train": [JobCost(1.0, 1.0, 1.0, 2048.0), JobCost(1.0, 1.0, 1.0)]}, PARTS)
    assert values(found, "train")["gpu_memory_mib"] == 2048.0


def test_throughput_divides_by_the_seconds_of_generation_and_of_the_passes_job() -> None:
    anchor = PassCost("anchor", "anchor pass", JobCost(4.0), rollouts=4000, tokens=20000)
    # 100 + 300 rollouts over 0.6 * (10 + 30) s.
    found = throughput([run("a", 0, 100, 10.0), run("b", 0, 300, 30.0)], [anchor])
    training = values(found, "train: generation")
    assert training["rollouts_per_second"] == pytest.approx(400 / 24)
    assert training["tokens_per_second"] == pytest.approx(2000 / 24)
    assert values(found, "anchor pass")["rollouts_per_second"] == 1000.0
    assert values(found, "anchor pass")["tokens_per_second"] == 5000.0


def metrics(accuracies: dict[tuple[str, int], float]) -> pd.DataFrame:
    rows = [(arm, seed, value) for (arm, seed), value in accuracies.items()]
    return pd.DataFrame(rows, columns=["arm", "seed", "math500"])


def test_arms_have_means_and_seed_ranges_and_a_missing_arm_is_not_a_number() -> None:
    table = metrics({("thinkprior", 0): 0.5, ("thinkprior", 1): 0.6})
    runs = [run("thinkprior", 1, 100, 30.0), run("thinkprior", 0, 60, 10.0)]
    found = {(m.arm, m.metric): m for m in arm_costs("main", ["random", "thinkprior"], table, runs)}
    accuracy = found["thinkprior", "math500"]
    assert accuracy.value == pytest.approx(0.55)
    assert (accuracy.low, accuracy.high) == (0.5, 0.6)
    assert found["thinkprior", "generated_rollouts"].values == (60.0, 100.0)
    assert found["thinkprior", "generated_tokens"].value == 400.0
    assert found["thinkprior", "generation_seconds"].value == pytest.approx(12.0)
    assert found["thinkprior", "run_seconds"].value == 40.0
    assert math.isnan(found["random", "math500"].value)
    assert found["random", "math500"].n == 0


def test_passes_of_one_kind_are_added_up() -> None:
    respondents = [
        PassCost("respondent", f"r{i}", JobCost(2.0), rollouts=250, tokens=1000) for i in range(3)
    ]
    found = pass_costs("main", respondents)
    assert values(found, "respondent pass") == {
        "generated_rollouts": 750,
        "generated_tokens": 3000,
        "run_seconds": 6.0,
    }
    assert {m.note for m in found} == {"3 passes"}


def checkpoints(accuracies: dict[tuple[str, int, int], float]) -> pd.DataFrame:
    rows = [(*key, value) for key, value in accuracies.items()]
    return pd.DataFrame(rows, columns=["arm", "seed", "step", "math500"])


def test_courses_average_over_seeds_at_the_checkpoints_that_all_have() -> None:
    reached = checkpoints({("a", 0, 0): 0.1, ("a", 1, 0): 0.3, ("a", 0, 2): 0.5, ("a", 1, 1): 0.9})
    table = accuracy_courses(reached, [run("a", 0, 100, 10.0), run("a", 1, 60, 30.0)])
    assert table["step"].tolist() == [0]
    row = table.iloc[0]
    assert (row["n"], row["rollouts"]) == (2, 0.0)
    assert row["math500"] == pytest.approx(0.2)
    assert (row["low"], row["high"]) == (0.1, 0.3)


@pytest.fixture(scope="module")
def measured() -> list[Measurement]:
    jobs = {
        "train": [JobCost(20.0), JobCost(60.0)],
        "item_bank": [JobCost(1.5, 1.2, 168.4)],
    }
    runs = [run("random", 0, 64, 10.0), run("thinkprior", 0, 128, 30.0)]
    anchor = PassCost("anchor", "anchor pass of m@5", JobCost(4.0), rollouts=4000, tokens=20000)
    table = metrics({("random", 0): 0.5685, ("thinkprior", 0): 0.529})
    return [
        *stage_costs(jobs, PARTS),
        *throughput(runs, [anchor]),
        *arm_costs("main", [arm.name for arm in ARMS], table, runs),
        *pass_costs("main", [anchor]),
    ]


def test_the_table_prints_dashes_for_what_is_absent_and_names_it(
    measured: list[Measurement],
) -> None:
    table = cost_table(measured, ARMS, "main", {"AMD EPYC, 2 cores": 2}, SCALE)
    lines = table.latex.splitlines()
    assert r"GRPO training & 2 & 80 & 40.00 & -- & -- &  &  \\" in lines
    assert r"Fitting the 2PL bank & 1 & 2 & 1.50 & 1 & 168 &  &  \\" in lines
    assert r"anchor pass of m@5 & 4000 & 20000 & 4.0 & 1000 & 5000 &  &  \\" in lines
    assert r"random & 0.569 $[0.569, 0.569]$ & 64 & 320 & 6.0 & 4.0 & 20.0 & 1 \\" in lines
    assert r"\rowcolor[HTML]{FCE7EF} 2PL bank & -- & -- & -- & -- & -- & -- & 0 \\" in lines
    assert r"Once: anchor pass &  & 4000 & 20000 &  &  & 4.0 &  \\" in lines
    assert "No run has finished of: 2PL bank." in table.latex
    assert "Not every job measured its processor time and memory: GRPO training." in table.latex
    assert "Measured on AMD EPYC, 2 cores." in table.latex
    assert SCALE.note in table.latex
    assert set(table.frame["table"]) == {"cost"}


def test_runs_of_several_machines_are_counted(measured: list[Measurement]) -> None:
    table = cost_table(measured, ARMS, "main", {"A, 2 cores": 1, "B, 1 core": 3}, SCALE)
    assert "Measured on A, 2 cores (1 run); B, 1 core (3 runs)." in table.latex


def test_the_figure_marks_five_arms_and_names_the_grey_and_the_missing() -> None:
    pytest.importorskip("matplotlib", reason="the figures need matplotlib")
    from thinkprior.rendering.cost_figure import cost_figure

    arms = [*ARMS, ArmRow("mopps", "MoPPS", "published", fixed_budget=True, ours=False)]
    reached = checkpoints(
        {(arm, 0, step): 0.2 * (step + 1) for arm in ("random", "bank", "mopps") for step in (0, 2)}
    )
    runs = [run("random", 0, 64, 1.0), run("bank", 0, 100, 2.0), run("mopps", 0, 4000, 9.0)]
    figure = cost_figure(accuracy_courses(reached, runs), arms, SCALE)
    assert [axes.get_title(loc="left") for axes in figure.canvas.axes] == [
        "(a) Rollouts",
        "(b) Tokens",
        "(c) Seconds",
    ]
    # Rollouts in thousands, on the last line drawn: that of the marked arm.
    last = figure.canvas.axes[0].lines[-1]
    assert np.asarray(last.get_xdata()).tolist() == [0.0, 0.064]
    (legend,) = figure.canvas.legends
    assert [text.get_text() for text in legend.get_texts()] == ["random (n = 1)", "2 other arms"]
    assert "Grey: 2PL bank (n = 1), MoPPS (n = 1)." in figure.caption
    assert "Left out, since no run has finished: ThinkPrior." in figure.caption
    assert list(figure.frame.columns[:3]) == ["scale", "arm", "label"]
    assert len(figure.frame) == 6


def test_a_figure_of_nothing_is_refused() -> None:
    pytest.importorskip("matplotlib", reason="the figures need matplotlib")
    from thinkprior.rendering.cost_figure import cost_figure

    with pytest.raises(InputError, match="at least one arm"):
        cost_figure(accuracy_courses(checkpoints({}), []), ARMS, SCALE)
