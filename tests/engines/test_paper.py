"""The paper's configuration, two steps a run, through every arm to Table 1 on vLLM without a GPU.

Replaced are only the models (small ones that answer in four tokens), the data's place, the numbers
of steps, seeds and benchmark problems, and what a CPU needs. Pools, prompts, sampling, adapters,
updates, passes over the pool and the item bank are the paper's. Nine minutes of processor time.
"""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml

pytestmark = [
    pytest.mark.vllm,
    pytest.mark.slow,
    pytest.mark.skipif(
        importlib.util.find_spec("vllm") is None,
        reason="vLLM is not installed: `make vllm` (docs/engines.md)",
    ),
]

from tests.engines.small_models import make_model  # noqa: E402
from tests.workflow.test_micro import ROOT, Project  # noqa: E402

DATA = ROOT.parent / "shared" / "data"
STEPS = 2
COMMON = "1112228886664435079"
"""Digits about as often as the pool has them as answers."""
PROBLEMS = 100
"""Of each benchmark: with all of them an evaluation takes a minute and a half of processor time."""

Values = dict[str, Any]


def on_this_machine(values: Values, folder: Path) -> Values:
    """The paper's configuration with the models, the data and the device that a test has."""
    values["data"].update(source="local", folder=str(DATA))
    values["engine"].update(device="cpu", dtype="float32", gpus=0, threads=1)
    for benchmark in values["data"]["benchmarks"].values():
        benchmark["size"] = PROBLEMS
    for campaign in values["campaigns"].values():
        campaign.update(steps=STEPS, seeds=[0])
    make_model(folder / "plain", 0, COMMON)
    make_model(folder / "thinking", 1, COMMON, thinks=True)
    # Greedy answers are always a model's likeliest digit, so respondents that differ differ in it.
    for digit in "128":
        make_model(folder / digit, int(digit), COMMON + 9 * digit)
    for number, (name, model) in enumerate(values["pretrained"].items()):
        for key in ("repository", "revision"):
            model.pop(key, None)
        respondent = name in values["probing"]["respondents"]
        used = "128"[number % 3] if respondent else "thinking" if name == "thinking" else "plain"
        model["path"] = str(folder / used)
    return values


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Project:
    if not DATA.is_dir():
        pytest.skip(f"no data sets in {DATA}")
    folder = tmp_path_factory.mktemp("paper")
    project = Project(folder / "project")
    values = yaml.safe_load((ROOT / "config" / "paper.yaml").read_text(encoding="utf-8"))
    project.values = on_this_machine(values, folder / "models")
    run = project.snakemake("results/table1.tex", "results/table1.csv")
    assert run.returncode == 0, run.stdout + run.stderr
    return project


def runs_folder(project: Project) -> Path:
    return project.folder / "results" / "paper" / "runs" / "main"


@pytest.fixture(scope="module")
def runs(finished: Project) -> dict[str, Path]:
    arms = finished.values["campaigns"]["main"]["arms"]
    return {arm: runs_folder(finished) / arm / "seed0" for arm in arms}


def adapter(run: Path, step: int) -> dict[str, np.ndarray]:
    from safetensors.numpy import load_file

    path = run / "checkpoints" / f"step-{step:05d}" / "adapter_model.safetensors"
    weights: dict[str, np.ndarray] = load_file(path)
    return weights


def test_every_arm_ran_two_steps_with_groups_of_eight(runs: dict[str, Path]) -> None:
    assert len(runs) == 11
    for arm, run in runs.items():
        groups = pd.read_parquet(run / "groups.parquet")
        steps = pd.read_parquet(run / "steps.parquet")
        assert steps["step"].tolist() == [1, 2], arm
        assert (groups["rollouts"] == 8).all(), arm
        assert groups["correct"].between(0, 8).all(), arm
        counted = groups.groupby("step").size()
        assert counted.tolist() == steps["generated_groups"].tolist(), arm
        used = groups[groups["used"]].groupby("step").size().reindex([1, 2], fill_value=0)
        assert used.tolist() == steps["used_groups"].tolist(), arm
        if "dapo" in arm:
            assert counted.between(8, 32).all() and (counted % 8 == 0).all(), arm
            quiet = groups["correct"].isin([0, 8])
            assert not (groups["used"] & quiet).any(), arm
        else:
            assert counted.tolist() == [8, 8] and groups["used"].all(), arm


