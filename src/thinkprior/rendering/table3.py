"""Table 3: robustness over policies, anchors, long runs and a larger pool, in four panels."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from thinkprior.errors import InputError
from thinkprior.findings.endpoints import ABSOLUTE_ENDPOINT, DROP_POINTS
from thinkprior.findings.separation import separable
from thinkprior.measurements import Measurement, measurement_frame
from thinkprior.rendering import latex
from thinkprior.rendering.rounding import printed
from thinkprior.rendering.scale import Scale
from thinkprior.rendering.table import Table
from thinkprior.statistics import fisher_two_sided

COLUMNS = "lccccr"
ARM_LABELS: Mapping[str, str] = {"thinkprior": "ThinkPrior", "online_np": "online-NP"}
OURS, OTHER = ARM_LABELS


@dataclass(frozen=True)
class Setting:
    """A campaign as a table shows it.

    Attributes:
        campaign: its name.
        label: its row or column as printed; plain text.
        seeds: the seeds of each arm that it plans.
    """

    campaign: str
    label: str
    seeds: tuple[int, ...]


@dataclass(frozen=True)
class LargePool(Setting):
    """The campaign on the larger pool.

    Attributes:
        prompts: size of its pool.
        times_larger: that over the size of the main pool.
    """

    prompts: int
    times_larger: float


@dataclass(frozen=True)
class _Column:
    """A measured column: its metric, heading, decimals and which direction is better."""

    metric: str
    heading: str
    digits: int = 3
    less_is_better: bool = True

    @property
    def arrow(self) -> str:
        return r"$\downarrow$" if self.less_is_better else r"$\uparrow$"


_MATH500 = _Column("math500", "MATH500", less_is_better=False)
_SILENT = _Column("silent_at_10", "silent@10")
_BACKBONE_COLUMNS = (_MATH500, _SILENT)
_ANCHOR_COLUMNS = (_MATH500, _SILENT)
_LARGE_POOL_COLUMNS = (
    _Column("wasted_rollouts_200", "wasted", digits=0),
    _SILENT,
    _Column("silent_at_200", "silent@200"),
    _MATH500,
)
_EVENTS = {
    "relative_drop_events": "relative drop (post hoc)",
    "absolute_collapse_events": "absolute endpoint",
}


_DASH_NOTE = "A dash is a value that no finished run has: none is there, or all are too short."


class _Found:
    """The measurements, by what they are of."""

    def __init__(self, measurements: Sequence[Measurement]) -> None:
        self._by_key = {measurement.key: measurement for measurement in measurements}

    def __call__(self, panel: str, setting: Setting, arm: str, metric: str) -> Measurement:
        key = (f"table3{panel}", setting.campaign, arm, metric)
        if key not in self._by_key:
            raise InputError(f"Table 3 lacks the measurement {' / '.join(key)}")
        return self._by_key[key]


def table3(
    measurements: Sequence[Measurement],
    scale: Scale,
    *,
    backbones: Sequence[Setting],
    anchors: Sequence[Setting],
    horizons: Sequence[Setting],
    large_pool: LargePool,
    horizon_steps: int,
) -> Table:
    """Renders Table 3.

    Bold in (a) and (d) is the better of two arms whose seed ranges are disjoint (at least two seeds
    each); in (c) it is a count of no event. What no finished run has is a dash, and the notes name
    the arms that lack seeds.

    Args:
        measurements: what `thinkprior.findings` measured for the tables table3a to table3d.
        scale: what produced the numbers.
        backbones: rows of (a).
        anchors: rows of (b).
        horizons: columns of (c), the one without a reference KL first.
        large_pool: the campaign of (d).
        horizon_steps: steps of the runs of (c).

    Returns:
        The table; its frame holds the measurements.

    Raises:
        InputError: where a measurement is missing or stands twice.
    """
    found = _Found(measurements)
    body = [
        *_backbone_rows(found, backbones),
        *_panel("(b) How strong must the anchor be?", [_anchor_head()]),
        *_anchor_rows(found, anchors),
        *_panel(f"(c) Collapse counts at step {horizon_steps}", _horizon_head(horizons)),
        *_horizon_rows(found, horizons),
        *_panel(f"(d) A larger pool of {large_pool.prompts} prompts", [_large_pool_head()]),
        *_large_pool_rows(found, large_pool),
    ]
    tabular = latex.Tabular(
        columns=COLUMNS,
        head=[_title("(a) Other policies, and the main policy anew"), *_backbone_head()],
        body=body,
        caption=_caption(found, scale, backbones, anchors, horizons, large_pool, horizon_steps),
        label="tab:robustness",
        notes=[
            *_missing_seeds(found, backbones, anchors, horizons, large_pool),
            *([_DASH_NOTE] if any(f"& {latex.DASH} " in line for line in body) else []),
        ],
        wide=True,
    )
    return Table(measurement_frame(measurements, scale.name), tabular.environment())


def fisher_p(p: float) -> str:
    """A p value of Fisher's test with three decimals, as Appendix D prints it."""
    if math.isnan(p):
        return latex.DASH
    return printed(p, 3) if p >= 0.001 else latex.p_value(p)


