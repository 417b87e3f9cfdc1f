"""How much memory a job needs, computed from its model's architecture and its settings.

Bytes are counted tensor by tensor: what stays (weights, adapter, optimizer), what generation adds
(cache, logits) and what an update adds (activations that torch keeps for the backward pass, a
chunk of logits). Three things cannot be computed and stand as allowances: what a CUDA process takes
before its first tensor, what vLLM needs besides weights and cache, and what a process takes in host
memory for its libraries. The allocator's fragmentation is in none of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

GIB = 2.0**30
SIZES = {"float32": 4, "bfloat16": 2}
"""Bytes of a number, by `engine.dtype`."""

FP32 = 4

LOGIT_CHUNK, ROOM = 1 << 24, 256
"""`thinkprior.loss.LOGIT_CHUNK` and `thinkprior.decoding.ROOM`, which would bring torch along."""

CHUNK_COPIES = 3
"""Copies of a chunk of logits in fp32 at once: log-softmax, and its gradient before and after."""

CUDA_CONTEXT = int(0.6 * GIB)
"""Allowance for what a CUDA process takes besides torch's tensors."""

VLLM_RUNNING = int(2.0 * GIB)
"""Allowance for vLLM's own activations, its CUDA graphs and its room for the adapter."""

VLLM_ASLEEP = int(1.0 * GIB)
"""Allowance for what a sleeping vLLM keeps on the card, mostly its CUDA graphs."""

PROCESS = int(1.0 * GIB)
"""Allowance for Python and its libraries in host memory."""

PROCESS_WITH_CUDA = int(4.0 * GIB)
"""The same where they drive a GPU."""

AT_THE_CAPS = ("activations", "layers computed anew", "logits", "cache", "decoding")
"""Parts that grow with the prompts and completions that there are."""


@dataclass(frozen=True)
class Architecture:
    """The sizes of a decoder of the Qwen2 or Llama kind.

    Attributes:
        hidden_size: width.
        layers: layers.
        heads: attention heads.
        key_value_heads: heads of keys and values.
        head_size: width of a head.
        intermediate_size: width of the feed-forward layers.
        vocabulary: rows of the embedding.
        tied: whether the embedding is also the language-model head.
        biases: whether queries, keys and values have biases.
        head_norms: whether queries and keys are normalised, a head at a time.
    """

    hidden_size: int
    layers: int
    heads: int
    key_value_heads: int
    head_size: int
    intermediate_size: int
    vocabulary: int
    tied: bool
    biases: bool = True
    head_norms: bool = False

    @property
    def query_size(self) -> int:
        """Width of all queries of a token."""
        return self.heads * self.head_size

    @property
    def key_size(self) -> int:
        """Width of all keys of a token."""
        return self.key_value_heads * self.head_size

    @property
    def parameters(self) -> int:
        """Parameters of the model, a tied embedding counted once."""
        hidden, query, key = self.hidden_size, self.query_size, self.key_size
        attention = 2 * hidden * (query + key)
        attention += (query + 2 * key) * self.biases + 2 * self.head_size * self.head_norms
        layer = attention + 3 * hidden * self.intermediate_size + 2 * hidden
        return (2 - self.tied) * self.vocabulary * hidden + self.layers * layer + hidden

    def adapter_parameters(self, rank: int) -> int:
        """Parameters of a LoRA adapter of every linear layer below the head."""
        hidden, query, key = self.hidden_size, self.query_size, self.key_size
        attention = 2 * (hidden + query) + 2 * (hidden + key)
        feed_forward = 3 * (hidden + self.intermediate_size)
        return self.layers * rank * (attention + feed_forward)

    def cache(self, rows: int, tokens: int, size: int) -> int:
        """Bytes of the keys and values of some sequences.

        Args:
            rows: sequences.
            tokens: places laid out for each.
            size: bytes of a number.
        """
        return rows * tokens * self.layers * 2 * self.key_size * size

    def kept_in_layer(self, rank: int, size: int) -> int:
        """Bytes a token that one layer keeps for the backward pass.

        Frozen weights keep no input; the adapter's first factor keeps its own in fp32, which is a
        copy where the model's numbers are not, one for each linear layer.
        """
        hidden, wide, query = self.hidden_size, self.intermediate_size, self.query_size
        norms = 2 * FP32 * (hidden + 1)
        # Input of the adapter's factors: three projections, output, gate and up, down.
        shared = FP32 * (2 * hidden + wide)
        copies = FP32 * (5 * hidden + query + wide)
        inputs = (shared if size == FP32 else copies) + FP32 * 7 * rank
        # Query, key, value and output with all heads alike, and a sum of exponentials a head.
        attention = 4 * query * size + FP32 * self.heads
        if self.head_norms:
            attention += FP32 * (query + self.key_size + self.heads + self.key_value_heads)
        feed_forward = 3 * wide * size
        return norms + inputs + attention + feed_forward

    def activations(self, rows: int, tokens: int, rank: int, size: int, anew: bool) -> int:
        """Bytes at the peak of a forward and backward pass through the layers.

        Args:
            rows: packed groups.
            tokens: tokens of each.
            rank: of the adapter.
            size: bytes of a number.
            anew: whether layers are computed anew (`training.activation_checkpointing`).
        """
        every = rows * tokens
        layer = every * self.kept_in_layer(rank, size)
        kept = self.layers * (every * self.hidden_size * size if anew else layer)
        # Of all layers together: the mask twice (truths and numbers), rotary positions.
        shared = rows * tokens**2 * (1 + size) + every * 2 * self.head_size * size
        # Gradients at the down projection, from the frozen weights and from the adapter, and those
        # on their way around it.
        passing = every * (self.intermediate_size * (size + FP32) + 2 * self.hidden_size * FP32)
        return kept + (layer if anew else 0) + shared + passing


