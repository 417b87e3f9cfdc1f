"""What a configuration's jobs will do, counted before any is started.

Counts of completions are exact for arms with a fixed budget; an arm that refills may generate up to
`training.most_refill_rounds` times as many. Tokens are at most: every prompt and completion as long
as its cap lets it be.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from thinkprior import plans
from thinkprior.configuration import Configuration, split_reference
from thinkprior.datasets import DATASETS
from thinkprior.memory_plan import (
    ARCHITECTURES,
    FP32,
    SIZES,
    Architecture,
    read_architecture,
)

STAGES = ("model", "probe", "train", "evaluate")

ADAPTER_PAPERS, TENSOR_ENTRY = 6850, 124
"""Bytes of the configuration and the card beside an adapter's weights, and of an entry in their
list, which has 14 a layer."""

TEXT_BYTES = 5
"""Bytes of a generated token's text, before compression."""

KEPT_STATES = 2
"""`thinkprior.training.STEP_STATES`."""


@dataclass(frozen=True)
class Work:
    """Jobs of one kind.

    Attributes:
        stage: one of `STAGES`.
        what: campaign, or pass, or model, as printed.
        model: name of the model that works.
        jobs: how many.
        files: name of each job as it stands in its usage file, without the ending.
        prompts: prompts read, each once for all samples of it.
        completions: completions generated, at most.
        tokens: tokens generated, at most.
        prompt_tokens: tokens of the prompts, at most.
        steps: updates.
        update_tokens: tokens of the updates, prompts included, at most.
        disk: bytes that the jobs leave, at most.
        working_disk: bytes of the state that one job keeps until the next stage has taken over.
    """

    stage: str
    what: str
    model: str
    files: tuple[str, ...]
    prompts: int = 0
    completions: int = 0
    tokens: int = 0
    prompt_tokens: int = 0
    steps: int = 0
    update_tokens: int = 0
    disk: int = 0
    working_disk: int = 0

    @property
    def jobs(self) -> int:
        """How many jobs."""
        return len(self.files)


def workload(config: Configuration, architectures: Mapping[str, Architecture | None]) -> list[Work]:
    """All jobs that run a model, by stage.

    Args:
        config: the configuration.
        architectures: model name to its architecture, None where it is not known.
    """
    return [
        *_models(config, architectures),
        *_passes(config),
        *_training(config, architectures),
        *_evaluation(config),
    ]


def architectures_of(
    config: Configuration, vocabulary: int, folder: Path
) -> dict[str, Architecture | None]:
    """Architecture of each model by name, None where neither the configuration nor a file tells it.

    Args:
        config: the configuration.
        vocabulary: tokens of the models that are trained here.
        folder: what the scale has computed or fetched so far.
    """
    found: dict[str, Architecture | None] = {
        name: Architecture(
            hidden_size=model.hidden_size,
            layers=model.layers,
            heads=model.heads,
            key_value_heads=model.heads,
            head_size=model.hidden_size // model.heads,
            intermediate_size=model.intermediate_size,
            vocabulary=vocabulary,
            tied=True,
        )
        for name, model in config.models.items()
    }
    for name, model in config.pretrained.items():
        source = config.pretrained[model.same_as] if model.same_as else model
        places = [*folder.glob(f"models/{name}/step-*")]
        places += [Path(source.path)] if source.path else []
        known = [place for place in places if (place / "config.json").exists()]
        if known:
            found[name] = read_architecture(known[0])
        else:
            found[name] = ARCHITECTURES.get(source.repository)
    return found


def benchmark_sizes(config: Configuration) -> dict[str, int]:
    """Problems of each benchmark."""
    return {
        name: row.size or DATASETS[row.dataset].count
        for name, row in config.data.benchmarks.items()
    }


