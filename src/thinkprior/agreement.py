"""Whether a sampler in another library has the trainer's weights.

A sampler that keeps a copy of the weights can go on with old ones without an error: its answers
stay plausible, and training only gets worse. So the log-probabilities that it gave to some of the
tokens that it has just drawn are compared with the trainer's own, in two ways. They may not lie
farther apart than rounding explains. And they may not lie nearer to those of the adapter before the
last update than to those of the adapter after it, which shows weights that are one update old also
where rounding is coarse.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from thinkprior.errors import DisagreementError
from thinkprior.interruption import shielded
from thinkprior.transformers_engine import decoder, head

CHECKED_TOKENS = 64
"""Tokens of a completion that are compared at most."""

TOLERANCES = {"float32": 1e-3, "bfloat16": 0.15}
"""By type of the weights: how far apart the two may lie, as the mean over the tokens of one
completion of the absolute difference in log-probability."""

NEARER = 5.0
"""Standard errors by which the sampler has to be nearer to the old weights to be called stale."""

FEWEST_TOKENS = 32
"""Tokens below which a standard error says too little."""


@dataclass(frozen=True)
class Sampled:
    """Part of a completion, with what the sampler thought of it.

    Attributes:
        prompt_tokens: the prompt's token ids.
        tokens: token ids of the completion's beginning, [tokens].
        log_probabilities: the sampler's log-probability of each at its temperature, [tokens].
    """

    prompt_tokens: NDArray[np.int64]
    tokens: NDArray[np.int64]
    log_probabilities: NDArray[np.float64]


@dataclass(frozen=True)
class Agreement:
    """How far a sampler and a trainer lie apart.

    Attributes:
        mean: the largest over completions of the mean absolute difference over their tokens.
        largest: the largest absolute difference at any token.
        nearer_to_old: standard errors by which the sampler is nearer to the adapter before the
            last update; negative where it is nearer to the newest, 0 where that was not compared
            or the tokens were too few.
    """

    mean: float
    largest: float
    nearer_to_old: float


@torch.no_grad()
def log_probabilities(
    model: Any, prompt: NDArray[np.int64], tokens: NDArray[np.int64], temperature: float
) -> NDArray[np.float64]:
    """A model's log-probability of each token at a temperature: log softmax(logits / T), [tokens].

    Args:
        model: causal language model, with its adapter.
        prompt: token ids of the prompt.
        tokens: token ids that follow it.
        temperature: T; at 0, greedy, the untempered ones.
    """
    device = next(model.parameters()).device
    ids = torch.from_numpy(np.concatenate([prompt, tokens])).to(device)
    hidden = decoder(model)(input_ids=ids[None], use_cache=False).last_hidden_state[0]
    # The prompt's last token predicts the first one, each token the next.
    logits = head(model)(hidden[len(prompt) - 1 : -1]).float() / (temperature or 1.0)
    chosen = torch.log_softmax(logits, -1).gather(-1, ids[len(prompt) :, None])[:, 0]
    found: NDArray[np.float64] = chosen.double().cpu().numpy()
    return found


def compare(
    model: Any,
    samples: Sequence[Sampled],
    temperature: float,
    before: Mapping[str, torch.Tensor] | None = None,
) -> Agreement:
    """Compare a sampler's log-probabilities with a trainer's.

    Args:
        model: the trainer's model; where `before` is given its adapter changes for a moment.
        samples: what the sampler drew.
        temperature: T that it drew at; 0 is greedy.
        before: the adapter before the last update, by the names of the model's parameters.
    """

    def of_model() -> list[NDArray[np.float64]]:
        return [
            log_probabilities(model, sample.prompt_tokens, sample.tokens, temperature)
            for sample in samples
        ]

    new = of_model()
    gaps = [
        np.abs(sample.log_probabilities - ours) for sample, ours in zip(samples, new, strict=True)
    ]
    nearer = 0.0
    if before is not None:
        with _weights(model, before):
            old = of_model()
        gain = np.concatenate(
            [
                gap**2 - (sample.log_probabilities - theirs) ** 2
                for sample, gap, theirs in zip(samples, gaps, old, strict=True)
            ]
        )
        error = float(gain.std(ddof=1) / np.sqrt(len(gain))) if len(gain) >= FEWEST_TOKENS else 0.0
        nearer = float(gain.mean()) / error if error > 0 else 0.0
    # NaN must not be lost: max() of numpy passes it on, Python's may not.
    return Agreement(
        float(np.max([gap.mean() for gap in gaps])),
        float(np.max(np.concatenate(gaps))),
        nearer,
    )


def require(agreement: Agreement, tolerance: float, adapter: str) -> None:
    """Stop where a sampler has other weights than the trainer.

    Raises:
        DisagreementError: with the largest difference and the adapter's name.
    """
    far = not agreement.mean <= tolerance
    if not far and agreement.nearer_to_old < NEARER:
        return
    how = (
        f"{agreement.mean:.2g} in the mean of a completion, allowed are {tolerance:g}"
        if far
        else f"and {agreement.nearer_to_old:.1f} standard errors nearer to the adapter before the "
        "last update"
    )
    raise DisagreementError(
        f"the sampler does not have the trainer's weights after loading {adapter}: their "
        f"log-probabilities of the same tokens differ by up to {agreement.largest:.2g} ({how}). "
        "Its answers are not the policy's; nothing was learned from them. Look for a change of "
        "the engine's version, or set engine.name: transformers."
    )


@contextmanager
def _weights(model: Any, weights: Mapping[str, torch.Tensor]) -> Iterator[None]:
    """Other adapter weights in a model for a moment, then its own again to the bit."""
    parameters = dict(model.named_parameters())
    own = {name: parameters[name].detach().clone() for name in weights}
    # A signal in between would leave the wrong weights to be saved.
    with shielded():
        try:
            _put(parameters, weights)
            yield
        finally:
            _put(parameters, own)


@torch.no_grad()
def _put(parameters: Mapping[str, torch.Tensor], weights: Mapping[str, torch.Tensor]) -> None:
    for name, weight in weights.items():
        parameters[name].copy_(weight)
