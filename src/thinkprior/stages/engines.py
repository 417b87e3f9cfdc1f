"""Starting the engine that the configuration names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from thinkprior.merged import MergedSampler, plain_copy
from thinkprior.models import load_model, load_tokenizer
from thinkprior.rollouts import Engine
from thinkprior.transformers_engine import TransformersEngine


def start_engine(settings: Mapping[str, Any], model: Path | str) -> Engine:
    """An engine over the weights of a model directory.

    Args:
        settings: the `engine` section.
        model: model directory.
    """
    if "vllm" in settings:
        return _vllm_engine(settings, model, None)
    return TransformersEngine(
        _load(settings, model), load_tokenizer(model), batch_rows=settings["batch_rows"]
    )


def policy_engine(
    settings: Mapping[str, Any], model: Path | str, adapt: Callable[[Any], Any]
) -> tuple[Any, Engine]:
    """A policy with an adapter, and an engine that always samples from its newest weights.

    Args:
        settings: the `engine` section.
        model: model directory of the base.
        adapt: puts the adapter on the base model.
    """
    if "vllm" in settings:
        # In host memory until vLLM has taken its share of the card.
        policy = adapt(_load({**settings, "device": "cpu"}, model))
        return policy, _vllm_engine(settings, model, policy)
    base, tokenizer = _load(settings, model), load_tokenizer(model)
    plain = plain_copy(base) if settings["merged_sampler"] else None
    policy = adapt(base)
    if plain is None:
        return policy, TransformersEngine(policy, tokenizer, batch_rows=settings["batch_rows"])
    return policy, MergedSampler(plain, policy, tokenizer, batch_rows=settings["batch_rows"])


def _vllm_engine(settings: Mapping[str, Any], model: Path | str, policy: Any) -> Engine:
    from thinkprior.vllm_engine import VllmEngine, VllmSettings

    return VllmEngine(
        model,
        load_tokenizer(model),
        VllmSettings(**settings["vllm"]),
        dtype=settings["dtype"],
        device=settings["device"],
        batch_rows=settings["batch_rows"],
        threads=settings["threads"],
        policy=policy,
    )


def _load(settings: Mapping[str, Any], model: Path | str) -> Any:
    import torch

    torch.set_num_threads(settings["threads"])
    return load_model(model, settings["dtype"], settings["device"])