def checkpoints(config: Configuration, steps: int) -> int:
    """Adapters that a run of so many steps keeps, that before the first step included."""
    return 1 + -(-steps // config.training.checkpoint_every)


def adapter_files(sizes: Architecture | None, rank: int) -> int:
    """Bytes of a saved adapter; 0 where the architecture is not known."""
    if sizes is None:
        return 0
    entries = 14 * sizes.layers * TENSOR_ENTRY
    return FP32 * sizes.adapter_parameters(rank) + ADAPTER_PAPERS + entries


def _runs(config: Configuration) -> list[tuple[str, str]]:
    return [(name, arm) for name, row in config.campaigns.items() for arm in row.arms]


def _models(config: Configuration, architectures: Mapping[str, Architecture | None]) -> list[Work]:
    passes = plans.passes(config, _runs(config))
    used = [row.policy for row in config.campaigns.values()] + [one[2] for one in passes]
    works = []
    for name in dict.fromkeys(split_reference(reference)[0] for reference in used):
        sizes = architectures[name]
        parameters = sizes.parameters if sizes else 0
        if name in config.models:
            model = config.models[name]
            kept = len({*model.checkpoints, model.steps})
            disk, steps = kept * FP32 * parameters, model.steps
        else:
            # Downloads are in the type that they were published in, links take nothing.
            row = config.pretrained[name]
            own = SIZES["bfloat16"] if row.kind == "repository" else 0
            disk, steps = own * parameters, 0
        works.append(Work("model", name, name, (name,), steps=steps, disk=disk))
    return works


def _passes(config: Configuration) -> list[Work]:
    works = []
    for pool, kind, reference in plans.passes(config, _runs(config)):
        name, _ = split_reference(reference)
        settings = plans.probe_settings(config, kind, reference)
        prompts = config.data.pools[pool].size
        completions = prompts * settings["samples"]
        tokens = completions * settings["max_new_tokens"]
        full = f"{name}@{plans.model_step_of(config, reference)}"
        works.append(
            Work(
                "probe",
                f"{kind} pass of {reference} over {pool}",
                name,
                (f"{pool}.{kind}.{full}",),
                prompts=prompts,
                completions=completions,
                tokens=tokens,
                prompt_tokens=prompts * settings["max_prompt_tokens"],
                disk=TEXT_BYTES * tokens,
            )
        )
    return works


def _training(
    config: Configuration, architectures: Mapping[str, Architecture | None]
) -> list[Work]:
    training, prompting = config.training, config.prompting
    works = []
    for name, row in config.campaigns.items():
        policy = split_reference(row.policy)[0]
        sizes = architectures[policy]
        adapter = FP32 * sizes.adapter_parameters(training.lora.rank) if sizes else 0
        saved = checkpoints(config, row.steps) * adapter_files(sizes, training.lora.rank)
        for refill, rounds in (("none", 1), ("dapo", training.most_refill_rounds)):
            arms = [arm for arm in row.arms if config.arms[arm].refill == refill]
            if not arms:
                continue
            files = tuple(f"{name}.{arm}.{seed}" for arm in arms for seed in row.seeds)
            steps = len(files) * row.steps
            prompts = steps * training.batch_prompts * rounds
            completions = prompts * training.group_size
            longest = training.group_size * prompting.max_new_tokens
            works.append(
                Work(
                    "train",
                    name if rounds == 1 else f"{name}, arms that refill",
                    policy,
                    files,
                    prompts=prompts,
                    completions=completions,
                    tokens=completions * prompting.max_new_tokens,
                    prompt_tokens=prompts * prompting.max_prompt_tokens,
                    steps=steps,
                    update_tokens=steps
                    * training.batch_prompts
                    * (prompting.max_prompt_tokens + longest),
                    disk=len(files) * saved,
                    # Adapter and two moments a state, and a copy of each adapter.
                    working_disk=saved + KEPT_STATES * 3 * adapter,
                )
            )
    return works


def _evaluation(config: Configuration) -> list[Work]:
    sizes = benchmark_sizes(config)
    along = sizes[config.data.along_the_run]
    prompting = config.prompting
    works = []
    for name, row in config.campaigns.items():
        files = tuple(f"{name}.{arm}.{seed}" for arm in row.arms for seed in row.seeds)
        before = checkpoints(config, row.steps) - 1
        completions = len(files) * (before * along + sum(sizes.values()))
        tokens = completions * prompting.max_new_tokens
        works.append(
            Work(
                "evaluate",
                name,
                split_reference(row.policy)[0],
                files,
                prompts=completions,
                completions=completions,
                tokens=tokens,
                prompt_tokens=completions * prompting.max_prompt_tokens,
                disk=TEXT_BYTES * tokens,
            )
        )
    return works
