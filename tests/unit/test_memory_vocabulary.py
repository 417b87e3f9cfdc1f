"""Peak memory of an update at a vocabulary of 152,000, in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from thinkprior.memory_plan import Architecture, logits_chunk

VOCABULARY = 152_000
SIZES = Architecture(64, 1, 4, 2, 16, 128, VOCABULARY, tied=True)
RANK = 4
MIB = 2**20

UPDATE = """
import sys
import numpy as np
import torch
from transformers import Qwen2Config, Qwen2ForCausalLM
from thinkprior.adapters import Lora, add_adapter
from thinkprior.loss import backpropagate
from thinkprior.packing import Group
from thinkprior.usage import Meter

groups, prompt, rollouts, new = map(int, sys.argv[1:])
torch.set_num_threads(1)
config = Qwen2Config(
    vocab_size={vocabulary}, hidden_size=64, intermediate_size=128, num_hidden_layers=1,
    num_attention_heads=4, num_key_value_heads=2, tie_word_embeddings=True,
    max_position_embeddings=1024, attn_implementation="sdpa",
)
policy = add_adapter(Qwen2ForCausalLM(config).eval(), Lora({rank}, 8.0), seed=0)
draw = np.random.default_rng(0).integers

def update(count, new):
    batch = [
        Group(
            draw(0, {vocabulary}, prompt),
            [draw(0, {vocabulary}, new) for _ in range(rollouts)],
            np.where(np.arange(rollouts) % 2, 1.0, -1.0),
        )
        for _ in range(count)
    ]
    return backpropagate(
        policy, batch, total_sequences=count * rollouts, kl_beta=0.0, groups_per_batch=count
    )

def resident():
    lines = open("/proc/self/status").read().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS"))

update(1, 1)  # what is loaded on first use
before = resident()
meter = Meter()
parts = update(groups, new)
print(parts.tokens, int(meter.read().peak_memory_mib * 2**20) - before)
"""


def peak(groups: int, prompt: int, rollouts: int, new: int) -> int:
    """Bytes by which an update's peak is above what was resident before it."""
    code = UPDATE.format(vocabulary=VOCABULARY, rank=RANK)
    arguments = [sys.executable, "-W", "ignore", "-c", code]
    done = subprocess.run(
        [*arguments, *map(str, (groups, prompt, rollouts, new))],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    tokens, above = map(int, done.stdout.split())
    assert tokens == groups * rollouts * new
    return above


def bound(groups: int, prompt: int, rollouts: int, new: int) -> int:
    """The plan's bytes, and a quarter and 64 MiB for what the allocator holds back."""
    tokens = prompt + rollouts * new
    planned = SIZES.activations(groups, tokens, RANK, 4, anew=False)
    planned += logits_chunk(SIZES, groups * rollouts * new)
    # The gradient of a chunk's hidden states, and the parts that await the sum.
    planned += 2 * groups * rollouts * new * 4 * SIZES.hidden_size
    return planned * 5 // 4 + 64 * MIB


def whole_logits(groups: int, rollouts: int, new: int) -> int:
    """Bytes of the logits of all tokens, once, in fp32."""
    return groups * rollouts * new * VOCABULARY * 4


pytestmark = pytest.mark.skipif(
    not Path("/proc/self/clear_refs").exists(), reason="peaks of memory are read from /proc"
)


def test_logits_of_one_group_never_stand_in_memory_at_once() -> None:
    shape = (1, 64, 8, 80)
    assert bound(*shape) < whole_logits(1, 8, 80)
    assert peak(*shape) < bound(*shape)


@pytest.mark.slow
def test_64_sequences_of_896_tokens_fit() -> None:
    shape = (8, 384, 8, 512)
    # 19.9 GB as they are, three times that with the log-softmax and its gradient.
    assert 4 * bound(*shape) < whole_logits(8, 8, 512)
    assert peak(*shape) < bound(*shape)
