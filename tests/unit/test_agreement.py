"""The agreement check against plain forward passes, weights changed on purpose, and signals."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from thinkprior import agreement
from thinkprior.adapters import Lora, add_adapter
from thinkprior.agreement import Agreement, Sampled, compare, log_probabilities, require
from thinkprior.errors import DisagreementError
from thinkprior.interruption import Interrupted, interruptible

PROMPT = np.arange(2, 22)
TOKENS = [np.random.default_rng(number).integers(2, 40, 64) for number in range(8)]


@pytest.fixture
def policy(tiny_model: Callable[..., Any]) -> Any:
    return add_adapter(tiny_model(), Lora(rank=4, alpha=8.0), 0)


def adapter_of(policy: Any) -> dict[str, torch.Tensor]:
    return {n: p.detach().clone() for n, p in policy.named_parameters() if p.requires_grad}


def stir(policy: Any, seed: int, size: float) -> None:
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in policy.parameters():
            if parameter.requires_grad:
                parameter.add_(size * torch.randn(parameter.shape, generator=generator))


def plain(policy: Any, tokens: np.ndarray, temperature: float) -> np.ndarray:
    """The library's own logits for prompt and tokens together."""
    with torch.no_grad():
        logits = policy(input_ids=torch.tensor([[*PROMPT, *tokens]])).logits[0].double()
    rows = torch.log_softmax(logits / temperature, -1)[len(PROMPT) - 1 : -1].numpy()
    return np.array([row[token] for row, token in zip(rows, tokens, strict=True)])


def sampled(policy: Any, noise: float = 0.0, temperature: float = 0.9) -> list[Sampled]:
    """What a sampler with the policy's weights and rounding of a size would report."""
    generator = np.random.default_rng(5)
    return [
        Sampled(PROMPT, t, plain(policy, t, temperature) + noise * generator.normal(size=len(t)))
        for t in TOKENS
    ]


@pytest.mark.parametrize("temperature", [0.9, 2.0])
def test_log_probabilities_are_those_of_a_plain_forward_pass(
    policy: Any, temperature: float
) -> None:
    stir(policy, 0, 0.1)
    for tokens in TOKENS:
        found = log_probabilities(policy, PROMPT, tokens, temperature)
        np.testing.assert_allclose(found, plain(policy, tokens, temperature), atol=1e-5)


def test_greedy_counts_as_untempered(policy: Any) -> None:
    found = log_probabilities(policy, PROMPT, TOKENS[0], 0.0)
    np.testing.assert_allclose(found, plain(policy, TOKENS[0], 1.0), atol=1e-5)


def test_the_same_weights_agree(policy: Any) -> None:
    stir(policy, 0, 0.1)
    before = adapter_of(policy)
    stir(policy, 1, 0.05)
    found = compare(policy, sampled(policy), 0.9, before)
    assert found.largest < 1e-4
    assert found.nearer_to_old < 0
    require(found, 1e-3, "adapter-000002")


def test_the_weights_of_the_step_before_do_not(policy: Any) -> None:
    stir(policy, 0, 0.1)
    stale, before = sampled(policy), adapter_of(policy)
    stir(policy, 1, 0.05)
    found = compare(policy, stale, 0.9, before)
    assert found.mean > 1e-2
    with pytest.raises(DisagreementError, match=r"after loading adapter-000002: .* differ by up"):
        require(found, 1e-3, "adapter-000002")


def test_old_weights_show_under_rounding_that_hides_the_difference(policy: Any) -> None:
    # Rounding as coarse as the update's effect, and a tolerance that lets both pass.
    stir(policy, 0, 0.1)
    before = adapter_of(policy)
    old = sampled(policy, noise=0.02)
    stir(policy, 1, 0.002)
    fresh, stale = sampled(policy, noise=0.02), old
    require(compare(policy, fresh, 0.9, before), 0.15, "fresh")
    found = compare(policy, stale, 0.9, before)
    assert found.mean < 0.15
    with pytest.raises(DisagreementError, match=r"nearer to the adapter before the last update"):
        require(found, 0.15, "stale")


def test_few_tokens_say_nothing_about_which_is_nearer(policy: Any) -> None:
    before = adapter_of(policy)
    short = [Sampled(PROMPT, TOKENS[0][:3], plain(policy, TOKENS[0][:3], 0.9))]
    stir(policy, 1, 0.01)
    assert compare(policy, short, 0.9, before).nearer_to_old == 0


def test_what_is_no_number_does_not_agree(policy: Any) -> None:
    one = sampled(policy)
    one[2].log_probabilities[1] = np.nan
    with pytest.raises(DisagreementError):
        require(compare(policy, one, 0.9), 1e9, "adapter")
    with pytest.raises(DisagreementError):
        require(Agreement(float("nan"), float("nan"), 0.0), 1.0, "adapter")


def test_the_policy_is_as_it_was_to_the_bit(policy: Any) -> None:
    stir(policy, 0, 0.1)
    before = {name: torch.zeros_like(weight) for name, weight in adapter_of(policy).items()}
    own = adapter_of(policy)
    compare(policy, sampled(policy), 0.9, before)
    assert all(torch.equal(own[name], now) for name, now in adapter_of(policy).items())


def test_a_signal_in_between_finds_the_policys_own_weights(
    policy: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    stir(policy, 0, 0.1)
    own, samples = adapter_of(policy), sampled(policy)
    before = {name: torch.zeros_like(weight) for name, weight in own.items()}
    calls = []

    def interrupted(*arguments: Any) -> np.ndarray:
        calls.append(1)
        if len(calls) == len(samples) + 1:
            os.kill(os.getpid(), signal.SIGTERM)
        return log_probabilities(*arguments)

    monkeypatch.setattr(agreement, "log_probabilities", interrupted)
    with pytest.raises(Interrupted), interruptible():
        compare(policy, samples, 0.9, before)
    assert all(torch.equal(own[name], now) for name, now in adapter_of(policy).items())
