"""What each job depends on: the slices of the configuration that rules are given.

A job is given only the settings that it uses, so a change of the configuration makes just those
artifacts stale that depend on it.
"""

from __future__ import annotations

from typing import Any

from thinkprior.configuration import Configuration, split_reference

MADE_WITH_ANCHOR = {"anchor"}
MADE_WITH_POLICY = {"length", "oracle"}
OURS = "thinkprior"


def data_settings(config: Configuration) -> dict[str, Any]:
    """Settings of the generated problems."""
    return {
        "seed": config.data.seed,
        "source_per_cell": config.data.source_per_cell,
        "benchmarks": {
            name: {"kind": benchmark.kind, "size": benchmark.size}
            for name, benchmark in config.data.benchmarks.items()
        },
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


def model_step_of(config: Configuration, reference: str) -> int:
    """The step that a model reference means: `name@400`, or the last one for a bare name."""
    name, step = split_reference(reference)
    return int(step) if step else config.models[name].steps


def probe_settings(config: Configuration, kind: str) -> dict[str, Any]:
    """Settings of a probing pass.

    Args:
        config: the configuration.
        kind: `reference`, `anchor`, `thinking` or `respondent`.
    """
    probing, prompting = config.probing, config.prompting
    samples = {"reference": probing.reference_samples, "anchor": probing.anchor_samples}
    sampled = kind in samples
    thinking = kind == "thinking"
    return {
        "samples": samples.get(kind, 1),
        "temperature": prompting.temperature if sampled else 0.0,
        "max_new_tokens": (
            probing.thinking_max_new_tokens if thinking else prompting.max_new_tokens
        ),
        **_reading(config),
    }


def _reading(config: Configuration) -> dict[str, Any]:
    """How any pass reads problems, runs a model and grades."""
    return {
        "max_prompt_tokens": config.prompting.max_prompt_tokens,
        "template": config.prompting.template,
        "time_limit": config.verification.time_limit,
        "engine": config.engine.model_dump(exclude={"name", "gpus"}),
    }


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
        "engine": config.engine.model_dump(exclude={"name", "gpus"}),
    }
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
        **_reading(config),
    }


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
    }


def policies(config: Configuration) -> set[str]:
    """Names of the models that some campaign trains."""
    return {split_reference(campaign.policy)[0] for campaign in config.campaigns.values()}
