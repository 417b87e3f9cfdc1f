"""The plan's counts against counts by hand, its hours against hand-made rates and finished jobs."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from thinkprior import configuration, training, workload
from thinkprior.adapters import Lora, add_adapter
from thinkprior.configuration import Configuration
from thinkprior.memory_plan import ARCHITECTURES, Architecture
from thinkprior.stages.plan import TOTAL, plan_table, print_plan
from thinkprior.throughput import BOUND, GIVEN, UNKNOWN, durations
from thinkprior.workload import Work, architectures_of

ROOT = Path(__file__).parents[2]
MINIATURE = ROOT / "config/config.yaml"


def plan_of(path: Path, folder: Path, **changes: Any) -> pd.DataFrame:
    config = configuration.parse({**configuration.load(path), **changes}, str(path))
    return plan_table(config, folder)[0]


def row(table: pd.DataFrame, stage: str, what: str) -> dict[str, Any]:
    (found,) = table[(table["stage"] == stage) & (table["what"] == what)].to_dict("records")
    return {str(name): value for name, value in found.items()}


# --- Counts ---------------------------------------------------------------------------------------


def test_the_miniature_s_runs_are_those_of_the_paper(tmp_path: Path) -> None:
    table = plan_of(MINIATURE, tmp_path)
    assert row(table, "train", TOTAL)["jobs"] == 121
    assert row(table, "evaluate", TOTAL)["jobs"] == 121
    # 60 steps of 8 prompts x 8 rollouts: 3,840 a run; nine arms with a fixed budget, three seeds.
    assert row(table, "train", "main")["completions"] == 27 * 3840
    # DAPO and its composition, three seeds, up to four rounds a step.
    assert row(table, "train", "main, arms that refill")["completions"] == 6 * 4 * 3840
    assert row(table, "train", "horizon")["completions"] == 12 * 300 * 64
    # Of the prompt, at most 128 tokens, and eight completions of at most 10, a group.
    assert row(table, "train", "horizon")["update_tokens"] == 12 * 300 * 8 * (128 + 8 * 10)
    # MATH500 at steps 0, 10, ..., 50, and everything at step 60: 500, 300, 300 and 300 problems.
    assert row(table, "evaluate", "main")["completions"] == 33 * (6 * 500 + 500 + 3 * 300)


def test_the_miniature_s_passes_by_hand(tmp_path: Path) -> None:
    table = plan_of(MINIATURE, tmp_path)
    assert row(table, "probe", "anchor pass of anchor_medium over pool250")["completions"] == 4000
    assert row(table, "probe", "anchor pass of anchor_medium over pool1200")["completions"] == 19200
    assert row(table, "probe", "reference pass of policy over pool250")["completions"] == 8000
    thinking = row(table, "probe", "thinking pass of thinking over pool250")
    assert (thinking["completions"], thinking["tokens"]) == (250, 250 * 16)
    # Three anchors, one of them over both pools; reference; thinking; 6 x 4 respondents.
    assert row(table, "probe", TOTAL)["jobs"] == 4 + 1 + 1 + 24
    assert row(table, "model", TOTAL)["jobs"] == 3 + 3 + 1 + 6


def test_the_paper_s_evaluations_by_hand(tmp_path: Path) -> None:
    table = plan_of(ROOT / "config/paper.yaml", tmp_path)
    assert row(table, "train", TOTAL)["jobs"] == 121
    assert row(table, "evaluate", "main")["completions"] == 33 * (7 * 500 + 1319 + 272 + 674)
    # 7 adapters of 80,740,352 parameters in fp32 a run of 60 steps, 31 a run of 300.
    adapter = 80_740_352 * 4 / 1e9
    assert row(table, "train", "main")["disk_gb"] == pytest.approx(27 * 7 * adapter, rel=1e-3)
    assert row(table, "train", "horizon")["disk_gb"] == pytest.approx(12 * 31 * adapter, rel=1e-3)
    assert row(table, "model", "policy")["disk_gb"] == pytest.approx(15.23, abs=0.01)
    # Neither rates nor a bandwidth are part of the counts.
    bare = plan_of(ROOT / "config/paper.yaml", tmp_path, planning={})
    assert math.isnan(row(bare, "train", TOTAL)["hours"])


# --- Disk -----------------------------------------------------------------------------------------


def test_an_adapter_s_files_take_what_the_plan_says(tmp_path: Path) -> None:
    from transformers import Qwen2Config, Qwen2ForCausalLM

    sizes = Architecture(96, 2, 4, 4, 24, 192, 80, tied=True)
    config = Qwen2Config(
        vocab_size=80,
        hidden_size=96,
        intermediate_size=192,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=4,
        tie_word_embeddings=True,
    )
    add_adapter(Qwen2ForCausalLM(config), Lora(8, 16.0), 0).save_pretrained(tmp_path)
    found = sum(path.stat().st_size for path in tmp_path.iterdir())
    assert found == pytest.approx(workload.adapter_files(sizes, 8), rel=0.02)


def test_states_that_are_kept_are_those_of_training() -> None:
    assert workload.KEPT_STATES == training.STEP_STATES


def test_disk_is_that_of_finished_runs() -> None:
    folder = ROOT / "results/miniature"
    table = plan_of(MINIATURE, folder)
    runs = [path for path in folder.glob("runs/main/*/*/checkpoints") if path.is_dir()]
    if not runs:
        pytest.skip("no finished run of the miniature here")
    found = [sum(f.stat().st_size for f in run.rglob("*") if f.is_file()) for run in runs]
    planned = row(table, "train", "main")
    a_run = planned["disk_gb"] * 1e9 / planned["jobs"]
    assert sum(found) / len(found) == pytest.approx(a_run, rel=0.05)


# --- Hours ----------------------------------------------------------------------------------------

WORK = Work(
    "train",
    "main",
    "policy",
    ("main.random.0", "main.random.1"),
    prompts=10,
    completions=80,
    tokens=8000,
    prompt_tokens=1000,
    steps=20,
    update_tokens=9000,
)
SIZES = ARCHITECTURES["Qwen/Qwen2.5-Math-7B"]


def with_planning(**planning: float) -> Configuration:
    values = configuration.load(MINIATURE) | {"planning": planning}
    return configuration.parse(values, "test")


def test_hours_from_given_rates_scale_with_the_model(tmp_path: Path) -> None:
    config = with_planning(
        prompt_tokens_per_second=1000, generated_tokens_per_second=200, update_tokens_per_second=90
    )
    half = Architecture(**{**vars(SIZES), "layers": 14})
    known: dict[str, Architecture | None] = {"policy": SIZES, "small": half}
    (whole,) = durations(config, [WORK], known, tmp_path)
    assert whole.source == GIVEN
    assert whole.seconds == pytest.approx(1 + 40 + 100)
    smaller = Work(**{**vars(WORK), "model": "small"})
    (shorter,) = durations(config, [smaller], known, tmp_path)
    assert shorter.seconds == pytest.approx(141 * half.parameters / SIZES.parameters)


def test_hours_as_a_bound(tmp_path: Path) -> None:
    config = with_planning(memory_bandwidth_gb_s=1000, tflops=100)
    (found,) = durations(config, [WORK], {"policy": SIZES}, tmp_path)
    assert found.source == BOUND
    n = 7_615_616_512
    # The miniature decodes 1,024 sequences at once, in fp32.
    reading = 8000 / 1024 * 4 * n / 1e12
    arithmetic = n * (2 * (1000 + 8000) + 4 * 9000) / 1e14
    assert found.seconds == pytest.approx(reading + arithmetic)


def test_hours_that_nothing_tells(tmp_path: Path) -> None:
    (found,) = durations(with_planning(), [WORK], {"policy": SIZES}, tmp_path)
    assert math.isnan(found.seconds)
    assert found.source == UNKNOWN
    # One rate of three is not enough.
    one = with_planning(generated_tokens_per_second=200)
    assert durations(one, [WORK], {"policy": None}, tmp_path)[0].source == UNKNOWN


def test_hours_from_finished_jobs_go_before_given_rates(tmp_path: Path) -> None:
    run = tmp_path / "runs/main/random/seed0"
    run.mkdir(parents=True)
    # 4 s of generation, 1 of verification and 6 of update in 2 steps with 20 rollouts, 14 in all.
    pd.DataFrame(
        {"generation": [1.0, 3.0], "verification": [0.5, 0.5], "update": [2.0, 4.0]}
    ).to_parquet(run / "timings.parquet")
    pd.DataFrame({"rollouts": [8, 12]}).to_parquet(run / "groups.parquet")
    usage = tmp_path / "usage/train/main.random.0.json"
    usage.parent.mkdir(parents=True)
    used = {"cpu_seconds": 1.0, "peak_memory_mib": 1.0, "helper_memory_mib": 0.0}
    usage.write_text(json.dumps({"seconds": 14.0, "gpu_memory_mib": None, **used}))
    config = with_planning(generated_tokens_per_second=1, prompt_tokens_per_second=1)
    (found,) = durations(config, [WORK], {"policy": SIZES}, tmp_path)
    assert found.source == "measured, 1 job"
    # 80 completions at 5 s for 20, 20 steps at 3 s, two jobs with 3 s for all else.
    assert found.seconds == pytest.approx(80 * 5 / 20 + 20 * 3 + 2 * 3)


# --- What is printed ------------------------------------------------------------------------------


def test_the_plan_is_printed_and_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    values = configuration.load(ROOT / "config/paper.yaml")
    values["planning"] = {"memory_bandwidth_gb_s": 1008, "tflops": 165}
    print_plan(values, str(tmp_path))
    shown = capsys.readouterr().out
    table = pd.read_csv(tmp_path / "plan.csv")
    total = row(table, TOTAL, TOTAL)
    assert f"{total['completions']:,}" in shown
    assert BOUND in shown
    assert "GPU-hours" in shown
    assert total["hours"] > 100
    # Eight of the respondents' sizes are known only once they are there.
    assert "olmo2_7b" in shown


def test_sizes_of_fetched_models_are_read_from_their_folder(tmp_path: Path) -> None:
    config = configuration.read(ROOT / "config/paper.yaml")
    assert architectures_of(config, 80, tmp_path)["olmo2_7b"] is None
    folder = tmp_path / "models/olmo2_7b/step-00000"
    folder.mkdir(parents=True)
    sizes = {
        "hidden_size": 64,
        "num_hidden_layers": 3,
        "num_attention_heads": 4,
        "intermediate_size": 128,
        "vocab_size": 90,
    }
    (folder / "config.json").write_text(json.dumps(sizes))
    found = architectures_of(config, 80, tmp_path)["olmo2_7b"]
    assert found is not None
    assert (found.layers, found.vocabulary) == (3, 90)
