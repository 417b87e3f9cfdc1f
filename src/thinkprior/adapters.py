"""The LoRA adapter: made, and loaded from a checkpoint."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from thinkprior.errors import InputError


@dataclass(frozen=True)
class Lora:
    """The adapter: every linear layer below the head gets one.

    Attributes:
        rank: r.
        alpha: scale, applied as alpha / r.
    """

    rank: int
    alpha: float


def add_adapter(model: Any, lora: Lora, seed: int) -> Any:
    """A peft model whose fresh adapter comes from the run's own stream, with no dropout."""
    import torch
    from peft import LoraConfig, get_peft_model

    torch.manual_seed(seed % 2**32)
    config = LoraConfig(
        r=lora.rank,
        lora_alpha=lora.alpha,
        lora_dropout=0.0,
        target_modules="all-linear",
        bias="none",
        task_type="CAUSAL_LM",
    )
    with warnings.catch_warnings():
        # peft asks by a name that transformers is about to drop.
        warnings.filterwarnings("ignore", "`is_gradient_checkpointing`", FutureWarning)
        policy = get_peft_model(model, config)
    # A set whose order differs from process to process, and with it the saved file.
    (saved,) = policy.peft_config.values()
    saved.target_modules = sorted(saved.target_modules)
    return policy


def load_adapter(model: Any, directory: Path) -> None:
    """Replace the weights of a peft model's adapter by a saved adapter's.

    Raises:
        InputError: when it is missing, damaged, or of another rank or model.
    """
    from peft import set_peft_model_state_dict
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    path = directory / "adapter_model.safetensors"
    way_out = "Delete the run's folder and run Snakemake again: it is trained anew."
    try:
        weights = load_file(path)
    except (FileNotFoundError, SafetensorError) as error:
        raise InputError(f"{path}: no adapter, or a damaged one ({error}). {way_out}") from error
    try:
        outcome = set_peft_model_state_dict(model, weights)
    except RuntimeError as error:
        # Of torch, a line a layer.
        first = next((line for line in str(error).splitlines() if "mismatch" in line), str(error))
        raise InputError(
            f"{path}: an adapter of another rank or model ({first.strip()}). {way_out}"
        ) from error
    # A key that is missing would leave that layer's old weights in place without an error.
    stale = [key for key in outcome.missing_keys if "lora_" in key]
    if outcome.unexpected_keys or stale:
        raise InputError(
            f"{path}: the adapter does not fit the model: missing {stale[:5]}, unexpected "
            f"{outcome.unexpected_keys[:5]}. {way_out}"
        )
