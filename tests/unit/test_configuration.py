"""The configuration: each refusal by its message, and the files written from the model."""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from thinkprior.configuration import Configuration, check_files, load, parse, read, reference
from thinkprior.errors import InputError

PROJECT = Path(__file__).resolve().parents[2]

SMALL = load(Path(__file__).parent / "small.yaml")
DELETE = object()


def changed(key: str, value: object) -> dict[str, Any]:
    """The small configuration with one key set, or taken out."""
    values = copy.deepcopy(SMALL)
    section: Any = values
    *path, last = key.split(".")
    for part in path:
        section = section[part]
    if value is DELETE:
        del section[last]
    else:
        section[last] = value
    return values


def refusal(values: dict[str, Any]) -> list[str]:
    """The lines of the message that refuses a configuration."""
    with pytest.raises(InputError) as caught:
        parse(values, "small.yaml")
    return str(caught.value).splitlines()


def test_the_small_configuration_is_accepted() -> None:
    config = parse(SMALL, "small.yaml")
    assert config.training.group_size == 8
    assert config.campaigns["main"].kl_beta == 0.0


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        # A misspelt key names the nearest, in every kind of section.
        ("trainning", {}, r"^trainning: unknown key; did you mean 'training'\?$"),
        (
            "training.groupsize",
            8,
            r"^training.groupsize: unknown key; did you mean 'group_size'\?$",
        ),
        ("training.lora.ranks", 8, r"^training.lora.ranks: unknown key; did you mean 'rank'\?$"),
        ("prior.kapa", 4, r"^prior.kapa: unknown key; did you mean 'kappa'\?$"),
        (
            "arms.random.selektor",
            "uniform",
            r"^arms.random.selektor: unknown key; did you mean 'selector'\?$",
        ),
        (
            "campaigns.main.kl_betta",
            0.1,
            r"^campaigns.main.kl_betta: unknown key; did you mean 'kl_beta'\?$",
        ),
        ("prior.zzz", 1, "^prior.zzz: unknown key; known are epsilon, kappa,"),
        # Names of other entries.
        (
            "campaigns.main.arms",
            ["random", "thinkpriour"],
            r"^campaigns.main.arms: 'thinkpriour' is not defined; did you mean 'thinkprior'\?$",
        ),
        ("campaigns.main.policy", "polcy", "^campaigns.main.policy: 'polcy' .* mean 'policy'"),
        ("campaigns.main.anchor", "qqq", "^campaigns.main.anchor: 'qqq' is not defined; known are"),
        ("campaigns.main.pool", "pool2", "^campaigns.main.pool: 'pool2' .* mean 'pool20'"),
        ("models.policy.corpus", "bas", "^models.policy.corpus: 'bas' .* mean 'base'"),
        ("probing.thinking_model", "ancor", "^probing.thinking_model: 'ancor' .* mean 'anchor'"),
        (
            "campaigns.main.policy",
            "policy@75",
            r"^campaigns.main.policy: .*'75', only \[50, 100\]$",
        ),
        ("probing.respondents", {"respondent": [7]}, "^probing.respondents: .*'7', only"),
        (
            "probing.respondents",
            {"respondant": [50]},
            "^probing.respondents: 'respondant' .* mean 'respondent'",
        ),
        # Seeds and arms that stand twice.
        ("campaigns.main.seeds", [0, 1, 0], "^campaigns.main.seeds: 0 stands there twice$"),
        ("campaigns.main.arms", ["random"] * 2, "^campaigns.main.arms: random stands there twice$"),
        ("campaigns.main.seeds", [], "^campaigns.main.seeds: .* at least 1 item"),
        ("campaigns.main.seeds", [-1], r"^campaigns.main.seeds.0: .*greater than or equal to 0"),
        # Numbers.
        ("training.group_size", 1, "^training.group_size: .* greater than or equal to 2, found 1$"),
        ("training.batch_prompts", 0, "^training.batch_prompts: .*, found 0$"),
        (
            "training.batch_prompts",
            21,
            "^campaigns.main.pool: pool20 holds 20 problems, fewer than .*batch_prompts = 21$",
        ),
        ("prior.kappa", 0, "^prior.kappa: .* greater than 0, found 0$"),
        ("prior.kappa", -4, "^prior.kappa: .* greater than 0, found -4$"),
        ("prior.kappa", float("nan"), "^prior.kappa: .*, found nan$"),
        ("prior.kappa", float("inf"), "^prior.kappa: .*, found inf$"),
        ("prior.epsilon", 0, "^prior.epsilon: .* greater than 0, found 0$"),
        ("prior.length_fit_share", 1.5, "^prior.length_fit_share: .* found 1.5$"),
        ("prompting.temperature", 0, "^prompting.temperature: .* greater than 0"),
        ("training.learning_rate", "fast", "^training.learning_rate: .* found 'fast'$"),
        ("training.group_size", 8.5, "^training.group_size: .* found 8.5$"),
        ("campaigns.main.kl_beta", -0.1, "^campaigns.main.kl_beta: .* found -0.1$"),
        ("statistics.confidence", 1, "^statistics.confidence: .* less than 1"),
        (
            "models.policy.checkpoints",
            [100],
            "^models.policy.checkpoints: 100 is not before .* 100$",
        ),
        # Choices.
        ("arms.random.selector", "best", "^arms.random.selector: .*'frozen_band', found 'best'$"),
        ("arms.random.refill", "greso", "^arms.random.refill: .*'none' or 'dapo', found 'greso'$"),
        # Leaks, and what is missing.
        (
            "probing.respondents",
            {"policy": [50]},
            "^campaigns.main.policy: policy is also in probing.respondents;.*leak",
        ),
        ("data.benchmarks", {}, "^data.benchmarks: math500 is needed"),
        ("training.group_size", DELETE, "^training.group_size: missing. G, rollouts a group"),
        ("arms.random.prior", DELETE, "^arms.random.prior: missing. Where each prompt's"),
        ("statistics", DELETE, "^statistics: missing. Statistics.$"),
    ],
)
def test_a_fault_gets_one_clear_message(key: str, value: object, message: str) -> None:
    head, *lines = refusal(changed(key, value))
    assert head == "small.yaml: 1 fault(s) in the configuration"
    assert len(lines) == 1
    assert re.search(message, lines[0].strip()), lines[0]


