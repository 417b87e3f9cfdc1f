"""What each table, figure and number needs, and which of them a configuration can make.

A configuration declares its campaigns, arms, benchmarks and passes; nothing is run only because a
table exists that would show it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from thinkprior import plans
from thinkprior.benchmarks import ALONG_THE_RUN
from thinkprior.configuration import Configuration
from thinkprior.fixed_names import NEEDS_LATEX, SOURCES


@dataclass(frozen=True)
class Need:
    """What a table, figure or number needs, besides the campaign `main`.

    Attributes:
        campaigns: campaigns that must be declared.
        arms: arms that the campaign `of` must have.
        priors: priors that some arm of that campaign must start from, which names its passes.
        of: gives the campaign that arms and priors are of.
        along: the benchmark that must be the one along the run; empty where any will do.
        reference: whether it needs the reference pass itself.
    """

    campaigns: tuple[str, ...] = ()
    arms: tuple[str, ...] = ()
    priors: tuple[str, ...] = ()
    of: Callable[[Configuration], str] = lambda _: "main"
    along: str = ""
    reference: bool = False


_PAIR = Need(arms=(plans.OURS, "online_np"), of=plans.pair_campaign)
_LARGE_POOL = Need(
    (plans.LARGE_POOL,),
    (plans.OURS, "online_np"),
    of=lambda _: plans.LARGE_POOL,
    along=ALONG_THE_RUN,
)
_LENGTHS = Need(priors=("anchor", "length"), arms=(plans.OURS,))

NEEDS: Mapping[str, Need] = {
    "table1": Need(),
    "table2": _PAIR,
    "table3": Need(
        (*plans.BACKBONES, *plans.ANCHORS, *plans.HORIZONS, plans.LARGE_POOL), along=ALONG_THE_RUN
    ),
    "table4": Need(arms=("dapo", "thinkprior_dapo")),
    "table5": Need(priors=("anchor", "length", "bank")),
    "figure1": _PAIR,
    "figure2": _PAIR,
    "figure3": Need(),
    "appendixB": _LENGTHS,
    "underestimated": _LENGTHS,
    "appendixD": Need(plans.HORIZONS, along=ALONG_THE_RUN),
    "appendixE": _LARGE_POOL,
    "windows": Need(),
    "amortisation": Need(arms=("dapo", "thinkprior_dapo", "length_prior")),
    "cost": Need(),
    "cost-figure": Need(),
    "protocol": Need(),
    "world": Need(reference=True),
    "claims": Need(),
    "reproduction": Need(),
    "report": Need(),
    "paper": Need(),
}
"""Fixed name, without its ending, to what it needs."""


def lacking(config: Configuration, name: str) -> list[str]:
    """What a configuration lacks for a table, figure or number, in words; empty where nothing.

    Args:
        config: the configuration.
        name: its fixed name without the ending, a key of `NEEDS`.
    """
    need = NEEDS[name]
    if missing := [one for one in need.campaigns if one not in config.campaigns]:
        return [_counted("campaign", missing)]
    campaign = need.of(config)
    arms = config.campaigns[campaign].arms
    priors = {config.arms[arm].prior for arm in arms}
    words = []
    if missing := [arm for arm in need.arms if arm not in arms]:
        words.append(f"{_counted('arm', missing)} in the campaign {campaign}")
    if missing := [prior for prior in need.priors if prior not in priors]:
        words.append(f"an arm of the {_counted('prior', missing)} in the campaign {campaign}")
    if need.along and config.data.along_the_run != need.along:
        words.append(f"{need.along} as data.along_the_run")
    if need.reference and not config.probing.reference_samples:
        words.append("a reference pass (probing.reference_samples)")
    return words


def _counted(noun: str, names: list[str]) -> str:
    return f"{noun}{'s' if len(names) > 1 else ''} {', '.join(names)}"


def available(config: Configuration, name: str) -> bool:
    """Whether a configuration can make a table, figure or number."""
    return not lacking(config, name)


def left_out(config: Configuration) -> dict[str, str]:
    """What a configuration cannot make, by fixed name without ending, to what it lacks."""
    return {name: " and ".join(words) for name in NEEDS if (words := lacking(config, name))}


def refusal(config: Configuration, file: str) -> str:
    """Why a file under a fixed name cannot be made, as one message; empty where it can."""
    words = lacking(config, file.rpartition(".")[0])
    if not words:
        return ""
    return (
        f"results/{file}: the {config.scale} scale cannot make it; its configuration lacks "
        f"{' and '.join(words)}. Add that, or ask for what it can make (snakemake --dry-run lists "
        "it)."
    )


def targets(config: Configuration) -> list[str]:
    """Files under fixed names that `rule all` makes: all that the configuration allows."""
    return [
        file
        for file in SOURCES
        if file not in NEEDS_LATEX and available(config, file.rpartition(".")[0])
    ]