def _title(text: str) -> str:
    return latex.row([latex.spanning(len(COLUMNS), "l", rf"\textit{{{latex.escape(text)}}}")])


def _panel(title: str, head: Sequence[str]) -> list[str]:
    return [r"\midrule", _title(title), *head, r"\midrule"]


def _backbone_head() -> list[str]:
    arms = list(ARM_LABELS.values())
    measures = [
        latex.spanning(2, "c", f"{column.heading} {column.arrow}") for column in _BACKBONE_COLUMNS
    ]
    return [
        latex.row(["", *measures, ""]),
        r"\cmidrule(lr){2-3} \cmidrule(lr){4-5}",
        latex.row(["Policy", *arms, *arms, "$n$"]),
    ]


def _backbone_rows(found: _Found, backbones: Sequence[Setting]) -> Iterator[str]:
    for setting in backbones:
        cells = []
        for column in _BACKBONE_COLUMNS:
            pair = [found("a", setting, arm, column.metric) for arm in (OURS, OTHER)]
            better = _better(column, *pair)
            cells += [(column, one, one is better) for one in pair]
        yield from _rows(setting.label, cells)


def _anchor_head() -> str:
    headings = [f"{column.heading} {column.arrow}" for column in _ANCHOR_COLUMNS]
    return latex.row(["Anchor", latex.escape("mean φ"), *headings, "", "$n$"])


def _anchor_rows(found: _Found, anchors: Sequence[Setting]) -> Iterator[str]:
    rate = _Column("mean_anchor_pass_rate", "")
    for setting in anchors:
        yield from _rows(
            setting.label,
            [
                (column, found("b", setting, OURS, column.metric), False)
                for column in (rate, *_ANCHOR_COLUMNS)
            ],
        )


def _horizon_head(horizons: Sequence[Setting]) -> list[str]:
    labels = [latex.escape(setting.label) for setting in horizons]
    endpoints = [latex.spanning(2, "c", heading) for heading in _EVENTS.values()]
    return [
        latex.row(["", *endpoints, ""]),
        r"\cmidrule(lr){2-3} \cmidrule(lr){4-5}",
        latex.row(["Selection rule", *labels, *labels, ""]),
    ]


def _horizon_rows(found: _Found, horizons: Sequence[Setting]) -> Iterator[str]:
    for arm, label in ARM_LABELS.items():
        counts = [found("c", setting, arm, metric) for metric in _EVENTS for setting in horizons]
        cells = [latex.bold(_events(one)) if one.value == 0 else _events(one) for one in counts]
        yield latex.row([label, *cells, ""], latex.OURS if arm == OURS else None)


def _large_pool_head() -> str:
    headings = [f"{column.heading} {column.arrow}" for column in _LARGE_POOL_COLUMNS]
    return latex.row(["Selection rule", *headings, "$n$"])


def _large_pool_rows(found: _Found, setting: LargePool) -> Iterator[str]:
    for arm, label in ARM_LABELS.items():
        cells = []
        for column in _LARGE_POOL_COLUMNS:
            pair = {one: found("d", setting, one, column.metric) for one in ARM_LABELS}
            better = _better(column, pair[OURS], pair[OTHER])
            cells.append((column, pair[arm], pair[arm] is better))
        yield from _rows(label, cells, latex.OURS if arm == OURS else None)


def _rows(
    label: str, cells: Sequence[tuple[_Column, Measurement, bool]], colour: str | None = None
) -> Iterator[str]:
    """A row of means and, where some cell has two seeds, one of seed ranges below it."""
    empty = [""] * (len(COLUMNS) - 2 - len(cells))
    means = [
        latex.bold(_mean(column, one)) if bold else _mean(column, one)
        for column, one, bold in cells
    ]
    seeds = list(dict.fromkeys(one.n for _, one, _ in cells if one.metric == "math500"))
    counts = ", ".join(map(str, seeds))
    yield latex.row([latex.escape(label), *means, *empty, counts], colour)
    if any(len(one.values) > 1 for _, one, _ in cells):
        ranges = [_range(column, one) for column, one, _ in cells]
        yield latex.row([r"\quad seed range", *ranges, *empty, ""], colour)


def _better(column: _Column, first: Measurement, second: Measurement) -> Measurement | None:
    """The better one of two that are separable."""
    if not separable(first, second):
        return None
    return first if (first.value < second.value) == column.less_is_better else second


def _mean(column: _Column, one: Measurement) -> str:
    return latex.DASH if math.isnan(one.value) else printed(one.value, column.digits)


def _range(column: _Column, one: Measurement) -> str:
    if one.spread != "seeds":
        return ""
    return f"$[{printed(one.low, column.digits)}, {printed(one.high, column.digits)}]$"


def _events(one: Measurement) -> str:
    return latex.DASH if math.isnan(one.value) else f"{one.value:.0f}/{one.of}"


