"""A configuration that declares little makes all that it allows, and says what it leaves out."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
import yaml
from tests.workflow.test_micro import ROOT, Project, trained

PART = ROOT / "tests" / "workflow" / "part.yaml"


@pytest.fixture(scope="module")
def part(tmp_path_factory: pytest.TempPathFactory) -> Project:
    project = Project(tmp_path_factory.mktemp("part") / "project")
    project.values = yaml.safe_load(PART.read_text(encoding="utf-8"))
    run = project.snakemake()
    assert run.returncode == 0, run.stdout + run.stderr
    return project


def results(project: Project) -> Path:
    return project.folder / "results"


def test_what_it_allows_is_there_and_nothing_else(part: Project) -> None:
    files = {path.name for path in results(part).iterdir() if path.is_file()}
    tables = ("table1", "table2", "windows", "cost", "protocol")
    figures = ("figure1", "figure2", "figure3", "cost-figure")
    assert files == {
        *(f"{name}.{ending}" for name in tables for ending in ("tex", "csv")),
        *(f"{name}.{ending}" for name in figures for ending in ("pdf", "png", "csv")),
        *("claims.csv", "reproduction.csv", "reproduction.md", "report.html"),
    }
    passes = [path.name for path in (results(part) / "part" / "responses").rglob("*.parquet")]
    assert passes == ["anchor.anchor@100.parquet"]


def test_table_2_has_the_rows_that_ten_steps_allow(part: Project) -> None:
    table = pd.read_csv(results(part) / "table2.csv").set_index("measure")
    assert list(table.index) == ["silent_at_10", "waste_at_30", "waste_full", "gsm8k"]
    for arm in ("first", "second"):
        assert table[f"n_{arm}"].tolist() == [3, 0, 3, 3]
    tested = ["welch_p", "permutation_p", "interval_low", "cohens_d", "sd_first", "sd_second"]
    assert table[tested].isna().all(axis=None)
    log = pd.concat(
        pd.read_parquet(path)
        for path in (results(part) / "part/runs/main/thinkprior").rglob("groups.parquet")
    )
    silent = log["correct"].isin([0, 4])
    assert table.loc["silent_at_10", "mean_first"] == pytest.approx(silent.mean())
    assert table.loc["waste_full", "mean_first"] == pytest.approx(4 * silent.sum() / 3)
    text = (results(part) / "table2.tex").read_text("utf-8")
    assert "waste@30 needs runs of 30 steps" in text
    assert "3 seeds per arm of the campaign main" in text


def test_no_accuracy_passes_for_another_benchmark(part: Project) -> None:
    for path in [*results(part).glob("*.tex"), *(results(part) / "part/figures").glob("*.txt")]:
        text = path.read_text("utf-8").replace("Not evaluated at this scale: MATH500", "")
        assert "MATH500" not in text, path.name
    metrics = pd.read_csv(results(part) / "part/metrics/main.checkpoints.csv")
    assert list(metrics.columns[3:]) == ["step", "generated_rollouts", "gsm8k"]
    assert sorted(set(metrics["step"])) == [0, 5, 10]


def test_the_report_says_what_is_left_out_and_why(part: Project) -> None:
    report = (results(part) / "report.html").read_text("utf-8")
    assert "Part scale" in report
    assert "lacks arms dapo, thinkprior_dapo in the campaign main" in report
    assert "Not made yet" not in report
    assert 'id="section-robustness"' not in report
    rows = pd.read_csv(results(part) / "reproduction.csv")
    assert set(rows.loc[rows["table"] == "table2", "status"]) == {"not_run"}
    said = rows.loc[rows["table"] == "table2", "explanation"].unique().tolist()
    assert said == ["Not run: this scale has no campaign reestimate."]
    claims = pd.read_csv(results(part) / "claims.csv")
    assert set(claims["verdict"]) == {"not run"}


def test_it_is_what_its_records_say_and_a_second_run_does_nothing(part: Project) -> None:
    run = part.snakemake("verify")
    assert run.returncode == 0, run.stdout + run.stderr
    assert part.planned() == []


def test_what_it_cannot_make_is_one_message(part: Project) -> None:
    run = part.snakemake("results/table3.tex", cores=1)
    assert run.returncode == 1
    assert "Traceback" not in run.stdout + run.stderr
    message = run.stderr.strip().splitlines()[-1]
    assert message.startswith("error: results/table3.tex: the part scale cannot make it")
    assert "campaigns backbone_main" in message
    assert trained(part.planned()) == set()
