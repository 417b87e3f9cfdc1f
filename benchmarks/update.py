"""The update on SmolLM2, ours beside TRL's: seconds, peak memory, and the gradients of one batch.

64 sequences, 8 groups of 8, with an adapter on every linear layer, in fp32, on one thread. Both
sides get the same tokens and the same advantages, 16 sequences (or `--at-once`) at a time: all 64
need more memory than a small machine has, and what is computed stays the same. An update is the
loss, its gradient, clipping and AdamW. They take turns in one process; peak memory is measured in a
process of its own for each side, as the peak over what the loaded model takes.

TRL's is its trainer's own `compute_loss` with the settings under which its gradient is the paper's
(see `grpo_step.py`), without gradient checkpointing, which is its default and costs time.

`benchmarks/README.md` has the commands and what came out.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

os.environ["TRL_EXPERIMENTAL_SILENCE"] = "1"

# First: it sets what torch and others read when they are imported.
from small_language_model import GROUP, adapted, clocks, machine, prompts

# isort: split
import numpy as np
import torch
from transformers.utils import logging

from thinkprior.advantage import group_advantages
from thinkprior.loss import backpropagate
from thinkprior.models import load_model, load_tokenizer
from thinkprior.packing import Group

SILENT_GROUPS = 3
"""Of eight: 38 %, the paper's silence under uniform sampling."""

LEARNING_RATE, GRADIENT_NORM = 3e-4, 1.0
GRADIENT_TOLERANCE, LEAST_SILENT_RATIO = 1e-4, 1.5


def batch(tokenizer: Any, tokens: int, silent: int) -> list[Group]:
    """Eight groups whose completions have `tokens` tokens in the mean, give or take a quarter."""
    generator = np.random.default_rng(tokens)
    groups = []
    for number, ids in enumerate(tokenizer(prompts("update"))["input_ids"]):
        lengths = generator.integers(round(0.75 * tokens), round(1.25 * tokens) + 1, GROUP)
        completions = [generator.integers(3, len(tokenizer), length) for length in lengths]
        rewards = np.zeros(GROUP)
        if number >= silent:
            rewards[: 1 + number % (GROUP - 1)] = 1.0
        groups.append(Group(np.array(ids), completions, group_advantages(rewards)))
    return groups


class Ours:
    """Our update."""

    def __init__(self, directory: Path, at_once: int) -> None:
        self.groups_at_once = at_once // GROUP
        self.model = adapted(load_model(directory))
        self.optimizer = _optimizer(self.model)

    def gradient(self, groups: Sequence[Group]) -> None:
        """Put the batch's gradient into the adapter."""
        self.optimizer.zero_grad()
        backpropagate(
            self.model,
            groups,
            total_sequences=GROUP * len(groups),
            kl_beta=0.0,
            groups_per_batch=self.groups_at_once,
        )


class Trl:
    """TRL's update."""

    def __init__(self, directory: Path, at_once: int) -> None:
        from datasets import Dataset
        from trl import GRPOConfig, GRPOTrainer

        self.groups_at_once = at_once // GROUP
        self.tokenizer = load_tokenizer(directory)
        self.model = adapted(load_model(directory))
        self.optimizer = _optimizer(self.model)
        config = GRPOConfig(
            output_dir=tempfile.mkdtemp(),
            use_cpu=True,
            bf16=False,
            gradient_checkpointing=False,
            per_device_train_batch_size=at_once,
            num_generations=GROUP,
            beta=0.0,
            scale_rewards="group",
            loss_type="grpo",
            temperature=1.0,
            mask_truncated_completions=False,
            report_to="none",
            disable_tqdm=True,
        )
        self.trainer = GRPOTrainer(
            model=self.model,
            reward_funcs=lambda completions, **_: [0.0] * len(completions),
            args=config,
            train_dataset=Dataset.from_list([{"prompt": "a"}] * at_once),
            processing_class=self.tokenizer,
        )
        self.model.train()

    def gradient(self, groups: Sequence[Group]) -> None:
        """Put the batch's gradient into the adapter."""
        self.optimizer.zero_grad()
        at_once = self.groups_at_once
        parts = [groups[start : start + at_once] for start in range(0, len(groups), at_once)]
        self.trainer.current_gradient_accumulation_steps = len(parts)
        for part in parts:
            self.trainer.compute_loss(self.model, self._padded(part)).backward()

    def _padded(self, groups: Sequence[Group]) -> dict[str, Any]:
        prompts_ = [g.prompt_tokens for g in groups for _ in g.completions]
        completions = [tokens for g in groups for tokens in g.completions]
        inputs: dict[str, Any] = {
            "advantages": torch.tensor(
                np.concatenate([g.advantages for g in groups]), dtype=torch.float32
            ),
            "num_items_in_batch": torch.tensor(sum(map(len, completions))),
        }
        for name, rows, left in (("prompt", prompts_, True), ("completion", completions, False)):
            width = max(map(len, rows))
            ids = np.full((len(rows), width), self.tokenizer.pad_token_id)
            mask = np.zeros((len(rows), width), dtype=np.int64)
            for number, row in enumerate(rows):
                place = slice(width - len(row), width) if left else slice(0, len(row))
                ids[number, place], mask[number, place] = row, 1
            inputs |= {f"{name}_ids": torch.from_numpy(ids), f"{name}_mask": torch.from_numpy(mask)}
        return inputs


SIDES: dict[str, Callable[[Path, int], Any]] = {"ours": Ours, "TRL": Trl}