def test_the_policys_earlier_checkpoint_is_no_respondent_either() -> None:
    values = changed("campaigns.main.policy", "policy@50")
    values["probing"]["respondents"] = {"policy": [100]}
    assert "also in probing.respondents" in refusal(values)[1]


def test_all_faults_are_listed_at_once() -> None:
    values = changed("training.group_size", 1)
    values["prior"]["kappa"] = 0
    values["prior"]["kapa"] = 4
    assert refusal(values)[0] == "small.yaml: 3 fault(s) in the configuration"


# --- Files ----------------------------------------------------------------------------------------


def test_a_key_that_stands_twice_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "twice.yaml"
    path.write_text("scale: a\nprior:\n  kappa: 4\n  epsilon: 0.001\n  kappa: 5\n")
    for action in (load, read, lambda p: check_files([p])):
        with pytest.raises(
            InputError, match=r"twice.yaml: .*line 5: key 'kappa' stands there twice"
        ):
            action(path)


def test_a_merged_key_may_be_set_again(tmp_path: Path) -> None:
    # Also where a merged section is merged on, above the place where it stands.
    path = tmp_path / "merged.yaml"
    path.write_text(
        "base: &base {steps: 60, title: one}\n"
        "inner:\n  deep: &deep {<<: *base, title: two}\n"
        "outer: {<<: *deep, steps: 300}\n"
    )
    values = load(path)
    assert values["inner"]["deep"] == {"steps": 60, "title": "two"}
    assert values["outer"] == {"steps": 300, "title": "two"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a: [1", "not readable as YAML"),
        ("- a\n", "expected a mapping of keys, found list"),
        ("", "NoneType"),
    ],
)
def test_a_file_that_is_no_mapping_is_refused(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(content)
    with pytest.raises(InputError, match=re.escape(str(path)) + ".*" + message):
        load(path)


def test_a_written_configuration_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "small.yaml"
    path.write_text(yaml.safe_dump(SMALL))
    assert read(path) == parse(SMALL, "small.yaml")


@pytest.mark.parametrize("name", ["config.yaml", "pilot.yaml", "paper.yaml"])
def test_the_scales_of_the_project_are_accepted(name: str) -> None:
    read(PROJECT / "config" / name)


def test_every_other_configuration_is_an_overlay_named_after_its_scale() -> None:
    scales = {"config", "pilot", "paper"}
    for path in (PROJECT / "config").glob("*.yaml"):
        assert path.stem in scales or path.stem.split("-")[0] in scales, path


def test_the_default_scale_is_the_papers_design() -> None:
    config = read(PROJECT / "config" / "config.yaml")
    training, prior = config.training, config.prior
    assert (training.batch_prompts, training.group_size, training.most_refill_rounds) == (8, 8, 4)
    assert (prior.kappa, prior.epsilon) == (4, 1e-3)
    assert (config.probing.anchor_samples, config.probing.reference_samples) == (16, 32)
    assert config.prompting.temperature == 0.9
    assert config.training.gradient_norm == 1.0
    main = config.campaigns["main"]
    assert (main.steps, len(main.arms), len(main.seeds), main.kl_beta) == (60, 11, 3, 0)
    assert config.data.pools[main.pool].size == 250


# --- Files written from the model -----------------------------------------------------------------


def written(name: str) -> str:
    path = PROJECT / "config" / name
    if not path.exists():
        pytest.skip(f"config/{name} is not there yet: run python -m thinkprior.configuration")
    return path.read_text(encoding="utf-8")


def test_the_reference_does_not_drift() -> None:
    assert written("README.md") == reference(), "run python -m thinkprior.configuration"


def test_the_schema_does_not_drift() -> None:
    schema = json.loads(written("schema.json"))
    assert schema == Configuration.model_json_schema(), "run python -m thinkprior.configuration"


def test_the_reference_explains_every_key() -> None:
    text = reference()
    for key in ("scale", "training.group_size", "training.lora.rank", "arms.<name>.selector"):
        assert f"| `{key}` |" in text
    assert "campaigns.<name>.kl_beta` | number | `0.0` |" in text
    assert "None" not in text, "a key has no description"
