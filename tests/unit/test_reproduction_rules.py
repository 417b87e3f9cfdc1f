"""The checked-in comparators: every published row has one, and each is for some row."""

from pathlib import Path
from typing import Any

import pytest

from thinkprior.configuration import read
from thinkprior.errors import InputError
from thinkprior.reproduction.comparators import NotComparable, Order, Sign
from thinkprior.reproduction.published import PublishedRow, parse, read_published
from thinkprior.reproduction.rules import Match, Rule, located, locators, read_rules, relation_of

PROJECT = Path(__file__).resolve().parents[2]
FOLDER = PROJECT / "resources" / "published"
ROWS = read_published(FOLDER / "published.csv")
RULES = read_rules(FOLDER / "comparators.yaml")
BY_KEY = {row.key: row for row in ROWS}
NOT_PUBLISHED = {"anchor_rerun_standard_error"}


def rule(table: str, setting: str, arm: str, metric: str) -> Rule:
    return RULES.rule_for(BY_KEY[table, setting, arm, metric])


def test_every_published_row_has_a_rule_and_a_setting_of_ours() -> None:
    for row in ROWS:
        assert RULES.rule_for(row).why
        assert RULES.our_settings(row)


def test_every_rule_is_for_some_row() -> None:
    used = {id(RULES.rule_for(row)) for row in ROWS}
    assert [rule.match for rule in RULES.rules if id(rule) not in used] == []


def test_every_setting_is_a_published_one() -> None:
    assert set(RULES.settings) == {row.setting for row in ROWS}


def test_what_a_rule_refers_to_is_published_and_another_row() -> None:
    for row in ROWS:
        for locator in locators(RULES.rule_for(row).comparator):
            key = located(locator, row)
            if key[3] not in NOT_PUBLISHED:
                assert key in BY_KEY, row
            assert key != row.key


def test_an_order_has_a_side_in_the_paper() -> None:
    for row in ROWS:
        relation = relation_of(RULES.rule_for(row).comparator)
        if isinstance(relation, Order):
            reference = BY_KEY[located(relation.reference, row)].printed
            assert row.printed.value != reference.value, row
        if isinstance(relation, Sign):
            assert row.printed.value != relation.value, row


def test_rows_that_are_not_compared_are_few_and_for_a_reason() -> None:
    reasons = [
        comparator.reason
        for row in ROWS
        if isinstance(comparator := RULES.rule_for(row).comparator, NotComparable)
    ]
    # One seed: in Appendix E 27 endpoints, 2 rollout counts, the low seed's 4 scores and the worst
    # seed; 12 seeds of Table 4; two pairs of single runs in Appendix D.
    counts = {reason: reasons.count(reason) for reason in set(reasons)}
    assert counts == {"one_seed": 48, "set_by_design": 2, "other_hardware": 2, "unrepeated": 2}


@pytest.mark.parametrize(
    ("key", "kind"),
    [
        (("table1", "main", "thinkprior", "silent_at_10"), "order"),
        (("table1", "main", "random", "generated_rollouts_per_step"), "exact"),
        (("table1", "main", "dapo", "generated_rollouts_per_step"), "order"),
        (("table1", "main", "bank", "gsm8k"), "null"),
        (("table2", "reestimate", "thinkprior-online_np", "waste_at_30_delta"), "sign"),
        (("table2", "reestimate", "thinkprior-online_np", "math500_delta"), "null"),
        (
            ("table2", "reestimate", "thinkprior-online_np", "math500_welch_p_two_sided"),
            "significance",
        ),
        (("text", "reestimate", "online_np", "seeds_worse_than_worst_thinkprior"), "majority"),
        (("table3c", "beta=0", "online_np", "relative_drop_events"), "events"),
        (("table1", "families", "no verified prior", "silent_at_10_range"), "ranges"),
        (("appendixE", "pool 1200", "-", "step0_math500_fingerprint"), "constant"),
        (("appendixE", "seed 1", "online_np", "nonsilent_rollouts"), "not_comparable"),
        (("table4", "dapo composition", "thinkprior_dapo", "update_rollouts"), "exact"),
        (("table4", "dapo composition", "change", "update_rollouts"), "exact"),
    ],
)
def test_what_a_row_is_compared_by(key: Any, kind: Any) -> None:
    assert rule(*key).comparator.kind == kind


def test_online_np_is_held_against_uniform_sampling_and_the_others_against_it() -> None:
    waste = rule("table1", "main", "online_np", "waste_at_30").comparator
    assert isinstance(waste, Order)
    assert waste.reference.arm == "random"
    for arm in ("random", "length_prior", "bank", "thinkprior_dapo"):
        comparator = rule("table1", "main", arm, "waste_at_30").comparator
        assert isinstance(comparator, Order)
        assert comparator.reference.arm == "online_np"


def test_our_settings_are_campaigns_of_the_configuration() -> None:
    campaigns = set(read(PROJECT / "config" / "config.yaml").campaigns)
    words = {"families", "8 seeds", "earlier campaign", "tests", "seed 0", "seed 1", "seed 2"}
    words |= {"all", "band", "amortisation", "timing"}
    named = {setting for settings in RULES.settings.values() for setting in settings}
    assert named - words <= campaigns


def test_matching() -> None:
    row = PublishedRow("table1", "main", "bank", "math500_sd", parse("0.1"), "")
    assert Match(table="table1", metric="*_sd").fits(row)
    assert Match(arm=["random", "bank"]).fits(row)
    assert not Match(arm="ban").fits(row)
    with pytest.raises(InputError, match="no comparator matches x / main / bank / math500_sd"):
        RULES.rule_for(PublishedRow("x", "main", "bank", "math500_sd", parse("0.1"), ""))


HEAD = "designed_scales: []\nsettings: {main: [main]}\nrules:\n"


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ("  - {match: {tabel: t}, comparator: {kind: exact}, why: w}", "match.tabel"),
        ("  - {match: {}, comparator: {kind: alike}, why: w}", "comparator"),
        ("  - {match: {}, comparator: {kind: order}, why: w}", "reference"),
        ("  - {match: {}, comparator: {kind: not_comparable, reason: hard}, why: w}", "reason"),
        ("  - {match: {}, comparator: {kind: exact}}", "why"),
        ("  - {", "not YAML"),
    ],
)
def test_a_wrong_file_is_refused_with_the_place(tmp_path: Path, rules: Any, message: Any) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(HEAD + rules)
    with pytest.raises(InputError, match=rf"c\.yaml: .*{message}"):
        read_rules(path)
