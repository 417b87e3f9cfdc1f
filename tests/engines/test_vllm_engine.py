"""The real vLLM engine on a small random Qwen2 model, beside transformers and peft in fp32.

One vLLM serves all tests; each gives it a policy of its own. Its cache block holds 128 tokens
without a GPU, so prompts are longer than that: on shorter ones a stale cache cannot be seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

pytestmark = pytest.mark.vllm
pytest.importorskip("vllm", reason="vLLM is not installed: `make vllm` (docs/engines.md)")

from thinkprior import agreement, vllm_engine  # noqa: E402
from thinkprior.adapters import Lora, add_adapter  # noqa: E402
from thinkprior.errors import DisagreementError, InputError, NonFiniteError  # noqa: E402
from thinkprior.models import load_model, load_tokenizer  # noqa: E402
from thinkprior.posterior import BetaPosterior  # noqa: E402
from thinkprior.problems import Problem  # noqa: E402
from thinkprior.prompts import Template  # noqa: E402
from thinkprior.refill import Refill  # noqa: E402
from thinkprior.rollouts import PromptCompletions, Sampling  # noqa: E402
from thinkprior.selection import Uniform  # noqa: E402
from thinkprior.training import Trainer, TrainingPlan  # noqa: E402
from thinkprior.transformers_engine import TransformersEngine  # noqa: E402
from thinkprior.verification import Verdict  # noqa: E402
from thinkprior.vllm_engine import BATCHED_TOKENS, VllmEngine, VllmSettings  # noqa: E402

B, G, STEPS = 4, 4, 3
LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789 +"
GREEDY = Sampling(temperature=0.0, max_new_tokens=32, max_prompt_tokens=250)
SAMPLED = Sampling(temperature=0.9, max_new_tokens=32, max_prompt_tokens=250)
SEEDS = [21, 22, 23, 24]


def long_prompt(number: int) -> str:
    """200 tokens of its own, so that no block is shared with another prompt."""
    return "".join(np.random.default_rng(number).choice(list(LETTERS), 200))


PROMPTS = [long_prompt(number) for number in range(B)]
POOL = [Problem(f"p{number}", prompt, LETTERS[:19]) for number, prompt in enumerate(PROMPTS)]


class FirstCharacterVerifier:
    """A reply is right when its first character is one of the gold's."""

    def grade(self, golds: Sequence[str], responses: Sequence[str]) -> tuple[list[Verdict], None]:
        right = [t[:1] in g and t != "" for g, t in zip(golds, responses, strict=True)]
        return [Verdict.correct if r else Verdict.wrong for r in right], None


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory, tokenizer: Any) -> Path:
    """A random Qwen2 model with heads of 64, which vLLM's attention needs."""
    from transformers import Qwen2Config, Qwen2ForCausalLM

    path = tmp_path_factory.mktemp("model")
    torch.manual_seed(0)
    config = Qwen2Config(
        vocab_size=len(tokenizer),
        hidden_size=128,
        intermediate_size=256,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        max_position_embeddings=512,
        initializer_range=0.15,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=1,
        pad_token_id=0,
    )
    Qwen2ForCausalLM(config).save_pretrained(path)
    tokenizer.save_pretrained(path)
    return path


def policy_of(directory: Path, seed: int = 0) -> Any:
    return add_adapter(load_model(directory), Lora(rank=8, alpha=16.0), seed)


@pytest.fixture(scope="module")
def server(directory: Path) -> VllmEngine:
    return VllmEngine(
        directory,
        load_tokenizer(directory),
        VllmSettings(max_model_len=300),
        dtype="float32",
        device="cpu",
        batch_rows=64,
        threads=1,
        policy=policy_of(directory),
    )


@pytest.fixture
def engine(server: VllmEngine, directory: Path) -> Iterator[VllmEngine]:
    """The engine with a fresh policy."""
    server.policy = policy_of(directory)
    server.adapter, server.previous = {}, None
    yield server


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, agreement.Agreement]]:
    """What the check was given, and what it found, call after call."""
    kept: list[tuple[Any, agreement.Agreement]] = []

    def keep(model: Any, samples: Any, *more: Any) -> agreement.Agreement:
        found = agreement.compare(model, samples, *more)
        kept.append((samples, found))
        return found

    monkeypatch.setattr(vllm_engine, "compare", keep)
    return kept


