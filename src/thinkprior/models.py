"""Loading a model and its tokenizer from a directory."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from thinkprior.errors import InputError


def load_tokenizer(directory: Path | str) -> Any:
    """The tokenizer of a model directory, padding on the left.

    A directory that names the generic class gets just that: `AutoTokenizer` would choose by the
    model's type instead, and read the miniature's vocabulary with Qwen's splitting rules.
    """
    from transformers import AutoTokenizer, PreTrainedTokenizerFast

    settings = json.loads((_checked(directory) / "tokenizer_config.json").read_text("utf-8"))
    generic = settings.get("tokenizer_class") in ("TokenizersBackend", "PreTrainedTokenizerFast")
    loader = PreTrainedTokenizerFast if generic else AutoTokenizer
    return loader.from_pretrained(str(directory), padding_side="left")


def load_model(directory: Path | str, dtype: str = "float32", device: str = "cpu") -> Any:
    """The causal language model of a directory, in evaluation mode."""
    import torch
    from transformers import AutoModelForCausalLM
    from transformers.utils import logging

    logging.disable_progress_bar()
    model = AutoModelForCausalLM.from_pretrained(
        str(_checked(directory)), dtype=getattr(torch, dtype)
    )
    return model.to(device).eval()


def _checked(directory: Path | str) -> Path:
    path = Path(directory)
    if not (path / "config.json").exists():
        raise InputError(f"{path}: no config.json there, so no model. Make the model first.")
    return path
