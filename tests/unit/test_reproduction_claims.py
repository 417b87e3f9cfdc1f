"""Every claim's rule, on numbers that decide it each way."""

import math
from pathlib import Path
from typing import Any

import pytest

from thinkprior.errors import InputError
from thinkprior.measurements import Measurement, over_seeds
from thinkprior.reproduction.claims import RULES, Verdict, arms_separated, decide, read_claims

FILE = Path(__file__).resolve().parents[2] / "resources" / "published" / "claims.yaml"
CLAIMS = {claim.id: claim for claim in read_claims(FILE)}
PAIR = "thinkprior-online_np"
HOLDS, FAILS, OPEN, NOT_RUN = Verdict.HOLDS, Verdict.FAILS, Verdict.UNDECIDED, Verdict.NOT_RUN


def decision(claim: str, *numbers: Measurement) -> Any:
    [found] = decide([CLAIMS[claim]], numbers)
    return found.decision


def delta(measure: str, value: float, low: float, high: float) -> Measurement:
    metric = f"{measure}_delta"
    return Measurement("table2", "reestimate", PAIR, metric, value, None, 16, "interval", low, high)


def reduction(value: float) -> Measurement:
    return Measurement("text", "reestimate", PAIR, "relative_reduction_silent_at_10", value)


def pair(table: str, setting: str, metric: str, ours: list[float], other: list[float]) -> list[Any]:
    return [
        over_seeds(table, setting, "thinkprior", metric, ours),
        over_seeds(table, setting, "online_np", metric, other),
    ]


def silent(**arms: Any) -> list[Measurement]:
    """silent@10 of Table 1; a bare number stands for three seeds around it."""
    return [
        over_seeds(
            "table1",
            "main",
            arm,
            "silent_at_10",
            value if isinstance(value, list) else [value - 0.001, value, value + 0.001],
        )
        for arm, value in arms.items()
    ]


# The paper's own means of Table 1.
PAPER = {
    "random": 0.379,
    "mopps": 0.425,
    "greso": 0.413,
    "dapo": 0.362,
    "online_np": 0.204,
    "prior_only": 0.246,
    "length_prior": 0.217,
    "thinkprior": 0.138,
    "bank": 0.125,
    "bank_sharp": 0.167,
    "thinkprior_dapo": 0.158,
}


def test_every_rule_has_its_claim_and_every_claim_its_rule() -> None:
    assert set(CLAIMS) == set(RULES)


@pytest.mark.parametrize("claim", sorted(RULES))
def test_without_numbers_no_claim_is_decided(claim: Any) -> None:
    found = decision(claim)
    assert found.verdict is NOT_RUN
    assert found.finding.endswith("is not there.")


def test_a_number_that_does_not_exist_is_absent() -> None:
    found = decision(
        "late_silence_is_all_correct",
        *pair("text", "reestimate", "late_all_correct_of_silent", [math.nan], [90.0]),
    )
    assert found.verdict is NOT_RUN


@pytest.mark.parametrize(
    ("interval", "per_cent", "expected"),
    [
        ((-13.1, -16.4, -9.9), 55.0, HOLDS),  # the paper's
        ((-13.1, -16.4, -9.9), 50.0, HOLDS),
        ((-10.0, -16.4, -3.0), 49.9, FAILS),
        ((-13.1, -27.0, 1.0), 55.0, OPEN),
        ((1.0, -3.0, 5.0), -4.0, FAILS),
    ],
)
def test_early_silence_halves(interval: Any, per_cent: Any, expected: Any) -> None:
    found = decision("early_silence_halves", delta("silent_at_10", *interval), reduction(per_cent))
    assert found.verdict is expected


def test_a_smaller_fall_is_said_to_be_one() -> None:
    found = decision("early_silence_halves", delta("silent_at_10", -5, -8, -2), reduction(30))
    assert found.finding == "It falls, but by less than half: by 30.0% (-5.0 [-8.0, -2.0] points)."


@pytest.mark.parametrize(
    ("interval", "expected"),
    [((-63, -106, -20), HOLDS), ((-63, -130, 4), OPEN), ((2, -40, 44), FAILS)],
)
def test_waste_at_30(interval: Any, expected: Any) -> None:
    assert decision("waste_at_30_falls", delta("waste_at_30", *interval)).verdict is expected


def test_an_interval_that_few_seeds_do_not_carry_is_absent() -> None:
    bare = Measurement("table2", "reestimate", PAIR, "waste_at_30_delta", -63)
    assert decision("waste_at_30_falls", bare).verdict is NOT_RUN


@pytest.mark.parametrize(
    ("math500", "level5", "expected"),
    [
        ((0.68, -2.2, 3.5), (1.26, -1.8, 4.3), HOLDS),
        ((0.68, 0.1, 3.5), (1.26, -1.8, 4.3), FAILS),
        ((0.68, -2.2, 3.5), (-3.0, -5.0, -1.0), FAILS),
    ],
)
def test_accuracy(math500: Any, level5: Any, expected: Any) -> None:
    numbers = delta("math500", *math500), delta("math500_level5", *level5)
    assert decision("accuracy_is_a_null", *numbers).verdict is expected


