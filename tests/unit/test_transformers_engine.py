"""The transformers engine against the library's own generation and the model's probabilities."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from scipy import stats

from thinkprior import transformers_engine
from thinkprior.decoding import Stem
from thinkprior.errors import InputError
from thinkprior.rollouts import PromptCompletions, Sampling
from thinkprior.transformers_engine import TransformersEngine, end_tokens

PROMPTS = ["a", "compute 12 + 34", "what is x", "0123456789", "zz", "the sum of 7 and 8 is"]
SEEDS = [11, 12, 13, 14, 15, 16]
GREEDY = Sampling(temperature=0.0, max_new_tokens=20, max_prompt_tokens=50)
SAMPLED = Sampling(temperature=0.9, max_new_tokens=20, max_prompt_tokens=50)
END, OTHER_END = 1, 17


@pytest.fixture(params=["qwen2", "llama"])
def model(request: pytest.FixtureRequest, tiny_model: Callable[..., Any]) -> Any:
    """A model with two end tokens: the tokenizer's, and one of the generation config."""
    model = tiny_model(request.param)
    model.generation_config.eos_token_id = [END, OTHER_END]
    return model


def tokens_of(results: list[PromptCompletions]) -> list[list[list[int]]]:
    return [[c.tokens.tolist() for c in result.completions] for result in results]


def engine_of(model: Any, tokenizer: Any, batch_rows: int = 64) -> TransformersEngine:
    return TransformersEngine(model, tokenizer, batch_rows=batch_rows)


# --- Greedy ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("batch_rows", [1, 4, 64])
def test_greedy_is_the_librarys_generate_token_for_token(
    model: Any, tokenizer: Any, batch_rows: int
) -> None:
    results = engine_of(model, tokenizer, batch_rows).generate(PROMPTS, 1, GREEDY, SEEDS)
    batch = tokenizer(PROMPTS, padding=True, return_tensors="pt")
    generated = model.generate(
        **batch, do_sample=False, max_new_tokens=20, eos_token_id=[END, OTHER_END], pad_token_id=0
    )
    width = batch["input_ids"].shape[1]
    for result, row in zip(results, generated, strict=True):
        ours = result.completions[0].tokens.tolist()
        assert row[width : width + len(ours)].tolist() == ours
        if len(ours) < 20:
            assert ours[-1] in (END, OTHER_END)
    assert len({tuple(r.completions[0].tokens.tolist()) for r in results}) > 1


def test_greedy_samples_are_all_alike(model: Any, tokenizer: Any) -> None:
    (result,) = engine_of(model, tokenizer).generate(["ab"], 3, GREEDY, [0])
    first, *others = result.completions
    assert all(other.tokens.tolist() == first.tokens.tolist() for other in others)


# --- Sampling -------------------------------------------------------------------------------------


def test_samples_do_not_depend_on_what_is_generated_beside_them(model: Any, tokenizer: Any) -> None:
    together = tokens_of(engine_of(model, tokenizer).generate(PROMPTS, 5, SAMPLED, SEEDS))
    for batch_rows in (1, 7, 12):
        engine = engine_of(model, tokenizer, batch_rows)
        assert tokens_of(engine.generate(PROMPTS, 5, SAMPLED, SEEDS)) == together
    engine = engine_of(model, tokenizer)
    backwards = engine.generate(PROMPTS[::-1], 5, SAMPLED, SEEDS[::-1])
    assert tokens_of(backwards)[::-1] == together
    alone = [
        tokens_of(engine.generate([p], 5, SAMPLED, [s]))[0]
        for p, s in zip(PROMPTS, SEEDS, strict=True)
    ]
    assert alone == together


def test_the_first_samples_of_more_are_the_same(model: Any, tokenizer: Any) -> None:
    engine = engine_of(model, tokenizer)
    few = tokens_of(engine.generate(["ab"], 2, SAMPLED, [3]))[0]
    assert tokens_of(engine.generate(["ab"], 6, SAMPLED, [3]))[0][:2] == few


def test_another_seed_gives_other_samples(model: Any, tokenizer: Any) -> None:
    engine = engine_of(model, tokenizer)
    one, other = engine.generate(["ab", "ab"], 4, SAMPLED, [3, 4])
    assert tokens_of([one]) != tokens_of([other])
    assert len({tuple(c.tokens.tolist()) for c in one.completions}) > 1


def next_token_probabilities(
    model: Any, tokens: list[int], temperature: float
) -> NDArray[np.float64]:
    with torch.no_grad():
        logits = model(input_ids=torch.tensor([tokens])).logits[0, -1].double()
    probabilities: NDArray[np.float64] = torch.softmax(logits / temperature, -1).numpy()
    return probabilities


