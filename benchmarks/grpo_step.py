"""One GRPO step, ours beside TRL's: its seconds and their parts, and the gradient of one batch.

Both trainers start from the same weights and the same adapter, sample from the same problems, and
are graded by the same function. They take turns step by step in one process on one thread, so
whatever else the machine does meets both alike.

TRL gets the settings under which its gradient is that of the paper's surrogate (one iteration, no
KL, loss "grpo", untempered log-probabilities, fp32), and among the rest those that cost it least:
no gradient checkpointing (its default), the fused AdamW, no logging, no saving.

`benchmarks/README.md` has the commands and what came out.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import tempfile
import time
import warnings
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

# Read by torch, tokenizers and huggingface_hub when they are imported.
os.environ["OMP_NUM_THREADS"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"
os.environ["TRL_EXPERIMENTAL_SILENCE"] = "1"

import numpy as np
import torch
from datasets import Dataset
from numpy.typing import NDArray
from transformers import PrinterCallback, TrainerCallback
from transformers.utils import logging
from trl import GRPOConfig, GRPOTrainer

from thinkprior.adapters import Lora, add_adapter
from thinkprior.advantage import group_advantages, is_silent
from thinkprior.loss import backpropagate
from thinkprior.models import load_model, load_tokenizer
from thinkprior.packing import Group
from thinkprior.posterior import BetaPosterior
from thinkprior.problems import Problem, read_problems
from thinkprior.prompts import Template
from thinkprior.refill import Refill
from thinkprior.rollouts import Sampling
from thinkprior.selection import Uniform
from thinkprior.stages.engines import policy_engine
from thinkprior.training import Trainer, TrainingPlan
from thinkprior.verification import BatchReport, Verdict, Verifier
from thinkprior.world.generator import generate
from thinkprior.world.pretraining import ModelPlan, build_model
from thinkprior.world.tokenizer import build_tokenizer

PROMPTS, GROUP = 8, 8
LORA = Lora(rank=8, alpha=16)
LEARNING_RATE = 3e-4
GRADIENT_NORM = 1.0
TEMPERATURE = 0.9
PROMPT_TOKENS = 128
TEMPLATE = Template("{problem}\n")
MODEL = ModelPlan("benchmark", 0, 96, 2, 4, 192, {}, {}, {}, 0, 0, 0.0)
"""The miniature's policy in size, untrained."""

SILENT_SHARE = 0.379
"""Prompts that `HashedReward` never rewards: the paper's silence under uniform sampling."""

WARM_UP = 5
TOLERANCE = 1e-4
LEAST_RATIO = 2.0


class HashedReward(Verifier):
    """A reward that text alone decides, for models that solve nothing.

    A fixed share of the golds is never rewarded; under the others a reply is, or is not, by the
    parity of its hash. Golds are prompts' ids here.
    """

    def __init__(self, golds: Iterable[str]) -> None:
        super().__init__()
        ordered = sorted(golds, key=lambda gold: zlib.crc32(gold.encode()))
        self.silent = frozenset(ordered[: round(SILENT_SHARE * len(ordered))])

    def grade(
        self, golds: Sequence[str], responses: Sequence[str]
    ) -> tuple[list[Verdict], BatchReport]:
        """See `Verifier.grade`."""
        verdicts = [
            Verdict.correct
            if gold not in self.silent and zlib.crc32((gold + response).encode()) % 2
            else Verdict.wrong
            for gold, response in zip(golds, responses, strict=True)
        ]
        return verdicts, BatchReport(graded=len(verdicts))


class AlternatingReward(Verifier):
    """Every second reply is right, so no group is silent."""

    def grade(
        self, golds: Sequence[str], responses: Sequence[str]
    ) -> tuple[list[Verdict], BatchReport]:
        """See `Verifier.grade`."""
        del golds
        verdicts = [(Verdict.wrong, Verdict.correct)[place % 2] for place in range(len(responses))]
        return verdicts, BatchReport(graded=len(verdicts))


