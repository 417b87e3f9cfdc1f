"""Which settings a job is given, so that a change reruns only what depends on it."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from thinkprior import plans
from thinkprior.configuration import Configuration, load, parse
from thinkprior.digest import settings_digest

SMALL = load(Path(__file__).parent / "small.yaml")


def changed(key: str, value: object) -> dict[str, Any]:
    """The small configuration with one key set."""
    values = copy.deepcopy(SMALL)
    section: Any = values
    *path, last = key.split(".")
    for part in path:
        section = section[part]
    section[last] = value
    return values


ARMS = set(SMALL["arms"])


def configuration(key: str | None = None, value: object = None) -> Configuration:
    return parse(changed(key, value) if key else SMALL, "small.yaml")


def stale(key: str, value: object) -> set[str]:
    """Arms whose runs a change of the configuration makes stale."""
    before, after = configuration(), configuration(key, value)
    return {
        arm
        for arm in ARMS
        if settings_digest(plans.run_settings(before, "main", arm, 0))
        != settings_digest(plans.run_settings(after, "main", arm, 0))
    }


WITH_A_PRIOR = {"thinkprior", "length", "oracle", "bank", "thinkprior_dapo"}


@pytest.mark.parametrize(
    ("key", "value", "arms"),
    [
        ("prior.kappa", 8, WITH_A_PRIOR),
        ("prior.epsilon", 0.01, WITH_A_PRIOR),
        ("training.most_refill_rounds", 1, {"dapo", "thinkprior_dapo"}),
        ("training.group_size", 4, ARMS),
        ("training.batch_prompts", 4, ARMS),
        ("training.learning_rate", 0.1, ARMS),
        ("training.lora", {"rank": 4, "alpha": 8}, ARMS),
        ("training.gradient_norm", 2.0, ARMS),
        ("campaigns.main.kl_beta", 0.04, ARMS),
        ("campaigns.main.steps", 70, ARMS),
        ("prompting.template", "Q: {problem}", ARMS),
        ("prompting.temperature", 1.0, ARMS),
        ("prompting.max_new_tokens", 11, ARMS),
        ("prompting.max_prompt_tokens", 65, ARMS),
        ("verification.time_limit", 6, ARMS),
        # Files that a run reads are inputs, not settings: these make it stale through them.
        ("prior.sharpening", 3, set()),
        ("prior.length_fit_share", 0.2, set()),
        ("probing.anchor_samples", 8, set()),
        # Labels, captions, tests and placement change no run.
        ("arms.random.label", "uniform", set()),
        ("arms.random.block", "ablation", set()),
        ("campaigns.main.title", "Another title", set()),
        ("campaigns.main.seeds", [0, 1, 2, 3], set()),
        ("models.policy", {**SMALL["models"]["policy"], "label": "another"}, set()),
        ("note", "Another note.", set()),
        ("scale", "other", set()),
        ("statistics.resamples", 10, set()),
        ("engine.gpus", 1, set()),
        ("finished_runs_only", True, set()),
    ],
)
def test_a_change_makes_stale_just_the_runs_that_depend_on_it(
    key: str, value: object, arms: set[str]
) -> None:
    assert stale(key, value) == arms


def test_a_label_changes_the_table() -> None:
    before, after = configuration(), configuration("arms.random.label", "uniform sampling")
    assert plans.table_settings(before, "main") != plans.table_settings(after, "main")


def test_a_run_is_given_the_papers_plan() -> None:
    settings = plans.run_settings(configuration(), "main", "thinkprior_dapo", 7)
    assert settings["plan"] == {
        "campaign": "main",
        "arm": "thinkprior_dapo",
        "seed": 7,
        "steps": 60,
        "batch_prompts": 8,
        "group_size": 8,
        "learning_rate": 0.0003,
        "gradient_norm": 1.0,
        "kl_beta": 0.0,
        "checkpoint_every": 10,
        "groups_per_batch": 8,
        "sampling": {"temperature": 0.9, "max_new_tokens": 10, "max_prompt_tokens": 64},
        "refill": {"discard_silent": True, "most_rounds": 2},
    }
    assert settings["selector"] == "top_learnability"
    assert (settings["kappa"], settings["epsilon"]) == (4, 0.001)


def test_without_refill_there_is_one_round() -> None:
    refill = plans.run_settings(configuration(), "main", "random", 0)["plan"]["refill"]
    assert refill == {"discard_silent": False, "most_rounds": 1}


@pytest.mark.parametrize(
    ("arm", "name"),
    [
        ("random", None),
        ("dapo", None),
        ("thinkprior", "anchor.anchor"),
        ("length", "length.policy"),
        ("oracle", "oracle.policy"),
        ("bank", "bank"),
    ],
)
def test_a_prior_file_carries_the_model_that_it_was_read_off(arm: str, name: str | None) -> None:
    assert plans.prior_name(configuration(), "main", arm) == name


@pytest.mark.parametrize(
    ("kind", "samples", "temperature", "cap"),
    [
        ("reference", 32, 0.9, 10),
        ("anchor", 16, 0.9, 10),
        ("thinking", 1, 0.0, 24),
        ("respondent", 1, 0.0, 10),
    ],
)
def test_a_pass_samples_or_is_greedy(kind: str, samples: int, temperature: float, cap: int) -> None:
    settings = plans.probe_settings(configuration(), kind, "anchor")
    found = (settings["samples"], settings["temperature"], settings["max_new_tokens"])
    assert found == (samples, temperature, cap)


@pytest.mark.parametrize(
    ("key", "value"),
    [("prior.kappa", 8), ("training.group_size", 4), ("training.learning_rate", 0.1)],
)
def test_training_settings_leave_the_offline_passes(key: str, value: object) -> None:
    before, after = configuration(), configuration(key, value)
    for kind in ("reference", "anchor", "thinking", "respondent"):
        assert plans.probe_settings(before, kind, "policy") == plans.probe_settings(
            after, kind, "policy"
        )
    assert plans.data_settings(before) == plans.data_settings(after)
    assert plans.model_settings(before, "policy") == plans.model_settings(after, "policy")


def test_a_models_label_is_no_part_of_it_but_its_corpus_is() -> None:
    before = configuration()
    label = configuration("models.policy", {**SMALL["models"]["policy"], "label": "another"})
    assert plans.model_settings(before, "policy") == plans.model_settings(label, "policy")
    forms = configuration("corpora.base.forms", {"boxed": 1.0})
    assert plans.model_settings(before, "policy") != plans.model_settings(forms, "policy")


def test_references_name_a_checkpoint_or_the_last_step() -> None:
    config = configuration()
    assert plans.model_step_of(config, "policy@50") == 50
    assert plans.model_step_of(config, "policy") == 100
    assert plans.respondents(config) == ["respondent@50", "respondent@100"]


def test_a_table_lists_its_arms_in_order() -> None:
    config = configuration()
    table: dict[str, Any] = plans.table_settings(config, "main")
    assert [arm["name"] for arm in table["arms"]] == SMALL["campaigns"]["main"]["arms"]
    assert [arm["name"] for arm in table["arms"] if arm["ours"]] == ["thinkprior"]
    assert [arm["name"] for arm in table["arms"] if not arm["fixed_budget"]] == [
        "dapo",
        "thinkprior_dapo",
    ]
    assert (table["scale"], table["note"]) == ("small", "A small scale.")


def test_priors_need_the_passes_they_are_read_from_each_once() -> None:
    config = configuration()
    runs = [("main", arm) for arm in ("bank", "thinkprior", "random", "length", "oracle")]
    pool, main = config.campaigns["main"].pool, config.campaigns["main"]
    assert plans.passes(config, runs) == [
        (pool, "anchor", main.anchor),
        (pool, "reference", main.policy),
        (pool, "thinking", config.probing.thinking_model),
        (pool, "respondent", "respondent@50"),
        (pool, "respondent", "respondent@100"),
    ]
    assert plans.passes(config, [("main", "random"), ("main", "dapo")]) == []
