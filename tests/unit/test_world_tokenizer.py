"""The miniature tokenizer: every text that can come is read and written back whole."""

from __future__ import annotations

from itertools import islice
from typing import Any

import pytest

from thinkprior.world.corpus import FORMS, texts
from thinkprior.world.generator import KINDS
from thinkprior.world.tokenizer import END, PAD, build_tokenizer, vocabulary


@pytest.fixture(scope="module")
def words() -> Any:
    return build_tokenizer()


def test_the_vocabulary_is_fixed_and_without_repeats() -> None:
    once = vocabulary()
    assert once == vocabulary()
    assert len(set(once)) == len(once)
    assert once[:2] == [PAD, END]


@pytest.mark.parametrize("kind", KINDS)
def test_every_text_is_known_and_comes_back(words: Any, kind: str) -> None:
    forms = dict.fromkeys(FORMS, 1.0)
    for problem, answer in islice(texts({kind: 1.0}, forms, {}, "check", 5, set()), 1500):
        text = f"{problem}\n{answer}"
        ids = words(text)["input_ids"]
        assert 0 not in ids, f"an unknown token in {text!r}"
        assert words.decode(ids) == text


def test_numbers_are_digits_and_the_box_is_one_token(words: Any) -> None:
    assert words.tokenize(r"\boxed{123}") == [r"\boxed{", "1", "2", "3", "}"]
    assert words.tokenize("12 apples + 3") == ["1", "2", " apples", " +", " 3"]
    assert words.tokenize("<think>1</think>") == ["<think>", "1", "</think>"]


def test_the_end_token_ends_and_is_left_out_of_the_text(words: Any) -> None:
    assert (words.pad_token_id, words.eos_token_id) == (0, 1)
    ids = [*words("3")["input_ids"], words.eos_token_id]
    assert words.decode(ids, skip_special_tokens=True) == "3"
