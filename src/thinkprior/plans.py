"""What each job depends on: the slices of the configuration that rules are given.

A job is given only the settings that it uses, so a change of the configuration makes just those
artifacts stale that depend on it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from thinkprior.benchmarks import ALONG_THE_RUN, LABELS
from thinkprior.configuration import Configuration, split_reference
from thinkprior.errors import InputError

MADE_WITH_ANCHOR = {"anchor"}
MADE_WITH_POLICY = {"length", "oracle"}
OURS = "thinkprior"


def data_settings(config: Configuration) -> dict[str, Any]:
    """Settings of the generated problems."""
    generator = config.data.generator
    return {
        **({} if generator == "world" else {"generator": generator}),
        "seed": config.data.seed,
        "source_per_cell": config.data.source_per_cell,
        "benchmarks": {
            name: {"kind": benchmark.kind, "size": benchmark.size}
            for name, benchmark in config.data.benchmarks.items()
            if benchmark.kind != "none"
        },
    }


def datasets(config: Configuration, origin: str) -> list[str]:
    """Public data sets in use that come from an origin, `local` or `hub`, each once."""
    data = config.data
    found = [data.training_set] if data.source == origin else []
    if data.benchmarks_from == origin:
        found += [row.dataset for row in data.benchmarks.values() if row.dataset != "none"]
    return list(dict.fromkeys(found))


def dataset_settings(config: Configuration) -> dict[str, Any]:
    """Settings of the problem files that are made of public data sets."""
    data = config.data
    return {
        "seed": data.seed,
        "training_set": data.training_set,
        "benchmarks": {
            name: {"dataset": benchmark.dataset, "size": benchmark.size}
            for name, benchmark in data.benchmarks.items()
            if benchmark.dataset != "none"
        },
    }


def download_settings(config: Configuration) -> dict[str, Any]:
    """Settings of the download of public data sets."""
    return {
        "lock": config.data.lock,
        "datasets": {name: config.data.hub[name].model_dump() for name in datasets(config, "hub")},
    }


def model_settings(config: Configuration, name: str) -> dict[str, Any]:
    """Settings of a trained model. Its label is no part of them."""
    model = config.models[name]
    return {
        "model": model.model_dump(exclude={"label", "corpus"}),
        "corpus": config.corpora[model.corpus].model_dump(),
        "template": config.prompting.template,
        "threads": config.engine.threads,
    }


def pretrained_settings(config: Configuration, name: str) -> dict[str, Any]:
    """Settings of a pretrained model: where its weights come from, not how it is asked."""
    model, data = config.pretrained[name], config.data
    if model.kind == "repository":
        place = {"folder": data.folder, "lock": data.lock}
        return {"repository": model.repository, "revision": model.revision, **place}
    if model.kind == "package":
        return model.model_dump(include={"package", "file", "sha256"})
    return {model.kind: getattr(model, model.kind)}


def pretrained(config: Configuration, *kinds: str) -> list[str]:
    """Names of the pretrained models of some kinds, such as `repository`."""
    return [name for name, model in config.pretrained.items() if model.kind in kinds]


def model_step_of(config: Configuration, reference: str) -> int:
    """The step that a model reference means.

    `name@400`, or for a bare name the last one; a pretrained model has step 0 only.
    """
    name, step = split_reference(reference)
    if name in config.pretrained:
        return 0
    return int(step) if step else config.models[name].steps


def probe_settings(config: Configuration, kind: str, reference: str) -> dict[str, Any]:
    """Settings of a probing pass.

    Args:
        config: the configuration.
        kind: `reference`, `anchor`, `thinking` or `respondent`.
        reference: the model; a pretrained one is asked by its own template and stop texts, where
            it has any, but in the reference pass, which is the policy's under the training prompt.
    """
    probing, prompting = config.probing, config.prompting
    samples = {"reference": probing.reference_samples, "anchor": probing.anchor_samples}
    sampled = kind in samples
    thinking = kind == "thinking"
    settings = {
        "samples": samples.get(kind, 1),
        "temperature": prompting.temperature if sampled else 0.0,
        "max_new_tokens": (
            probing.thinking_max_new_tokens if thinking else prompting.max_new_tokens
        ),
        **_stop(config),
        **_reading(config),
    }
    own = config.pretrained.get(split_reference(reference)[0])
    if own is not None and kind != "reference":
        if own.template:
            settings["template"] = own.template
        if own.stop is not None:
            settings.pop("stop", None)
            settings |= {"stop": list(own.stop)} if own.stop else {}
    return settings


def pass_name(config: Configuration, kind: str, reference: str, pool: str) -> str:
    """Name of a pass over a pool, which also names its random streams.

    A pass over another pool than that of the main campaign draws anew at the prompts that the two
    pools share, as the anchor's over the larger pool must (Appendix E): only then is agreement of
    the two a check.
    """
    anew = pool != config.campaigns["main"].pool
    return f"{kind} {reference} over {pool}" if anew else f"{kind} {reference}"


def engine_settings(config: Configuration) -> dict[str, Any]:
    """Settings of the engine; those of an engine that is not in use are no part of them."""
    engine = config.engine
    settings = engine.model_dump(exclude={"name", "gpus", "vllm"})
    if engine.name == "vllm" and engine.vllm is not None:
        settings["vllm"] = engine.vllm.model_dump()
    return settings


def _reading(config: Configuration) -> dict[str, Any]:
    """How any pass reads problems, runs a model and grades."""
    return {
        "max_prompt_tokens": config.prompting.max_prompt_tokens,
        "template": config.prompting.template,
        "time_limit": config.verification.time_limit,
        "engine": engine_settings(config),
    }


def _stop(config: Configuration) -> dict[str, Any]:
    """The texts that end a completion, where there are any."""
    stop = config.prompting.stop
    return {"stop": list(stop)} if stop else {}


def run_settings(config: Configuration, campaign: str, arm: str, seed: int) -> dict[str, Any]:
    """Settings of a training run.

    The strength of a prior is among them only for an arm that has one, so changing kappa leaves the
    other arms' runs as they are.
    """
    plan, row, training = config.campaigns[campaign], config.arms[arm], config.training
    dapo = row.refill == "dapo"
    settings: dict[str, Any] = {
        "plan": {
            "campaign": campaign,
            "arm": arm,
            "seed": seed,
            "steps": plan.steps,
            "batch_prompts": training.batch_prompts,
            "group_size": training.group_size,
            "learning_rate": training.learning_rate,
            "gradient_norm": training.gradient_norm,
            "kl_beta": plan.kl_beta,
            "checkpoint_every": training.checkpoint_every,
            "groups_per_batch": training.groups_per_batch,
            "sampling": {
                "temperature": config.prompting.temperature,
                "max_new_tokens": config.prompting.max_new_tokens,
                "max_prompt_tokens": config.prompting.max_prompt_tokens,
                **_stop(config),
            },
            "refill": {
                "discard_silent": dapo,
                "most_rounds": training.most_refill_rounds if dapo else 1,
            },
        },
        "selector": row.selector,
        "lora": training.lora.model_dump(),
        "template": config.prompting.template,
        "time_limit": config.verification.time_limit,
        "engine": engine_settings(config),
    }
    if training.activation_checkpointing:
        settings["plan"]["activation_checkpointing"] = True
    if row.prior != "uniform":
        settings["kappa"] = config.prior.kappa
        settings["epsilon"] = config.prior.epsilon
    return settings


def evaluation_settings(config: Configuration, name: str) -> dict[str, Any]:
    """Settings of the evaluation of a run."""
    return {
        "name": name,
        "lora": config.training.lora.model_dump(),
        "max_new_tokens": config.prompting.max_new_tokens,
        **_stop(config),
        **_reading(config),
        **_along(config),
    }


def _along(config: Configuration) -> dict[str, Any]:
    """The benchmark along the run, where it is not the paper's."""
    along = config.data.along_the_run
    return {} if along == ALONG_THE_RUN else {"along_the_run": along}


