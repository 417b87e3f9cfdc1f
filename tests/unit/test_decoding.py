"""The layers called directly against the library's own forward pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from thinkprior import decoding
from thinkprior.decoding import FEWEST_SHARED, Decoding, Stem, check_decodable, shared_length
from thinkprior.errors import InputError

PROMPTS = [[5, 9, 2, 30, 11, 4, 8], [7], [3, 3, 12], [20, 21, 22, 23, 24], [6, 31]]
NEW = [[4, 17, 9, 33], [8, 8, 8, 8], [2, 39, 14, 5], [6, 10, 11, 3], [12, 7, 30, 2]]
CPU = torch.device("cpu")


@pytest.fixture(params=["qwen2", "llama"])
def decoder(request: pytest.FixtureRequest, tiny_model: Callable[..., Any]) -> Any:
    """Layers whose queries share keys and values two by two."""
    return tiny_model(request.param).model


def of_the_library(decoder: Any, tokens: Sequence[int]) -> torch.Tensor:
    """Last hidden state of one sequence, without padding, cache or mask."""
    with torch.no_grad():
        hidden: torch.Tensor = decoder(torch.tensor([tokens])).last_hidden_state[0, -1]
    return hidden


@pytest.mark.parametrize(("at_once", "room"), [(128, 256), (2, 256), (5, 1), (1, 3)])
def test_prompts_and_new_tokens_have_the_librarys_hidden_states(
    decoder: Any, monkeypatch: pytest.MonkeyPatch, at_once: int, room: int
) -> None:
    monkeypatch.setattr(decoding, "PROMPTS_AT_ONCE", at_once)
    monkeypatch.setattr(decoding, "ROOM", room)
    with torch.inference_mode():
        batch = Decoding(decoder, PROMPTS, 4, CPU)
        found = [batch.start(), *(batch.step(torch.tensor(new)) for new in zip(*NEW, strict=True))]
    for count, hidden in enumerate(found):
        for row, (prompt, new) in enumerate(zip(PROMPTS, NEW, strict=True)):
            expected = of_the_library(decoder, [*prompt, *new[:count]])
            torch.testing.assert_close(hidden[row], expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("room", [256, 1])
@pytest.mark.parametrize("apart", [True, False])
def test_repeated_and_kept_rows_go_on_from_their_own_tokens(
    decoder: Any, monkeypatch: pytest.MonkeyPatch, room: int, apart: bool
) -> None:
    monkeypatch.setattr(decoding, "ROOM", room)
    monkeypatch.setattr(decoding, "_on_cpu_in_fp32", lambda tensor: apart)
    new = torch.tensor([[4, 5, 6, 7, 10, 11], [12, 13, 14, 15, 16, 17]])
    with torch.inference_mode():
        batch = Decoding(decoder, PROMPTS[:3], 4, CPU)
        batch.start()
        batch.repeat(2)
        assert batch.apart == (max(map(len, PROMPTS[:3])) if apart else 0)
        for step in (1, 2):
            hidden = batch.step(new[step - 1])
            for row in range(6):
                tokens = [*PROMPTS[row // 2], *new[:step, row].tolist()]
                expected = of_the_library(decoder, tokens)
                torch.testing.assert_close(hidden[row], expected, rtol=1e-5, atol=1e-5)
        batch.keep(torch.tensor([1, 2, 5]))
        assert batch.apart == 0
        batch.step(torch.tensor([8, 9, 3]))
        batch.keep(torch.tensor([0, 2]))
        hidden = batch.step(torch.tensor([18, 19]))
    for row, tokens in enumerate(([*PROMPTS[0], 5, 13, 8, 18], [*PROMPTS[2], 11, 17, 3, 19])):
        expected = of_the_library(decoder, tokens)
        torch.testing.assert_close(hidden[row], expected, rtol=1e-5, atol=1e-5)


# --- Prompts that begin alike ---------------------------------------------------------------------

STEM = [(7 * place) % 38 + 2 for place in range(FEWEST_SHARED + 3)]
STEMMED = [[*STEM, *prompt] for prompt in PROMPTS]


@pytest.mark.parametrize(
    ("prompts", "length"),
    [
        (STEMMED, len(STEM)),
        # Alone nothing is shared; of prompts that are the whole stem the last token is read.
        (STEMMED[:1], 0),
        ([STEM, [*STEM, 5]], len(STEM) - 1),
        ([STEM, STEM, STEM], len(STEM) - 1),
        # One token too few, and a single prompt that begins otherwise.
        ([[*STEM[: FEWEST_SHARED - 1], 5, 6], [*STEM[: FEWEST_SHARED - 1], 6, 6]], 0),
        ([[*STEM[:FEWEST_SHARED], 5, 6], [*STEM[:FEWEST_SHARED], 6, 6]], FEWEST_SHARED),
        ([*STEMMED, [3, *STEM]], 0),
        (PROMPTS, 0),
    ],
)
def test_what_all_prompts_begin_with_is_shared_where_it_is_worth_it(
    prompts: list[list[int]], length: int
) -> None:
    assert shared_length(prompts) == length
    assert shared_length(prompts[::-1]) == length


@pytest.mark.parametrize(("at_once", "room"), [(128, 256), (2, 1)])
def test_a_shared_stem_has_the_librarys_hidden_states(
    decoder: Any, monkeypatch: pytest.MonkeyPatch, at_once: int, room: int
) -> None:
    monkeypatch.setattr(decoding, "PROMPTS_AT_ONCE", at_once)
    monkeypatch.setattr(decoding, "ROOM", room)
    read = 0

    def count(module: Any, args: Any, output: torch.Tensor) -> None:
        nonlocal read
        read += output.shape[:2].numel()

    decoder.embed_tokens.register_forward_hook(count)
    with torch.inference_mode():
        stem = Stem(decoder, STEM, CPU)
        batch = Decoding(decoder, STEMMED, 4, CPU, stem)
        found = [batch.start()]
        if at_once > len(PROMPTS):
            assert read == len(STEM) + len(PROMPTS) * max(map(len, PROMPTS))
        found += [batch.step(torch.tensor(new)) for new in zip(*NEW, strict=True)]
        batch.repeat(2)
        batch.keep(torch.tensor([1, 4]))
        last = batch.step(torch.tensor([5, 6]))
    for count_, hidden in enumerate(found):
        for row, (prompt, new) in enumerate(zip(STEMMED, NEW, strict=True)):
            expected = of_the_library(decoder, [*prompt, *new[:count_]])
            torch.testing.assert_close(hidden[row], expected, rtol=1e-5, atol=1e-5)
    for row, (source, token) in enumerate(((0, 5), (2, 6))):
        expected = of_the_library(decoder, [*STEMMED[source], *NEW[source], token])
        torch.testing.assert_close(last[row], expected, rtol=1e-5, atol=1e-5)


def test_logits_with_a_stem_are_those_without(tiny_model: Callable[..., Any]) -> None:
    model = tiny_model("llama")
    with torch.inference_mode():
        shared, whole = (
            Decoding(model.model, STEMMED, 4, CPU, stem)
            for stem in (Stem(model.model, STEM, CPU), None)
        )
        pairs = [(shared.start(), whole.start())]
        pairs += [(shared.step(new), whole.step(new)) for new in torch.tensor(NEW).T]
        for one, other in pairs:
            torch.testing.assert_close(model.lm_head(one), model.lm_head(other), rtol=0, atol=1e-5)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"model_type": "gemma3", "layer_types": ["full_attention"]}, "not from gemma3"),
        (
            {"model_type": "qwen2", "layer_types": ["full_attention", "sliding_attention"]},
            "sliding",
        ),
    ],
)
def test_other_layers_are_refused(config: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        check_decodable(SimpleNamespace(config=SimpleNamespace(**config)))


@pytest.mark.parametrize("model_type", ["qwen2", "llama"])
def test_both_families_are_taken(tiny_model: Callable[..., Any], model_type: str) -> None:
    check_decodable(tiny_model(model_type).model)
