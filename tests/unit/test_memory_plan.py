"""The memory plan against what torch really takes, and against published sizes."""

from __future__ import annotations

import weakref
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_iter
from transformers import Qwen2Config, Qwen2ForCausalLM, Qwen3Config, Qwen3ForCausalLM

from thinkprior import decoding, loss, memory_plan
from thinkprior.adapters import Lora, add_adapter
from thinkprior.decoding import Decoding
from thinkprior.memory_plan import (
    ARCHITECTURES,
    GIB,
    Architecture,
    decoded_places,
    logits_chunk,
    read_architecture,
    sampling_plan,
    training_plan,
)
from thinkprior.packing import Group, PackedGroups, pack

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}

SMALL = Architecture(
    hidden_size=128,
    layers=3,
    heads=4,
    key_value_heads=2,
    head_size=32,
    intermediate_size=352,
    vocabulary=40,
    tied=True,
)


def model_of(sizes: Architecture, dtype: torch.dtype = torch.float32) -> Any:
    """A random model of those sizes, of the library."""
    norms = sizes.head_norms
    config = (Qwen3Config if norms else Qwen2Config)(
        vocab_size=sizes.vocabulary,
        hidden_size=sizes.hidden_size,
        intermediate_size=sizes.intermediate_size,
        num_hidden_layers=sizes.layers,
        num_attention_heads=sizes.heads,
        num_key_value_heads=sizes.key_value_heads,
        head_dim=sizes.head_size,
        tie_word_embeddings=sizes.tied,
        attn_implementation="sdpa",
    )
    torch.manual_seed(0)
    return (Qwen3ForCausalLM if norms else Qwen2ForCausalLM)(config).to(dtype).eval()


# --- Sizes that others have published -------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "billions"),
    [
        # The model cards' numbers.
        ("Qwen/Qwen2.5-Math-7B", 7.62),
        ("Qwen/Qwen2.5-7B", 7.62),
        ("Qwen/Qwen2.5-14B", 14.8),
        ("Qwen/Qwen2.5-3B-Instruct", 3.09),
        ("Qwen/Qwen2.5-1.5B", 1.54),
        ("Qwen/Qwen2.5-0.5B-Instruct", 0.49),
        ("Qwen/Qwen3-0.6B", 0.60),
    ],
)
def test_parameters_are_the_published_ones(name: str, billions: float) -> None:
    found = ARCHITECTURES[name].parameters / 1e9
    assert found == pytest.approx(billions, abs=0.005 if billions < 10 else 0.05)


@pytest.mark.parametrize("name", ["Qwen/Qwen2.5-Math-7B", "Qwen/Qwen2.5-0.5B", "Qwen/Qwen3-0.6B"])
def test_parameters_are_those_of_the_library(name: str) -> None:
    sizes = ARCHITECTURES[name]
    with torch.device("meta"):
        model = model_of(sizes, torch.bfloat16)
    assert sum(p.numel() for p in model.parameters()) == sizes.parameters
    policy = add_adapter(model, Lora(rank=32, alpha=64.0), seed=0)
    trained = [p for p in policy.parameters() if p.requires_grad]
    assert {p.dtype for p in trained} == {torch.float32}
    assert sum(p.numel() for p in trained) == sizes.adapter_parameters(32)


def test_an_architecture_is_read_from_a_model_folder(tmp_path: Any) -> None:
    model_of(SMALL).save_pretrained(tmp_path)
    assert read_architecture(tmp_path) == SMALL


# --- What an update takes -------------------------------------------------------------------------