def accuracy_settings(config: Configuration) -> dict[str, Any]:
    """Which accuracies a table or figure shows, where they are not those of the paper.

    As `thinkprior.benchmarks.Accuracies` takes them; empty for the paper's.
    """
    benchmarks, along = config.data.benchmarks, config.data.along_the_run
    if along == ALONG_THE_RUN and set(benchmarks) == set(LABELS):
        return {}
    labels = {name: row.label for name, row in benchmarks.items()}
    return {"accuracies": {"along": along, "labels": labels}}


def prior_name(config: Configuration, campaign: str, arm: str) -> str | None:
    """File name, without its ending, of the prior that an arm of a campaign starts from.

    A prior that is read off a model carries the model's name; None for a uniform start.
    """
    prior = config.arms[arm].prior
    if prior == "uniform":
        return None
    if prior in MADE_WITH_ANCHOR:
        return f"{prior}.{config.campaigns[campaign].anchor}"
    if prior in MADE_WITH_POLICY:
        return f"{prior}.{config.campaigns[campaign].policy}"
    return prior


def respondents(config: Configuration) -> list[str]:
    """References of all respondents of the item-response fit."""
    return [
        f"{name}@{step}" for name, steps in config.probing.respondents.items() for step in steps
    ]


def table_settings(config: Configuration, campaign: str) -> dict[str, Any]:
    """What a table or figure of a campaign shows besides its metrics: arms in order, the scale."""
    return {
        "scale": config.scale,
        "note": config.note,
        "arms": [
            {
                "name": name,
                "label": config.arms[name].label,
                "block": config.arms[name].block,
                "fixed_budget": config.arms[name].refill == "none",
                "ours": name == OURS,
            }
            for name in config.campaigns[campaign].arms
        ],
        **accuracy_settings(config),
    }


