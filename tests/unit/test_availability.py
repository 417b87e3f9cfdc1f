"""What a configuration can make: sets counted by hand from its campaigns, arms and passes."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from thinkprior import availability, plans
from thinkprior.configuration import Configuration, load, parse
from thinkprior.errors import InputError
from thinkprior.fixed_names import NAMES

TESTS = Path(__file__).resolve().parents[1]
MICRO = load(TESTS / "workflow" / "micro.yaml")
PART = load(TESTS / "workflow" / "part.yaml")

ALWAYS = {"table1", "figure3", "windows", "cost", "cost-figure", "protocol"}
PAGES = {"claims", "reproduction", "report", "paper"}
PAIR = {"table2", "figure1", "figure2"}
LENGTHS = {"appendixB", "underestimated"}


def made(values: dict[str, Any]) -> set[str]:
    config = parse(values, "test.yaml")
    return {name for name in availability.NEEDS if availability.available(config, name)}


def micro(**changes: Any) -> dict[str, Any]:
    values = copy.deepcopy(MICRO)
    for key, change in changes.items():
        values[key] = change(values[key])
    return values


def without(*names: str) -> Any:
    return lambda section: {name: row for name, row in section.items() if name not in names}


def main_without(*arms: str) -> Any:
    def change(campaigns: dict[str, Any]) -> dict[str, Any]:
        main = campaigns["main"]
        return campaigns | {
            "main": main | {"arms": [arm for arm in main["arms"] if arm not in arms]}
        }

    return change


def test_every_fixed_name_has_its_needs() -> None:
    assert set(availability.NEEDS) == set(NAMES)


def test_a_configuration_of_the_whole_paper_makes_everything() -> None:
    assert made(MICRO) == set(NAMES)
    assert availability.left_out(parse(MICRO, "micro.yaml")) == {}


def test_the_part_configuration_makes_what_its_two_arms_allow() -> None:
    assert made(PART) == ALWAYS | PAGES | PAIR
    files = availability.targets(parse(PART, "part.yaml"))
    # table1, table2, windows, cost, protocol; four figures; claims and reproduction; two pages.
    assert len(files) == len(set(files)) == 5 * 2 + 4 * 3 + 2 + 2


def test_the_targets_of_the_whole_paper_are_those_of_the_paper() -> None:
    files = availability.targets(parse(MICRO, "micro.yaml"))
    # 13 tables, 4 figures, world, claims, reproduction; reproduction.md and report.html.
    assert len(files) == len(set(files)) == 13 * 2 + 4 * 3 + 3 + 2


@pytest.mark.parametrize(
    ("values", "missing"),
    [
        (micro(campaigns=without("reestimate")), set()),
        (micro(campaigns=without("backbone_small")), {"table3"}),
        (micro(campaigns=without("anchor_large")), {"table3"}),
        (micro(campaigns=without("horizon_kl")), {"table3", "appendixD"}),
        (micro(campaigns=without("large_pool")), {"table3", "appendixE"}),
        (micro(campaigns=main_without("dapo")), {"table4", "amortisation"}),
        (micro(campaigns=main_without("thinkprior_dapo")), {"table4", "amortisation"}),
        (micro(campaigns=main_without("length_prior")), {"table5", "amortisation"} | LENGTHS),
        # bank_sharp starts from another prior.
        (micro(campaigns=main_without("bank")), {"table5"}),
        # The pair is compared in the re-estimate, which still has both.
        (micro(campaigns=main_without("online_np")), set()),
    ],
)
def test_what_is_left_out_is_just_what_needs_it(values: dict[str, Any], missing: set[str]) -> None:
    assert made(values) == set(NAMES) - missing


def test_the_pair_is_that_of_main_where_there_is_no_reestimate() -> None:
    assert plans.pair_campaign(parse(MICRO, "x")) == "reestimate"
    assert plans.pair_campaign(parse(PART, "x")) == "main"
    alone = copy.deepcopy(PART)
    alone["campaigns"]["main"]["arms"] = ["thinkprior"]
    assert made(alone) == ALWAYS | PAGES


def test_the_reference_pass_brings_the_world() -> None:
    values = copy.deepcopy(PART)
    values["probing"]["reference_samples"] = 8
    assert made(values) == ALWAYS | PAGES | PAIR | {"world"}


def test_a_refusal_names_the_target_and_what_it_lacks() -> None:
    config = parse(PART, "part.yaml")
    assert availability.refusal(config, "table1.tex") == ""
    assert availability.refusal(config, "table4.csv") == (
        "results/table4.csv: the part scale cannot make it; its configuration lacks arms dapo, "
        "thinkprior_dapo in the campaign main. Add that, or ask for what it can make (snakemake "
        "--dry-run lists it)."
    )
    assert "campaigns horizon, horizon_kl." in availability.refusal(config, "appendixD.tex")
    assert "probing.reference_samples" in availability.refusal(config, "world.csv")


def test_only_main_is_needed() -> None:
    plans.check_campaigns(parse(PART, "part.yaml"), "part.yaml")
    values = copy.deepcopy(PART)
    values["campaigns"]["other"] = values["campaigns"].pop("main")
    with pytest.raises(InputError, match=r"^part\.yaml: campaigns: main missing\."):
        plans.check_campaigns(parse(values, "part.yaml"), "part.yaml")


def refusal(change: Any) -> str:
    values = copy.deepcopy(PART)
    change(values)
    with pytest.raises(InputError) as caught:
        parse(values, "part.yaml")
    return str(caught.value)


def with_prior(prior: str, **probing: Any) -> Any:
    def change(values: dict[str, Any]) -> None:
        values["arms"]["online_np"]["prior"] = prior
        values["probing"].update(probing)

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (with_prior("length"), "online_np needs a thinking pass; give probing.thinking_model"),
        (
            with_prior("length", thinking_model="anchor", thinking_max_new_tokens=8),
            "online_np needs a reference pass; give probing.reference_samples",
        ),
        (with_prior("oracle"), "online_np needs a reference pass"),
        (with_prior("bank"), "online_np needs an item bank"),
        (
            lambda values: values["probing"].update(thinking_model="anchor"),
            "probing.thinking_max_new_tokens: missing",
        ),
        (
            lambda values: values["data"].update(along_the_run="math500"),
            "data.benchmarks: math500 is needed, it is evaluated along every run",
        ),
    ],
)
def test_what_an_arm_needs_is_asked_for(change: Any, message: str) -> None:
    assert message in refusal(change)


def test_a_job_hears_only_of_another_benchmark_along_the_run() -> None:
    def keys(values: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        config: Configuration = parse(values, "x")
        return plans.evaluation_settings(config, "r"), plans.table_settings(config, "main")

    evaluation, table = keys(MICRO)
    assert "along_the_run" not in evaluation
    assert "accuracies" not in table
    evaluation, table = keys(PART)
    assert evaluation["along_the_run"] == "gsm8k"
    assert table["accuracies"] == {"along": "gsm8k", "labels": {"gsm8k": "GSM8K"}}
