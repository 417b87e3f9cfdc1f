"""The surrogate of the paper and its gradient (Eq. 1, Appendix F), with an optional reference KL.

    loss = - (1 / N) sum over sequences i of (1 / |y_i|) sum over tokens t of
               [ A_i log pi(y_it) - beta k3_it ],
    k3 = exp(d) - d - 1 with d = log pi_ref - log pi.

N counts every rollout of the batch, silent groups and missing ones too, so leaving the silent ones
out at beta = 0 changes nothing: their advantages are exactly zero. There is no importance ratio
and no clipping, and log pi is untempered although the rollouts were sampled at a temperature.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch.utils.checkpoint import checkpoint

from thinkprior.packing import Group, PackedGroups, pack
from thinkprior.transformers_engine import causal_model, decoder, head

LOGIT_CHUNK = 1 << 24
"""Logits held at once, in elements: 64 MiB in fp32. A chunk's are computed anew in the backward
pass, so a vocabulary of 152,000 never stands in memory for all tokens."""


@dataclass(frozen=True)
class LossParts:
    """What an update computed.

    Attributes:
        loss: the surrogate's value.
        reference_kl: mean over sequences of the token mean of k3; 0 without a reference.
        sequences: rollouts that reached the model.
        tokens: completion tokens that reached the model.
    """

    loss: float
    reference_kl: float
    sequences: int
    tokens: int


def token_log_probabilities(model: Any, batch: PackedGroups) -> torch.Tensor:
    """Log-probability log pi of every completion token, fp32, shape [N]. Differentiable.

    Args:
        model: causal language model (with its adapter, where it has one).
        batch: packed groups.
    """
    layers = decoder(model)
    hidden = layers(
        input_ids=batch.ids,
        attention_mask=_additive(batch.mask, layers.embed_tokens.weight.dtype),
        position_ids=batch.positions,
        use_cache=False,
    ).last_hidden_state
    chosen = hidden.flatten(0, 1)[batch.predictors]
    projection = head(model)
    rows = max(1, LOGIT_CHUNK // causal_model(model).config.vocab_size)
    if len(chosen) <= rows:
        return _chosen_log_probabilities(projection, chosen, batch.targets)
    parts = []
    for start in range(0, len(chosen), rows):
        part = slice(start, start + rows)
        parts.append(
            checkpoint(
                _chosen_log_probabilities,
                projection,
                chosen[part],
                batch.targets[part],
                use_reentrant=False,
            )
        )
    return torch.cat(parts)


def _additive(mask: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """A mask as numbers that attention adds to its scores: 0 where it may see, else -inf.

    Given a boolean mask each layer would make such a copy of its own and keep it for the backward
    pass. CUDA's kernel would copy it too unless a row takes a multiple of 16 elements.
    """
    width = mask.shape[-1]
    room = mask.new_zeros((*mask.shape[:-1], -(-width // 16) * 16), dtype=dtype)
    return room[..., :width].masked_fill_(~mask, -math.inf)


def _chosen_log_probabilities(
    projection: Callable[[torch.Tensor], torch.Tensor], hidden: torch.Tensor, targets: torch.Tensor
) -> torch.Tensor:
    logits = projection(hidden).float()
    return -torch.nn.functional.cross_entropy(logits, targets, reduction="none")


@contextmanager
def layers_computed_anew(model: Any) -> Iterator[None]:
    """In the block, a forward pass keeps of each layer its input alone.

    The library's own switch does nothing for a model in evaluation mode, which a policy is in.
    """
    layers = decoder(model).layers
    for layer in layers:
        # Nothing random in a layer, so no random state is kept.
        layer.forward = partial(
            checkpoint, layer.forward, use_reentrant=False, preserve_rng_state=False
        )
    try:
        yield
    finally:
        for layer in layers:
            # Of this object alone; its class's comes to light again.
            del layer.forward


def backpropagate(
    model: Any,
    groups: Sequence[Group],
    *,
    total_sequences: int,
    kl_beta: float,
    groups_per_batch: int,
    activation_checkpointing: bool = False,
) -> LossParts:
    """Add the surrogate's gradient over `groups` to the model's parameters.

    At `kl_beta` 0 groups without any advantage are left out of the forward and backward pass; under
    a reference KL they carry a gradient and stay.

    Args:
        model: policy; with `kl_beta` > 0 a peft model, whose base weights are the reference.
        groups: the groups of the batch.
        total_sequences: N, the rollouts that the mean is taken over.
        kl_beta: weight of the reference KL.
        groups_per_batch: groups that are given to the model at once.
        activation_checkpointing: keep only what enters each layer and compute the rest anew in the
            backward pass: one more forward pass, much less memory, the same gradient.

    Returns:
        The loss and its parts. Parameter gradients are added to, not replaced.
    """
    active = [group for group in groups if kl_beta > 0 or group.advantages.any()]
    device = next(model.parameters()).device
    loss, kl, tokens, sequences = 0.0, 0.0, 0, 0
    for start in range(0, len(active), groups_per_batch):
        batch = pack(active[start : start + groups_per_batch], device)
        with layers_computed_anew(model) if activation_checkpointing else nullcontext():
            log_probabilities = token_log_probabilities(model, batch)
        gain = batch.advantages[batch.sequence] * log_probabilities
        if kl_beta > 0:
            with torch.no_grad(), model.disable_adapter():
                reference = token_log_probabilities(model, batch)
            gap = reference - log_probabilities
            k3 = torch.exp(gap) - gap - 1
            gain = gain - kl_beta * k3
            kl += float((k3.detach() / batch.lengths[batch.sequence]).sum()) / total_sequences
        part = -(gain / batch.lengths[batch.sequence]).sum() / total_sequences
        part.backward()  # type: ignore[no-untyped-call]
        loss += float(part.detach())
        tokens += len(batch.targets)
        sequences += len(batch.lengths)
    return LossParts(loss, kl, sequences, tokens)
