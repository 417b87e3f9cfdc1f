"""Tokenizer of the miniature models: whole words, single digits, and the box as one token."""

from __future__ import annotations

import re
from random import Random
from typing import Any

from thinkprior.world import templates

PATTERN = r"\\boxed\{|\\pi|</?think>| ?[A-Za-z]+| ?[0-9]| ?[^\sA-Za-z0-9\\]| |\n"
"""One token a match: a LaTeX command in use, a word with the space before it, a digit, a sign."""

PAD, END = "<pad>", "<end>"

WORDED = "The answer is "
"""Opening of an answer in words, without a box."""


def vocabulary() -> list[str]:
    """Every token that a template, a completion form or a number can need, in a fixed order."""
    rng = Random(0)
    groups = [template for levels in templates.MATH.values() for template in levels]
    groups += [*templates.WORD_PROBLEMS, *templates.WITH_UNITS]
    groups += [*templates.COMBINED]
    found: set[str] = set()
    for template in groups:
        for _ in range(200):
            draft = template(rng)
            for text in (draft.text, draft.answer, draft.working):
                found.update(re.findall(PATTERN, text))
    found.update(re.findall(PATTERN, WORDED))
    found.update("0123456789+-*/=%()")
    found.update(f" {digit}" for digit in range(10))
    found.update((r"\boxed{", "}", r"\pi", "<think>", "</think>", " ", "\n", ".", " so"))
    return [PAD, END, *sorted(found)]


def build_tokenizer() -> Any:
    """A `PreTrainedTokenizerFast` over `vocabulary`; decoding joins the tokens' texts."""
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = {token: index for index, token in enumerate(vocabulary())}
    core = Tokenizer(models.WordLevel(words, unk_token=PAD))
    core.pre_tokenizer = pre_tokenizers.Split(Regex(PATTERN), behavior="isolated")
    core.decoder = decoders.Fuse()
    return PreTrainedTokenizerFast(
        tokenizer_object=core,
        pad_token=PAD,
        eos_token=END,
        padding_side="left",
        clean_up_tokenization_spaces=False,
    )
