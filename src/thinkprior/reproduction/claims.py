"""The paper's claims, each decided by its rule.

`resources/published/claims.yaml` has the rules in words.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

import yaml
from pydantic import TypeAdapter, ValidationError

from thinkprior.errors import InputError
from thinkprior.measurements import Measurement
from thinkprior.rendering.rounding import printed
from thinkprior.rendering.seeds import FEW_SEEDS
from thinkprior.reproduction.comparators import Strict
from thinkprior.reproduction.judging import (
    LEAST_SEEDS,
    SIGNIFICANCE,
    ranges_separated,
    side,
)
from thinkprior.statistics import welch

VERIFIED = ("thinkprior", "bank", "bank_sharp", "thinkprior_dapo")
UNVERIFIED = ("random", "mopps", "greso", "dapo", "online_np", "length_prior")
FROZEN = "prior_only"
PUBLISHED_RULES = ("mopps", "greso", "dapo")
BACKBONES = ("backbone_main", "backbone_general", "backbone_small", "backbone_rerun")
OURS, OTHER, PAIR = "thinkprior", "online_np", "thinkprior-online_np"


class Verdict(Enum):
    """What a rule says of a claim."""

    HOLDS = "holds"
    FAILS = "does not hold"
    UNDECIDED = "undecided"
    NOT_RUN = "not run"


class ClaimText(Strict):
    """A claim as it stands in the checked-in file.

    Attributes:
        id: Name of its rule in the code.
        statement: The claim in plain words.
        where: Where in the paper, with its numbers.
        rule: What decides it, in words.
    """

    id: str
    statement: str
    where: str
    rule: str


@dataclass(frozen=True)
class Decision:
    """A verdict and the numbers that it rests on."""

    verdict: Verdict
    finding: str


@dataclass(frozen=True)
class Claim:
    """A claim and what our numbers say of it."""

    text: ClaimText
    decision: Decision


class _Absent(Exception):  # noqa: N818  not an error: it ends a rule whose numbers are not there
    """A number that a rule needs is not there."""


class Numbers:
    """Our numbers by their own names."""

    def __init__(
        self, measurements: Iterable[Measurement], absent_campaigns: Collection[str] = ()
    ) -> None:
        self._absent = absent_campaigns
        self._by_key = {measurement.key: measurement for measurement in measurements}

    def get(self, table: str, setting: str, arm: str, metric: str) -> Measurement:
        """The number, which has a value.

        Raises:
            _Absent: where it is missing or nan.
        """
        found = self._by_key.get((table, setting, arm, metric))
        if found is None and setting in self._absent:
            raise _Absent(f"this scale has no campaign {setting}")
        if found is None or math.isnan(found.value):
            raise _Absent(f"{metric} of {arm} ({setting}) is not there")
        return found


def read_claims(path: Path | str) -> list[ClaimText]:
    """The claims of a file, in order.

    Raises:
        InputError: naming the file, for what is no list of claims, or claims that are not those
            that there are rules for.
    """
    try:
        claims = TypeAdapter(list[ClaimText]).validate_python(
            yaml.safe_load(Path(path).read_text(encoding="utf-8"))
        )
    except (ValidationError, yaml.YAMLError) as error:
        raise InputError(f"{path}: no list of claims: {error}") from None
    names = [claim.id for claim in claims]
    if sorted(names) != sorted(RULES):
        differing = sorted(set(names) ^ set(RULES)) or ["one that stands twice"]
        raise InputError(f"{path}: claims and rules differ in {', '.join(differing)}")
    return claims


def decide(
    claims: Iterable[ClaimText],
    measurements: Iterable[Measurement],
    absent_campaigns: Collection[str] = (),
) -> list[Claim]:
    """Every claim with the verdict of its rule; not run where a number that it needs is absent.

    Args:
        claims: the claims.
        measurements: our numbers.
        absent_campaigns: campaigns of the paper that this scale does not declare.
    """
    numbers = Numbers(measurements, absent_campaigns)
    decided = []
    for claim in claims:
        try:
            decision = RULES[claim.id](numbers)
        except _Absent as absent:
            decision = Decision(Verdict.NOT_RUN, f"{absent}.")
        decided.append(Claim(claim, decision))
    return decided


def _one_seed(*numbers: Measurement) -> bool:
    """Whether a single seed stands behind any of them, which could never show a separation."""
    return any(number.n < LEAST_SEEDS for number in numbers)


def arms_separated(first: Measurement, second: Measurement) -> bool:
    """By Welch's interval, or with few seeds by their ranges; a single seed never is."""
    if min(first.n, second.n) > FEW_SEEDS and first.values and second.values:
        test = welch(first.values, second.values)
        if not math.isnan(test.interval_low):
            return test.interval_low > 0 or test.interval_high < 0
    return bool(ranges_separated(first, second))