@pytest.mark.parametrize(
    ("ours", "other", "expected"),
    [
        ([968.0, 970.0], [885.0, 890.0], HOLDS),
        ([885.0, 890.0], [968.0, 970.0], FAILS),
        ([885.0, 975.0], [968.0, 970.0], OPEN),
        ([885.0], [968.0], OPEN),
    ],
)
def test_full_run_waste(ours: Any, other: Any, expected: Any) -> None:
    numbers = pair("text", "reestimate", "full_run_wasted_rollouts", ours, other)
    assert decision("full_run_waste_no_better", *numbers).verdict is expected


def test_two_families_as_in_the_paper() -> None:
    assert decision("two_families", *silent(**PAPER)).verdict is HOLDS


def test_two_families_names_the_arms_that_cross() -> None:
    found = decision("two_families", *silent(**{**PAPER, "length_prior": 0.15}))
    assert found.verdict is FAILS
    assert "bank_sharp (0.167) is not below length_prior (0.150)" in found.finding
    assert "thinkprior (" not in found.finding


@pytest.mark.parametrize(
    ("frozen", "length", "expected"),
    [(0.246, 0.217, HOLDS), (0.16, 0.217, FAILS), (0.19, 0.217, OPEN), (0.246, 0.15, OPEN)],
)
def test_the_frozen_prior(frozen: Any, length: Any, expected: Any) -> None:
    numbers = silent(**{**PAPER, "prior_only": frozen, "length_prior": length})
    assert decision("frozen_prior_outside_its_family", *numbers).verdict is expected


@pytest.mark.parametrize(
    ("length", "expected"),
    [
        (0.217, HOLDS),
        ([0.10, 0.21], HOLDS),  # lower, and the ranges meet
        ([0.07, 0.10], FAILS),
        ([0.07], OPEN),  # one seed separates nothing
        ([0.25], HOLDS),
    ],
)
def test_length(length: Any, expected: Any) -> None:
    numbers = silent(length_prior=length, online_np=0.204)
    assert decision("length_does_not_help", *numbers).verdict is expected


def test_published_rules() -> None:
    wide: Any = {arm: [0.3, 0.45] for arm in ("random", "mopps", "greso", "dapo")}
    assert decision("published_rules_not_separated", *silent(**wide)).verdict is HOLDS
    few = {**wide, "dapo": [0.4]}
    assert decision("published_rules_not_separated", *silent(**few)).verdict is OPEN
    wide["greso"] = [0.1, 0.2]
    found = decision("published_rules_not_separated", *silent(**wide))
    assert found.verdict is FAILS
    assert found.finding.endswith("greso (lower) separated from random.")


def composed(metric: str, with_prior: list[float], alone: list[float]) -> list[Measurement]:
    return [
        over_seeds("table4", "main", "thinkprior_dapo", metric, with_prior),
        over_seeds("table4", "main", "dapo", metric, alone),
    ]


@pytest.mark.parametrize(
    ("with_prior", "alone", "expected"),
    [
        ([7040.0, 7872.0, 7232.0], [8192.0, 8128.0, 8448.0], HOLDS),  # the paper's seeds
        ([7040.0, 8200.0, 7232.0], [8192.0, 8128.0, 8448.0], OPEN),
        ([8192.0, 8128.0], [7040.0, 7872.0], FAILS),
        ([8000.0, 8000.0], [8000.0, 8000.0], FAILS),
    ],
)
def test_the_composition_generates_less(with_prior: Any, alone: Any, expected: Any) -> None:
    numbers = composed("generated_rollouts", with_prior, alone)
    assert decision("composition_generates_less", *numbers).verdict is expected


def test_the_compositions_accuracy() -> None:
    same = composed("math500", [0.620, 0.608, 0.586], [0.602, 0.622, 0.590])
    assert decision("composition_keeps_accuracy", *same).verdict is HOLDS
    assert (
        decision("composition_keeps_accuracy", *composed("math500", [0.5], [0.6])).verdict is OPEN
    )
    lower = composed("math500", [0.50, 0.53], [0.56, 0.59])
    found = decision("composition_keeps_accuracy", *lower)
    assert found.verdict is FAILS
    assert found.finding.endswith("lower, and separated.")


@pytest.mark.parametrize(
    ("last", "expected"),
    [
        (([0.1, 0.2], [0.3, 0.4]), HOLDS),
        (([0.1, 0.35], [0.3, 0.4]), OPEN),
        (([0.3, 0.4], [0.1, 0.2]), FAILS),
    ],
)
def test_backbones(last: Any, expected: Any) -> None:
    numbers: list[Measurement] = []
    for setting in ("backbone_main", "backbone_general", "backbone_small"):
        numbers += pair("table3a", setting, "silent_at_10", [0.1, 0.2], [0.3, 0.4])
    assert decision("backbones", *numbers).verdict is NOT_RUN
    numbers += pair("table3a", "backbone_rerun", "silent_at_10", *last)
    assert decision("backbones", *numbers).verdict is expected