def protocol_settings(config: Configuration, campaign: str) -> dict[str, Any]:
    """What the table of the evaluation protocol shows besides its scores."""
    prompting = config.prompting
    return {
        **table_settings(config, campaign),
        "campaign": campaign,
        "benchmarks": {name: row.label for name, row in config.data.benchmarks.items()},
        "confidence": config.statistics.confidence,
        "protocol": {
            "template": prompting.template,
            "max_new_tokens": prompting.max_new_tokens,
            "max_prompt_tokens": prompting.max_prompt_tokens,
            **_stop(config),
        },
    }


def calibration_settings(config: Configuration, template: str) -> dict[str, Any]:
    """Settings of the calibration of one template."""
    grid = config.calibration
    return {
        **_reading(config),
        **grid.model_dump(include={"stops", "caps", "box_rules", "problems"}),
        **grid.model_dump(include={"pool_problems", "pool_samples"}),
        "template": grid.templates[template],
        "seed": config.data.seed,
        "temperature": config.prompting.temperature,
    }


def calibration_table_settings(config: Configuration) -> dict[str, Any]:
    """What the calibration table shows besides its cells."""
    return {
        "scale": config.scale,
        "note": config.note,
        "benchmark": config.data.benchmarks[config.calibration.benchmark].label,
        "pool": config.campaigns["main"].pool,
        "confidence": config.statistics.confidence,
    }


def policies(config: Configuration) -> set[str]:
    """Names of the models that some campaign trains."""
    return {split_reference(campaign.policy)[0] for campaign in config.campaigns.values()}