def _early_silence_halves(numbers: Numbers) -> Decision:
    delta = _tested_difference(numbers, "silent_at_10")
    reduction = numbers.get("text", "reestimate", PAIR, "relative_reduction_silent_at_10")
    said = f"{printed(reduction.value, 1)}% ({_interval(delta)} points)"
    if delta.high < 0:
        if reduction.value >= 50:
            return Decision(Verdict.HOLDS, f"Silent@10 falls by {said}.")
        return Decision(Verdict.FAILS, f"It falls, but by less than half: by {said}.")
    if delta.value < 0:
        return Decision(Verdict.UNDECIDED, f"Silent@10 is lower by {said}: zero is not excluded.")
    return Decision(Verdict.FAILS, f"Silent@10 is not lower: {_interval(delta)} points.")


def _waste_at_30_falls(numbers: Numbers) -> Decision:
    delta = _tested_difference(numbers, "waste_at_30")
    said = f"{_interval(delta)} rollouts"
    if delta.high < 0:
        return Decision(Verdict.HOLDS, f"Waste@30 falls: {said}.")
    if delta.value < 0:
        return Decision(Verdict.UNDECIDED, f"Lower, and zero is not excluded: {said}.")
    return Decision(Verdict.FAILS, f"Waste@30 is not lower: {said}.")


def _accuracy_is_a_null(numbers: Numbers) -> Decision:
    deltas = {
        "MATH500": _tested_difference(numbers, "math500"),
        "Level 5": _tested_difference(numbers, "math500_level5"),
    }
    said = "; ".join(f"{name} {_interval(delta)} points" for name, delta in deltas.items())
    apart = [name for name, delta in deltas.items() if delta.low > 0 or delta.high < 0]
    if apart:
        return Decision(Verdict.FAILS, f"Zero is excluded for {' and '.join(apart)}: {said}.")
    return Decision(Verdict.HOLDS, f"Both intervals contain zero: {said}.")


def _full_run_waste_no_better(numbers: Numbers) -> Decision:
    ours, other = _small_pool_waste(numbers)
    said = _against(ours, other, 0)
    if ours.value >= other.value:
        return Decision(Verdict.HOLDS, f"{said} rollouts: no less.")
    if arms_separated(ours, other):
        return Decision(Verdict.FAILS, f"{said} rollouts: less, and separated.")
    return Decision(Verdict.UNDECIDED, f"{said} rollouts: less, and not separated.")


def _two_families(numbers: Numbers) -> Decision:
    verified, unverified = _families(numbers)
    crossing = [
        f"{name} ({printed(value, 3)}) is not below {other} ({printed(level, 3)})"
        for name, value in verified.items()
        for other, level in unverified.items()
        if side(value, level) >= 0
    ]
    said = f"{_span(verified)} with a verified, updated prior, {_span(unverified)} without"
    if crossing:
        return Decision(Verdict.FAILS, f"{said}: {'; '.join(crossing)}.")
    return Decision(Verdict.HOLDS, f"{said}: every arm of the first is below every other.")


def _frozen_prior(numbers: Numbers) -> Decision:
    verified, unverified = _families(numbers)
    frozen = numbers.get("table1", "main", FROZEN, "silent_at_10")
    highest, lowest = max(verified.values()), min(unverified.values())
    said = (
        f"{_mean(frozen, 3)}, beside {_span(verified)} with a verified, updated prior and "
        f"{_span(unverified)} without"
    )
    if highest >= lowest:
        return Decision(Verdict.UNDECIDED, f"{said}: the families themselves overlap.")
    if frozen.value >= lowest:
        return Decision(Verdict.HOLDS, f"{said}: among the arms without.")
    if frozen.value <= highest:
        return Decision(Verdict.FAILS, f"{said}: with its own family.")
    return Decision(Verdict.UNDECIDED, f"{said}: between the two families.")


def _length_does_not_help(numbers: Numbers) -> Decision:
    length, other = (
        numbers.get("table1", "main", arm, "silent_at_10") for arm in ("length_prior", OTHER)
    )
    said = f"silent@10 {_against(length, other, 3)}"
    if length.value < other.value and arms_separated(length, other):
        return Decision(Verdict.FAILS, f"{said}: lower, and separated.")
    if length.value >= other.value:
        return Decision(Verdict.HOLDS, f"{said}: not lower.")
    if _one_seed(length, other):
        return Decision(Verdict.UNDECIDED, f"{said}: lower, by a single seed.")
    return Decision(Verdict.HOLDS, f"{said}: lower, and not separated.")


