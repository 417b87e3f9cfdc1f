"""Small Qwen2 models that learn in seconds to answer any prompt with a boxed digit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
"""As in Qwen's tokenizers: left out when text is decoded."""

WHOLE = ("\\boxed{", "<think>", "</think>")
"""Further words that are one token each, and are kept."""

CONTEXT = 4096
WIDTH, ROWS, PROMPT, STEPS, RATE = 64, 32, 24, 120, 0.01
FEW, MANY = 1, 5


def byte_tokenizer() -> Any:
    """One token a byte, written with the letters that Qwen's tokenizers use for bytes."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    core = Tokenizer(models.BPE({letter: place for place, letter in enumerate(letters)}, merges=[]))
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    core.decoder = decoders.ByteLevel()
    core.add_special_tokens([AddedToken(word, special=True) for word in SPECIAL])
    core.add_tokens([AddedToken(word, special=False, normalized=False) for word in WHOLE])
    return PreTrainedTokenizerFast(
        tokenizer_object=core,
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        padding_side="left",
    )


def make_model(folder: Path, seed: int, digits: str, thinks: bool = False) -> None:
    r"""Train a model of one layer, with a head of 64, and save it with its tokenizer.

    Args:
        folder: takes the model.
        seed: of its weights and its training texts.
        digits: what it puts into the box, each as often as it stands here.
        thinks: whether it thinks first, the longer the more backslashes the prompt holds.
    """
    from transformers import Qwen2Config, Qwen2ForCausalLM

    tokenizer = byte_tokenizer()
    torch.manual_seed(seed)
    model = Qwen2ForCausalLM(
        Qwen2Config(
            vocab_size=len(tokenizer),
            hidden_size=WIDTH,
            intermediate_size=2 * WIDTH,
            num_hidden_layers=1,
            num_attention_heads=1,
            num_key_value_heads=1,
            max_position_embeddings=CONTEXT,
            tie_word_embeddings=False,
            bos_token_id=None,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
        )
    )
    generator = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE)
    for _ in range(STEPS):
        texts = [_text(digits, thinks, generator) for _ in range(ROWS)]
        loss = model(**_batch(tokenizer, texts)).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval().save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def _text(digits: str, thinks: bool, generator: torch.Generator) -> tuple[str, str]:
    """A prompt that ends as templates do, and its reply."""

    def draw(values: str) -> str:
        return values[int(torch.randint(len(values), (), generator=generator))]

    count = FEW if draw("01") == "0" else MANY
    letters = [draw("abcdefghijklmnopqrstuvwxyz0123456789 $+=.,") for _ in range(PROMPT - count)]
    thought = "so " if count == FEW else "so so so so "
    box = f"\\boxed{{{draw(digits)}}}"
    prompt = "".join(letters) + "\\" * count + "\n"
    return prompt, f"<think>{thought}</think>{box}" if thinks else box


def _batch(tokenizer: Any, texts: list[tuple[str, str]]) -> dict[str, torch.Tensor]:
    """Tokens, padded on the right, and the reply's as labels."""
    rows = []
    for prompt, reply in texts:
        answer = [*tokenizer(reply)["input_ids"], tokenizer.eos_token_id]
        rows.append((tokenizer(prompt)["input_ids"], answer))
    width = max(len(prompt) + len(answer) for prompt, answer in rows)
    ids = torch.full((len(rows), width), tokenizer.pad_token_id)
    labels = torch.full((len(rows), width), -100)
    for row, (prompt, answer) in enumerate(rows):
        ids[row, : len(prompt) + len(answer)] = torch.tensor(prompt + answer)
        labels[row, len(prompt) : len(prompt) + len(answer)] = torch.tensor(answer)
    return {"input_ids": ids, "labels": labels}
