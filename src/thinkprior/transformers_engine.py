"""The transformers engine: sampling from a model of the transformers library, on any device.

Faster than the library's own `generate` for rollouts, since the G samples of a prompt share its
prefill, nothing is computed for a finished sequence once enough of a batch has finished, and the
layers are called without what the library does around them (`thinkprior.decoding`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from thinkprior.decoding import Decoding, Stem, check_decodable, shared_length
from thinkprior.errors import InputError, NonFiniteError
from thinkprior.rollouts import PromptCompletions, Sampling
from thinkprior.stopping import (
    completions_of,
    configured_ends,
    stopping_tokens,
    text_before,
)

COMPACT_BELOW = 0.6
"""Finished sequences are taken out of the batch once the unfinished fall below this share."""

BLOCKS_FROM, BLOCK = 4096, 256
"""Vocabularies from this size are drawn from block by block, of so many tokens."""


def end_tokens(model: Any, tokenizer: Any) -> frozenset[int]:
    """Ids of the tokens that end a completion: the tokenizer's and the generation config's."""
    return configured_ends(model.generation_config.eos_token_id, tokenizer)


class TransformersEngine:
    """Samples from a causal language model that is held in this process.

    The model is used as it is at the moment of the call, so a trainer that shares it with the
    engine always samples from its newest weights.
    """

    def __init__(self, model: Any, tokenizer: Any, *, batch_rows: int) -> None:
        """Wrap a model.

        Args:
            model: a transformers or peft causal language model of the Qwen2 or Llama family.
            tokenizer: its tokenizer.
            batch_rows: how many sequences are decoded at once.
        """
        self.model = model
        self.tokenizer = tokenizer
        self.batch_rows = batch_rows
        self.ends = end_tokens(model, tokenizer)
        self.device = next(model.parameters()).device
        check_decodable(decoder(model))
        ending = torch.zeros(head(model).weight.shape[0], dtype=torch.bool)
        ending[sorted(self.ends)] = True
        self.ending = ending.to(self.device)
        self._tokens: dict[str, list[int]] = {}
        self._stopping: dict[tuple[str, ...], torch.Tensor] = {}

    def generate(
        self, prompts: Sequence[str], samples: int, sampling: Sampling, seeds: Sequence[int]
    ) -> list[PromptCompletions]:
        """See `thinkprior.rollouts.Engine.generate`."""
        tokens = [ids[-sampling.max_prompt_tokens :] for ids in self._tokenize(prompts)]
        # Prompts of like length go together, so that little of a batch is padding.
        order = sorted(range(len(tokens)), key=lambda index: (len(tokens[index]), index))
        results: list[PromptCompletions | None] = [None] * len(tokens)
        per_batch = max(1, self.batch_rows // samples)
        shared = shared_length(tokens)
        with torch.inference_mode():
            stem = Stem(decoder(self.model), tokens[0][:shared], self.device) if shared else None
            for start in range(0, len(order), per_batch):
                chosen = order[start : start + per_batch]
                try:
                    batch = self._batch(
                        [tokens[i] for i in chosen],
                        samples,
                        sampling,
                        [seeds[i] for i in chosen],
                        stem,
                    )
                except NonFiniteError as error:
                    raise NonFiniteError(
                        f"{error}", sorted(chosen[place] for place in error.prompts)
                    ) from None
                for index, result in zip(chosen, batch, strict=True):
                    results[index] = result
        return [result for result in results if result is not None]

    def rest(self) -> None:
        """See `thinkprior.rollouts.Engine.rest`; the weights are the trainer's."""

    def _tokenize(self, prompts: Sequence[str]) -> list[list[int]]:
        """Token ids of prompts; those of a pool come again and again."""
        new = [prompt for prompt in dict.fromkeys(prompts) if prompt not in self._tokens]
        if new:
            self._tokens.update(zip(new, self.tokenizer(new)["input_ids"], strict=True))
        return [self._tokens[prompt] for prompt in prompts]

    def _stopping_tokens(self, stop: tuple[str, ...]) -> torch.Tensor:
        """Which tokens of the vocabulary can end a stop text, [vocabulary]."""
        if stop not in self._stopping:
            stopping = torch.zeros_like(self.ending)
            stopping[stopping_tokens(self.tokenizer, stop)] = True
            self._stopping[stop] = stopping
        return self._stopping[stop]

    def _batch(
        self,
        prompts: list[list[int]],
        samples: int,
        sampling: Sampling,
        seeds: list[int],
        stem: Stem | None,
    ) -> list[PromptCompletions]:
        rows = len(prompts) * samples
        steps = sampling.max_new_tokens
        uniforms = self._uniforms(seeds, samples, sampling) if sampling.temperature > 0 else None
        stopping = self._stopping_tokens(sampling.stop) if sampling.stop else None

        decoding = Decoding(decoder(self.model), prompts, steps, self.device, stem)
        logits = self._head(decoding.start()).repeat_interleave(samples, 0)
        if samples > 1:
            decoding.repeat(samples)

        drawn = torch.full((rows, steps), -1, dtype=torch.long, device=self.device)
        alive = torch.arange(rows, device=self.device)
        finished = torch.zeros(rows, dtype=torch.bool, device=self.device)
        sound = torch.ones(rows, dtype=torch.bool, device=self.device)
        for step in range(steps):
            token, finite = _draw(
                logits, sampling.temperature, None if uniforms is None else uniforms[alive, step]
            )
            sound[alive] &= finite | finished
            drawn[alive, step] = torch.where(finished, -1, token)
            if stopping is not None:
                may_stop = torch.nonzero(stopping[token] & ~finished)[:, 0]
                stopped = self._stopped(drawn[alive[may_stop], : step + 1], sampling.stop)
                finished = finished.index_fill(0, may_stop[stopped], True)
            finished = finished | self.ending[token]
            unfinished = int((~finished).sum())
            if unfinished == 0 or step == steps - 1:
                break
            if unfinished < COMPACT_BELOW * len(finished):
                keep = torch.nonzero(~finished)[:, 0]
                decoding.keep(keep)
                alive, token, finished = alive[keep], token[keep], finished[keep]
            logits = self._head(decoding.step(token))
        # Once a batch: to ask after each token would make a GPU wait.
        if not bool(sound.all()):
            broken = torch.nonzero(~sound)[:, 0] // samples
            raise NonFiniteError(
                "the model gave a log-probability that is no finite number",
                sorted(set(broken.tolist())),
            )
        return self._collect(prompts, drawn.cpu().numpy(), samples, sampling.stop)

    def _stopped(self, drawn: torch.Tensor, stop: tuple[str, ...]) -> torch.Tensor:
        """Which completions hold a stop text by now, [rows]."""
        texts = self.tokenizer.batch_decode(drawn.tolist(), skip_special_tokens=True)
        held = [text_before(text, stop) is not None for text in texts]
        return torch.tensor(held, dtype=torch.bool, device=self.device)

    def _uniforms(self, seeds: list[int], samples: int, sampling: Sampling) -> torch.Tensor:
        """One uniform number a token, from each prompt's own stream: [rows, steps]."""
        shape = (samples, sampling.max_new_tokens)
        draws = [np.random.Generator(np.random.PCG64(seed)).random(shape) for seed in seeds]
        return torch.from_numpy(np.concatenate(draws)).to(self.device)

    def _head(self, hidden: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = head(self.model)(hidden)
        return logits

    def _collect(
        self,
        prompts: list[list[int]],
        drawn: NDArray[np.int64],
        samples: int,
        stop: tuple[str, ...],
    ) -> list[PromptCompletions]:
        completions = completions_of(
            [row[row >= 0] for row in drawn], self.tokenizer, self.ends, stop
        )
        return [
            PromptCompletions(
                np.array(prompt, dtype=np.int64), completions[i * samples : (i + 1) * samples]
            )
            for i, prompt in enumerate(prompts)
        ]


def causal_model(model: Any) -> Any:
    """The causal language model inside a peft wrapper, or the model itself."""
    return model.get_base_model() if hasattr(model, "get_base_model") else model


def decoder(model: Any) -> Any:
    """The stack of layers below the language-model head, adapters included.

    Raises:
        InputError: for an attention other than sdpa, which would misread the boolean masks.
    """
    inner = causal_model(model)
    attention = inner.config._attn_implementation
    if attention != "sdpa":
        raise InputError(
            f"attention {attention!r} would misread the engine's masks without an error; load the "
            "model with attn_implementation='sdpa'."
        )
    return inner.model


def head(model: Any) -> Any:
    """The language-model head."""
    return causal_model(model).lm_head


def _draw(
    logits: torch.Tensor, temperature: float, uniform: torch.Tensor | None
) -> tuple[torch.Tensor, torch.Tensor]:
    """Greedy, or by inversion of the cumulative distribution at one uniform number a row.

    Inversion needs one random number a token whatever the vocabulary, and a row's token depends on
    that row alone.

    Returns:
        The tokens, and for each whether its row held finite numbers, both [rows].
    """
    if uniform is None:
        token = logits.argmax(-1)
        # NaN and infinity count as the greatest, so a row that holds one has it here.
        return token, torch.isfinite(logits.gather(-1, token[:, None])[:, 0])
    probabilities = torch.softmax(logits.float() / temperature, -1)
    if probabilities.shape[-1] < BLOCKS_FROM:
        drawn, total = _inverted(probabilities, uniform[:, None])
        return drawn[:, 0], torch.isfinite(total[:, 0])
    # First the block that holds the number, then the token in it: the sum over a large vocabulary
    # is the dearest part of a draw, and the other blocks' need not be known token by token.
    room = -probabilities.shape[-1] % BLOCK
    blocks = torch.nn.functional.pad(probabilities, (0, room)).view(len(logits), -1, BLOCK)
    sums = blocks.sum(-1)
    block, total = _inverted(sums, uniform[:, None])
    before = sums.double().cumsum(-1).gather(-1, block) - sums.gather(-1, block)
    inside = blocks.gather(1, block[..., None].expand(-1, -1, BLOCK))[:, 0]
    share = (uniform[:, None] * total - before) / sums.gather(-1, block)
    token, _ = _inverted(inside, share.clamp(0, 1))
    drawn = (block * BLOCK + token)[:, 0]
    return drawn.clamp(max=logits.shape[-1] - 1), torch.isfinite(total[:, 0])


def _inverted(weights: torch.Tensor, uniform: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Where each row's cumulative weight passes a share of their sum, and that sum, both [rows, 1].

    Args:
        weights: not negative, [rows, choices].
        uniform: the shares, [rows, 1].
    """
    cumulative = weights.cumsum(-1, dtype=torch.float64)
    total = cumulative[:, -1:]
    drawn = torch.searchsorted(cumulative, uniform * total, right=True)
    return drawn.clamp(max=weights.shape[-1] - 1), total