def _published_rules(numbers: Numbers) -> Decision:
    random = numbers.get("table1", "main", "random", "silent_at_10")
    apart, said, few = [], [], False
    for arm in PUBLISHED_RULES:
        found = numbers.get("table1", "main", arm, "silent_at_10")
        few = few or _one_seed(found, random)
        said.append(f"{arm} {_mean(found, 3)}")
        if arms_separated(found, random):
            apart.append(f"{arm} ({'lower' if found.value < random.value else 'higher'})")
    levels = f"random {_mean(random, 3)}; {'; '.join(said)}"
    if apart:
        return Decision(Verdict.FAILS, f"{levels}: {', '.join(apart)} separated from random.")
    if few:
        return Decision(Verdict.UNDECIDED, f"{levels}: single seeds separate nothing.")
    return Decision(Verdict.HOLDS, f"{levels}: none separated from random.")


def _composition_generates_less(numbers: Numbers) -> Decision:
    composed, alone = (
        numbers.get("table4", "main", arm, "generated_rollouts")
        for arm in ("thinkprior_dapo", "dapo")
    )
    return _lower_and_separated([("", composed, alone)], 0, " rollouts")


def _composition_keeps_accuracy(numbers: Numbers) -> Decision:
    composed, alone = (
        numbers.get("table4", "main", arm, "math500") for arm in ("thinkprior_dapo", "dapo")
    )
    said = f"MATH500 {_against(composed, alone, 3)}"
    if arms_separated(composed, alone):
        side = "lower" if composed.value < alone.value else "higher"
        return Decision(Verdict.FAILS, f"{said}: {side}, and separated.")
    if _one_seed(composed, alone):
        return Decision(Verdict.UNDECIDED, f"{said}: single seeds separate nothing.")
    return Decision(Verdict.HOLDS, f"{said}: not separated.")


def _backbones(numbers: Numbers) -> Decision:
    pairs = [
        (
            f"{setting}: ",
            numbers.get("table3a", setting, OURS, "silent_at_10"),
            numbers.get("table3a", setting, OTHER, "silent_at_10"),
        )
        for setting in BACKBONES
    ]
    return _lower_and_separated(pairs, 3, "")


def _small_anchor(numbers: Numbers) -> Decision:
    small = numbers.get("table3b", "anchor_small", OURS, "silent_at_10")
    medium = numbers.get("table3b", "anchor_medium", OURS, "silent_at_10")
    other = numbers.get("table3a", "backbone_main", OTHER, "silent_at_10")
    said = (
        f"silent@10 {_mean(small, 3)} with the small anchor, {_mean(medium, 3)} with the medium "
        f"one, {_mean(other, 3)} without a prior"
    )
    if small.value > medium.value and arms_separated(small, medium):
        return Decision(Verdict.FAILS, f"{said}: the small anchor is worse, and separated.")
    if small.value >= other.value:
        return Decision(Verdict.FAILS, f"{said}: no lower than without a prior.")
    if not arms_separated(small, other):
        return Decision(Verdict.UNDECIDED, f"{said}: lower than without, and not separated.")
    return Decision(Verdict.HOLDS, f"{said}.")


def _collapse_unresolved(numbers: Numbers) -> Decision:
    p = numbers.get("table3c", "tests", "thinkprior vs online_np", "fisher_p_absolute")
    counts = [
        numbers.get("table3c", "horizon", arm, "absolute_collapse_events") for arm in (OTHER, OURS)
    ]
    said = " against ".join(f"{count.value:g}/{count.of}" for count in counts)
    verdict = Verdict.HOLDS if p.value >= SIGNIFICANCE else Verdict.FAILS
    return Decision(verdict, f"{said} (online-NP first), Fisher p {p.value:.2g}.")


def _larger_pool_early(numbers: Numbers) -> Decision:
    pairs = [
        (
            f"step {step}: ",
            _large_pool(numbers, OURS, f"silent_at_{step}"),
            _large_pool(numbers, OTHER, f"silent_at_{step}"),
        )
        for step in (10, 30)
    ]
    return _lower_and_separated(pairs, 3, "")


