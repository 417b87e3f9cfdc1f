"""A second copy of the policy's weights with the adapter merged in, to sample from.

An unmerged adapter adds four small operations to each linear layer of each decoded token; for a
small model that is most of the time. Merging into the base weights and taking it out again would
let rounding errors pile up in them, so the copy is made anew from the untouched base weights before
every generation.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import torch

from thinkprior.rollouts import PromptCompletions, Sampling
from thinkprior.transformers_engine import TransformersEngine


class MergedSampler:
    """An engine over a merged copy of a peft model that trains in the same process."""

    def __init__(self, plain: Any, policy: Any, tokenizer: Any, *, batch_rows: int) -> None:
        """Couple a copy to its policy.

        Args:
            plain: a copy of the base model made before it got the adapter.
            policy: the peft model.
            tokenizer: its tokenizer.
            batch_rows: how many sequences are decoded at once.
        """
        self.engine = TransformersEngine(plain, tokenizer, batch_rows=batch_rows)
        targets = dict(plain.named_modules())
        self.layers = [
            (targets[name], module)
            for name, module in policy.get_base_model().named_modules()
            if hasattr(module, "lora_A")
        ]

    def generate(
        self, prompts: Sequence[str], samples: int, sampling: Sampling, seeds: Sequence[int]
    ) -> list[PromptCompletions]:
        """See `thinkprior.rollouts.Engine.generate`; always of the policy's newest weights."""
        self.refresh()
        return self.engine.generate(prompts, samples, sampling, seeds)

    def rest(self) -> None:
        """See `thinkprior.rollouts.Engine.rest`; the copy stays where it is."""

    @torch.no_grad()
    def refresh(self) -> None:
        """Bring the copy up to date: W + (alpha / r) B A for every layer with an adapter."""
        for target, layer in self.layers:
            (name,) = layer.active_adapters
            down, up = layer.lora_A[name].weight, layer.lora_B[name].weight
            base = layer.get_base_layer().weight
            if base.dtype == torch.float32:
                torch.addmm(base, up, down, alpha=layer.scaling[name], out=target.weight)
            else:
                target.weight.copy_(base.float() + layer.scaling[name] * (up @ down))


def plain_copy(model: Any) -> Any:
    """A copy of a model that never trains."""
    twin = copy.deepcopy(model)
    return twin.requires_grad_(False).eval()
