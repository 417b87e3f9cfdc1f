"""The layers called directly against the library's own forward pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from thinkprior import decoding
from thinkprior.decoding import Decoding, check_decodable
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


def test_repeated_and_kept_rows_go_on_from_their_own_tokens(decoder: Any) -> None:
    with torch.inference_mode():
        batch = Decoding(decoder, PROMPTS[:2], 4, CPU)
        batch.start()
        batch.repeat(2)
        batch.step(torch.tensor([4, 5, 6, 7]))
        batch.keep(torch.tensor([1, 2]))
        hidden = batch.step(torch.tensor([8, 9]))
    for row, tokens in enumerate(([*PROMPTS[0], 5, 8], [*PROMPTS[1], 6, 9])):
        expected = of_the_library(decoder, tokens)
        torch.testing.assert_close(hidden[row], expected, rtol=1e-5, atol=1e-5)


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