def _larger_pool_reverses(numbers: Numbers) -> Decision:
    large, large_other = (
        numbers.get("table3d", "large_pool", arm, "wasted_rollouts_200") for arm in (OURS, OTHER)
    )
    small, small_other = _small_pool_waste(numbers)
    said = (
        f"larger pool {_against(large, large_other, 0)} rollouts, small pool "
        f"{_against(small, small_other, 0)}"
    )
    if small.value < small_other.value:
        return Decision(Verdict.FAILS, f"{said}: lower on the small pool already.")
    if large.value >= large_other.value:
        return Decision(Verdict.FAILS, f"{said}: not lower on the larger pool.")
    return Decision(Verdict.HOLDS, f"{said}.")


def _late_silence(numbers: Numbers) -> Decision:
    ours, other = (
        numbers.get("text", "reestimate", arm, "late_all_correct_of_silent")
        for arm in (OURS, OTHER)
    )
    said = f"all correct, in per cent of the late silent groups: {_against(ours, other, 1)}"
    most = [share.value > 50 for share in (ours, other)]
    if all(most):
        return Decision(Verdict.HOLDS, f"{said}.")
    return Decision(Verdict.UNDECIDED if any(most) else Verdict.FAILS, f"{said}.")


RULES: Mapping[str, Callable[[Numbers], Decision]] = {
    "early_silence_halves": _early_silence_halves,
    "waste_at_30_falls": _waste_at_30_falls,
    "accuracy_is_a_null": _accuracy_is_a_null,
    "full_run_waste_no_better": _full_run_waste_no_better,
    "two_families": _two_families,
    "frozen_prior_outside_its_family": _frozen_prior,
    "length_does_not_help": _length_does_not_help,
    "published_rules_not_separated": _published_rules,
    "composition_generates_less": _composition_generates_less,
    "composition_keeps_accuracy": _composition_keeps_accuracy,
    "backbones": _backbones,
    "small_anchor_is_enough": _small_anchor,
    "collapse_unresolved": _collapse_unresolved,
    "larger_pool_early_reduction": _larger_pool_early,
    "larger_pool_reverses_the_account": _larger_pool_reverses,
    "late_silence_is_all_correct": _late_silence,
}


def _tested_difference(numbers: Numbers, measure: str) -> Measurement:
    delta = numbers.get("table2", "reestimate", PAIR, f"{measure}_delta")
    if delta.spread != "interval":
        raise _Absent(f"the interval of {measure} is not there")
    return delta


def _small_pool_waste(numbers: Numbers) -> tuple[Measurement, Measurement]:
    metric = "full_run_wasted_rollouts"
    return (
        numbers.get("text", "reestimate", OURS, metric),
        numbers.get("text", "reestimate", OTHER, metric),
    )


def _families(numbers: Numbers) -> tuple[dict[str, float], dict[str, float]]:
    def means(arms: Iterable[str]) -> dict[str, float]:
        return {arm: numbers.get("table1", "main", arm, "silent_at_10").value for arm in arms}

    return means(VERIFIED), means(UNVERIFIED)


def _large_pool(numbers: Numbers, arm: str, metric: str) -> Measurement:
    """An endpoint of the larger pool over its seeds."""
    return numbers.get("appendixE", "large_pool", arm, metric)


def _lower_and_separated(
    pairs: Iterable[tuple[str, Measurement, Measurement]], digits: int, unit: str
) -> Decision:
    """Whether the first is lower and separated in every pair."""
    listed = list(pairs)
    said = "; ".join(
        f"{name}{_against(first, second, digits)}{unit}" for name, first, second in listed
    )
    if any(first.value >= second.value for _, first, second in listed):
        return Decision(Verdict.FAILS, f"{said}: not lower.")
    if all(arms_separated(first, second) for _, first, second in listed):
        return Decision(Verdict.HOLDS, f"{said}: lower, and separated.")
    return Decision(Verdict.UNDECIDED, f"{said}: lower, and not separated throughout.")


def _interval(delta: Measurement) -> str:
    value, low, high = (printed(number, 1) for number in (delta.value, delta.low, delta.high))
    return f"{value} [{low}, {high}]"


def _mean(found: Measurement, digits: int) -> str:
    value = printed(found.value, digits)
    if math.isnan(found.low):
        return value
    low, high = printed(found.low, digits), printed(found.high, digits)
    return f"{value} ({low} to {high}, n = {found.n})"


def _against(first: Measurement, second: Measurement, digits: int) -> str:
    return f"{_mean(first, digits)} against {_mean(second, digits)}"


def _span(means: Mapping[str, float]) -> str:
    return f"{printed(min(means.values()), 3)} to {printed(max(means.values()), 3)}"
