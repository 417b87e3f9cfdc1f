"""`snakemake plan`, and machines that are refused before a job starts."""

from __future__ import annotations

import pandas as pd
import pytest
from tests.workflow.test_micro import Project
from tests.workflow.test_micro import project as project


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project in which nothing was made."""
    return Project(tmp_path_factory.mktemp("plan") / "project")


def test_the_plan_is_printed_each_time_and_makes_nothing(fresh: Project) -> None:
    for _ in range(2):
        run = fresh.snakemake("plan")
        assert run.returncode == 0, run.stdout + run.stderr
        assert "what its jobs take at most, on cpu" in run.stdout
    assert {path.name for path in (fresh.folder / "results").iterdir()} == {"micro"}
    assert {path.name for path in (fresh.folder / "results/micro").iterdir()} == {
        "logs",
        "plan.csv",
    }


def test_the_plan_of_a_finished_scale_is_measured(project: Project) -> None:
    run = project.snakemake("plan")
    assert run.returncode == 0, run.stdout + run.stderr
    table = pd.read_csv(project.folder / "results/micro/plan.csv")
    total = table[table["what"] == "total"].set_index("stage")
    assert (total["done"] == total["jobs"]).all()
    assert (total["hours"] > 0).all()
    assert total["hours_from"].str.fullmatch("measured").all()
    # Of what is there: adapters take what was planned, texts no more than that.
    runs = project.folder.glob("results/micro/runs/*/*/*/checkpoints")
    found = sum(f.stat().st_size for run in runs for f in run.rglob("*") if f.is_file())
    assert found / 1e9 == pytest.approx(total["disk_gb"]["train"], rel=0.05)
    responses = project.folder.glob("results/micro/responses/*/*.parquet")
    assert sum(f.stat().st_size for f in responses) > 0


def test_a_gpu_that_is_not_there_ends_it_before_the_first_job(fresh: Project) -> None:
    before = dict(fresh.values["engine"])
    fresh.values["engine"] |= {"device": "cuda", "gpus": 1}
    try:
        run = fresh.snakemake("results/table1.csv", cores=1)
    finally:
        fresh.values["engine"] = before
    shown = run.stdout + run.stderr
    assert run.returncode == 1
    assert "error: engine.device: cuda is asked for, but torch" in shown
    assert "Traceback" not in shown
    assert not list(fresh.folder.glob("results/micro/data/*"))
