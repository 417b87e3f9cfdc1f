"""Which models an engine runs, read off their `config.json`, before anything is loaded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thinkprior.errors import InputError

FAMILIES = ("qwen2", "llama")
"""Model types whose layers the transformers engine calls as they are built."""

LEAST_HEAD = 64
"""Smallest head dimension of vLLM's attention without a GPU."""


def check_family(place: str, config: Mapping[str, Any], engine: str, device: str) -> None:
    """Refuse a model that the engine cannot run.

    Args:
        place: what the message is about, such as a key and a folder.
        config: the model's `config.json`.
        engine: `transformers` or `vllm`.
        device: torch device.

    Raises:
        InputError: naming what the engine does run.
    """
    family = str(config.get("model_type", ""))
    names = [str(name) for name in config.get("architectures") or []]
    if not any(name.endswith("ForCausalLM") for name in names):
        found = ", ".join(names) or "none"
        raise InputError(
            f"{place}: its architecture is {found}, no causal language model (...ForCausalLM), "
            "which is what both engines run. Choose another model."
        )
    if engine == "transformers":
        if family not in FAMILIES:
            raise InputError(
                f"{place}: a model of type {family or 'unknown'}; the transformers engine samples "
                f"from {' and '.join(FAMILIES)}. Choose another model, or set engine.name: vllm."
            )
        others = set(config.get("layer_types") or ()) - {"full_attention"}
        if config.get("use_sliding_window") or others:
            raise InputError(
                f"{place}: it has a sliding window; the transformers engine samples from models "
                "without one. Choose another model, or set engine.name: vllm."
            )
    elif device == "cpu" and (size := _head_dimension(config)) < LEAST_HEAD:
        raise InputError(
            f"{place}: its head dimension is {size}; vLLM without a GPU needs {LEAST_HEAD} or "
            "more. Choose another model, or set engine.name: transformers."
        )


def _head_dimension(config: Mapping[str, Any]) -> int:
    heads = int(config.get("num_attention_heads") or 1)
    return int(config.get("head_dim") or int(config.get("hidden_size") or LEAST_HEAD) // heads)