def test_adapters_move_where_a_group_had_an_advantage(runs: dict[str, Path]) -> None:
    moved = 0
    for arm, run in runs.items():
        groups = pd.read_parquet(run / "groups.parquet")
        mixed = groups["used"] & ~groups["correct"].isin([0, 8])
        before, after = adapter(run, 0), adapter(run, STEPS)
        assert before.keys() == after.keys()
        differ = any(not np.array_equal(before[name], after[name]) for name in before)
        assert differ == bool(mixed.any()), arm
        moved += differ
    # Two steps of a model that guesses digits leave some arms with silent groups only.
    assert moved >= len(runs) / 2


def test_the_samplers_weights_were_checked_against_the_trainers(finished: Project) -> None:
    logs = finished.folder / "results" / "paper" / "logs" / "train"
    for arm in finished.values["campaigns"]["main"]["arms"]:
        text = (logs / f"main.{arm}.0.log").read_text("utf-8")
        found = re.search(
            r"adapters compared with the trainer's: (\d);.* apart by (\S+) at most", text
        )
        assert found, arm
        # Before the first step, and before the second where the first one changed something.
        steps = pd.read_parquet(runs_folder(finished) / arm / "seed0" / "steps.parquet")
        assert int(found[1]) == 1 + int(steps["update_sequences"].iloc[0] > 0), arm
        assert float(found[2]) < 1e-4, arm


def test_the_prior_of_each_arm_covers_the_pool(finished: Project) -> None:
    pool = finished.folder / "results/paper/data/pools/pool250.jsonl"
    ids = [json.loads(line)["id"] for line in pool.read_text("utf-8").splitlines()]
    assert len(ids) == 250
    priors = finished.folder / "results/paper/priors/pool250"
    names = ("anchor.anchor_medium", "length.policy", "bank", "bank_sharp")
    for name in names:
        prior = pd.read_csv(priors / f"{name}.csv")
        assert prior["problem_id"].tolist() == ids
        assert prior["phi"].between(0, 1).all()
    matrix = pd.read_csv(finished.folder / "results/paper/irt/pool250/response_matrix.csv")
    respondents = {f"{name}@0" for name in finished.values["probing"]["respondents"]}
    assert len(respondents) >= 6
    assert set(matrix["respondent"]) == respondents
    assert len(matrix) == 250 * len(respondents)
    lengths = pd.read_csv(priors / "length.policy.lengths.csv")
    assert len(lengths) == 250


def test_all_benchmarks_are_evaluated_at_the_end(finished: Project, runs: dict[str, Path]) -> None:
    expected = {(STEPS, name): PROBLEMS for name in finished.values["data"]["benchmarks"]}
    assert len(expected) == 4
    for arm, run in runs.items():
        scores = pd.read_csv(run / "scores.csv")
        whole = scores[scores["subset"] == "all"]
        found = {(row.step, row.benchmark): row.problems for row in whole.itertuples()}
        assert found == {(0, "math500"): PROBLEMS, **expected}, arm


def test_table_1_has_eleven_rows_and_names_the_scale(finished: Project) -> None:
    table = pd.read_csv(finished.folder / "results" / "table1.csv")
    assert table["arm"].tolist() == finished.values["campaigns"]["main"]["arms"]
    assert set(table["scale"]) == {"paper"}
    text = (finished.folder / "results" / "table1.tex").read_text("utf-8")
    assert re.sub(r"\s+", " ", finished.values["note"]).strip()[:30] in text
