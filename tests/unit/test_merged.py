"""The merged copy against the unmerged policy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from thinkprior.adapters import Lora, add_adapter
from thinkprior.merged import MergedSampler, plain_copy
from thinkprior.rollouts import Sampling
from thinkprior.transformers_engine import TransformersEngine

PROMPTS = ["a", "compute 12 + 34", "what is x", "0123456789"]
SEEDS = [1, 2, 3, 4]
GREEDY = Sampling(temperature=0.0, max_new_tokens=16, max_prompt_tokens=50)


@pytest.fixture(params=["qwen2", "llama"])
def pair(
    request: pytest.FixtureRequest, tiny_model: Callable[..., Any], tokenizer: Any
) -> tuple[Any, MergedSampler]:
    """A policy whose adapter is random, and its sampler."""
    base = tiny_model(request.param)
    plain = plain_copy(base)
    policy = add_adapter(base, Lora(rank=4, alpha=8.0), seed=3)
    generator = torch.Generator().manual_seed(5)
    for name, parameter in policy.named_parameters():
        if "lora_B" in name:
            parameter.data = 0.2 * torch.randn(parameter.shape, generator=generator)
    return policy, MergedSampler(plain, policy, tokenizer, batch_rows=16)


def log_probabilities(model: Any) -> torch.Tensor:
    ids = torch.randint(0, 40, (4, 12), generator=torch.Generator().manual_seed(6))
    with torch.no_grad():
        table: torch.Tensor = model(input_ids=ids).logits.log_softmax(-1)
    return table


def greedy(engine: Any) -> list[list[int]]:
    results = engine.generate(PROMPTS, 1, GREEDY, SEEDS)
    return [result.completions[0].tokens.tolist() for result in results]


def test_the_merged_copy_agrees_with_the_unmerged_policy(
    pair: tuple[Any, MergedSampler], tokenizer: Any
) -> None:
    policy, sampler = pair
    assert greedy(sampler) == greedy(TransformersEngine(policy, tokenizer, batch_rows=16))
    merged = log_probabilities(sampler.engine.model)
    torch.testing.assert_close(merged, log_probabilities(policy), rtol=0, atol=1e-5)
    with policy.disable_adapter():
        assert (merged - log_probabilities(policy)).abs().max() > 0.1


def test_the_copy_follows_every_update(pair: tuple[Any, MergedSampler]) -> None:
    policy, sampler = pair
    optimizer = torch.optim.AdamW([p for p in policy.parameters() if p.requires_grad], lr=0.05)
    for _ in range(2):
        before = log_probabilities(policy)
        optimizer.zero_grad()
        policy(input_ids=torch.arange(12)[None]).logits.log_softmax(-1)[..., 7].sum().backward()
        optimizer.step()
        sampler.generate(PROMPTS, 1, GREEDY, SEEDS)
        after = log_probabilities(policy)
        assert (after - before).abs().max() > 0.01
        torch.testing.assert_close(
            log_probabilities(sampler.engine.model), after, rtol=0, atol=1e-5
        )


def test_the_copy_does_not_drift(pair: tuple[Any, MergedSampler]) -> None:
    policy, sampler = pair
    base = {n: p.clone() for n, p in policy.named_parameters() if "lora_" not in n}
    sampler.refresh()
    once = {n: p.clone() for n, p in sampler.engine.model.named_parameters()}
    for _ in range(20):
        sampler.refresh()
    for name, parameter in sampler.engine.model.named_parameters():
        assert torch.equal(parameter, once[name]), name
    for name, parameter in policy.named_parameters():
        assert "lora_" in name or torch.equal(parameter, base[name]), name


def test_every_layer_with_an_adapter_is_coupled(pair: tuple[Any, MergedSampler]) -> None:
    # Seven linear layers in each of the two layers: q, k, v, o, gate, up, down.
    assert len(pair[1].layers) == 14


def test_the_copy_never_trains(pair: tuple[Any, MergedSampler]) -> None:
    policy, sampler = pair
    assert not any(p.requires_grad for p in sampler.engine.model.parameters())
    shared = {p.data_ptr() for p in policy.parameters()}
    assert not any(p.data_ptr() in shared for p in sampler.engine.model.parameters())
