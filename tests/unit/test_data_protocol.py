"""The evaluation protocol: its statement, the numbers beside an accuracy, the table."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from scipy.stats import binomtest

from thinkprior import plans
from thinkprior.configuration import read
from thinkprior.errors import InputError
from thinkprior.findings.protocol import DIFFERENT, UNTRAINED, protocol_measurements
from thinkprior.measurements import Measurement, read_measurements
from thinkprior.protocol import Protocol
from thinkprior.stages.protocol import render_protocol

PROJECT = Path(__file__).resolve().parents[2]


def scores(*rows: tuple[int, str, str, int, int, int, int]) -> pd.DataFrame:
    """Rows of step, benchmark, subset, problems, correct, truncated, no box."""
    columns = ["step", "benchmark", "subset", "problems", "correct", "truncated", "no_box"]
    table = pd.DataFrame(rows, columns=columns)
    return table.assign(accuracy=table["correct"] / table["problems"], mean_tokens=6.5)


def run(correct: int, start: int = 63) -> pd.DataFrame:
    """63 of 500 right at step 0 is the paper's .126."""
    return scores(
        (0, "math500", "all", 500, start, 400, 430),
        (0, "math500", "level5", 134, 2, 120, 125),
        (10, "math500", "all", 500, 90, 300, 320),
        (20, "math500", "all", 500, correct, 100, 110),
        (20, "gsm8k", "all", 1319, 600, 0, 3),
    )


def found(measurements: list[Measurement], arm: str, metric: str) -> Measurement:
    (one,) = [m for m in measurements if (m.arm, m.metric) == (arm, metric)]
    return one


RUNS = {("random", 0): run(100), ("random", 1): run(110), ("thinkprior", 0): run(150)}


def test_the_untrained_policy_has_the_wilson_interval_of_its_n() -> None:
    one = found(protocol_measurements("main", RUNS, 0.95), UNTRAINED, "math500_accuracy")
    interval = binomtest(63, 500).proportion_ci(0.95, method="wilson")
    assert one.value == pytest.approx(0.126)
    assert (one.low, one.high) == pytest.approx((interval.low, interval.high))
    assert (one.spread, one.n) == ("interval", 3)


def test_fractions_of_cut_off_and_boxless_answers_stand_beside() -> None:
    rows = protocol_measurements("main", RUNS, 0.95)
    assert found(rows, UNTRAINED, "math500_truncated").value == pytest.approx(0.8)
    assert found(rows, UNTRAINED, "math500_no_box").value == pytest.approx(0.86)
    assert found(rows, UNTRAINED, "math500_level5_accuracy").value == pytest.approx(2 / 134)
    assert found(rows, "random", "gsm8k_problems").value == 1319


def test_an_arm_ends_at_its_last_step_with_the_interval_of_one_evaluation() -> None:
    rows = protocol_measurements("main", RUNS, 0.95)
    one = found(rows, "random", "math500_accuracy")
    assert one.value == pytest.approx(0.21)
    assert one.values == (0.2, 0.22)
    single = found(
        protocol_measurements("main", {("a", 0): run(105)}, 0.95), "a", "math500_accuracy"
    )
    assert (one.low, one.high) == (single.low, single.high)
    assert "seeds share the problems" in one.note
    assert single.note == ""


def test_runs_that_differ_at_step_0_are_flagged() -> None:
    same = protocol_measurements("main", RUNS, 0.95)
    assert not any(DIFFERENT in one.note for one in same)
    other = protocol_measurements("main", {**RUNS, ("dapo", 0): run(100, start=64)}, 0.95)
    assert DIFFERENT in found(other, UNTRAINED, "math500_accuracy").note


def test_a_run_that_has_only_its_start_has_no_end() -> None:
    rows = protocol_measurements("main", {("a", 0): run(1).iloc[:1]}, 0.95)
    assert {one.arm for one in rows} == {UNTRAINED}


def test_the_statement_names_all_that_changes_an_accuracy() -> None:
    text = Protocol("Q: {problem}\nA:", 512, 384, stop=("\n\n",)).statement()
    for part in ("Greedy", r"'Q: {problem}\nA:'", "384", "512", "end token", r"'\n\n'", "boxed"):
        assert part in text


def test_the_table_is_rendered_with_missing_arms_as_dashes(tmp_path: Path) -> None:
    config = read(PROJECT / "config" / "config.yaml")
    paths = []
    for (arm, seed), table in RUNS.items():
        paths.append(tmp_path / f"{arm}{seed}.csv")
        table.to_csv(paths[-1], index=False)
    csv, tex = tmp_path / "protocol.csv", tmp_path / "protocol.tex"
    render_protocol(
        plans.protocol_settings(config, "main"),
        {"main": list(RUNS), "reestimate": []},
        {"main": paths, "reestimate": []},
        csv,
        tex,
    )
    text = tex.read_text()
    lines = text.splitlines()
    assert any(line.startswith(r"untrained policy & 0.126 $[0.100, 0.158]$") for line in lines)
    assert any(line.startswith("random (uniform) (2) & 0.210") for line in lines)
    assert any(line.startswith(r"DAPO (--) & -- & --") for line in lines)
    assert "MATH500, $n=500$" in text
    assert config.note.split(":")[0] in text
    measured = read_measurements(csv)
    assert found(measured, "thinkprior", "math500_accuracy").value == 0.3
    assert pd.read_csv(csv)["protocol"].str.contains("Greedy decoding").all()


def test_without_a_finished_run_there_is_one_message(tmp_path: Path) -> None:
    settings = plans.protocol_settings(read(PROJECT / "config" / "config.yaml"), "main")
    with pytest.raises(InputError, match="no run is finished"):
        render_protocol(settings, {"main": []}, {"main": []}, tmp_path / "a", tmp_path / "b")