def stir(policy: Any, seed: int, size: float = 0.05) -> None:
    """Move every weight of the adapter, so that it does something."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in policy.parameters():
            if parameter.requires_grad:
                parameter.add_(size * torch.randn(parameter.shape, generator=generator))


def tokens_of(results: list[PromptCompletions]) -> list[list[list[int]]]:
    return [[c.tokens.tolist() for c in result.completions] for result in results]


def trainer_of(engine: VllmEngine) -> Trainer:
    plan = TrainingPlan(
        campaign="main",
        arm="random",
        seed=0,
        steps=STEPS,
        batch_prompts=B,
        group_size=G,
        learning_rate=0.01,
        gradient_norm=1.0,
        kl_beta=0.0,
        checkpoint_every=10,
        groups_per_batch=4,
        sampling=SAMPLED,
        refill=Refill(discard_silent=False, most_rounds=1),
    )
    verifier: Any = FirstCharacterVerifier()
    return Trainer(
        plan,
        model=engine.policy,
        engine=engine,
        verifier=verifier,
        pool=POOL,
        template=Template("{problem}"),
        selector=Uniform(),
        posterior=BetaPosterior.uniform(len(POOL)),
    )


def ignore(row: dict[str, Any]) -> None:
    """Takes the report of a step."""


def library_greedy(policy: Any, prompt: Sequence[int]) -> list[int]:
    """The greedy completion by transformers and peft alone."""
    ids = torch.tensor([list(prompt)])
    out = policy.generate(input_ids=ids, do_sample=False, max_new_tokens=32, pad_token_id=0)
    found: list[int] = out[0, len(prompt) :].tolist()
    return found


def library_scores(
    policy: Any, prompt: np.ndarray, tokens: np.ndarray, temperature: float
) -> np.ndarray:
    """Log-probabilities of the tokens by a plain forward pass of transformers and peft."""
    with torch.no_grad():
        logits = policy(input_ids=torch.tensor([[*prompt, *tokens]])).logits[0]
    chosen = torch.log_softmax(logits.double() / temperature, -1)[len(prompt) - 1 : -1]
    scores: np.ndarray = chosen.gather(-1, torch.tensor(tokens)[:, None])[:, 0].numpy()
    return scores


# --- Three steps, and the weights after them ------------------------------------------------------


def test_three_steps_and_the_sampler_has_every_steps_weights(
    engine: VllmEngine, tmp_path: Path, compared: list[tuple[Any, agreement.Agreement]]
) -> None:
    before = {n: p.detach().clone() for n, p in engine.policy.named_parameters() if p.requires_grad}
    log = trainer_of(engine).run(tmp_path, ignore)
    _, steps, _ = log.frames()
    assert (steps["update_sequences"] > 0).all(), "each step must change the weights"
    assert any(
        not torch.equal(p, before[n]) for n, p in engine.policy.named_parameters() if n in before
    )
    assert len(compared) == STEPS
    for samples, found in compared:
        assert len(samples) == B
        assert all(len(sample.prompt_tokens) == 200 for sample in samples)
        assert found.largest < 1e-4
    # After the last update too, and by the library's own code.
    results = engine.generate(PROMPTS, 1, GREEDY, SEEDS)
    assert len(compared) == STEPS + 1
    for result in results:
        ours = result.completions[0].tokens.tolist()
        theirs = library_greedy(engine.policy, result.prompt_tokens.tolist())
        assert ours == theirs[: len(ours)]
        assert len(ours) == len(theirs)
    for sample in compared[-1][0]:
        expected = library_scores(engine.policy, sample.prompt_tokens, sample.tokens, 1.0)
        np.testing.assert_allclose(sample.log_probabilities, expected, atol=1e-4)


@pytest.mark.parametrize("temperature", [0.9, 2.0])
def test_log_probabilities_are_those_of_transformers_at_the_temperature(
    engine: VllmEngine, compared: list[tuple[Any, agreement.Agreement]], temperature: float
) -> None:
    stir(engine.policy, 1)
    engine.generate(PROMPTS, 2, Sampling(temperature, 32, 250), SEEDS)
    ((samples, found),) = compared
    for sample in samples:
        expected = library_scores(engine.policy, sample.prompt_tokens, sample.tokens, temperature)
        np.testing.assert_allclose(sample.log_probabilities, expected, atol=1e-4)
    assert found.largest < 1e-4


# --- Stale weights, on purpose --------------------------------------------------------------------


def same_id(engine: VllmEngine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The same id, name and folder, whose files are written anew."""
    folder = tmp_path / "same"
    monkeypatch.setattr(engine, "_identity", lambda loaded: ("same", 900_001, folder))


