"""The paper's configuration is planned in full without data, models, network or a GPU."""

from __future__ import annotations

import collections
import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
import yaml
from tests.workflow.test_micro import ROOT, Project

RUNS = {  # counted in the paper by hand: arms x seeds
    "main": 11 * 3,
    "reestimate": 2 * 16,
    "backbone_main": 2 * 3,
    "backbone_general": 2 * 3,
    "backbone_small": 2 * 3,
    "backbone_rerun": 2 * 3,
    "anchor_small": 1 * 2,
    "anchor_medium": 1 * 2,
    "anchor_large": 1 * 2,
    "horizon": 2 * 6,
    "horizon_kl": 2 * 4,
    "large_pool": 2 * 3,
}
DATASETS = ("math_train", "math500", "gsm8k_test", "minerva_math", "olympiadbench_maths_en")


class PaperProject(Project):
    """A copy of the pipeline, planned with the paper's configuration as it stands."""

    def plan(self, *arguments: str, overlays: Sequence[str] = ()) -> CompletedProcess[str]:
        return subprocess.run(
            [
                *(sys.executable, "-m", "snakemake", "--dry-run", "--cores", "1"),
                *(*arguments, "--configfile", "config/paper.yaml", *overlays),
            ],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": str(self.folder / "src")},
            capture_output=True,
            text=True,
            check=False,
        )

    def jobs(self, *arguments: str, overlays: Sequence[str] = ()) -> list[str]:
        run = self.plan(*arguments, overlays=overlays)
        assert run.returncode == 0, run.stdout + run.stderr
        return re.findall(r"^Job \d+: (.*)$", run.stdout + run.stderr, re.MULTILINE)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> PaperProject:
    return PaperProject(tmp_path_factory.mktemp("paper") / "project")


@pytest.fixture(scope="module")
def jobs(project: PaperProject) -> list[str]:
    return project.jobs()


def by_campaign(jobs: list[str], verb: str) -> dict[str, int]:
    found = (re.match(rf"{verb} (\w+)/\w+/seed\d+$", job) for job in jobs)
    return dict(collections.Counter(match[1] for match in found if match))


def test_every_run_of_the_paper_is_planned_once(jobs: list[str]) -> None:
    assert by_campaign(jobs, "Training") == RUNS
    assert by_campaign(jobs, "Evaluating") == RUNS
    assert sum(RUNS.values()) == 121


def test_passes_over_the_pools_are_planned(jobs: list[str]) -> None:
    passes = collections.Counter(
        match.groups()
        for job in jobs
        if (match := re.match(r"Probing (\w+)@0 on (\w+) \((\w+)\)", job))
    )
    assert set(passes.values()) == {1}
    kinds = {kind: {(m, pool) for m, pool, k in passes if k == kind} for _, _, kind in passes}
    assert kinds["anchor"] == {
        ("anchor_small", "pool250"),
        ("anchor_medium", "pool250"),
        ("anchor_large", "pool250"),
        ("anchor_medium", "pool1200"),
    }
    assert kinds["thinking"] == {("thinking", "pool250")}
    assert ("policy", "pool250") in kinds["reference"]
    assert len(kinds["respondent"]) >= 6
    assert {pool for _, pool in kinds["respondent"]} == {"pool250"}


def test_nothing_is_made_by_planning(project: PaperProject, jobs: list[str]) -> None:
    assert jobs
    assert not (project.folder / "results").exists()
    assert not (project.folder / "data").exists()


def test_the_overlay_for_larger_cards_plans_the_same_runs(project: PaperProject) -> None:
    found = project.jobs(overlays=["config/paper-48gb.yaml"])
    assert by_campaign(found, "Training") == RUNS


def test_local_data_takes_the_place_of_the_hub(project: PaperProject, tmp_path: Path) -> None:
    # Planning reads no rows: any file will do.
    for name in DATASETS:
        (tmp_path / f"{name}.jsonl").write_text("{}\n", encoding="utf-8")
    data = json.dumps({"source": "local", "folder": str(tmp_path)})
    found = project.jobs("--config", f"data={data}")
    assert by_campaign(found, "Training") == RUNS
    assert not any("Downloading data sets" in job for job in found)


def test_a_local_folder_without_a_data_set_ends_in_one_message(
    project: PaperProject, tmp_path: Path
) -> None:
    data = json.dumps({"source": "local", "folder": str(tmp_path)})
    run = project.plan("--config", f"data={data}")
    assert run.returncode != 0
    assert "math_train" in run.stderr
    assert "Traceback" not in run.stdout + run.stderr


def paper() -> dict[str, Any]:
    values: dict[str, Any] = yaml.safe_load((ROOT / "config/paper.yaml").read_text("utf-8"))
    return values


def test_no_respondent_is_of_a_policys_lineage() -> None:
    values = paper()
    models = values["pretrained"]
    policies = {models[c["policy"]]["repository"] for c in values["campaigns"].values()}
    assert policies == {"Qwen/Qwen2.5-Math-7B", "Qwen/Qwen2.5-7B", "Qwen/Qwen2.5-1.5B"}
    respondents = [models[name]["repository"] for name in values["probing"]["respondents"]]
    assert len(set(respondents)) == len(respondents) >= 6
    assert not [name for name in respondents if "qwen" in name.lower()]


def test_the_constants_are_those_of_appendix_f() -> None:
    values = paper()
    training, prompting, probing = (values[k] for k in ("training", "prompting", "probing"))
    assert training["lora"] == {"rank": 32, "alpha": 64}
    assert training["learning_rate"] == pytest.approx(3e-5)
    assert (training["batch_prompts"], training["group_size"]) == (8, 8)
    assert training["gradient_norm"] == 1.0
    assert training["most_refill_rounds"] == 4
    assert training["checkpoint_every"] == 10
    assert prompting["temperature"] == 0.9
    assert (prompting["max_new_tokens"], prompting["max_prompt_tokens"]) == (512, 384)
    assert (probing["reference_samples"], probing["anchor_samples"]) == (32, 16)
    assert probing["thinking_max_new_tokens"] == 2560
    assert values["prior"]["kappa"] == 4
    assert values["prior"]["epsilon"] == pytest.approx(1e-3)
    assert values["prior"]["length_fit_share"] == pytest.approx(0.1)
    steps = {name: row["steps"] for name, row in values["campaigns"].items()}
    assert {steps.pop("horizon"), steps.pop("horizon_kl")} == {300}
    assert steps.pop("large_pool") == 200
    assert set(steps.values()) == {60}
    assert values["campaigns"]["horizon_kl"]["kl_beta"] == 0.04


def test_the_hub_is_that_of_the_documentation() -> None:
    text = (ROOT / "docs/data.md").read_text("utf-8")
    blocks = [yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)]
    documented = next(block["data"] for block in blocks if "data" in block)
    ours = paper()["data"]
    for key in ("hub", "pools", "benchmarks", "training_set"):
        assert ours[key] == documented[key], key
