"""What the benchmarks on SmolLM2 share: prompts, the adapter, the clocks, the machine."""

from __future__ import annotations

import os
import platform
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

# Read by torch, tokenizers and huggingface_hub when they are imported.
os.environ["OMP_NUM_THREADS"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["HF_HUB_OFFLINE"] = "1"

import torch

from thinkprior.adapters import Lora, add_adapter

GROUP = 8
LORA = Lora(rank=32, alpha=64.0)

SPREAD = 0.02
"""Standard deviation of the adapter's second factor, which is zero when it is fresh: then the
gradient of the first would be zero, and merging would change nothing."""

PROBLEMS = (
    "Tom has 3 apples and buys 14 more. How many apples does he have now?",
    "A box holds 12 eggs. How many eggs are in 5 boxes?",
    "Anna had 120 stickers and gave 8 of them to each of her 6 friends. How many are left?",
    "A train has 9 coaches with 64 seats each, and 71 seats are free. How many are taken?",
    "Sara reads 14 pages on Monday and twice as many on Tuesday. How many pages did she read?",
    "Ben saves 15 coins a week. After 8 weeks he buys a ball for 37 coins. How many has he left?",
    "A baker makes 48 rolls and sells them in bags of 6. How many bags does he fill?",
    "Mia has 3 boxes of 24 pens and 17 pens in her bag. How many pens does she have in all?",
)

EXAMPLES = (
    ("A farm has 7 cows and 15 sheep. How many animals is that?", 22),
    ("Lena cuts a rope of 36 metres into 4 equal pieces. How long is each?", 9),
    ("A shop sold 18 cups on Friday and 5 times as many on Saturday. How many in all?", 108),
)

TEMPLATES = {
    "few-shot": "".join(f"Question: {q}\nAnswer: {a}\n\n" for q, a in EXAMPLES)
    + "Question: {problem}\nAnswer:",
    "update": "".join(f"Question: {q}\nAnswer: {a}\n\n" for q, a in EXAMPLES[:2])
    + "Question: {problem}\nAnswer:",
    "zero-shot": "Solve the problem, and end with the number alone.\nQuestion: {problem}\nAnswer:",
}


def prompts(kind: str) -> list[str]:
    """The eight problems under a template."""
    return [TEMPLATES[kind].replace("{problem}", problem) for problem in PROBLEMS]


def adapted(model: Any) -> Any:
    """A policy with an adapter on every linear layer that is no longer fresh."""
    policy = add_adapter(model, LORA, seed=0)
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for name, parameter in policy.named_parameters():
            if "lora_B" in name:
                parameter.normal_(0.0, SPREAD, generator=generator)
    return policy


def clocks() -> tuple[float, float]:
    """Seconds by the clock and of processor time."""
    return time.perf_counter(), time.process_time()


def machine(*packages: str) -> str:
    """The processor and the versions, in a line."""
    path = Path("/proc/cpuinfo")
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    processor = f"{names[0]}, {len(names)} logical processors" if names else platform.processor()
    versions = ", ".join(f"{name} {version(name)}" for name in packages)
    return f"{processor}; Python {platform.python_version()}, {versions}; one thread"