def _optimizer(model: Any) -> torch.optim.Optimizer:
    trained = [p for p in model.parameters() if p.requires_grad]
    return torch.optim.AdamW(trained, lr=LEARNING_RATE, weight_decay=0.0, fused=True)


def update(side: Any, groups: Sequence[Group]) -> tuple[float, float]:
    """One update: seconds by the clock and of processor time."""
    wall, cpu = clocks()
    side.gradient(groups)
    trained = [p for p in side.model.parameters() if p.requires_grad]
    torch.nn.utils.clip_grad_norm_(trained, GRADIENT_NORM)
    side.optimizer.step()
    now = clocks()
    return now[0] - wall, now[1] - cpu


def gradient_difference(ours: Any, theirs: Any) -> float:
    """Largest difference of an element over its tensor's largest element, of all tensors."""
    a, b = (
        {name: p.grad for name, p in side.model.named_parameters() if p.requires_grad}
        for side in (ours, theirs)
    )
    if a.keys() != b.keys() or not all(float(grad.abs().max()) > 0 for grad in b.values()):
        raise RuntimeError("the sides do not train the same parameters")
    return max(float((a[n] - grad).abs().max() / grad.abs().max()) for n, grad in b.items())


def peak(name: str, directory: Path, tokens: int, at_once: int) -> float:
    """Peak memory of an update over that of the loaded model, in GiB. In a process of its own."""
    side = SIDES[name](directory, at_once)
    groups = batch(load_tokenizer(directory), tokens, 0)
    # An empty optimizer step first: AdamW's moments belong to what is loaded.
    for parameter in side.model.parameters():
        if parameter.requires_grad:
            parameter.grad = torch.zeros_like(parameter)
    side.optimizer.step()
    # Sets the peak back to what is resident now. (What getrusage gives is the parent's, if higher.)
    Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")
    loaded = _peak_resident()
    update(side, groups)
    return _peak_resident() - loaded


def _peak_resident() -> float:
    status = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    (line,) = [line for line in status if line.startswith("VmHWM:")]
    return int(line.split()[1]) / 2**20


def peak_elsewhere(name: str, directory: Path, tokens: int, at_once: int) -> float:
    """`peak` in a new process."""
    numbers = ["--tokens", str(tokens), "--at-once", str(at_once)]
    command = [sys.executable, __file__, str(directory), "--peak", name, *numbers]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return float(json.loads(done.stdout.splitlines()[-1]))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("model", type=Path, help="model directory of SmolLM2-135M-Instruct")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--tokens", nargs="+", type=int, default=(24, 100))
    parser.add_argument("--at-once", type=int, default=16, help="sequences, a multiple of 8")
    parser.add_argument("--skip-memory", action="store_true")
    parser.add_argument("--peak", choices=list(SIDES), help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> int:
    """Measure, compare, print; 1 where ours falls short."""
    arguments = _arguments()
    torch.set_num_threads(1)
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    warnings.filterwarnings("ignore")
    if arguments.peak:
        found = peak(arguments.peak, arguments.model, arguments.tokens[0], arguments.at_once)
        print(json.dumps(found))
        return 0
    print(machine("torch", "transformers", "peft", "trl"), flush=True)
    tokenizer = load_tokenizer(arguments.model)
    sides = {name: make(arguments.model, arguments.at_once) for name, make in SIDES.items()}
    failures = []
    for tokens in arguments.tokens:
        groups = batch(tokenizer, tokens, 0)
        for side in sides.values():
            side.gradient(groups)
        difference = gradient_difference(*sides.values())
        lengths = [len(group.prompt_tokens) for group in groups]
        print(
            f"\nCompletions of about {tokens} tokens, prompts of {min(lengths)} to {max(lengths)}: "
            f"gradients differ by {difference:.1e}\n"
        )
        if difference > GRADIENT_TOLERANCE:
            failures.append(f"the gradients differ by more than {GRADIENT_TOLERANCE}")
        print("| silent | side | processor s | clock s | TRL / ours (processor, clock) |")
        print("|---|---|---|---|---|")
        for silent, least in ((0, 1.0), (SILENT_GROUPS, LEAST_SILENT_RATIO)):
            groups = batch(tokenizer, tokens, silent)
            taken: dict[str, list[tuple[float, float]]] = {name: [] for name in sides}
            for _ in range(arguments.repeats):
                for name, side in sides.items():
                    taken[name].append(update(side, groups))
            wall, cpu = (
                {name: statistics.median(one[which] for one in taken[name]) for name in sides}
                for which in (0, 1)
            )
            ratios = cpu["TRL"] / cpu["ours"], wall["TRL"] / wall["ours"]
            for name in sides:
                shown = f"{ratios[0]:.2f}, {ratios[1]:.2f}" if name == "ours" else ""
                print(
                    f"| {silent} of 8 | {name} | {cpu[name]:.1f} | {wall[name]:.1f} | {shown} |",
                    flush=True,
                )
            if ratios[0] < least:
                failures.append(
                    f"{tokens} tokens, {silent} of 8 silent: {ratios[0]:.2f} times as fast as "
                    f"TRL's, not {least}"
                )
        if not arguments.skip_memory:
            ours, theirs = (
                peak_elsewhere(name, arguments.model, tokens, arguments.at_once) for name in SIDES
            )
            print(f"\nPeak memory over the loaded model: ours {ours:.2f} GiB, TRL {theirs:.2f} GiB")
            if ours >= theirs:
                failures.append(f"{tokens} tokens: {ours:.2f} GiB against {theirs:.2f}")
    for failure in failures:
        print(f"\nFAILED: {failure}.")
    return 1 if failures else 0


if __name__ == "__main__":
    raise SystemExit(main())
