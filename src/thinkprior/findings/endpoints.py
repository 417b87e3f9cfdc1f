"""Collapse at the end of long runs: endpoints, events and Fisher's tests (Table 3(c), Appendix D).

The absolute endpoint was fixed before the paper's runs; the relative drop was chosen by the paper
after it had seen them, so it and what pools over it is exploratory.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from thinkprior.measurements import Measurement, over_seeds
from thinkprior.statistics import fisher_two_sided

COUNTS_TABLE = "table3c"
RUNS_TABLE = "appendixD"
OURS, OTHER = "thinkprior", "online_np"
ARMS = (OURS, OTHER)
ABSOLUTE_ENDPOINT = 0.05
"""A run has collapsed that ends below this MATH500."""
DROP_POINTS = 10
"""A run has dropped that ends more than so many points below its own peak."""

Run = tuple[str, str, int]
"""Campaign, arm and seed."""


@dataclass(frozen=True)
class Endpoint:
    """How a run ended.

    Attributes:
        campaign: its campaign.
        arm: its arm.
        seed: its seed.
        step: step of its last checkpoint.
        final: MATH500 there, a fraction.
        peak: its own highest MATH500 over all checkpoints, that before the first step included.
        peak_step: the first step with the peak.
    """

    campaign: str
    arm: str
    seed: int
    step: int
    final: float
    peak: float
    peak_step: int

    @property
    def run(self) -> Run:
        """What identifies the run."""
        return (self.campaign, self.arm, self.seed)

    @property
    def drop(self) -> float:
        """Points from the peak down to the end."""
        # Scores are counts over problems; rounding makes a difference of exactly 10 points so.
        return round(100 * (self.peak - self.final), 9)

    @property
    def absolute(self) -> bool:
        """Whether the run has collapsed by the original endpoint."""
        return self.final < ABSOLUTE_ENDPOINT

    @property
    def relative(self) -> bool:
        """Whether it has by the exploratory one."""
        return self.drop > DROP_POINTS


@dataclass(frozen=True)
class Comparison:
    """Two event counts and Fisher's test of them.

    Attributes:
        metric: published name of the p value.
        endpoint: `absolute` or `relative`.
        standing: what the paper lets the test be: `primary`, `exploratory` or `post hoc`.
        first_name: what the first count is of, in plain words.
        first: its events and runs.
        second_name: what the second count is of.
        second: its events and runs.
    """

    metric: str
    endpoint: str
    standing: str
    first_name: str
    first: tuple[int, int]
    second_name: str
    second: tuple[int, int]

    @property
    def p(self) -> float:
        """Two-sided p value; nan where a side has no run."""
        if not (self.first[1] and self.second[1]):
            return math.nan
        return fisher_two_sided(*self.first, *self.second)


def run_endpoints(checkpoints: pd.DataFrame) -> list[Endpoint]:
    """How each run of the two arms ended, by campaign, arm and seed.

    Args:
        checkpoints: one row a checkpoint of a run: campaign, arm, seed, step, math500 (fraction).
    """
    found = []
    scored = checkpoints[checkpoints["arm"].isin(ARMS)].dropna(subset=["math500"])
    scored = scored.sort_values("step", ignore_index=True)
    for (campaign, arm, seed), course in scored.groupby(["campaign", "arm", "seed"], sort=False):
        last, best = course.iloc[-1], course.iloc[int(course["math500"].argmax())]
        found.append(
            Endpoint(
                campaign=str(campaign),
                arm=str(arm),
                seed=int(str(seed)),
                step=int(last["step"]),
                final=float(last["math500"]),
                peak=float(best["math500"]),
                peak_step=int(best["step"]),
            )
        )
    return sorted(found, key=lambda end: (end.campaign, ARMS.index(end.arm), end.seed))


def count(
    ends: Sequence[Endpoint], endpoint: str, arm: str, campaigns: Sequence[str]
) -> tuple[int, int]:
    """Events of an endpoint and runs, of an arm in the campaigns given."""
    mine = [end for end in ends if end.arm == arm and end.campaign in campaigns]
    return sum(bool(getattr(end, endpoint)) for end in mine), len(mine)


def event_measurements(ends: Sequence[Endpoint], campaigns: Sequence[str]) -> list[Measurement]:
    """Table 3(c): events of both endpoints, by campaign and arm."""
    found = []
    for campaign in campaigns:
        for arm in ARMS:
            for endpoint, metric, note in (
                ("absolute", "absolute_collapse_events", "original endpoint"),
                ("relative", "relative_drop_events", "exploratory: threshold chosen post hoc"),
            ):
                events, runs = count(ends, endpoint, arm, [campaign])
                found.append(
                    Measurement(
                        COUNTS_TABLE,
                        campaign,
                        arm,
                        metric,
                        events if runs else math.nan,
                        of=runs or None,
                        n=runs,
                        note=note,
                    )
                )
    return found


def comparisons(ends: Sequence[Endpoint], without_kl: str, with_kl: str) -> list[Comparison]:
    """The four tests of Appendix D, online-NP first.

    Args:
        ends: how the runs of both campaigns ended.
        without_kl: the campaign without a reference KL, for which the comparison was designed.
        with_kl: the campaign with one.
    """
    both = [without_kl, with_kl]
    arms = "online-NP", "ThinkPrior"

    def between_arms(metric: str, endpoint: str, standing: str, where: list[str]) -> Comparison:
        other, ours = (count(ends, endpoint, arm, where) for arm in (OTHER, OURS))
        return Comparison(metric, endpoint, standing, arms[0], other, arms[1], ours)

    return [
        between_arms("fisher_p_absolute", "absolute", "primary", [without_kl]),
        between_arms("fisher_p_relative", "relative", "exploratory", [without_kl]),
        between_arms("fisher_p_relative_pooled", "relative", "post hoc", both),
        Comparison(
            "fisher_p_relative_kl_within_online_np",
            "relative",
            "exploratory",
            "online-NP without KL",
            count(ends, "relative", OTHER, [without_kl]),
            "online-NP with KL",
            count(ends, "relative", OTHER, [with_kl]),
        ),
    ]


def fisher_measurements(tests: Sequence[Comparison]) -> list[Measurement]:
    """Appendix D's p values under the published names, n the runs behind each."""
    return [
        Measurement(
            COUNTS_TABLE,
            "tests",
            "thinkprior vs online_np",
            test.metric,
            test.p,
            n=test.first[1] + test.second[1],
            note=(
                f"{test.standing}; two-sided; {test.first_name} {_of(test.first)} against "
                f"{test.second_name} {_of(test.second)}"
            ),
        )
        for test in tests
    ]