@dataclass
class Side:
    """What was measured of one trainer; one entry a step, warm-up steps left out by `measure`.

    Attributes:
        wall: seconds by the clock.
        cpu: seconds of processor time.
        parts: seconds by the clock of the parts of a step.
        silent: share of silent groups.
        tokens: mean tokens of a completion.
    """

    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    parts: dict[str, list[float]] = field(default_factory=dict)
    silent: list[float] = field(default_factory=list)
    tokens: list[float] = field(default_factory=list)

    def take(self, name: str, seconds: float) -> None:
        """Note the seconds of a part of the step."""
        self.parts.setdefault(name, []).append(seconds)


class Turns(TrainerCallback):  # type: ignore[misc]
    """Gives our trainer a step after each of TRL's, on the clock of both.

    A step of TRL's is all that its `train` does between two calls of `on_step_end`.
    """

    def __init__(self, trainer: Trainer, ours: Side, theirs: Side) -> None:
        self.trainer, self.ours, self.theirs = trainer, ours, theirs
        self.started = _clocks()

    def on_step_end(self, _args: Any, state: Any, _control: Any, **_: Any) -> None:
        """Book TRL's step, take and book ours."""
        ended = _clocks()
        _book(self.theirs, self.started, ended)
        started = _clocks()
        self.trainer.step(state.global_step)
        ended = _clocks()
        _book(self.ours, started, ended)
        self.started = _clocks()


def _clocks() -> tuple[float, float]:
    return time.perf_counter(), time.process_time()


def _book(side: Side, started: tuple[float, float], ended: tuple[float, float]) -> None:
    side.wall.append(ended[0] - started[0])
    side.cpu.append(ended[1] - started[1])


def _adapt(model: Any) -> Any:
    return add_adapter(model, LORA, seed=0)


def save_untrained(directory: Path) -> None:
    """Save an untrained model of the policy's size, with its tokenizer."""
    tokenizer = build_tokenizer()
    model = build_model(MODEL, len(tokenizer), tokenizer.eos_token_id, tokenizer.pad_token_id)
    model.save_pretrained(directory)
    tokenizer.save_pretrained(directory)


def our_trainer(
    directory: Path, pool: Sequence[Problem], verifier: Verifier, tokens: int, steps: int
) -> Trainer:
    """Our trainer at the miniature's size, put together as a training run puts it together."""
    settings = {
        "device": "cpu",
        "dtype": "float32",
        "threads": 1,
        "batch_rows": 1024,
        "merged_sampler": True,
    }
    model, engine = policy_engine(settings, directory, _adapt)
    plan = TrainingPlan(
        campaign="benchmark",
        arm="random",
        seed=0,
        steps=steps,
        batch_prompts=PROMPTS,
        group_size=GROUP,
        learning_rate=LEARNING_RATE,
        gradient_norm=GRADIENT_NORM,
        kl_beta=0.0,
        checkpoint_every=steps,
        groups_per_batch=PROMPTS,
        sampling=Sampling(TEMPERATURE, tokens, PROMPT_TOKENS),
        refill=Refill(discard_silent=False, most_rounds=1),
    )
    return Trainer(
        plan,
        model=model,
        engine=engine,
        verifier=verifier,
        pool=pool,
        template=TEMPLATE,
        selector=Uniform(),
        posterior=BetaPosterior.uniform(len(pool)),
    )


def trl_trainer(
    model: Any,
    tokenizer: Any,
    rows: Iterable[Mapping[str, Any]],
    reward: Callable[..., list[float]],
    callback: TrainerCallback,
    rollouts: Callable[..., dict[str, Any]] | None = None,
    **settings: Any,
) -> Any:
    """TRL's trainer, with the settings that the measurement and the comparison share.

    Args:
        model: the policy with its adapter.
        tokenizer: its tokenizer.
        rows: the data set; column `prompt`, and what the reward takes.
        reward: TRL's reward function.
        callback: what is called between its steps.
        rollouts: gives the completions; None to sample them.
        settings: what `GRPOConfig` takes besides.
    """
    config = GRPOConfig(
        use_cpu=True,
        bf16=False,
        gradient_checkpointing=False,
        per_device_train_batch_size=PROMPTS * GROUP,
        num_generations=GROUP,
        num_iterations=1,
        beta=0.0,
        scale_rewards="group",
        loss_type="grpo",
        temperature=1.0,
        generation_kwargs={"temperature": TEMPERATURE},
        vllm_importance_sampling_correction=False,
        mask_truncated_completions=False,
        learning_rate=LEARNING_RATE,
        lr_scheduler_type="constant",
        optim="adamw_torch_fused",
        weight_decay=0.0,
        dataloader_pin_memory=False,
        logging_strategy="no",
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
        seed=0,
        **settings,
    )
    trainer = GRPOTrainer(
        model=model,
        reward_funcs=reward,
        args=config,
        train_dataset=Dataset.from_list([dict(row) for row in rows]),
        processing_class=tokenizer,
        callbacks=[callback],
        rollout_func=rollouts,
    )
    trainer.remove_callback(PrinterCallback)
    return trainer