def _qwen(
    hidden: int, layers: int, heads: int, keys: int, wide: int, words: int, tied: bool
) -> Architecture:
    return Architecture(hidden, layers, heads, keys, hidden // heads, wide, words, tied)


_QWEN_7B = _qwen(3584, 28, 28, 4, 18944, 152064, False)
_QWEN_3B = _qwen(2048, 36, 16, 2, 11008, 151936, True)
_QWEN_1_5B = _qwen(1536, 28, 12, 2, 8960, 151936, True)
_QWEN_0_5B = _qwen(896, 24, 14, 2, 4864, 151936, True)
_QWEN_14B = _qwen(5120, 48, 40, 8, 13824, 152064, False)

ARCHITECTURES = {
    "Qwen/Qwen2.5-Math-7B": _QWEN_7B,
    "Qwen/Qwen2.5-Math-7B-Instruct": _QWEN_7B,
    "Qwen/Qwen2.5-7B": _QWEN_7B,
    "Qwen/Qwen2.5-7B-Instruct": _QWEN_7B,
    "Qwen/Qwen2.5-14B": _QWEN_14B,
    "Qwen/Qwen2.5-14B-Instruct": _QWEN_14B,
    "Qwen/Qwen2.5-3B": _QWEN_3B,
    "Qwen/Qwen2.5-3B-Instruct": _QWEN_3B,
    "Qwen/Qwen2.5-1.5B": _QWEN_1_5B,
    "Qwen/Qwen2.5-1.5B-Instruct": _QWEN_1_5B,
    "Qwen/Qwen2.5-0.5B": _QWEN_0_5B,
    "Qwen/Qwen2.5-0.5B-Instruct": _QWEN_0_5B,
    "Qwen/Qwen3-0.6B": Architecture(
        1024, 28, 16, 8, 128, 3072, 151936, True, biases=False, head_norms=True
    ),
}
"""Architectures of models on the Hugging Face hub, from their config.json."""


def read_architecture(directory: Path | str) -> Architecture:
    """The architecture of a model directory, from its config.json.

    Raises:
        InputError: when the file is missing or lacks a size.
    """
    # Late: it brings pandas, which nothing else of a plan needs.
    from thinkprior.artifacts import read_json

    needed = ("hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size")
    values = read_json(Path(directory) / "config.json", [*needed, "vocab_size"])
    heads = values["num_attention_heads"]
    family = values.get("model_type", "")
    return Architecture(
        hidden_size=values["hidden_size"],
        layers=values["num_hidden_layers"],
        heads=heads,
        key_value_heads=values.get("num_key_value_heads") or heads,
        head_size=values.get("head_dim") or values["hidden_size"] // heads,
        intermediate_size=values["intermediate_size"],
        vocabulary=values["vocab_size"],
        tied=values.get("tie_word_embeddings", False),
        biases=family == "qwen2" or bool(values.get("attention_bias")),
        head_norms=family == "qwen3",
    )


@dataclass(frozen=True)
class MemoryPlan:
    """What a job takes at most, in bytes by part.

    Attributes:
        device: phase (`rollout`, `update`) to its parts on the device that runs the model.
        host: parts in host memory while the model is on a card; none on the processor, where the
            device's parts are in host memory.
        on_card: whether the device is a card.
    """

    device: Mapping[str, Mapping[str, int]]
    host: Mapping[str, int]
    on_card: bool

    @property
    def peak(self) -> int:
        """Bytes of the phase that takes most on the device."""
        return max(sum(parts.values()) for parts in self.device.values())

    @property
    def certain(self) -> int:
        """The same without what only prompts and completions as long as their caps would take."""
        return max(
            sum(size for name, size in parts.items() if name not in AT_THE_CAPS)
            for parts in self.device.values()
        )

    @property
    def largest(self) -> Mapping[str, int]:
        """Parts of that phase."""
        return max(self.device.values(), key=lambda parts: sum(parts.values()))


def training_plan(
    architecture: Architecture, settings: Mapping[str, Any], card: int | None = None
) -> MemoryPlan:
    """Memory of a training run.

    Args:
        architecture: of the policy.
        settings: as `thinkprior.plans.run_settings` gives them.
        card: bytes of the card, of which vLLM takes its share; None for what vLLM needs at least.
    """
    plan, engine = settings["plan"], settings["engine"]
    sampling, group = plan["sampling"], plan["group_size"]
    size, rank = SIZES[engine["dtype"]], settings["lora"]["rank"]
    adapter = FP32 * architecture.adapter_parameters(rank)
    weights = size * architecture.parameters
    trainer = {"weights": weights}
    resident = {
        "adapter": adapter,
        "gradient": adapter,
        "optimizer": 2 * adapter,
    }
    if "vllm" in engine:
        # For the check of the sampler's weights: the newest adapter and the one before.
        resident["adapter copies"] = 2 * adapter
    sampler = _sampler(architecture, engine, sampling, group, card)
    longest = sampling["max_prompt_tokens"] + group * sampling["max_new_tokens"]
    rows = min(plan["groups_per_batch"], plan["batch_prompts"])
    anew = plan.get("activation_checkpointing", False)
    update = {
        **trainer,
        **resident,
        "layers computed anew" if anew else "activations": architecture.activations(
            rows, longest, rank, size, anew
        ),
        "logits": logits_chunk(architecture, rows * group * sampling["max_new_tokens"]),
    }
    on_card = engine["device"] != "cpu"
    if "vllm" in engine and on_card and engine["vllm"]["sleep"]:
        rollout = {**resident, **sampler}
        update["vLLM asleep (allowance)"] = VLLM_ASLEEP
        host = {"trainer's weights": weights, "vLLM's weights": weights}
    elif "vllm" in engine:
        rollout = {**trainer, **resident, **sampler}
        update |= sampler
        host = {}
    else:
        merged = {"merged copy": weights} if engine["merged_sampler"] else {}
        rollout = {**trainer, **merged, **resident, **sampler}
        update |= merged
        host = {}
    return _plan({"rollout": rollout, "update": update}, host, on_card)


def sampling_plan(
    architecture: Architecture, settings: Mapping[str, Any], card: int | None = None
) -> MemoryPlan:
    """Memory of a pass over problems, or of the evaluation of a run.

    Args:
        architecture: of the model.
        settings: as `thinkprior.plans.probe_settings` or `evaluation_settings` give them.
        card: as in `training_plan`.
    """
    engine = settings["engine"]
    lora = settings.get("lora")
    weights = SIZES[engine["dtype"]] * architecture.parameters
    parts = _sampler(architecture, engine, settings, settings.get("samples", 1), card)
    host: dict[str, int] = {}
    sleeps = "vllm" in engine and engine["device"] != "cpu" and engine["vllm"]["sleep"]
    if lora:
        parts = {"adapter": FP32 * architecture.adapter_parameters(lora["rank"]), **parts}
        if "vllm" in engine:
            # What the sampler's weights are checked against.
            host = {"trainer's weights": weights, "vLLM's weights": weights} if sleeps else {}
            parts |= {} if sleeps else {"weights": weights}
        elif engine["merged_sampler"]:
            parts["merged copy"] = weights
    if "vllm" not in engine:
        parts = {"weights": weights, **parts}
    return _plan({"rollout": parts}, host, engine["device"] != "cpu")


def logits_chunk(architecture: Architecture, tokens: int) -> int:
    """Bytes that the logits of an update take at once.

    Args:
        architecture: of the policy.
        tokens: completion tokens of a batch.
    """
    rows = max(1, LOGIT_CHUNK // architecture.vocabulary)
    return CHUNK_COPIES * FP32 * min(rows, tokens) * architecture.vocabulary


def decoded_places(most_prompt: int, most_new: int) -> int:
    """Places that the transformers engine lays out for a sequence, as `thinkprior.decoding`."""
    room = min(most_new, ROOM)
    return most_prompt + room * max(1, -(-(most_new - 1) // room))


def _sampler(
    architecture: Architecture,
    engine: Mapping[str, Any],
    sampling: Mapping[str, Any],
    samples: int,
    card: int | None,
) -> dict[str, int]:
    """What the engine takes to sample, weights that it shares with a trainer left out."""
    size = SIZES[engine["dtype"]]
    prompt, new = sampling["max_prompt_tokens"], sampling["max_new_tokens"]
    prompts = max(1, engine["batch_rows"] // samples)
    rows = prompts * samples
    if "vllm" in engine:
        return _vllm(architecture, engine, rows, prompt + new, card)
    # Logits in the model's type and in fp32, their softmax, and its sums in fp64.
    logits = rows * architecture.vocabulary * (size + 2 * FP32 + 8)
    # While prompts are read: the widest layer's numbers, a mask a prompt.
    reading = min(prompts, 128) * prompt
    wide = reading * (3 * architecture.intermediate_size + 4 * architecture.hidden_size) * size
    wide += min(prompts, 128) * prompt**2 * size * 2
    places = decoded_places(prompt, new)
    return {
        "cache": architecture.cache(rows, places, size),
        # One after the other, never both.
        "decoding": max(logits, wide),
    }


def _vllm(
    architecture: Architecture,
    engine: Mapping[str, Any],
    rows: int,
    tokens: int,
    card: int | None,
) -> dict[str, int]:
    size, vllm = SIZES[engine["dtype"]], engine["vllm"]
    weights = size * architecture.parameters
    if engine["device"] == "cpu":
        cache = int(vllm["cpu_cache_gib"] * GIB)
        return {"vLLM's weights": weights, "vLLM's cache": cache}
    # It starts with a cache for one sequence; more of them wait for room.
    least = architecture.cache(1, vllm["max_model_len"], size)
    if card is None:
        cache = max(least, architecture.cache(rows, tokens, size))
    else:
        cache = max(least, int(vllm["gpu_memory_utilization"] * card) - weights - VLLM_RUNNING)
    return {
        "vLLM's weights": weights,
        "vLLM's cache": cache,
        "vLLM's work (allowance)": VLLM_RUNNING,
    }


def _plan(phases: dict[str, dict[str, int]], host: dict[str, int], on_card: bool) -> MemoryPlan:
    if on_card:
        for parts in phases.values():
            parts["CUDA context (allowance)"] = CUDA_CONTEXT
        host["process (allowance)"] = PROCESS_WITH_CUDA
    else:
        for parts in phases.values():
            parts["process (allowance)"] = PROCESS
    return MemoryPlan(phases, host, on_card)
