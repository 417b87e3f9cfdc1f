"""A micro campaign through Snakemake, from nothing to tables and figures, and what reruns when."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
MICRO = ROOT / "tests" / "workflow" / "micro.yaml"
TARGETS = [
    *(f"results/table{number}.{ending}" for number in range(1, 6) for ending in ("tex", "csv")),
    *(
        f"results/figure{number}.{ending}"
        for number in (1, 2, 3)
        for ending in ("pdf", "png", "csv")
    ),
    *(f"results/{name}.csv" for name in ("appendixB", "appendixD", "appendixE", "underestimated")),
    *(f"results/{name}.csv" for name in ("windows", "amortisation", "cost", "protocol", "world")),
    *("results/reproduction.csv", "results/claims.csv", "results/report.html"),
]


class Project:
    """A copy of the pipeline in a folder of its own, whose code may be changed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in ("src", "workflow", "profiles", "config", "envs", "resources", "docs"):
            shutil.copytree(
                ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__")
            )
        shutil.copy(ROOT / "Snakefile", folder)
        self.values = yaml.safe_load(MICRO.read_text(encoding="utf-8"))

    def snakemake(self, *arguments: str, cores: int = 2) -> subprocess.CompletedProcess[str]:
        (self.folder / "micro.yaml").write_text(yaml.safe_dump(self.values), encoding="utf-8")
        return subprocess.run(
            [
                *(sys.executable, "-m", "snakemake", "--cores", str(cores)),
                # Targets before it: --configfile takes every word that follows.
                *(*arguments, "--configfile", "micro.yaml"),
            ],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": str(self.folder / "src")},
            capture_output=True,
            text=True,
            check=False,
        )

    def planned(self, *arguments: str) -> list[str]:
        """Messages of the jobs that a dry run would start."""
        run = self.snakemake("--dry-run", *arguments)
        assert run.returncode == 0, run.stdout + run.stderr
        return re.findall(r"^Job \d+: (.*)$", run.stdout + run.stderr, re.MULTILINE)

    def change(self, path: str, old: str, new: str) -> None:
        file = self.folder / path
        text = file.read_text(encoding="utf-8")
        assert old in text, f"{path} no longer holds {old!r}"
        file.write_text(text.replace(old, new), encoding="utf-8")


@pytest.fixture
def project(finished: Path, tmp_path: Path) -> Iterator[Project]:
    """The finished project, whose files a test may change; they are put back afterwards."""
    kept = tmp_path / "kept"
    for name in ("src", "workflow"):
        shutil.copytree(finished / name, kept / name)
    one = Project.__new__(Project)
    one.folder = finished
    one.values = yaml.safe_load(MICRO.read_text(encoding="utf-8"))
    yield one
    for name in ("src", "workflow"):
        shutil.rmtree(finished / name)
        shutil.copytree(kept / name, finished / name)


def copy_of(finished: Path, folder: Path) -> Project:
    """Another project with the same results, whose artifacts a test may spoil."""
    other = Project(folder / "other")
    for name in ("results", ".snakemake"):
        shutil.copytree(finished / name, other.folder / name)
    return other


def trained(jobs: list[str]) -> set[str]:
    return {job.removeprefix("Training ") for job in jobs if re.match(r"Training .*/seed", job)}


def test_everything_is_there_and_names_its_scale(finished: Path) -> None:
    for target in TARGETS:
        assert (finished / target).stat().st_size > 0, target
    for number in range(1, 6):
        assert "Micro scale" in (finished / f"results/table{number}.tex").read_text("utf-8")
    table = pd.read_csv(finished / "results/table1.csv")
    assert set(table["scale"]) == {"micro"}
    report = (finished / "results/report.html").read_text("utf-8")
    assert "Micro scale" in report
    assert "cannot show the table" not in report
    assert "No record says" not in report


def test_every_published_number_has_a_row(finished: Path) -> None:
    published = pd.read_csv(finished / "resources/published/published.csv")
    key = ["table", "setting", "arm", "metric"]
    rows = pd.read_csv(finished / "results/reproduction.csv")
    assert rows[key].equals(published[key])
    assert rows["status"].notna().all()


