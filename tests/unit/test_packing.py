"""Packed groups: their layout by hand, and what the model computes on them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from thinkprior.errors import InputError
from thinkprior.loss import token_log_probabilities
from thinkprior.packing import Group, pack

CPU = torch.device("cpu")
PROMPTS = (5, 1, 9)
COMPLETIONS = ((3, 1, 7, 2), (6,), (1, 1, 12))
"""Lengths of three groups' prompts and completions: none of them alike."""


def random_groups(seed: int = 0) -> list[Group]:
    generator = np.random.default_rng(seed)
    return [
        Group(
            generator.integers(0, 40, prompt),
            [generator.integers(0, 40, length) for length in lengths],
            generator.normal(size=len(lengths)),
        )
        for prompt, lengths in zip(PROMPTS, COMPLETIONS, strict=True)
    ]


def separate_log_probabilities(model: Any, groups: list[Group]) -> torch.Tensor:
    """Each completion in a right-padded row of its own, by the library's own forward."""
    rows = [(g.prompt_tokens, c) for g in groups for c in g.completions]
    width = max(len(prompt) + len(completion) for prompt, completion in rows)
    ids = torch.zeros(len(rows), width, dtype=torch.long)
    attention = torch.zeros(len(rows), width, dtype=torch.long)
    for row, (prompt, completion) in enumerate(rows):
        tokens = np.concatenate([prompt, completion])
        ids[row, : len(tokens)] = torch.from_numpy(tokens)
        attention[row, : len(tokens)] = 1
    logits = model(input_ids=ids, attention_mask=attention).logits.log_softmax(-1)
    return torch.stack(
        [
            logits[row, len(prompt) - 1 + place, int(token)]
            for row, (prompt, completion) in enumerate(rows)
            for place, token in enumerate(completion)
        ]
    )


def test_the_layout_of_two_small_groups_by_hand() -> None:
    groups = [
        Group(np.array([10, 11]), [np.array([20, 21]), np.array([30])], np.array([0.5, -0.5])),
        Group(np.array([12]), [np.array([22, 23])], np.array([2.0])),
    ]
    packed = pack(groups, CPU)
    assert packed.ids.tolist() == [[10, 11, 20, 21, 30], [12, 22, 23, 0, 0]]
    assert packed.positions[0].tolist() == [0, 1, 2, 3, 2]
    assert packed.positions[1, :3].tolist() == [0, 1, 2]
    assert packed.predictors.tolist() == [1, 2, 1, 5, 6]
    assert packed.targets.tolist() == [20, 21, 30, 22, 23]
    assert packed.sequence.tolist() == [0, 0, 1, 2, 2]
    assert packed.lengths.tolist() == [2, 1, 2]
    assert packed.advantages.tolist() == [0.5, -0.5, 2.0]
    assert packed.mask.shape == (2, 1, 5, 5)
    first = packed.mask[0, 0].int().tolist()
    assert first == [
        [1, 0, 0, 0, 0],
        [1, 1, 0, 0, 0],
        [1, 1, 1, 0, 0],
        [1, 1, 1, 1, 0],
        [1, 1, 0, 0, 1],
    ]
    second = packed.mask[1, 0].int()
    assert second[:3].tolist() == [[1, 0, 0, 0, 0], [1, 1, 0, 0, 0], [1, 1, 1, 0, 0]]
    assert not second[:3, 3:].any()
    assert second.any(-1).all(), "a row that sees nothing would give NaN"


@pytest.mark.parametrize("family", ["qwen2", "llama"])
def test_a_packed_group_has_the_log_probabilities_of_separate_rows(
    tiny_model: Callable[..., Any], family: str
) -> None:
    model, groups = tiny_model(family), random_groups()
    with torch.no_grad():
        packed = token_log_probabilities(model, pack(groups, CPU))
        separate = separate_log_probabilities(model, groups)
    assert len(packed) == sum(map(sum, COMPLETIONS))
    torch.testing.assert_close(packed, separate, rtol=0, atol=1e-5)
    assert float(separate.std()) > 0.5, "the model must tell tokens apart for this to mean much"


@pytest.mark.parametrize("family", ["qwen2", "llama"])
def test_a_packed_group_has_the_gradients_of_separate_rows(
    tiny_model: Callable[..., Any], family: str
) -> None:
    groups = random_groups(1)
    weights = torch.from_numpy(np.random.default_rng(2).normal(size=sum(map(sum, COMPLETIONS))))
    gradients = []
    for packed in (True, False):
        model = tiny_model(family).double()
        values = (
            token_log_probabilities(model, pack(groups, CPU))
            if packed
            else separate_log_probabilities(model, groups)
        )
        torch.autograd.backward((weights * values).sum())
        gradients.append({name: p.grad for name, p in model.named_parameters()})
    for name, gradient in gradients[1].items():
        torch.testing.assert_close(gradients[0][name], gradient, rtol=1e-4, atol=1e-5, msg=name)


def test_a_completion_does_not_see_its_siblings(tiny_model: Callable[..., Any]) -> None:
    model, groups = tiny_model(), random_groups()
    other = [
        Group(
            g.prompt_tokens,
            [g.completions[0], *[(c + 1) % 40 for c in g.completions[1:]]],
            g.advantages,
        )
        for g in groups
    ]
    with torch.no_grad():
        before = token_log_probabilities(model, pack(groups, CPU))
        after = token_log_probabilities(model, pack(other, CPU))
    first = pack(groups, CPU).sequence == 0
    torch.testing.assert_close(before[first], after[first], rtol=0, atol=1e-6)
    assert not torch.allclose(before, after)


def test_an_attention_that_would_misread_the_mask_is_refused(
    tiny_model: Callable[..., Any],
) -> None:
    with pytest.raises(InputError, match="sdpa"):
        token_log_probabilities(tiny_model(attention="eager"), pack(random_groups(), CPU))