def _caption(
    found: _Found,
    scale: Scale,
    backbones: Sequence[Setting],
    anchors: Sequence[Setting],
    horizons: Sequence[Setting],
    large_pool: LargePool,
    horizon_steps: int,
) -> str:
    runs = sum(
        found("c", setting, arm, "relative_drop_events").n
        for setting in horizons
        for arm in ARM_LABELS
    )
    planned = ", ".join(
        f"{' or '.join(map(str, sorted({len(one.seeds) for one in settings})))} in ({panel})"
        for panel, settings in (("a", backbones), ("b", anchors), ("d", [large_pool]))
    )
    sentences = [
        "Robustness of the zero-rollout difficulty prior. silent@10 is the fraction of candidate "
        "groups generated in steps 1--10 that are silent, silent@200 that through step 200; a cell "
        f"is a mean over finished seeds, which $n$ counts, of the planned {planned}.",
        "Every campaign has runs of its own, so the main policy's row differs from Table 1.",
        latex.escape("(b) φ is the anchor's pass rate over the pool; all rows are ThinkPrior."),
        f"(c) is a separate campaign of {runs} runs of {horizon_steps} steps; an arm has "
        f"{latex.escape(_each(horizons))}. A relative drop is a final MATH500 more than "
        f"{DROP_POINTS} points below the run's own peak over its checkpoints, step 0 included. "
        "That threshold was chosen by the paper after inspecting its runs: it is post hoc and "
        f"exploratory. {_events_sentence(found, horizons[0])}",
        "(d) uses a pool built by the same rule but "
        f"{latex.escape(f'{large_pool.times_larger:g}×')} larger; "
        f"{_wasted_sentence(found, large_pool)} {_separation_sentence(found, large_pool)}",
        "No significance test is made of two or three seeds. Bold marks the better arm where the "
        "two seed ranges are disjoint in (a) and (d), and the zero cells in (c); pink rows are "
        "ThinkPrior.",
        latex.escape(scale.note),
    ]
    return " ".join(sentences)


def _each(horizons: Sequence[Setting]) -> str:
    return ", ".join(f"{len(setting.seeds)} ({setting.label})" for setting in horizons) + " seeds"


def _events_sentence(found: _Found, without_kl: Setting) -> str:
    """Both endpoints of the designed comparison, each with its p value."""
    parts = []
    for metric, name in (
        (
            "absolute_collapse_events",
            f"the original absolute endpoint (final MATH500 below {ABSOLUTE_ENDPOINT:g})",
        ),
        ("relative_drop_events", "the exploratory threshold"),
    ):
        other, ours = (found("c", without_kl, arm, metric) for arm in (OTHER, OURS))
        if other.of is None or ours.of is None:
            return "The designed comparison, without KL, has no finished run of one arm."
        p = fisher_two_sided(int(other.value), other.of, int(ours.value), ours.of)
        parts.append(
            f"{name} gives online-NP {_events(other)} against ThinkPrior {_events(ours)} "
            f"(Fisher two-sided $p$ {fisher_p(p)})"
        )
    return f"Without KL {parts[0]}; {parts[1]} (Appendix D)."


def _wasted_sentence(found: _Found, setting: LargePool) -> str:
    spent = {
        value
        for arm in ARM_LABELS
        for value in found("d", setting, arm, "generated_rollouts_200").values
    }
    out_of = (
        f", out of the {printed(spent.pop(), 0)} that each run spends" if len(spent) == 1 else ""
    )
    return f"wasted counts silent-group rollouts through step 200{out_of}."


def _separation_sentence(found: _Found, setting: LargePool) -> str:
    """Which columns of (d) are separable, and that the others claim nothing."""
    verdicts = {
        column.heading: separable(
            *(found("d", setting, arm, column.metric) for arm in (OURS, OTHER))
        )
        for column in _LARGE_POOL_COLUMNS
    }
    names = [heading for heading, verdict in verdicts.items() if verdict]
    if all(verdict is None for verdict in verdicts.values()):
        claim = "With fewer than two seeds of an arm no column is called separable"
    elif not names:
        claim = "No column has disjoint seed ranges: all are means that carry no separation claim"
    elif len(names) == len(verdicts):
        claim = "All columns have disjoint seed ranges"
    else:
        verb = "has" if len(names) == 1 else "have"
        claim = (
            f"Only {' and '.join(names)} {verb} disjoint seed ranges, the other columns are means "
            "that carry no separation claim"
        )
    return f"{claim}; no seed is left out of MATH500 (Appendix E)."


def _missing_seeds(
    found: _Found,
    backbones: Sequence[Setting],
    anchors: Sequence[Setting],
    horizons: Sequence[Setting],
    large_pool: LargePool,
) -> Iterator[str]:
    """Names the arms that lack finished runs."""
    arms = list(ARM_LABELS)
    for panel, settings, shown, metric in (
        ("a", backbones, arms, "math500"),
        ("b", anchors, [OURS], "math500"),
        ("c", horizons, arms, "relative_drop_events"),
        ("d", [large_pool], arms, "math500"),
    ):
        for setting in settings:
            for arm in shown:
                n, planned = found(panel, setting, arm, metric).n, len(setting.seeds)
                if n < planned:
                    yield (
                        f"({panel}) {latex.escape(setting.label)}, {ARM_LABELS[arm]}: {n} of "
                        f"{planned} seeds finished."
                    )