def assert_frequencies(drawn: list[int], probabilities: NDArray[np.float64]) -> None:
    """A chi-square over the tokens, those expected less than five times taken together."""
    counts = np.bincount(drawn, minlength=len(probabilities))
    common = probabilities * len(drawn) >= 5
    common[np.flatnonzero(common)[probabilities[common].argmin()]] = False
    assert common.sum() >= 3
    observed = np.append(counts[common], counts[~common].sum())
    expected = np.append(probabilities[common], probabilities[~common].sum()) * len(drawn)
    assert stats.chisquare(observed, expected * (len(drawn) / expected.sum())).pvalue > 1e-3


@pytest.mark.parametrize("temperature", [0.9, 2.0])
def test_sampling_frequencies_are_the_tempered_softmax(
    model: Any, tokenizer: Any, temperature: float
) -> None:
    samples = 6000
    sampling = Sampling(temperature, max_new_tokens=2, max_prompt_tokens=50)
    engine = engine_of(model, tokenizer, batch_rows=samples)
    (result,) = engine.generate(["12 +"], samples, sampling, [7])
    prompt = result.prompt_tokens.tolist()
    first = [int(c.tokens[0]) for c in result.completions]
    assert_frequencies(first, next_token_probabilities(model, prompt, temperature))
    # And the second token after the commonest first one that does not end the text.
    common = max(set(first) - {END, OTHER_END}, key=first.count)
    second = [int(c.tokens[1]) for c in result.completions if c.tokens[0] == common]
    assert_frequencies(second, next_token_probabilities(model, [*prompt, common], temperature))


