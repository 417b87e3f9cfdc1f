"""The surrogate against the formula written out with the library's own forward."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from thinkprior import loss as loss_module
from thinkprior.adapters import Lora, add_adapter
from thinkprior.advantage import group_advantages
from thinkprior.loss import LossParts, backpropagate, token_log_probabilities
from thinkprior.packing import Group, pack

CORRECT = (3, 0, 1, 4, 2)
"""Correct rollouts of five groups of four: the second and the fourth are silent."""
SIZE = 4
SILENT = (1, 3)


def batch(seed: int = 0) -> list[Group]:
    generator = np.random.default_rng(seed)
    groups = []
    for correct in CORRECT:
        rewards = np.array([1.0] * correct + [0.0] * (SIZE - correct))
        lengths = generator.integers(1, 9, SIZE)
        groups.append(
            Group(
                generator.integers(0, 40, int(generator.integers(1, 8))),
                [generator.integers(0, 40, int(length)) for length in lengths],
                group_advantages(rewards),
            )
        )
    return groups


def adapted(model: Any, spread: float = 0.2) -> Any:
    """The model with an adapter whose second factor is random (0: fresh, which changes nothing)."""
    policy = add_adapter(model, Lora(rank=4, alpha=8.0), seed=3)
    generator = torch.Generator().manual_seed(4)
    for name, parameter in policy.named_parameters():
        if "lora_B" in name:
            parameter.data = spread * torch.randn(parameter.shape, generator=generator)
    return policy


def gradients(model: Any) -> dict[str, torch.Tensor]:
    return {n: p.grad.clone() for n, p in model.named_parameters() if p.grad is not None}


def run(
    model: Any,
    groups: list[Group],
    *,
    total: int = SIZE * len(CORRECT),
    kl_beta: float = 0.0,
    at_once: int = 8,
    anew: bool = False,
) -> tuple[LossParts, dict[str, torch.Tensor]]:
    model.zero_grad()
    parts = backpropagate(
        model,
        groups,
        total_sequences=total,
        kl_beta=kl_beta,
        groups_per_batch=at_once,
        activation_checkpointing=anew,
    )
    return parts, gradients(model)


def log_probabilities(model: Any, prompt: Any, completion: Any) -> torch.Tensor:
    """Of one completion's tokens, in a row of its own, untempered."""
    tokens = torch.from_numpy(np.concatenate([prompt, completion]))[None]
    table: torch.Tensor = model(input_ids=tokens).logits[0].log_softmax(-1)
    places = torch.arange(len(prompt) - 1, tokens.shape[1] - 1)
    return table[places, torch.from_numpy(completion)]


def written_out(
    model: Any, groups: list[Group], total: int, beta: float = 0.0, reference: Any = None
) -> tuple[torch.Tensor, float]:
    """The loss of the module's docstring in a plain loop, silent groups included; and mean k3."""
    loss, kl = torch.zeros(()), 0.0
    for group in groups:
        for completion, advantage in zip(group.completions, group.advantages, strict=True):
            ours = log_probabilities(model, group.prompt_tokens, completion)
            gain = float(advantage) * ours
            if reference is not None:
                with torch.no_grad():
                    theirs = log_probabilities(reference, group.prompt_tokens, completion)
                d = theirs - ours
                k3 = torch.exp(d) - d - 1
                gain = gain - beta * k3
                kl += float(k3.detach().mean()) / total
            loss = loss - gain.mean() / total
    return loss, kl


def assert_same(
    found: dict[str, torch.Tensor], expected: dict[str, torch.Tensor], tolerance: float
) -> None:
    assert found.keys() == expected.keys()
    for name, gradient in expected.items():
        torch.testing.assert_close(found[name], gradient, rtol=tolerance, atol=tolerance, msg=name)


def differ(a: dict[str, torch.Tensor], b: dict[str, torch.Tensor]) -> float:
    return max(float((a[name] - b[name]).abs().max()) for name in a)


@pytest.mark.parametrize("family", ["qwen2", "llama"])
@pytest.mark.parametrize("at_once", [1, 2, 8])
def test_loss_and_gradient_are_the_formula(
    tiny_model: Callable[..., Any], family: str, at_once: int
) -> None:
    groups = batch()
    parts, found = run(tiny_model(family), groups, at_once=at_once)
    model = tiny_model(family)
    loss, _ = written_out(model, groups, SIZE * len(groups))
    torch.autograd.backward(loss)
    assert parts.loss == pytest.approx(float(loss.detach()), abs=1e-5)
    assert_same(found, gradients(model), 1e-5)
    assert parts.reference_kl == 0.0