def passes(config: Configuration, runs: Iterable[tuple[str, str]]) -> list[tuple[str, str, str]]:
    """The passes over the pools that the priors of some runs rest on, each once.

    Args:
        config: the configuration.
        runs: campaign and arm of the runs.

    Returns:
        Pool, kind (as in `probe_settings`) and model reference of each, grouped by kind.
    """
    found: list[tuple[str, str, str]] = []
    for name, arm in runs:
        campaign, prior = config.campaigns[name], config.arms[arm].prior
        pool = campaign.pool
        if prior in MADE_WITH_ANCHOR:
            found.append((pool, "anchor", campaign.anchor))
        elif prior in MADE_WITH_POLICY:
            found.append((pool, "reference", campaign.policy))
            if prior == "length":
                found.append((pool, "thinking", config.probing.thinking_model))
        elif prior != "uniform":
            found += [(pool, "respondent", reference) for reference in respondents(config)]
    kinds = ("anchor", "reference", "thinking", "respondent")
    return sorted(dict.fromkeys(found), key=lambda one: kinds.index(one[1]))


FIRST_BATCHES = ("online_np", OURS)
"""The arms whose first batches Figure 1 holds side by side."""


def pool_settings(config: Configuration) -> dict[str, Any]:
    """What Table 5, Appendix B and Figure 1 show of the main campaign's pool and its priors."""
    return {
        "scale": config.scale,
        "note": config.note,
        "campaign": "main",
        "group_size": config.training.group_size,
        "kappa": config.prior.kappa,
        "epsilon": config.prior.epsilon,
        "reference_samples": config.probing.reference_samples,
        "anchor_samples": config.probing.anchor_samples,
        "thinking_cap": config.probing.thinking_max_new_tokens,
        "confidence": config.statistics.confidence,
        "first_batch_arms": list(FIRST_BATCHES),
    }


def first_batch_run(
    runs: Mapping[str, Sequence[tuple[str, int]]],
) -> tuple[str, int, list[str]]:
    """The run of each arm whose first batch Figure 1 draws.

    Args:
        runs: (arm, seed) of the finished runs by campaign, the preferred campaign first.

    Returns:
        The first campaign and seed that both arms have, and the arms; else the first that one of
        them has. Without any such run, the preferred campaign, seed 0 and no arm.
    """
    for least in (len(FIRST_BATCHES), 1):
        for campaign, of_campaign in runs.items():
            for seed in sorted({seed for _, seed in of_campaign}):
                arms = [arm for arm in FIRST_BATCHES if (arm, seed) in of_campaign]
                if len(arms) >= least:
                    return campaign, seed, arms
    return next(iter(runs)), 0, []


BACKBONES = ("backbone_main", "backbone_general", "backbone_small", "backbone_rerun")
ANCHORS = ("anchor_small", "anchor_medium", "anchor_large")
HORIZONS = ("horizon", "horizon_kl")
LARGE_POOL = "large_pool"


CAMPAIGNS = ("main", "reestimate", *BACKBONES, *ANCHORS, *HORIZONS, LARGE_POOL)
"""The campaigns of the paper, which tables and figures are of."""


def check_campaigns(config: Configuration, source: str) -> None:
    """Refuse a configuration without the campaign that everything else is measured against.

    Args:
        config: the configuration.
        source: its file or files, for the message.

    Raises:
        InputError: where `main` is missing.
    """
    if "main" not in config.campaigns:
        raise InputError(
            f"{source}: campaigns: main missing. It is the one campaign that every configuration "
            "has; the others may be left out, and what is of them is not made."
        )


def pair_campaign(config: Configuration) -> str:
    """The campaign of what compares ThinkPrior with online-NP: `reestimate`, or else `main`."""
    return "reestimate" if "reestimate" in config.campaigns else "main"


def absent_campaigns(config: Configuration) -> list[str]:
    """Campaigns of the paper that a configuration does not declare."""
    return [name for name in CAMPAIGNS if name not in config.campaigns]


def anchor_priors(config: Configuration) -> dict[str, str]:
    """Prior of each campaign of Table 3(b): its pool and file name, without the ending."""
    return {
        name: f"{config.campaigns[name].pool}/{prior_name(config, name, OURS)}" for name in ANCHORS
    }