@pytest.mark.parametrize(("vocabulary", "block"), [(40, 7), (40, 8), (40, 64), (5000, 256)])
def test_large_vocabularies_are_drawn_from_block_by_block(
    monkeypatch: pytest.MonkeyPatch, vocabulary: int, block: int
) -> None:
    monkeypatch.setattr(transformers_engine, "BLOCKS_FROM", 2)
    monkeypatch.setattr(transformers_engine, "BLOCK", block)
    generator = torch.Generator().manual_seed(vocabulary + block)
    logits = 2 * torch.randn(500, vocabulary, generator=generator)
    logits[::3, :: block + 1] = -float("inf")  # never drawn
    uniform = torch.rand(500, generator=generator, dtype=torch.float64)
    uniform[:2] = torch.tensor([0.0, 1 - 1e-16], dtype=torch.float64)
    drawn, finite = transformers_engine._draw(logits, 0.9, uniform)
    shares = np.cumsum(torch.softmax(logits.double() / 0.9, -1).numpy(), -1)
    expected = (shares / shares[:, -1:] <= uniform.numpy()[:, None]).sum(-1)
    assert (drawn.numpy() == expected.clip(max=vocabulary - 1)).mean() > 0.99
    assert bool(finite.all())
    assert bool(torch.isfinite(logits.gather(1, drawn[:, None])).all())
    logits[7, vocabulary // 2] = float("nan")
    _, finite = transformers_engine._draw(logits, 0.9, uniform)
    assert torch.nonzero(~finite)[:, 0].tolist() == [7]


def test_a_low_temperature_is_greedy(model: Any, tokenizer: Any) -> None:
    engine = engine_of(model, tokenizer)
    cold = Sampling(1e-6, max_new_tokens=20, max_prompt_tokens=50)
    assert tokens_of(engine.generate(PROMPTS, 1, cold, SEEDS)) == tokens_of(
        engine.generate(PROMPTS, 1, GREEDY, SEEDS)
    )


# --- Prompts that begin alike ---------------------------------------------------------------------

FEW_SHOT = "1 + 1 is 2 and 2 + 3 is 5 "


@pytest.mark.parametrize("batch_rows", [5, 10, 64])
def test_prompts_that_begin_alike_have_their_beginning_read_once_a_call(
    model: Any, tokenizer: Any, monkeypatch: pytest.MonkeyPatch, batch_rows: int
) -> None:
    prompts = [FEW_SHOT + prompt for prompt in PROMPTS]
    stems: list[int] = []

    def watched(layers: Any, tokens: list[int], device: Any) -> Any:
        stems.append(len(tokens))
        return Stem(layers, tokens, device)

    monkeypatch.setattr(transformers_engine, "Stem", watched)
    engine = engine_of(model, tokenizer, batch_rows)
    together = tokens_of(engine.generate(prompts, 5, SAMPLED, SEEDS))
    assert stems == [len(FEW_SHOT)]
    alone = [
        tokens_of(engine.generate([p], 5, SAMPLED, [s]))[0]
        for p, s in zip(prompts, SEEDS, strict=True)
    ]
    assert stems == [len(FEW_SHOT)], "a single prompt has nothing to share"
    assert alone == together


# --- Ends and caps --------------------------------------------------------------------------------


@pytest.mark.parametrize("below", [0.0, 2.0])
def test_taking_finished_sequences_out_changes_nothing(
    model: Any, tokenizer: Any, monkeypatch: pytest.MonkeyPatch, below: float
) -> None:
    # 0: never taken out; 2: after every token.
    engine = engine_of(model, tokenizer)
    sampling = Sampling(2.0, max_new_tokens=40, max_prompt_tokens=50)
    usual = engine.generate(PROMPTS, 8, sampling, SEEDS)
    lengths = {len(c.tokens) for r in usual for c in r.completions}
    assert len(lengths) > 5, "sequences must finish at many places for this to mean much"
    monkeypatch.setattr(transformers_engine, "COMPACT_BELOW", below)
    assert tokens_of(engine.generate(PROMPTS, 8, sampling, SEEDS)) == tokens_of(usual)


def test_only_what_the_cap_ended_is_truncated(
    tiny_model: Callable[..., Any], tokenizer: Any
) -> None:
    model = tiny_model()
    (free,) = engine_of(model, tokenizer).generate(["abc"], 1, GREEDY, [0])
    written = free.completions[0].tokens.tolist()
    end = next(
        token for place, token in enumerate(written) if place >= 2 and token not in written[:place]
    )
    place = written.index(end)
    model.generation_config.eos_token_id = [end]
    engine = engine_of(model, tokenizer)
    for cap, length, truncated in (
        (place, place, True),
        (place + 1, place + 1, False),
        (place + 5, place + 1, False),
    ):
        sampling = Sampling(0.0, max_new_tokens=cap, max_prompt_tokens=50)
        (result,) = engine.generate(["abc"], 1, sampling, [0])
        assert result.completions[0].tokens.tolist() == written[:length]
        assert result.completions[0].truncated is truncated


def test_the_text_has_no_special_tokens(model: Any, tokenizer: Any) -> None:
    sampling = Sampling(2.0, max_new_tokens=40, max_prompt_tokens=50)
    results = engine_of(model, tokenizer).generate(PROMPTS, 4, sampling, SEEDS)
    completions = [c for result in results for c in result.completions]
    assert any(c.tokens[-1] == END for c in completions)
    for completion in completions:
        kept = [token for token in completion.tokens.tolist() if token > 1]
        assert completion.text == "".join(tokenizer.convert_ids_to_tokens(kept))


def test_a_long_prompt_is_cut_to_its_last_tokens(model: Any, tokenizer: Any) -> None:
    engine = engine_of(model, tokenizer)
    short = Sampling(0.9, max_new_tokens=8, max_prompt_tokens=6)
    cut, whole = engine.generate(["0123456789", "456789"], 3, short, [5, 5])
    assert cut.prompt_tokens.tolist() == tokenizer("456789")["input_ids"]
    assert cut.prompt_tokens.tolist() == whole.prompt_tokens.tolist()
    assert tokens_of([cut]) == tokens_of([whole])


def test_results_come_in_the_order_of_the_prompts(model: Any, tokenizer: Any) -> None:
    results = engine_of(model, tokenizer, 2).generate(PROMPTS, 1, GREEDY, SEEDS)
    assert [r.prompt_tokens.tolist() for r in results] == tokenizer(PROMPTS)["input_ids"]


def test_end_tokens_come_from_tokenizer_and_generation_config(
    tiny_model: Callable[..., Any], tokenizer: Any
) -> None:
    model = tiny_model()
    for configured, ends in ((None, {1}), (5, {1, 5}), ([5, 6], {1, 5, 6})):
        model.generation_config.eos_token_id = configured
        assert end_tokens(model, tokenizer) == ends


def test_an_attention_that_would_misread_the_mask_is_refused(
    tiny_model: Callable[..., Any], tokenizer: Any
) -> None:
    with pytest.raises(InputError, match="sdpa"):
        engine_of(tiny_model(attention="eager"), tokenizer)


def test_the_engine_leaves_no_gradient_and_the_weights_as_they_are(
    model: Any, tokenizer: Any
) -> None:
    before = {name: p.clone() for name, p in model.named_parameters()}
    engine_of(model, tokenizer).generate(PROMPTS, 2, SAMPLED, SEEDS)
    for name, parameter in model.named_parameters():
        assert parameter.grad is None
        assert torch.equal(parameter, before[name])