def measure(
    directory: Path, pool: Sequence[Problem], verifier: Verifier, tokens: int, steps: int
) -> tuple[Side, Side]:
    """Both trainers' steps in turn.

    Args:
        directory: model directory of the base.
        pool: the problems that both draw from.
        verifier: grades for both.
        tokens: most tokens of a completion.
        steps: steps of each that are measured; some more go before, to warm up.

    Returns:
        Ours and TRL's.
    """
    ours, theirs = Side(), Side()
    trainer = our_trainer(directory, pool, verifier, tokens, WARM_UP + steps)
    model = _adapt(load_model(directory))
    sample = model.generate

    def timed_sample(*args: Any, **kwargs: Any) -> Any:
        started = time.perf_counter()
        output = sample(*args, **kwargs)
        theirs.take("generation", time.perf_counter() - started)
        return output

    def reward(
        completions: list[str], completion_ids: list[list[int]], answer: list[str], **__: Any
    ) -> list[float]:
        started = time.perf_counter()
        verdicts, _ = verifier.grade(answer, completions)
        rewards = [float(verdict is Verdict.correct) for verdict in verdicts]
        theirs.take("verification", time.perf_counter() - started)
        correct = np.array(rewards).reshape(-1, GROUP).sum(1)
        theirs.silent.append(float(np.mean([is_silent(int(c), GROUP) for c in correct])))
        theirs.tokens.append(statistics.fmean(map(len, completion_ids)))
        return rewards

    model.generate = timed_sample
    with tempfile.TemporaryDirectory() as output:
        trl_trainer(
            model,
            load_tokenizer(directory),
            [{"prompt": TEMPLATE.prompt(p.problem), "answer": p.answer} for p in pool],
            reward,
            Turns(trainer, ours, theirs),
            output_dir=output,
            max_completion_length=tokens,
            max_grad_norm=GRADIENT_NORM,
            max_steps=WARM_UP + steps,
        ).train()

    groups, rows, timings = trainer.log.frames()
    for name in ("generation", "verification"):
        ours.parts[name] = timings[name].tolist()
    ours.silent = (rows["silent_groups"] / rows["generated_groups"]).tolist()
    by_step = groups.groupby("step")[["tokens", "rollouts"]].sum()
    ours.tokens = (by_step["tokens"] / by_step["rollouts"]).tolist()
    for side in (ours, theirs):
        side.parts["update and the rest"] = [
            whole - sum(parts)
            for whole, *parts in zip(side.wall, *side.parts.values(), strict=True)
        ]
        for values in (side.wall, side.cpu, side.silent, side.tokens, *side.parts.values()):
            del values[:WARM_UP]
    return ours, theirs


@dataclass(frozen=True)
class FixedBatch:
    """Prompts, completions of differing lengths, and their rewards.

    Attributes:
        prompts: texts.
        prompt_tokens: their token ids.
        completions: token ids, one list a prompt.
        rewards: shape [prompts, rollouts]; group g has g right ones, so the first is silent.
    """

    prompts: list[str]
    prompt_tokens: list[list[int]]
    completions: list[list[list[int]]]
    rewards: NDArray[np.float64]