class Live(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts the bytes of the tensors that are alive, each storage once."""

    def __init__(self, before: list[torch.Tensor]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.now, self.peak = 0, 0
        self.before = [tensor.untyped_storage() for tensor in before]
        self.known: dict[int, Any] = {id(storage): storage for storage in self.before}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        for tensor in tree_iter(result):
            if isinstance(tensor, torch.Tensor):
                self._add(tensor.untyped_storage())
        return result

    def _add(self, storage: torch.UntypedStorage) -> None:
        key, size = id(storage), storage.nbytes()
        if key in self.known:
            return

        def gone(_: Any) -> None:
            self.now -= size
            self.known.pop(key, None)

        self.now += size
        self.peak = max(self.peak, self.now)
        self.known[key] = weakref.ref(storage, gone)


def empty_batch(groups: int, prompt: int, rollouts: int, new: int) -> PackedGroups:
    width, tokens = prompt + rollouts * new, groups * rollouts * new
    return PackedGroups(
        ids=torch.zeros(groups, width, dtype=torch.long),
        positions=torch.zeros(groups, width, dtype=torch.long),
        mask=torch.zeros(groups, 1, width, width, dtype=torch.bool),
        predictors=torch.zeros(tokens, dtype=torch.long),
        targets=torch.zeros(tokens, dtype=torch.long),
        sequence=torch.zeros(tokens, dtype=torch.long),
        lengths=torch.full((groups * rollouts,), new),
        advantages=torch.zeros(groups * rollouts),
    )


def update_without_numbers(
    sizes: Architecture, dtype: str, rank: int, anew: bool, shape: tuple[int, int, int, int]
) -> int:
    """Peak bytes of a forward and backward pass, of tensors that have sizes but no numbers."""
    with torch.device("meta"):
        model = model_of(sizes, DTYPES[dtype])
    policy = add_adapter(model, Lora(rank, 2.0 * rank), seed=0)
    with FakeTensorMode(allow_non_fake_inputs=True):
        for module in policy.modules():
            for name, old in list(module._parameters.items()):
                if old is not None:
                    new = torch.empty(old.shape, dtype=old.dtype)
                    module._parameters[name] = torch.nn.Parameter(new, old.requires_grad)
            for name, old in list(module._buffers.items()):
                if old is not None:
                    module._buffers[name] = torch.empty(old.shape, dtype=old.dtype)
        for parameter in policy.parameters():
            if parameter.requires_grad:
                parameter.grad = torch.zeros_like(parameter)
        batch = empty_batch(*shape)
        gradients = [p.grad for p in policy.parameters() if p.grad is not None]
        there = [*policy.parameters(), *policy.buffers(), *gradients]
        with Live(there) as live:
            # The batch's own mask is in the plan.
            live._add(batch.mask.untyped_storage())
            with loss.layers_computed_anew(policy) if anew else nullcontext():
                total = loss.token_log_probabilities(policy, batch).sum()
            total.backward()  # type: ignore[no-untyped-call]
    return int(live.peak)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("keys", [2, 4])
def test_layers_keep_what_torch_saves_for_the_backward_pass(dtype: str, keys: int) -> None:
    sizes = Architecture(**{**vars(SMALL), "key_value_heads": keys})
    policy = add_adapter(model_of(sizes, DTYPES[dtype]), Lora(8, 16.0), seed=0)
    generator = np.random.default_rng(0)
    group = Group(
        generator.integers(0, 40, 60),
        [generator.integers(0, 40, 30) for _ in range(8)],
        np.ones(8),
    )
    batch = pack([group], torch.device("cpu"))
    own = {t.untyped_storage().data_ptr() for t in (*policy.parameters(), *policy.buffers())}
    saved: dict[int, torch.Tensor] = {}

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        address = tensor.untyped_storage().data_ptr()
        if address not in own:
            saved[address] = tensor
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        loss.token_log_probabilities(policy, batch)
    found = sum(tensor.untyped_storage().nbytes() for tensor in saved.values())
    tokens, size = 60 + 8 * 30, memory_plan.SIZES[dtype]
    layers = sizes.layers * tokens * sizes.kept_in_layer(8, size)
    shared = tokens**2 * size + 2 * tokens * sizes.head_size * size
    # Outside the layers: indices and targets, and the log-softmax.
    around = 8 * 30 * (8 + 8 + 4 * sizes.vocabulary)
    assert found == pytest.approx(layers + shared + around, rel=0.02)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("anew", [False, True])
@pytest.mark.parametrize("groups", [1, 3])
def test_the_update_of_a_small_model_stays_just_below_the_plan(
    dtype: str, anew: bool, groups: int
) -> None:
    sizes = Architecture(256, 6, 4, 2, 64, 704, 40, tied=True)
    shape = (groups, 96, 8, 64)
    measured = update_without_numbers(sizes, dtype, 8, anew, shape)
    tokens = 96 + 8 * 64
    size = memory_plan.SIZES[dtype]
    planned = sizes.activations(groups, tokens, 8, size, anew)
    planned += logits_chunk(sizes, groups * 8 * 64)
    assert measured <= planned <= 1.15 * measured


@pytest.mark.parametrize("anew", [False, True])
def test_the_update_of_the_7b_stays_just_below_the_plan(anew: bool) -> None:
    # The paper's shapes, its 28 layers too; nothing of it needs memory.
    sizes = ARCHITECTURES["Qwen/Qwen2.5-Math-7B"]
    measured = update_without_numbers(sizes, "bfloat16", 32, anew, (1, 384, 8, 512))
    planned = sizes.activations(1, 384 + 8 * 512, 32, 2, anew) + logits_chunk(sizes, 8 * 512)
    assert measured <= planned <= 1.15 * measured
    assert planned / GIB == pytest.approx(3.0 if anew else 39.7, abs=0.3)


def test_constants_that_stand_twice_agree() -> None:
    assert memory_plan.LOGIT_CHUNK == loss.LOGIT_CHUNK
    assert memory_plan.ROOM == decoding.ROOM


# --- What generation takes ------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("new", [1, 2, 20, 257, 258])
def test_the_cache_is_that_of_decoding(dtype: str, new: int) -> None:
    model = model_of(SMALL, DTYPES[dtype])
    with torch.inference_mode():
        sequences = Decoding(model.model, [[1] * 12, [2] * 7], new, torch.device("cpu"))
        sequences.start()
        sequences.repeat(3)
        for _ in range(new - 1):
            sequences.step(torch.zeros(6, dtype=torch.long))
        # A prompt's keys may stand apart at first; from the first rows taken out on they do not.
        sequences.keep(torch.arange(6))
    laid_out = sum(
        tensor.untyped_storage().nbytes()
        for layer in sequences.layers
        for tensor in (layer.keys, layer.values)
    )
    assert laid_out == SMALL.cache(6, decoded_places(12, new), memory_plan.SIZES[dtype])


# --- Plans of jobs --------------------------------------------------------------------------------


def run_of_the_paper(**changes: Any) -> dict[str, Any]:
    """Settings of a run with the paper's shapes, as `plans.run_settings` gives them."""
    engine = {"device": "cuda", "dtype": "bfloat16", "batch_rows": 64, "merged_sampler": False}
    return {
        "plan": {
            "batch_prompts": 8,
            "group_size": 8,
            "groups_per_batch": 1,
            "activation_checkpointing": True,
            "sampling": {"max_new_tokens": 512, "max_prompt_tokens": 384},
        },
        "lora": {"rank": 32, "alpha": 64.0},
        "engine": engine | changes,
    }


def vllm(sleep: bool, share: float = 0.85) -> dict[str, Any]:
    return {"max_model_len": 2944, "gpu_memory_utilization": share, "sleep": sleep}


def test_two_copies_of_the_7b_do_not_fit_24_gb_and_one_does() -> None:
    sizes = ARCHITECTURES["Qwen/Qwen2.5-Math-7B"]
    card = int(24 * GIB)
    assert training_plan(sizes, run_of_the_paper(), card).peak < card
    assert training_plan(sizes, run_of_the_paper(vllm=vllm(True)), card).peak < card
    assert training_plan(sizes, run_of_the_paper(vllm=vllm(False, 0.5)), card).peak > card
    assert training_plan(sizes, run_of_the_paper(merged_sampler=True), card).peak > card
    without = run_of_the_paper()
    del without["plan"]["activation_checkpointing"]
    assert training_plan(sizes, without, card).peak > 2 * card


def test_host_memory_holds_both_copies_while_they_take_turns() -> None:
    sizes = ARCHITECTURES["Qwen/Qwen2.5-Math-7B"]
    host = training_plan(sizes, run_of_the_paper(vllm=vllm(True)), int(24 * GIB)).host
    assert sum(host.values()) / GIB == pytest.approx(2 * 15.23e9 / GIB + 4, abs=0.1)
    assert "trainer's weights" not in training_plan(sizes, run_of_the_paper()).host


def test_the_thinking_pass_fits_24_gb() -> None:
    settings = {
        "samples": 1,
        "max_new_tokens": 2560,
        "max_prompt_tokens": 384,
        "engine": run_of_the_paper(vllm=vllm(True))["engine"],
    }
    plan = sampling_plan(ARCHITECTURES["Qwen/Qwen3-0.6B"], settings, int(24 * GIB))
    assert plan.peak < 24 * GIB
    assert set(plan.device) == {"rollout"}