def run_measurements(
    ends: Sequence[Endpoint], hosts: Mapping[Run, str], campaigns: Sequence[str]
) -> list[Measurement]:
    """Appendix D's rows: what only the relative drop counts, events by host, and every run's end.

    Args:
        ends: how the runs ended.
        hosts: machine of each run; runs that are not in it are counted under `unknown`.
        campaigns: the campaigns, in order.
    """
    found = []
    for campaign in campaigns:
        for arm in ARMS:
            mine = [end for end in ends if (end.campaign, end.arm) == (campaign, arm)]
            found += _relative_only(mine, campaign, arm)
            found.append(_by_host(mine, hosts, campaign, arm))
    for end in ends:
        setting = f"{end.campaign} seed {end.seed}"
        numbers = {
            "final_math500": end.final,
            "peak_math500": end.peak,
            "peak_step": end.peak_step,
            "drop_points": end.drop,
        }
        found += [
            Measurement(RUNS_TABLE, setting, end.arm, metric, value, n=1)
            for metric, value in numbers.items()
        ]
        found += [
            Measurement(RUNS_TABLE, setting, end.arm, metric, int(event), of=1, n=1)
            for metric, event in (
                ("absolute_collapse_events", end.absolute),
                ("relative_drop_events", end.relative),
            )
        ]
    return found


def hosts_by_seed_alone(ends: Sequence[Endpoint], hosts: Mapping[Run, str]) -> bool:
    """Whether every seed ran on one and the same machine in all arms and campaigns."""
    machines: dict[int, set[str]] = {}
    for end in ends:
        machines.setdefault(end.seed, set()).add(hosts.get(end.run, "unknown"))
    return all(len(names) == 1 for names in machines.values())


def _relative_only(mine: Sequence[Endpoint], campaign: str, arm: str) -> list[Measurement]:
    """Runs that the relative drop counts and the absolute endpoint does not."""
    added = [end for end in mine if end.relative and not end.absolute]
    note = f"{len(added)} of {len(mine)} runs: relative drop, not below the absolute endpoint"
    return [
        over_seeds(RUNS_TABLE, campaign, arm, metric, values, note)
        for metric, values in (
            ("final_math500_of_two_relative_drop_runs", [end.final for end in added]),
            ("their_drops_points", [end.drop for end in added]),
        )
    ]


def _by_host(
    mine: Sequence[Endpoint], hosts: Mapping[Run, str], campaign: str, arm: str
) -> Measurement:
    """Relative-drop events; `values` has them machine by machine, in order of the names."""
    by_host: dict[str, list[bool]] = {}
    for end in mine:
        by_host.setdefault(hosts.get(end.run, "unknown"), []).append(end.relative)
    events = {host: (sum(by_host[host]), len(by_host[host])) for host in sorted(by_host)}
    return Measurement(
        RUNS_TABLE,
        campaign,
        arm,
        "events_by_host",
        sum(found for found, _ in events.values()) if mine else math.nan,
        of=len(mine) or None,
        n=len(mine),
        values=tuple(float(found) for found, _ in events.values()),
        note="; ".join(f"{host}: {_of(counted)}" for host, counted in events.items()),
    )


def _of(counted: tuple[int, int]) -> str:
    return f"{counted[0]}/{counted[1]}"