def fixed_batch(pool: Sequence[Problem], tokenizer: Any, longest: int) -> FixedBatch:
    """Prompts of all the pool's lengths, each with random completions of 1 to `longest` tokens."""
    generator = np.random.default_rng(0)
    prompts = sorted((TEMPLATE.prompt(problem.problem) for problem in pool), key=len)
    prompts = prompts[:: max(1, len(prompts) // PROMPTS)][:PROMPTS]
    completions = [
        [
            generator.integers(len(tokenizer), size=generator.integers(1, longest + 1)).tolist()
            for _ in range(GROUP)
        ]
        for _ in prompts
    ]
    rewards = np.zeros((PROMPTS, GROUP))
    for right, row in enumerate(rewards):
        row[generator.permutation(GROUP)[:right]] = 1.0
    return FixedBatch(prompts, tokenizer(prompts)["input_ids"], completions, rewards)


def _policy(directory: Path) -> Any:
    """A policy whose adapter is no longer fresh: with B = 0 the gradient of A would be zero."""
    model = _adapt(load_model(directory))
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "lora_B" in name:
                parameter.normal_(0.0, 0.05, generator=generator)
    return model


def our_gradients(directory: Path, batch: FixedBatch) -> dict[str, torch.Tensor]:
    """The adapter's gradients from our packed update, by parameter name."""
    model = _policy(directory)
    groups = [
        Group(np.array(prompt), [np.array(tokens) for tokens in rows], group_advantages(rewards))
        for prompt, rows, rewards in zip(
            batch.prompt_tokens, batch.completions, batch.rewards, strict=True
        )
    ]
    backpropagate(
        model, groups, total_sequences=PROMPTS * GROUP, kl_beta=0.0, groups_per_batch=PROMPTS
    )
    return {name: p.grad for name, p in model.named_parameters() if p.grad is not None}


def trl_gradients(directory: Path, batch: FixedBatch, longest: int) -> dict[str, torch.Tensor]:
    """The same from one step of TRL's `train`, advantages included, before clipping."""
    found: dict[str, torch.Tensor] = {}

    class Snapshot(TrainerCallback):  # type: ignore[misc]
        def on_pre_optimizer_step(self, *_: Any, model: Any, **__: Any) -> None:
            for name, parameter in model.named_parameters():
                if parameter.requires_grad:
                    found[name] = parameter.grad.clone()

    place = {prompt: number for number, prompt in enumerate(batch.prompts)}

    def rollouts(prompts: list[str], _trainer: Any) -> dict[str, Any]:
        numbers = [place[prompt] for prompt in prompts]
        return {
            "prompt_ids": [batch.prompt_tokens[number] for number in numbers],
            "completion_ids": [
                batch.completions[number][position % GROUP]
                for position, number in enumerate(numbers)
            ],
            "logprobs": None,
        }

    def reward(prompts: list[str], **_: Any) -> list[float]:
        return [
            float(batch.rewards[place[prompt], position % GROUP])
            for position, prompt in enumerate(prompts)
        ]

    with tempfile.TemporaryDirectory() as output:
        trl_trainer(
            _policy(directory),
            load_tokenizer(directory),
            [{"prompt": prompt} for prompt in batch.prompts],
            reward,
            Snapshot(),
            rollouts,
            output_dir=output,
            max_completion_length=longest,
            max_grad_norm=0.0,
            max_steps=1,
        ).train()
    return found


def gradient_difference(
    ours: Mapping[str, torch.Tensor], theirs: Mapping[str, torch.Tensor]
) -> float:
    """Largest difference of an element over its tensor's largest element, of all tensors."""
    if ours.keys() != theirs.keys():
        raise RuntimeError(f"different parameters train: {sorted(ours.keys() ^ theirs.keys())}")
    smallest = min(float(gradient.abs().max()) for gradient in theirs.values())
    if smallest == 0:
        raise RuntimeError("a whole tensor has no gradient: the comparison would say nothing.")
    return max(
        float((ours[name] - gradient).abs().max() / gradient.abs().max())
        for name, gradient in theirs.items()
    )


def _processor() -> str:
    path = Path("/proc/cpuinfo")
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{names[0]}, {len(names)} logical processors" if names else platform.processor()


def _show(title: str, ours: Side, theirs: Side) -> float:
    """Print a Markdown table; returns TRL's median over ours, the lesser of clock and processor."""
    median = statistics.median
    print(f"\n### {title}\n")
    print("| per step | ours | TRL | TRL / ours |")
    print("|---|---|---|---|")
    rows = [
        ("seconds, median", ours.wall, theirs.wall),
        ("processor seconds", ours.cpu, theirs.cpu),
    ]
    rows += [(name, ours.parts[name], theirs.parts[name]) for name in ours.parts]
    for name, a, b in rows:
        print(f"| {name} | {median(a):.4f} | {median(b):.4f} | {median(b) / median(a):.2f} |")
    for name, a, b in (
        ("seconds, quartiles", ours.wall, theirs.wall),
        ("processor seconds, quartiles", ours.cpu, theirs.cpu),
    ):
        low, high = zip(*(np.quantile(side, (0.25, 0.75)) for side in (a, b)), strict=True)
        print(f"| {name} | {low[0]:.4f}-{high[0]:.4f} | {low[1]:.4f}-{high[1]:.4f} | |")
    mean = statistics.fmean
    print(f"| silent groups | {mean(ours.silent):.3f} | {mean(theirs.silent):.3f} | |")
    print(f"| tokens a completion | {mean(ours.tokens):.2f} | {mean(theirs.tokens):.2f} | |")
    return min(median(theirs.wall) / median(ours.wall), median(theirs.cpu) / median(ours.cpu))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--steps", type=int, default=100, help="measured steps of each trainer")
    parser.add_argument("--tokens", type=int, default=9, help="most tokens of a completion")
    parser.add_argument(
        "--model",
        type=Path,
        help="model directory; default an untrained model of the policy's size",
    )
    parser.add_argument("--pool", type=Path, help="problem file; default generated problems")
    return parser.parse_args()


def main() -> int:
    """Measure, compare, print; 1 if the gradients differ or the ratio is below two."""
    arguments = _arguments()
    torch.set_num_threads(1)
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    warnings.filterwarnings("ignore", category=FutureWarning)
    if arguments.pool is None:
        pool = generate("math", 8, "benchmark", 0, frozenset())
    else:
        pool = read_problems(arguments.pool)
    versions = ", ".join(
        f"{name} {version(name)}" for name in ("torch", "transformers", "peft", "trl")
    )
    print(f"{_processor()}; Python {platform.python_version()}, {versions}; one thread")
    print(f"{PROMPTS} prompts x {GROUP} rollouts of at most {arguments.tokens} tokens, LoRA r = 8")
    print(f"{arguments.steps} steps of each in turn, after {WARM_UP} to warm up")

    with tempfile.TemporaryDirectory() as scratch:
        directory: Path | None = arguments.model
        mixed: Verifier
        if directory is None:
            directory = Path(scratch)
            save_untrained(directory)
            told = [replace(problem, answer=problem.id) for problem in pool]
            mixed, title = HashedReward(problem.id for problem in pool), "A reward by hash"
        else:
            mixed, told, title = Verifier(), pool, "The verifier's reward"

        batch = fixed_batch(pool, load_tokenizer(directory), arguments.tokens)
        theirs = trl_gradients(directory, batch, arguments.tokens)
        difference = gradient_difference(our_gradients(directory, batch), theirs)
        print(
            f"\nGradient of one batch, {len(theirs)} tensors: "
            f"largest relative difference {difference:.1e}"
        )
        ratios = []
        with mixed, AlternatingReward() as alternating:
            for name, verifier, problems in (
                (title, mixed, told),
                ("Every second reply rewarded: no silent group", alternating, pool),
            ):
                sides = measure(directory, problems, verifier, arguments.tokens, arguments.steps)
                ratios.append(_show(name, *sides))
    failures = []
    if difference > TOLERANCE:
        failures.append(f"the gradients differ by more than {TOLERANCE}")
    if min(ratios) < LEAST_RATIO:
        failures.append(f"a step is less than {LEAST_RATIO:.0f} times as fast as TRL's")
    for failure in failures:
        print(f"\nFAILED: {failure}.")
    return 1 if failures else 0


if __name__ == "__main__":
    raise SystemExit(main())