def test_the_loss_of_one_group_by_hand(tiny_model: Callable[..., Any]) -> None:
    # Advantages +1 and -1 and lengths 1 and 2: the token means are weighted equally.
    model = tiny_model()
    prompt = np.array([5, 6])
    right, wrong = np.array([7]), np.array([8, 1])
    parts, _ = run(model, [Group(prompt, [right, wrong], np.array([1.0, -1.0]))], total=2)
    with torch.no_grad():
        a = float(log_probabilities(model, prompt, right)[0])
        b, c = log_probabilities(model, prompt, wrong).tolist()
    assert parts.loss == pytest.approx(-(a - (b + c) / 2) / 2, abs=1e-6)
    assert (parts.sequences, parts.tokens) == (2, 3)


# --- Silent groups --------------------------------------------------------------------------------


class Rows:
    """Counts the groups and tokens that reach the decoder of a model."""

    def __init__(self, model: Any) -> None:
        self.rows = 0
        model.model.register_forward_pre_hook(self._count, with_kwargs=True)

    def _count(self, module: Any, args: Any, kwargs: dict[str, Any]) -> None:
        self.rows += len(kwargs["input_ids"])


def test_silent_groups_change_no_gradient_without_a_kl(tiny_model: Callable[..., Any]) -> None:
    groups = batch()
    active = [group for place, group in enumerate(groups) if place not in SILENT]
    model = tiny_model()
    rows = Rows(model)
    parts, left_out = run(model, groups)
    assert rows.rows == len(active)
    assert parts.sequences == SIZE * len(active)
    assert parts.tokens == sum(len(c) for group in active for c in group.completions)

    # With them: a loop that gives the model every row, whatever its advantage.
    plain = tiny_model()
    torch.autograd.backward(written_out(plain, groups, SIZE * len(groups))[0])
    assert_same(left_out, gradients(plain), 1e-6)
    # The denominator stays that of the full batch.
    only_active, _ = written_out(plain, active, SIZE * len(groups))
    assert parts.loss == pytest.approx(float(only_active.detach()), abs=1e-6)


def test_silent_groups_stay_under_a_kl(tiny_model: Callable[..., Any]) -> None:
    groups = batch()
    active = [group for place, group in enumerate(groups) if place not in SILENT]
    policy = adapted(tiny_model())
    rows = Rows(policy.get_base_model())
    parts, with_silent = run(policy, groups, kl_beta=0.04)
    assert rows.rows == 2 * len(groups)  # policy and reference
    assert parts.sequences == SIZE * len(groups)
    _, without = run(policy, active, kl_beta=0.04)
    assert differ(with_silent, without) > 1e-4

    _, kl_free_with = run(policy, groups)
    _, kl_free_without = run(policy, active)
    assert differ(kl_free_with, kl_free_without) <= 1e-6


def test_a_wholly_silent_batch_reaches_no_model(tiny_model: Callable[..., Any]) -> None:
    model = tiny_model()
    rows = Rows(model)
    parts, found = run(model, [batch()[place] for place in SILENT])
    assert rows.rows == 0
    assert parts == LossParts(loss=0.0, reference_kl=0.0, sequences=0, tokens=0)
    assert found == {}


@pytest.mark.parametrize("kl_beta", [0.0, 0.04])
def test_missing_groups_count_in_the_denominator(
    tiny_model: Callable[..., Any], kl_beta: float
) -> None:
    policy, groups = adapted(tiny_model()), batch()
    few, found = run(policy, groups[:1], total=SIZE, kl_beta=kl_beta)
    of_all, scaled = run(policy, groups[:1], total=5 * SIZE, kl_beta=kl_beta)
    assert of_all.loss == pytest.approx(few.loss / 5, rel=1e-5)
    assert of_all.reference_kl == pytest.approx(few.reference_kl / 5, rel=1e-5)
    assert_same({n: 5 * g for n, g in scaled.items()}, found, 1e-5)


def test_gradients_are_added_to(tiny_model: Callable[..., Any]) -> None:
    model, groups = tiny_model(), batch()
    _, once = run(model, groups)
    backpropagate(model, groups, total_sequences=20, kl_beta=0.0, groups_per_batch=8)
    assert_same(gradients(model), {n: 2 * g for n, g in once.items()}, 1e-5)


# --- Memory: logits in chunks ---------------------------------------------------------------------


@pytest.mark.parametrize("kl_beta", [0.0, 0.04])
@pytest.mark.parametrize("tokens_a_chunk", [1, 7])
def test_chunked_logits_change_neither_loss_nor_gradient(
    tiny_model: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
    kl_beta: float,
    tokens_a_chunk: int,
) -> None:
    policy, groups = adapted(tiny_model()), batch()
    whole_parts, whole = run(policy, groups, kl_beta=kl_beta)
    monkeypatch.setattr(loss_module, "LOGIT_CHUNK", 40 * tokens_a_chunk)
    widest = 0

    def watch(module: Any, args: Any, output: torch.Tensor) -> None:
        nonlocal widest
        widest = max(widest, len(output))

    policy.get_base_model().lm_head.register_forward_hook(watch)
    chunked_parts, chunked = run(policy, groups, kl_beta=kl_beta)
    assert widest == tokens_a_chunk
    assert chunked_parts.loss == pytest.approx(whole_parts.loss, abs=1e-6)
    assert chunked_parts.reference_kl == pytest.approx(whole_parts.reference_kl, abs=1e-6)
    assert_same(chunked, whole, 1e-6)


