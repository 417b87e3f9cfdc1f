"""Shared by all tests: one thread, the same property-test examples every time, tiny models."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

# Before anything imports a numerical library, since each reads this once.
for _name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[_name] = "1"
os.environ["HF_HUB_OFFLINE"] = "1"

import pytest  # noqa: E402
from hypothesis import settings  # noqa: E402

settings.register_profile("stable", derandomize=True, deadline=None, database=None, max_examples=60)
settings.load_profile("stable")

CHARACTERS = "abcdefghijklmnopqrstuvwxyz0123456789 +"
PAD, END = "<pad>", "<end>"


@pytest.fixture(scope="session")
def tokenizer() -> Any:
    """One token a character, with a padding and an end token: 40 tokens in all."""
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = {token: index for index, token in enumerate([PAD, END, *CHARACTERS])}
    core = Tokenizer(models.WordLevel(words, unk_token=PAD))
    core.pre_tokenizer = pre_tokenizers.Split(Regex("."), behavior="isolated")
    core.decoder = decoders.Fuse()
    return PreTrainedTokenizerFast(
        tokenizer_object=core, pad_token=PAD, eos_token=END, padding_side="left"
    )


@pytest.fixture(scope="session")
def tiny_model() -> Callable[..., Any]:
    """Makes a random causal language model over the tokenizer's 40 tokens.

    Its first argument is the family, "qwen2" or "llama"; `seed` names the weights. The weights are
    wide enough for the next token to depend on every earlier one.
    """
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM, Qwen2Config, Qwen2ForCausalLM

    torch.set_num_threads(1)
    families = {
        "qwen2": (Qwen2Config, Qwen2ForCausalLM),
        "llama": (LlamaConfig, LlamaForCausalLM),
    }

    def make(family: str = "qwen2", seed: int = 0, attention: str = "sdpa") -> Any:
        config_class, model_class = families[family]
        config = config_class(
            vocab_size=len(CHARACTERS) + 2,
            hidden_size=16,
            intermediate_size=32,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=128,
            initializer_range=0.3,
            tie_word_embeddings=True,
            bos_token_id=None,
            eos_token_id=1,
            pad_token_id=0,
            attn_implementation=attention,
        )
        torch.manual_seed(seed)
        return model_class(config).eval()

    return make


@pytest.fixture
def model_directory(tmp_path: Path, tiny_model: Callable[..., Any], tokenizer: Any) -> Path:
    """A saved tiny model with its tokenizer."""
    directory = tmp_path / "model"
    tiny_model().save_pretrained(directory)
    tokenizer.save_pretrained(directory)
    return directory