def test_snakemake_reports_too(project: Project) -> None:
    run = project.snakemake("--report", "snakemake-report.html")
    assert run.returncode == 0, run.stdout + run.stderr
    text = (project.folder / "snakemake-report.html").read_text("utf-8")
    for caption in ("table1", "figure1", "reproduction"):
        assert f"{caption}." in text


def test_what_is_there_is_what_its_records_say(project: Project) -> None:
    sound = project.snakemake("verify")
    assert sound.returncode == 0, sound.stdout + sound.stderr
    path = project.folder / "results/micro/runs/main/random/seed0/groups.parquet"
    kept, times = path.read_bytes(), path.stat()
    path.write_bytes(kept[:100] + bytes([kept[100] ^ 1]) + kept[101:])
    spoiled = project.snakemake("verify")
    path.write_bytes(kept)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert spoiled.returncode != 0
    assert "random/seed0/groups.parquet: not the bytes" in spoiled.stdout + spoiled.stderr


@pytest.mark.skipif(
    not (shutil.which("latexmk") and shutil.which("pdflatex")),
    reason="latexmk and pdflatex are not installed (tests/install_optional.sh)",
)
def test_the_document_sets_every_table_and_figure(project: Project) -> None:
    run = project.snakemake("results/paper.pdf")
    assert run.returncode == 0, run.stdout + run.stderr
    results = project.folder / "results" / "micro"
    text = (results / "document" / "paper.tex").read_text(encoding="utf-8")
    for table in (results / "tables").glob("*.tex"):
        assert rf"\input{{../tables/{table.name}}}" in text
    for figure in (results / "figures").glob("*.pdf"):
        assert rf"{{../figures/{figure.name}}}" in text
    log = (results / "document" / "paper.log").read_text(encoding="utf-8", errors="replace")
    assert "Overfull" not in log
    assert "LaTeX Warning" not in log  # such as a reference to a label that no table has
    assert (project.folder / "results" / "paper.pdf").read_bytes().startswith(b"%PDF")
    assert project.planned("results/paper.pdf") == []


def test_economy_of_table_1_is_that_of_the_groups_logs(finished: Path) -> None:
    metrics = pd.read_csv(finished / "results/micro/metrics/main.csv").set_index("arm")
    for arm in ("random", "dapo", "thinkprior_dapo"):
        log = pd.read_parquet(finished / f"results/micro/runs/main/{arm}/seed0/groups.parquet")
        quiet = [row.correct in (0, row.rollouts) for row in log.itertuples()]
        assert metrics.loc[arm, "silent_at_10"] == pytest.approx(sum(quiet) / len(log))
        assert metrics.loc[arm, "generated_rollouts"] == 4 * len(log)
    assert metrics.loc["random", "generated_rollouts"] == 4 * 4 * 10


def test_a_second_run_does_nothing(project: Project) -> None:
    assert project.planned() == []


def test_another_folder_on_one_core_gives_the_same_groups(finished: Path, tmp_path: Path) -> None:
    other = Project(tmp_path / "other")
    names = [f"results/micro/runs/main/{arm}/seed0/groups.parquet" for arm in ("bank", "greso")]
    run = other.snakemake(*names, cores=1)
    assert run.returncode == 0, run.stdout + run.stderr
    for name in names:
        assert (other.folder / name).read_bytes() == (finished / name).read_bytes(), name


def test_kappa_reruns_the_arms_with_a_prior_and_no_other(project: Project) -> None:
    project.values["prior"]["kappa"] = 8
    with_prior = {"prior_only", "length_prior", "thinkprior", "bank", "bank_sharp"}
    main = {f"main/{arm}/seed0" for arm in (*with_prior, "thinkprior_dapo")}
    ones = ("backbone_main", "backbone_general", "backbone_small", "backbone_rerun")
    others = (*ones, "anchor_small", "anchor_medium", "anchor_large", "horizon_kl")
    first = {f"{campaign}/thinkprior/seed0" for campaign in others}
    pairs = {
        f"{campaign}/thinkprior/seed{seed}"
        for campaign in ("reestimate", "horizon", "large_pool")
        for seed in (0, 1)
    }
    assert trained(project.planned()) == main | first | pairs