def test_a_vocabulary_above_the_chunk_still_goes_a_token_at_a_time(
    tiny_model: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    model, packed = tiny_model(), pack(batch(), torch.device("cpu"))
    whole = token_log_probabilities(model, packed)
    monkeypatch.setattr(loss_module, "LOGIT_CHUNK", 3)
    torch.testing.assert_close(token_log_probabilities(model, packed), whole)


# --- Memory: layers computed anew -----------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("kl_beta", [0.0, 0.04])
@pytest.mark.parametrize("family", ["qwen2", "llama"])
def test_activation_checkpointing_changes_neither_loss_nor_gradient(
    tiny_model: Callable[..., Any], family: str, kl_beta: float, dtype: torch.dtype
) -> None:
    policy, groups = adapted(tiny_model(family).to(dtype)), batch()
    passes: list[int] = []
    # Within a layer: hooks of the layer itself stay outside what is computed anew.
    mlp = policy.get_base_model().model.layers[0].mlp
    mlp.register_forward_pre_hook(lambda *_: passes.append(1))
    kept_parts, kept = run(policy, groups, kl_beta=kl_beta, at_once=2)
    once = len(passes)
    parts, found = run(policy, groups, kl_beta=kl_beta, at_once=2, anew=True)
    batches = 3 if kl_beta else 2  # two at a time of five groups, or of the three with a gradient
    assert len(passes) - once == once + batches  # a forward pass more for each batch
    assert parts == kept_parts
    assert_same(found, kept, 1e-6)
    assert any(gradient.any() for gradient in found.values())
    # And it ends with the block.
    assert all("forward" not in vars(layer) for layer in policy.get_base_model().model.layers)


def test_the_mask_of_numbers_is_the_mask_of_truths() -> None:
    packed = pack(batch(), torch.device("cpu"))
    numbers = loss_module._additive(packed.mask, torch.bfloat16)
    assert numbers.shape == packed.mask.shape
    assert torch.equal(numbers == 0, packed.mask)
    assert torch.equal(numbers == -torch.inf, ~packed.mask)
    # What the kernel of a GPU reads without a copy of its own.
    assert all(stride % 16 == 0 for stride in numbers.stride()[:-1])
    assert numbers.stride(-1) == 1


# --- Reference KL ---------------------------------------------------------------------------------


def test_the_kl_of_a_fresh_adapter_is_zero_and_pulls_nowhere(
    tiny_model: Callable[..., Any],
) -> None:
    policy, groups = adapted(tiny_model(), spread=0.0), batch()
    parts, found = run(policy, [groups[place] for place in SILENT], kl_beta=0.04)
    assert parts.reference_kl == 0.0
    assert parts.loss == 0.0
    assert all(not gradient.any() for gradient in found.values())
    # Beside the reward term it changes nothing either.
    _, with_kl = run(policy, groups, kl_beta=0.04)
    _, without = run(policy, groups)
    assert_same(with_kl, without, 1e-6)


def test_the_reference_is_the_base_model(tiny_model: Callable[..., Any]) -> None:
    base = tiny_model()
    reference = copy.deepcopy(base)
    policy, groups = adapted(base), batch()
    parts, found = run(policy, groups, kl_beta=0.04)
    policy.zero_grad()
    loss, kl = written_out(policy, groups, SIZE * len(groups), 0.04, reference)
    torch.autograd.backward(loss)
    assert kl > 1e-3
    assert parts.reference_kl == pytest.approx(kl, rel=1e-4)
    assert parts.loss == pytest.approx(float(loss.detach()), abs=1e-5)
    assert_same(found, gradients(policy), 1e-5)


def test_the_kl_reaches_only_the_adapter(tiny_model: Callable[..., Any]) -> None:
    policy = adapted(tiny_model())
    _, found = run(policy, batch(), kl_beta=0.04)
    assert found
    assert all("lora_" in name for name in found)


def test_the_kl_pulls_towards_the_reference(tiny_model: Callable[..., Any]) -> None:
    policy = adapted(tiny_model(), spread=0.05)
    silent = [batch()[place] for place in SILENT]
    optimizer = torch.optim.SGD([p for p in policy.parameters() if p.requires_grad], lr=0.2)
    values = []
    for _ in range(5):
        values.append(run(policy, silent, kl_beta=1.0)[0].reference_kl)
        optimizer.step()
    assert all(value > 0 for value in values)
    assert values[-1] < values[0]