@pytest.mark.parametrize(
    ("small", "expected"),
    [
        ([0.10, 0.12], HOLDS),
        ([0.05, 0.06], HOLDS),  # better than the medium one is enough too
        ([0.10, 0.25], OPEN),
        ([0.16, 0.18], FAILS),  # above the medium one, and separated
        ([0.12, 0.60], FAILS),  # no lower than without a prior
    ],
)
def test_the_small_anchor(small: Any, expected: Any) -> None:
    numbers = [
        over_seeds("table3b", "anchor_small", "thinkprior", "silent_at_10", small),
        over_seeds("table3b", "anchor_medium", "thinkprior", "silent_at_10", [0.10, 0.13]),
        over_seeds("table3a", "backbone_main", "online_np", "silent_at_10", [0.20, 0.30]),
    ]
    assert decision("small_anchor_is_enough", *numbers).verdict is expected


@pytest.mark.parametrize(("p", "expected"), [(0.455, HOLDS), (0.05, HOLDS), (0.002, FAILS)])
def test_collapse(p: Any, expected: Any) -> None:
    counts = [
        Measurement("table3c", "horizon", arm, "absolute_collapse_events", events, of=6)
        for arm, events in (("thinkprior", 0), ("online_np", 2))
    ]
    test = Measurement("table3c", "tests", "thinkprior vs online_np", "fisher_p_absolute", p)
    found = decision("collapse_unresolved", *counts, test)
    assert found.verdict is expected
    assert found.finding.startswith("2/6 against 0/6")


@pytest.mark.parametrize(
    ("at_30", "expected"),
    [
        (([0.092, 0.075, 0.067], [0.250, 0.225, 0.212]), HOLDS),  # the paper's seeds
        (([0.092, 0.075, 0.230], [0.250, 0.225, 0.212]), OPEN),
        (([0.250, 0.225], [0.092, 0.075]), FAILS),
    ],
)
def test_early_reduction_on_the_larger_pool(at_30: Any, expected: Any) -> None:
    numbers = pair(
        "appendixE", "large_pool", "silent_at_10", [0.150, 0.113, 0.100], [0.287, 0.175, 0.263]
    )
    numbers += pair("appendixE", "large_pool", "silent_at_30", *at_30)
    assert decision("larger_pool_early_reduction", *numbers).verdict is expected


@pytest.mark.parametrize(
    ("large", "small", "expected"),
    [
        ((5085.0, 6099.0), (968.0, 885.0), HOLDS),
        ((6099.0, 5085.0), (968.0, 885.0), FAILS),
        ((5085.0, 6099.0), (885.0, 968.0), FAILS),
    ],
)
def test_the_larger_pool_reverses_the_account(large: Any, small: Any, expected: Any) -> None:
    numbers = pair("table3d", "large_pool", "wasted_rollouts_200", [large[0]], [large[1]])
    numbers += pair("text", "reestimate", "full_run_wasted_rollouts", [small[0]], [small[1]])
    assert decision("larger_pool_reverses_the_account", *numbers).verdict is expected


@pytest.mark.parametrize(
    ("ours", "other", "expected"),
    [(90.0, 80.0, HOLDS), (90.0, 50.0, OPEN), (40.0, 50.0, FAILS)],
)
def test_late_silence(ours: Any, other: Any, expected: Any) -> None:
    numbers = pair("text", "reestimate", "late_all_correct_of_silent", [ours], [other])
    assert decision("late_silence_is_all_correct", *numbers).verdict is expected


def test_many_seeds_are_separated_by_their_interval_and_few_by_their_ranges() -> None:
    # Two arms of sixteen seeds whose ranges meet: means 0 and 1, deviation about 1, t about 2.7.
    low = [-1.0, 1.0] * 8
    high = [value + 1 for value in low]
    assert arms_separated(over_seeds("t", "s", "a", "m", low), over_seeds("t", "s", "b", "m", high))
    assert not arms_separated(
        over_seeds("t", "s", "a", "m", low[:3]), over_seeds("t", "s", "b", "m", high[:3])
    )
    assert not arms_separated(
        over_seeds("t", "s", "a", "m", [1.0]), over_seeds("t", "s", "b", "m", [2.0])
    )


def test_claims_without_rules_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "claims.yaml"
    path.write_text("- {id: other, statement: s, where: w, rule: r}\n")
    with pytest.raises(InputError, match=r"claims\.yaml: claims and rules differ in .*other"):
        read_claims(path)
    path.write_text(FILE.read_text() + FILE.read_text())
    with pytest.raises(InputError, match="one that stands twice"):
        read_claims(path)
    path.write_text("- {id: other}\n")
    with pytest.raises(InputError, match="no list of claims"):
        read_claims(path)
