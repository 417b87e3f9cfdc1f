"""What ends a completion: end tokens, and stop texts.

A completion ends at the first token with which its text holds a stop text. Its tokens stay as they
were drawn, since the policy learns to stop by them; its text is cut before the first of the stop
texts.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thinkprior.rollouts import Completion

Decode = Callable[[Sequence[int]], str]
"""Text of token ids, without special tokens."""


def configured_ends(configured: int | list[int] | None, tokenizer: Any) -> frozenset[int]:
    """Ids of the tokens that end a completion: the tokenizer's and the generation config's.

    Args:
        configured: `eos_token_id` of the generation config.
        tokenizer: the model's tokenizer.
    """
    listed = configured if isinstance(configured, list) else [configured]
    return frozenset(int(i) for i in [tokenizer.eos_token_id, *listed] if i is not None)


def text_before(text: str, stops: Sequence[str]) -> str | None:
    """The text before the first stop text that it holds; None where it holds none."""
    places = [place for stop in stops if (place := text.find(stop)) >= 0]
    return text[: min(places)] if places else None


def tokens_until_stop(tokens: Sequence[int], decode: Decode, stops: Sequence[str]) -> int:
    """How many of the tokens there are with the first by which their text holds a stop text.

    Args:
        tokens: token ids whose text holds one.
        decode: text of token ids.
        stops: the stop texts.
    """
    return bisect.bisect_left(
        range(len(tokens)),
        True,
        lo=1,
        key=lambda count: text_before(decode(tokens[:count]), stops) is not None,
    )


def completions_of(
    rows: Sequence[NDArray[np.int64]], tokenizer: Any, ends: Collection[int], stops: Sequence[str]
) -> list[Completion]:
    """Completions of what an engine drew.

    Args:
        rows: the tokens of each, not empty. What was drawn after a stop text is left out.
        tokenizer: the model's tokenizer.
        ends: ids of the tokens that end a completion.
        stops: the stop texts.
    """

    def decode(tokens: Sequence[int]) -> str:
        return str(tokenizer.decode(tokens, skip_special_tokens=True))

    # Lists, since the tokenizer would take arrays apart number by number.
    texts = tokenizer.batch_decode([row.tolist() for row in rows], skip_special_tokens=True)
    completions = []
    for row, text in zip(rows, texts, strict=True):
        before = text_before(text, stops)
        if before is None:
            completions.append(Completion(row, text, int(row[-1]) not in ends))
            continue
        until = tokens_until_stop(row.tolist(), decode, stops)
        completions.append(Completion(row[:until], before, truncated=False))
    return completions


def stopping_tokens(tokenizer: Any, stops: Sequence[str]) -> list[int]:
    """Ids of the tokens with whose text a stop text can end.

    Only after these does the text of a completion have to be looked at.
    """
    # After another token: some tokenizers drop a space from the first one.
    first = tokenizer("a", add_special_tokens=False)["input_ids"][:1]
    before = len(tokenizer.decode(first, skip_special_tokens=True))
    texts = tokenizer.batch_decode(
        [[*first, token] for token in range(len(tokenizer))], skip_special_tokens=True
    )
    return [token for token, text in enumerate(texts) if _can_end(text[before:], stops)]


def _can_end(text: str, stops: Sequence[str]) -> bool:
    """Whether a stop text can end within a token's text."""
    for stop in stops:
        # Bytes of a character that is spread over tokens have no text of their own.
        if "\ufffd" in text and not stop.isascii():
            return True
        for place, character in enumerate(text, 1):
            begun = text[:place]
            if character == stop[-1] and (begun.endswith(stop) or stop.endswith(begun)):
                return True
    return False
