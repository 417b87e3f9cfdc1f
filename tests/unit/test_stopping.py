"""Stop texts: where a completion ends, what its text is, and how seldom it has to be looked at."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thinkprior import plans
from thinkprior.configuration import load, parse
from thinkprior.errors import InputError
from thinkprior.protocol import Protocol
from thinkprior.rollouts import Completion, PromptCompletions, Sampling
from thinkprior.stopping import completions_of, stopping_tokens, text_before, tokens_until_stop
from thinkprior.transformers_engine import TransformersEngine

PIECES = (
    *["<pad>", "<end>", "a", "b", "c", "Q", ":", "\n", " ", "1", "2"],
    *["\n\n", "\n\n\n", "a\n", "\na", "\n\nQ", "Q:", ":Q", "ab", "bc", "abc", "b\n\nc", " Q", ": "],
    *[
        "é",
        "éa",
        "12",
        "21",
        "1\n",
        "c\n\n",
        "\nQ",
        "ca",
        "cab",
        "1a",
        "2b",
        "::",
        "::Q",
        "aa",
        "bb",
    ],
    "cc",
)
"""Forty tokens: stop texts can span several of them, or lie within one."""

STOPS = [("\n\n",), ("\nQ",), ("Q:", "\n"), ("bc", "cab"), ("a\n\nb",), ("é",), ("12 :",)]
END = 1
PROMPTS = ["a", "abc", "12Q", "bb:cc", "1", "2a"]
SEEDS = [3, 4, 5, 6, 7, 8]


@pytest.fixture(scope="module")
def pieces() -> Any:
    """A tokenizer whose tokens are the pieces; a text is read character by character."""
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    core = Tokenizer(models.WordLevel({p: i for i, p in enumerate(PIECES)}, unk_token="<pad>"))
    core.pre_tokenizer = pre_tokenizers.Split(Regex("."), behavior="isolated")
    core.decoder = decoders.Fuse()
    return PreTrainedTokenizerFast(
        tokenizer_object=core, pad_token="<pad>", eos_token="<end>", padding_side="left"
    )


def text_of(tokens: Sequence[int]) -> str:
    return "".join(PIECES[token] for token in tokens if token > END)


def by_hand(tokens: Sequence[int], stops: Sequence[str]) -> tuple[list[int], str, bool]:
    """Tokens, text and truncation of what was drawn without stop texts, token for token."""
    for count in range(1, len(tokens) + 1):
        text = text_of(tokens[:count])
        if any(stop in text for stop in stops):
            first = min(text.find(stop) for stop in stops if stop in text)
            return list(tokens[:count]), text[:first], False
    return list(tokens), text_of(tokens), tokens[-1] != END


def shown(completion: Completion) -> tuple[list[int], str, bool]:
    return completion.tokens.tolist(), completion.text, completion.truncated


def drawn(results: list[PromptCompletions]) -> list[tuple[list[int], str, bool]]:
    return [shown(completion) for result in results for completion in result.completions]


# --- The rule -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "stops", "before"),
    [
        ("one\n\ntwo\n\n", ["\n\n"], "one"),
        ("one\nQ: two", ["Q:", "\n"], "one"),
        ("\none", ["\n"], ""),
        ("one", ["\n"], None),
        ("one", [], None),
    ],
)
def test_the_text_ends_before_the_first_stop_text(
    text: str, stops: list[str], before: str | None
) -> None:
    assert text_before(text, stops) == before


@given(st.lists(st.integers(2, len(PIECES) - 1), min_size=1, max_size=30), st.sampled_from(STOPS))
def test_a_completion_is_cut_where_a_walk_over_its_tokens_first_sees_a_stop_text(
    tokens: list[int], stops: tuple[str, ...]
) -> None:
    expected = by_hand(tokens, stops)
    if text_before(text_of(tokens), stops) is not None:
        assert tokens_until_stop(tokens, text_of, stops) == len(expected[0])


@pytest.mark.parametrize("stops", STOPS)
def test_the_tokens_that_can_end_a_stop_text(pieces: Any, stops: tuple[str, ...]) -> None:
    # After some beginning of a stop text the token completes it.
    expected = [
        token
        for token, piece in enumerate(PIECES)
        if token > END
        and any(stop in stop[:begun] + piece for stop in stops for begun in range(len(stop)))
    ]
    assert stopping_tokens(pieces, stops) == expected


def test_bytes_of_a_character_may_end_a_stop_text_that_has_such_characters() -> None:
    class Bytes:
        """Two tokens are the bytes of one character; alone they have no text."""

        def __call__(self, text: str, add_special_tokens: bool) -> dict[str, list[int]]:
            return {"input_ids": [0]}

        def __len__(self) -> int:
            return 3

        def decode(self, tokens: Sequence[int], skip_special_tokens: bool) -> str:
            return bytes(b"a\xc3\xa9"[token] for token in tokens).decode(errors="replace")

        def batch_decode(self, rows: Sequence[Sequence[int]], skip_special_tokens: bool) -> Any:
            return [self.decode(row, skip_special_tokens) for row in rows]

    assert 2 in stopping_tokens(Bytes(), ("é",))
    assert stopping_tokens(Bytes(), ("b",)) == []


def test_an_end_token_or_a_stop_text_at_the_cap_is_no_truncation(pieces: Any) -> None:
    ended, stopped, cut = completions_of(
        [np.array([2, 3, END]), np.array([2, 3, 11]), np.array([2, 3, 4])], pieces, {END}, ["\n\n"]
    )
    assert shown(ended) == ([2, 3, END], "ab", False)
    assert shown(stopped) == ([2, 3, 11], "ab", False)
    assert shown(cut) == ([2, 3, 4], "abc", True)


# --- The transformers engine ----------------------------------------------------------------------


@pytest.fixture(params=["qwen2", "llama"])
def engine(
    request: pytest.FixtureRequest, tiny_model: Callable[..., Any], pieces: Any
) -> TransformersEngine:
    return TransformersEngine(tiny_model(request.param), pieces, batch_rows=64)


@pytest.mark.parametrize("stops", STOPS)
@pytest.mark.parametrize("temperature", [0.0, 2.0])
def test_completions_are_those_without_stop_texts_cut_by_hand(
    engine: TransformersEngine, stops: tuple[str, ...], temperature: float
) -> None:
    samples = 8 if temperature else 1
    free = engine.generate(PROMPTS, samples, Sampling(temperature, 30, 50), SEEDS)
    expected = [by_hand(tokens, stops) for tokens, _, _ in drawn(free)]
    found = engine.generate(PROMPTS, samples, Sampling(temperature, 30, 50, stops), SEEDS)
    assert drawn(found) == expected
    if temperature and stops not in (("12 :",), ("a\n\nb",)):
        assert any(len(a[0]) < len(b[0]) for a, b in zip(expected, drawn(free), strict=True))


@pytest.mark.parametrize("batch_rows", [1, 8, 20])
def test_stopping_does_not_depend_on_the_batch(
    tiny_model: Callable[..., Any], pieces: Any, batch_rows: int
) -> None:
    model, sampling = tiny_model(), Sampling(2.0, 30, 50, ("\n\n", "bc"))
    whole = TransformersEngine(model, pieces, batch_rows=64).generate(PROMPTS, 5, sampling, SEEDS)
    parts = TransformersEngine(model, pieces, batch_rows=batch_rows)
    assert drawn(parts.generate(PROMPTS, 5, sampling, SEEDS)) == drawn(whole)


def test_only_rows_that_drew_such_a_token_are_read_on_the_way(
    engine: TransformersEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    read_rows: list[list[int]] = []
    original = TransformersEngine._stopped

    def watched(self: TransformersEngine, tokens: Any, stop: tuple[str, ...]) -> Any:
        read_rows.extend(tokens.tolist())
        return original(self, tokens, stop)

    monkeypatch.setattr(TransformersEngine, "_stopped", watched)
    engine.generate(PROMPTS, 8, Sampling(2.0, 30, 50, ("\n\n",)), SEEDS)
    can_end = {token for token, piece in enumerate(PIECES) if piece[:1] == "\n" or "\n\n" in piece}
    assert read_rows
    assert all(row[-1] in can_end for row in read_rows)
    read_rows.clear()
    engine.generate(PROMPTS, 8, Sampling(2.0, 30, 50), SEEDS)
    assert not read_rows


# --- The settings ---------------------------------------------------------------------------------

SMALL = load(Path(__file__).parent / "small.yaml")


def with_stop(stop: list[str]) -> dict[str, Any]:
    values = copy.deepcopy(SMALL)
    values["prompting"]["stop"] = stop
    return values


@pytest.mark.parametrize("stop", [[], ["\n", "Q:"]])
def test_jobs_have_stop_texts_in_their_settings_only_where_there_are_any(stop: list[str]) -> None:
    config = parse(with_stop(stop), "small.yaml")
    arm, policy = next(iter(config.campaigns["main"].arms)), config.campaigns["main"].policy
    settings = [
        plans.run_settings(config, "main", arm, 0)["plan"]["sampling"],
        plans.evaluation_settings(config, f"main/{arm}/seed0"),
        plans.protocol_settings(config, "main")["protocol"],
        *(
            plans.probe_settings(config, kind, policy)
            for kind in ("reference", "anchor", "thinking", "respondent")
        ),
    ]
    for one in settings:
        assert one.get("stop", []) == stop
        assert ("stop" in one) is bool(stop)


def test_an_empty_stop_text_is_refused() -> None:
    with pytest.raises(InputError, match=r"prompting\.stop"):
        parse(with_stop([""]), "small.yaml")


def test_the_protocol_says_how_an_answer_ends() -> None:
    protocol = Protocol("{problem}", 24, 400, stop=("\n",))
    assert r"ends at the model's end token or '\n', or is cut off" in protocol.statement()