def test_a_label_and_a_comment_train_nothing(project: Project) -> None:
    project.values["arms"]["thinkprior"]["label"] = "ours, renamed"
    project.change("src/thinkprior/loss.py", "    active = [", "    # a comment\n    active = [")
    jobs = project.planned()
    assert trained(jobs) == set()
    assert "Rendering Table 1" in jobs


def test_the_code_of_the_loss_trains_again_and_can_be_accepted(project: Project) -> None:
    project.change("src/thinkprior/loss.py", "part.backward()", "(1.0 * part).backward()")
    assert len(trained(project.planned())) == 36
    # A change known to be harmless: the finished artifacts are accepted as they are.
    accepted = project.snakemake("--touch")
    assert accepted.returncode == 0, accepted.stdout + accepted.stderr
    assert project.planned() == []
    # For the tests that follow: back to the code that made them, accepted again.
    project.change("src/thinkprior/loss.py", "(1.0 * part).backward()", "part.backward()")
    assert project.snakemake("--touch").returncode == 0


def test_a_new_seed_trains_that_seed(project: Project) -> None:
    project.values["campaigns"]["reestimate"]["seeds"] = [0, 1, 2]
    new = {f"reestimate/{arm}/seed2" for arm in ("thinkprior", "online_np")}
    assert trained(project.planned()) == new


def test_a_table_of_the_finished_runs(project: Project) -> None:
    project.values["campaigns"]["reestimate"]["seeds"] = [0, 1, 2, 3]
    jobs = project.planned("results/table2.tex", "--config", "finished_runs_only=true")
    assert trained(jobs) == set()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda v: v["training"].update(learning_rat=1), "did you mean 'learning_rate'?"),
        (
            lambda v: v["campaigns"]["main"]["arms"].append("thinkprio"),
            "did you mean 'thinkprior'?",
        ),
        (lambda v: v["training"].update(group_size=1), "training.group_size"),
        (lambda v: v["training"].update(batch_prompts=41), "fewer than training.batch_prompts"),
        (lambda v: v["prior"].update(kappa=0), "prior.kappa"),
        (lambda v: v["campaigns"]["main"].update(seeds=[1, 1]), "stands there twice"),
    ],
)
def test_a_wrong_configuration_ends_in_one_message(
    project: Project, change: object, message: str
) -> None:
    assert callable(change)
    change(project.values)
    run = project.snakemake("--dry-run")
    assert run.returncode != 0
    assert message in run.stderr
    assert "Traceback" not in run.stdout + run.stderr
    assert "micro.yaml" in run.stderr


def test_a_prior_with_a_missing_prompt_stops_the_run_and_names_it(
    finished: Path, tmp_path: Path
) -> None:
    other = copy_of(finished, tmp_path)
    prior = other.folder / "results/micro/priors/pool250/anchor.anchor.csv"
    rows = prior.read_text("utf-8").splitlines()
    prior.write_text("\n".join(rows[:1] + rows[2:]) + "\n", encoding="utf-8")
    run = other.snakemake("results/micro/runs/main/thinkprior/seed0/groups.parquet")
    assert run.returncode != 0
    assert f"no row for 1 id(s): '{rows[1].split(',')[0]}'" in run.stdout + run.stderr


def test_a_pool_that_holds_a_benchmark_problem_stops_the_run(
    finished: Path, tmp_path: Path
) -> None:
    other = copy_of(finished, tmp_path)
    source = other.folder / "results/micro/data/source.jsonl"
    benchmark = other.folder / "results/micro/data/benchmarks/math500.jsonl"
    stolen = benchmark.read_text("utf-8").splitlines()
    source.write_text("\n".join(stolen) + "\n", encoding="utf-8")
    run = other.snakemake("results/micro/data/pools/pool250.jsonl")
    assert run.returncode != 0
    assert "shares 40 problem(s)" in run.stdout + run.stderr
