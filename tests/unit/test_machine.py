"""Machines that cannot run a configuration are refused with one message, others pass."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from thinkprior import configuration, script
from thinkprior.configuration import Configuration
from thinkprior.errors import InputError
from thinkprior.machine import GPU_STAGES, Machine, check_job, check_machine, look
from thinkprior.memory_plan import GIB

ROOT = Path(__file__).parents[2]


def config_of(name: str, engine: dict[str, Any], **training: Any) -> Configuration:
    values = configuration.load(ROOT / "config" / name)
    values["engine"] = values["engine"] | engine
    values["training"] = values["training"] | training
    return configuration.parse(values, name)


def paper(vllm: dict[str, Any] | None = None, **engine: Any) -> Configuration:
    settings = {"max_model_len": 2944, "gpu_memory_utilization": 0.85, "sleep": True}
    return config_of(
        "paper.yaml",
        {"vllm": settings | (vllm or {}), **engine},
        activation_checkpointing=True,
        groups_per_batch=1,
    )


def machine(
    card: float | None = 24, memory: float = 64, *, vllm: bool = True
) -> Callable[[str], Machine]:
    """A stand-in with memory in GiB."""
    cards = () if card is None else (int(card * GIB),)
    return lambda _: Machine(cards, int(memory * GIB), "2.13.0", vllm)


def refusal(config: Configuration, where: Callable[[str], Machine], tmp_path: Path) -> str:
    with pytest.raises(InputError) as caught:
        check_machine(config, tmp_path, GPU_STAGES, where)
    return str(caught.value)


def test_the_paper_s_configuration_passes_on_a_24_gb_card(tmp_path: Path) -> None:
    check_machine(paper(), tmp_path, GPU_STAGES, machine(23.99))


def test_without_a_gpu_there_is_one_message(tmp_path: Path) -> None:
    message = refusal(paper(), machine(None), tmp_path)
    assert message.startswith("engine.device: cuda is asked for")
    assert "sees no GPU" in message


def test_without_vllm_there_is_one_message(tmp_path: Path) -> None:
    message = refusal(paper(), machine(vllm=False), tmp_path)
    assert message.startswith("engine.name: vllm is not installed")
    # It is not asked for by the other engine.
    check_machine(paper(name="transformers"), tmp_path, GPU_STAGES, machine(vllm=False))


def test_two_copies_on_a_24_gb_card_are_refused_with_their_parts(tmp_path: Path) -> None:
    config = paper(name="transformers", merged_sampler=True)
    message = refusal(config, machine(24), tmp_path)
    assert message.startswith("training of Qwen2.5-Math-7B needs 3")
    assert "merged copy 14.2" in message
    assert "weights 14.2" in message
    assert "In order of gain: set engine.merged_sampler: false" in message
    check_machine(config, tmp_path, GPU_STAGES, machine(40))


def test_activations_that_do_not_fit_are_named_first(tmp_path: Path) -> None:
    config = config_of("paper.yaml", {"name": "transformers"}, activation_checkpointing=False)
    message = refusal(config, machine(24), tmp_path)
    assert "In order of gain: set training.activation_checkpointing: true" in message


def test_vllm_without_sleep_needs_a_larger_card(tmp_path: Path) -> None:
    config = paper({"sleep": False, "gpu_memory_utilization": 0.45})
    assert "gpu_memory_utilization: 0.45 of 24.0 GiB" in refusal(config, machine(24), tmp_path)
    check_machine(config, tmp_path, GPU_STAGES, machine(48))
    greedy = paper({"sleep": False, "gpu_memory_utilization": 0.7})
    message = refusal(greedy, machine(48), tmp_path)
    assert "on the card, which has 48.0 GiB" in message
    assert "lower engine.vllm.gpu_memory_utilization" in message


def test_host_memory_must_hold_both_copies_while_they_take_turns(tmp_path: Path) -> None:
    message = refusal(paper(), machine(24, memory=24), tmp_path)
    assert "of host memory, of which this machine has 24.0 GiB" in message
    assert "engine.vllm.sleep" in message


def test_configurations_without_a_gpu_pass_where_they_fit(tmp_path: Path) -> None:
    miniature = configuration.read(ROOT / "config/config.yaml")
    check_machine(miniature, tmp_path, GPU_STAGES, machine(None, memory=4, vllm=False))
    small = refusal(miniature, machine(None, memory=0.5), tmp_path)
    assert "of memory at least, of which this machine has 0.5 GiB" in small


def test_without_a_gpu_caps_that_may_not_be_reached_refuse_nothing(tmp_path: Path) -> None:
    values = configuration.load(ROOT / "config/config.yaml")
    values["prompting"] |= {"max_new_tokens": 100_000, "max_prompt_tokens": 100_000}
    long = configuration.parse(values, "long")
    check_machine(long, tmp_path, GPU_STAGES, machine(None, memory=4))


def test_nothing_is_asked_where_no_model_runs(tmp_path: Path) -> None:
    def fail(_: str) -> Machine:
        raise AssertionError

    check_machine(paper(), tmp_path, ["table1", "metrics", "download_model"], fail)


def test_a_job_is_checked_on_its_own_machine(model_directory: Path) -> None:
    engine = {"device": "cuda", "dtype": "float32", "batch_rows": 8, "merged_sampler": False}
    settings = {"samples": 2, "max_new_tokens": 8, "max_prompt_tokens": 8, "engine": engine}
    check_job("a pass", settings, model_directory, machine(2))
    with pytest.raises(InputError, match=r"a pass needs .* on the card, which has 0\.1 GiB"):
        check_job("a pass", settings, model_directory, machine(0.1))
    with pytest.raises(InputError, match="sees no GPU"):
        check_job("a pass", settings, model_directory, machine(None))


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
def test_a_script_asks_before_its_job_starts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    job = SimpleNamespace(rule="train", log=[str(tmp_path / "train.log")])
    assert script._check_gpu(job, {"settings": {"engine": {"device": "cpu"}}}) == 0
    asked = {"settings": {"engine": {"device": "cuda"}}, "policy": "models/policy"}
    assert script._check_gpu(job, asked) == 1
    assert "sees no GPU here" in capsys.readouterr().err
    assert "sees no GPU here" in (tmp_path / "train.log").read_text(encoding="utf-8")


def test_this_machine_can_be_looked_at() -> None:
    here = look("cpu")
    assert here.cards == ()
    assert here.memory > 1 * GIB