def robustness_settings(config: Configuration) -> dict[str, Any]:
    """What Table 3 and Appendix D show besides their metrics: campaigns with labels, the scale."""
    campaigns, pools = config.campaigns, config.data.pools

    def shown(name: str, label: str) -> dict[str, Any]:
        return {"campaign": name, "label": label, "seeds": list(campaigns[name].seeds)}

    def model_label(name: str, reference: str) -> str:
        return campaigns[name].label or config.label_of(reference)

    def kl_label(name: str) -> str:
        beta = campaigns[name].kl_beta
        return f"β = {beta:g}" if beta else "no KL"

    prompts = pools[campaigns[LARGE_POOL].pool].size
    return {
        "scale": config.scale,
        "note": config.note,
        "backbones": [shown(name, model_label(name, campaigns[name].policy)) for name in BACKBONES],
        "anchors": [shown(name, model_label(name, campaigns[name].anchor)) for name in ANCHORS],
        "horizons": [shown(name, kl_label(name)) for name in HORIZONS],
        "horizon_steps": campaigns[HORIZONS[0]].steps,
        "large_pool": {
            **shown(LARGE_POOL, f"pool of {prompts}"),
            "prompts": prompts,
            "times_larger": prompts / pools[campaigns["main"].pool].size,
        },
    }


def composition_settings(config: Configuration) -> dict[str, Any]:
    """What Table 4 shows besides its metrics."""
    training = config.training
    return {
        "scale": config.scale,
        "note": config.note,
        "labels": _labels(config, "dapo", "thinkprior_dapo"),
        "steps": config.campaigns["main"].steps,
        "batch_prompts": training.batch_prompts,
        "most_rounds": training.most_refill_rounds,
        "hardware": _hardware(config),
        **accuracy_settings(config),
    }


def windows_settings(config: Configuration) -> dict[str, Any]:
    """What the table of window rates shows besides its metrics."""
    main, pair = config.campaigns["main"], pair_campaign(config)
    again = list(config.campaigns[pair].arms) if pair != "main" else []
    return {
        **table_settings(config, "main"),
        "reestimate_arms": again,
        "steps": main.steps,
        "pools": {
            name: config.data.pools[config.campaigns[name].pool].size
            for name in dict.fromkeys(("main", pair))
        },
    }


def document_settings(config: Configuration, left_out: Mapping[str, str]) -> dict[str, Any]:
    """What the document says besides its tables and figures: the scale, and what it leaves out."""
    return {
        "scale": config.scale,
        "note": config.note,
        **({"left_out": dict(left_out)} if left_out else {}),
    }


def reproduction_settings(config: Configuration) -> dict[str, Any]:
    """What the reproduction page shows besides the numbers: the scale, and what it does not run."""
    absent = absent_campaigns(config)
    return {
        "scale": config.scale,
        "note": config.note,
        **({"absent_campaigns": absent} if absent else {}),
    }


def appendix_e_settings(config: Configuration) -> dict[str, Any]:
    """What Appendix E shows besides its metrics."""
    campaign = config.campaigns["large_pool"]
    return {
        "scale": config.scale,
        "note": config.note,
        "labels": _labels(config, "thinkprior", "online_np"),
        "benchmarks": {name: row.label for name, row in config.data.benchmarks.items()},
        "steps": campaign.steps,
        "pool": config.data.pools[campaign.pool].size,
    }


def amortisation_settings(config: Configuration) -> dict[str, Any]:
    """What the amortisation figures show besides what was measured."""
    main = config.campaigns["main"]
    return {
        "scale": config.scale,
        "note": config.note,
        "anchor": config.label_of(main.anchor),
        "samples": config.probing.anchor_samples,
        "reference_samples": config.probing.reference_samples,
        "pool": config.data.pools[main.pool].size,
        "labels": _labels(config, "dapo", "thinkprior_dapo"),
        "hardware": _hardware(config),
    }


def _labels(config: Configuration, *arms: str) -> list[str]:
    return [config.arms[arm].label for arm in arms]


def _hardware(config: Configuration) -> dict[str, Any]:
    """What runs a job, as far as the configuration says."""
    return {"device": config.engine.device, "threads": config.engine.threads}