def in_place(engine: VllmEngine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """`load_inplace=True`, without `reset_prefix_cache` after it."""
    from vllm.lora.request import LoRARequest

    folder = tmp_path / "in-place"
    monkeypatch.setattr(
        engine, "_identity", lambda loaded: (f"in-place {tmp_path}", 900_002, folder)
    )
    monkeypatch.setattr(
        engine,
        "_request",
        lambda name, number, path: LoRARequest(name, number, str(path), load_inplace=True),
    )


def same_name(engine: VllmEngine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A new id each time, under one name and in one folder."""
    folder = tmp_path / "one-name"
    monkeypatch.setattr(engine, "_identity", lambda loaded: ("one-name", 910_000 + loaded, folder))


@pytest.mark.parametrize("sabotage", [same_id, in_place, same_name])
def test_stale_weights_stop_the_run(
    engine: VllmEngine,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    sabotage: Callable[[VllmEngine, pytest.MonkeyPatch, Path], None],
) -> None:
    sabotage(engine, monkeypatch, tmp_path)
    trainer = trainer_of(engine)
    with pytest.raises(DisagreementError, match=r"main/random/seed0, step 2: .*differ by up to"):
        trainer.run(tmp_path, ignore)
    assert trainer.done == 1, "the first weights arrive, those of the second step do not"


def test_in_place_loading_is_stale_through_the_prefix_cache_alone(
    engine: VllmEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The same sabotage goes unseen on prompts shorter than a cache block: why ours are longer.
    in_place(engine, monkeypatch, tmp_path)
    short = [prompt[:60] for prompt in PROMPTS]
    for seed in (2, 3):
        stir(engine.policy, seed)
        engine.generate(short, 1, SAMPLED, SEEDS)
    stir(engine.policy, 4)
    engine.generate(PROMPTS, 1, SAMPLED, SEEDS)
    stir(engine.policy, 5)
    with pytest.raises(DisagreementError):
        engine.generate(PROMPTS, 1, SAMPLED, SEEDS)


def test_unchanged_weights_are_not_handed_over_again(engine: VllmEngine) -> None:
    loaded = engine.loaded
    for _ in range(2):
        engine.generate(PROMPTS[:1], 1, SAMPLED, SEEDS[:1])
    assert engine.loaded == loaded + 1
    stir(engine.policy, 4)
    engine.generate(PROMPTS[:1], 1, SAMPLED, SEEDS[:1])
    assert engine.loaded == loaded + 2


# --- The interface --------------------------------------------------------------------------------


def test_samples_depend_on_their_own_seed_alone(engine: VllmEngine) -> None:
    together = tokens_of(engine.generate(PROMPTS, 4, SAMPLED, SEEDS))
    assert tokens_of(engine.generate(PROMPTS[::-1], 4, SAMPLED, SEEDS[::-1]))[::-1] == together
    alone = [
        tokens_of(engine.generate([prompt], 4, SAMPLED, [seed]))[0]
        for prompt, seed in zip(PROMPTS, SEEDS, strict=True)
    ]
    assert alone == together
    assert tokens_of(engine.generate(PROMPTS[:1], 2, SAMPLED, SEEDS[:1]))[0] == together[0][:2]
    assert len({tuple(tokens) for tokens in together[0]}) == 4
    # Neighbouring seeds have no sample in common, as vLLM's own n would give them.
    near = tokens_of(engine.generate([PROMPTS[0]] * 2, 4, SAMPLED, [5, 6]))
    assert not {tuple(tokens) for tokens in near[0]} & {tuple(tokens) for tokens in near[1]}


def test_long_prompts_are_cut_and_ends_are_kept(engine: VllmEngine) -> None:
    hot = Sampling(2.0, max_new_tokens=40, max_prompt_tokens=150)
    results = engine.generate(PROMPTS, 6, hot, SEEDS)
    for prompt, result in zip(PROMPTS, results, strict=True):
        assert result.prompt_tokens.tolist() == engine.tokenizer(prompt[-150:])["input_ids"]
    completions = [c for result in results for c in result.completions]
    ended = [c for c in completions if not c.truncated]
    assert ended and len(ended) < len(completions)
    for completion in completions:
        tokens = completion.tokens.tolist()
        assert (tokens[-1] == 1) is not completion.truncated
        assert 1 not in tokens[:-1]
        assert len(tokens) == 40 or not completion.truncated
        kept = [token for token in tokens if token > 1]
        assert completion.text == "".join(engine.tokenizer.convert_ids_to_tokens(kept))


@pytest.mark.parametrize("temperature", [0.0, 2.0])
def test_stop_texts_end_completions_as_in_the_transformers_engine(
    engine: VllmEngine, temperature: float
) -> None:
    samples = 6 if temperature else 1
    other = TransformersEngine(engine.policy, engine.tokenizer, batch_rows=64)
    free = engine.generate(PROMPTS, samples, Sampling(temperature, 32, 250), SEEDS)
    texts = [c.text for result in free for c in result.completions]
    # What some completions hold, over two tokens and one: both have to stop there.
    longest = max(texts, key=len)
    stop = (longest[len(longest) // 2 :][:2], longest[-2])
    sampling = Sampling(temperature, 32, 250, stop)

    def held(tokens: np.ndarray) -> list[str]:
        shown = [token for token in tokens.tolist() if token > 1]
        text = "".join(engine.tokenizer.convert_ids_to_tokens(shown))
        return [one for one in stop if one in text]

    stopped = engine.generate(PROMPTS, samples, sampling, SEEDS)
    for before, after in zip(free, stopped, strict=True):
        for whole, cut in zip(before.completions, after.completions, strict=True):
            count = next(
                (n for n in range(1, len(whole.tokens)) if held(whole.tokens[:n])),
                len(whole.tokens),
            )
            ended = held(whole.tokens[:count])
            assert cut.tokens.tolist() == whole.tokens[:count].tolist()
            first = min([whole.text.find(text) for text in ended], default=len(whole.text))
            assert cut.text == whole.text[:first]
            assert cut.truncated is (not ended and whole.truncated)
    assert sum(len(c.tokens) for r in stopped for c in r.completions) < sum(map(len, texts))
    if not temperature:
        theirs = other.generate(PROMPTS, 1, sampling, SEEDS)
        assert tokens_of(theirs) == tokens_of(stopped)
        assert [r.completions[0].text for r in theirs] == [r.completions[0].text for r in stopped]


def test_more_prompts_than_a_forward_pass_holds(engine: VllmEngine) -> None:
    many = [long_prompt(100 + number) for number in range(24)]
    assert sum(map(len, many)) > BATCHED_TOKENS
    brief = Sampling(0.9, max_new_tokens=2, max_prompt_tokens=250)
    together = tokens_of(engine.generate(many, 2, brief, list(range(24))))
    alone = tokens_of(engine.generate(many[-1:], 2, brief, [23]))
    assert together[-1:] == alone


def test_a_prompt_that_does_not_fit_is_refused(engine: VllmEngine) -> None:
    with pytest.raises(InputError, match=r"max_model_len: 300 is too short for 301 tokens"):
        engine.generate(PROMPTS[:1], 1, Sampling(0.9, 101, 250), SEEDS[:1])


def test_vllm_does_not_touch_what_an_adapter_starts_from(
    engine: VllmEngine, directory: Path
) -> None:
    # vLLM seeds torch's generator; an adapter starts from a seed of its own all the same.
    torch.manual_seed(12345)
    expected = [p.detach().clone() for p in policy_of(directory, 7).parameters()]
    engine.generate(PROMPTS[:1], 1, SAMPLED, SEEDS[:1])
    assert all(
        torch.equal(a, b)
        for a, b in zip(expected, policy_of(directory, 7).parameters(), strict=True)
    )
    assert torch.get_num_threads() == 1


def test_numbers_that_are_none_are_reported(engine: VllmEngine) -> None:
    # Last: what is not a number stays in vLLM's cache, and spoils what is drawn after it.
    with torch.no_grad():
        next(p for p in engine.policy.parameters() if p.requires_grad).fill_(float("nan"))
    with pytest.raises(NonFiniteError) as raised:
        engine.generate(PROMPTS, 1, SAMPLED, SEEDS)
    assert raised.value.prompts == (0, 1, 2, 3)
