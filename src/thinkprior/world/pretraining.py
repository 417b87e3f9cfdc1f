"""Supervised training of the miniature models on generated texts."""

from __future__ import annotations

import io
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch

from thinkprior.prompts import Template
from thinkprior.randomness import stream_seed
from thinkprior.state import State
from thinkprior.world.corpus import texts
from thinkprior.world.tokenizer import build_tokenizer

STATE_EVERY = 100
"""Steps between two writings of the state: a second or two of work."""


@dataclass(frozen=True)
class ModelPlan:
    """What one miniature model is, and what it is trained on.

    Attributes:
        name: names the random streams of its weights and its corpus.
        seed: their seed.
        hidden_size, layers, heads, intermediate_size: the Qwen2 architecture.
        kinds: problem kind to its share of the corpus.
        forms: completion form to its share.
        boxed_by_subject: boxed share of single subjects.
        steps: updates of `batch_size` texts.
        learning_rate: peak of the one-cycle schedule.
    """

    name: str
    seed: int
    hidden_size: int
    layers: int
    heads: int
    intermediate_size: int
    kinds: Mapping[str, float]
    forms: Mapping[str, float]
    boxed_by_subject: Mapping[str, float]
    steps: int
    batch_size: int
    learning_rate: float


def build_model(plan: ModelPlan, vocabulary: int, end: int, pad: int) -> Any:
    """A fresh Qwen2 model in fp32 whose weights come from the plan's stream."""
    from transformers import Qwen2Config, Qwen2ForCausalLM

    config = Qwen2Config(
        vocab_size=vocabulary,
        hidden_size=plan.hidden_size,
        intermediate_size=plan.intermediate_size,
        num_hidden_layers=plan.layers,
        num_attention_heads=plan.heads,
        num_key_value_heads=plan.heads,
        max_position_embeddings=256,
        tie_word_embeddings=True,
        # The library's 0.02 is meant for wide models; at a width of 64 training hardly starts.
        initializer_range=plan.hidden_size**-0.5,
        bos_token_id=None,
        eos_token_id=end,
        pad_token_id=pad,
        attn_implementation="sdpa",
    )
    torch.manual_seed(stream_seed("weights", plan.name, plan.seed) % 2**32)
    return Qwen2ForCausalLM(config)


def _batches(
    pairs: Iterator[tuple[str, str]], tokenizer: Any, template: Template, size: int
) -> Iterator[tuple[torch.Tensor, torch.Tensor, torch.Tensor]]:
    """Right-padded ids, the flat positions that predict a completion token, and those tokens.

    Texts are tokenized 32 batches at a time. They stay in the order drawn: batches sorted by length
    hold less padding, but each then has few kinds of problem, and the model learns more slowly.
    """
    end, pad = tokenizer.eos_token_id, tokenizer.pad_token_id
    while True:
        chunk = list(itertools.islice(pairs, 32 * size))
        prompts = tokenizer([template.prompt(problem) for problem, _ in chunk])["input_ids"]
        answers = tokenizer([answer for _, answer in chunk])["input_ids"]
        rows = list(zip(prompts, answers, strict=True))
        for start in range(0, len(rows), size):
            batch = rows[start : start + size]
            width = max(len(prompt) + len(answer) for prompt, answer in batch)
            ids = torch.full((size, width), pad)
            places: list[int] = []
            targets: list[int] = []
            for row, (prompt, answer) in enumerate(batch):
                tokens = [*prompt, *answer]
                ids[row, : len(tokens)] = torch.tensor(tokens)
                first = row * width + len(prompt) - 1
                places.extend(range(first, first + len(answer) + 1))
                targets.extend([*answer, end])
            yield ids, torch.tensor(places), torch.tensor(targets)


def _one_cycle(step: int, steps: int) -> float:
    """Share of the peak learning rate: linear warm-up over a tenth, cosine to a fiftieth."""
    warm = max(1, steps // 10)
    if step < warm:
        return (step + 1) / warm
    return 0.02 + 0.49 * (1 + math.cos(math.pi * (step - warm) / max(1, steps - warm)))


def pretrain(
    plan: ModelPlan,
    template: Template,
    exclude: Set[str],
    directories: Mapping[int, Path],
    report: Callable[[int, float], None],
    state: State | None = None,
) -> None:
    """Train a miniature model and save it, as `save_pretrained` directories with their tokenizer.

    Args:
        plan: the model.
        template: how a problem becomes a prompt.
        exclude: normalised problem texts that the corpus must not hold.
        directories: step to the directory that takes the model after that step.
        report: takes the step and the running loss every 200 steps and at the end.
        state: keeps the newest model and the kept ones, to go on from.
    """
    from transformers.utils import logging

    logging.disable_progress_bar()
    tokenizer = build_tokenizer()
    model = build_model(plan, len(tokenizer), tokenizer.eos_token_id, tokenizer.pad_token_id)
    model.train()
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=plan.learning_rate, betas=(0.9, 0.98), weight_decay=0.01, fused=True
    )
    pairs = texts(plan.kinds, plan.forms, plan.boxed_by_subject, plan.name, plan.seed, exclude)
    batches = _batches(pairs, tokenizer, template, plan.batch_size)
    running, done = math.nan, 0
    saved = None if state is None else _saved(state, directories)
    if saved is not None:
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        running, done = saved["running"], saved["step"]
    for step in range(1, plan.steps + 1):
        ids, places, targets = next(batches)
        if step <= done:
            # The texts before are drawn again, so that those after are the same.
            continue
        for group in optimizer.param_groups:
            group["lr"] = plan.learning_rate * _one_cycle(step - 1, plan.steps)
        # Right padding under a causal mask needs no attention mask: no token that counts sees it.
        hidden = model.model(input_ids=ids, use_cache=False).last_hidden_state
        logits = model.lm_head(hidden.flatten(0, 1)[places])
        loss = torch.nn.functional.cross_entropy(logits, targets)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        value = float(loss.detach())
        running = value if math.isnan(running) else 0.98 * running + 0.02 * value
        if step % 200 == 0 or step == plan.steps:
            report(step, running)
        if step in directories:
            model.save_pretrained(directories[step])
            tokenizer.save_pretrained(directories[step])
            if state is not None:
                state.put_folder(f"kept-{step:05d}", directories[step])
        if state is not None and step % STATE_EVERY == 0:
            now = {
                "step": step,
                "running": running,
                "model": model.state_dict(),
                "optimizer": optimizer.state_dict(),
            }
            state.put(f"step-{step:05d}", partial(torch.save, now))
            state.keep_newest("step-", 2)


def _saved(state: State, directories: Mapping[int, Path]) -> dict[str, Any] | None:
    """The newest whole state, once the models that were kept before it are in their places."""
    for name in reversed(state.names("step-")):
        data = state.get(name)
        if data is None:
            continue
        saved: dict[str, Any] = torch.load(io.BytesIO(data), weights_only=True)
        kept = [step for step in directories if step <= saved["step"]]
        if all(state.get_folder(f"kept-{step:05d}", directories[step]) for step in kept):
            state.report(f"goes on after step {saved['step']}, from {state.folder / name}")
            return saved
    return None
