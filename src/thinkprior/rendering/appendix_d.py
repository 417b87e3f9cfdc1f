"""Appendix D: how each long run ended, and the tests of the event counts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from thinkprior.findings.endpoints import (
    ABSOLUTE_ENDPOINT,
    ARMS,
    DROP_POINTS,
    Comparison,
    Endpoint,
    Run,
    comparisons,
    fisher_measurements,
    hosts_by_seed_alone,
    run_measurements,
)
from thinkprior.measurements import Measurement, measurement_frame
from thinkprior.rendering import latex
from thinkprior.rendering.rounding import printed
from thinkprior.rendering.scale import Scale
from thinkprior.rendering.table import Table
from thinkprior.rendering.table3 import ARM_LABELS, Setting, fisher_p

_COLUMNS = "ll" + 7 * "c"


def appendix_d(
    ends: Sequence[Endpoint], hosts: Mapping[Run, str], horizons: Sequence[Setting], scale: Scale
) -> Table:
    """Renders the endpoints of all runs, and below them the four tests.

    Args:
        ends: how the finished runs ended.
        hosts: machine of each run, from its manifest.
        horizons: the campaign without a reference KL and that with one, in this order.
        scale: what produced the numbers.

    Returns:
        The table; its frame holds the p values, what only the relative drop counts, the events by
        host and every run's numbers.
    """
    without_kl, with_kl = horizons
    tests = comparisons(ends, without_kl.campaign, with_kl.campaign)
    rows = run_measurements(ends, hosts, [setting.campaign for setting in horizons])
    tabular = latex.Tabular(
        columns=_COLUMNS,
        head=[_title("(a) How each run ended"), _ends_head()],
        body=[
            *_ends_rows(ends, horizons),
            r"\midrule",
            _title("(b) Fisher's exact test of the event counts, two-sided"),
            _tests_head(),
            r"\midrule",
            *(_test_row(test) for test in tests),
        ],
        caption=_caption(ends, scale),
        label="tab:endpoints",
        notes=[*_notes(rows, horizons), _hosts_note(ends, hosts)],
        wide=True,
    )
    frame = measurement_frame([*fisher_measurements(tests), *rows], scale.name)
    return Table(frame, tabular.environment())


def _title(text: str) -> str:
    return latex.row([latex.spanning(len(_COLUMNS), "l", rf"\textit{{{latex.escape(text)}}}")])


def _ends_head() -> str:
    return latex.row(
        ["KL", "Arm", "Seed", "Final", "Peak", "at step", "Drop (pts)", "Absolute", "Relative"]
    )


def _ends_rows(ends: Sequence[Endpoint], horizons: Sequence[Setting]) -> Iterator[str]:
    """A row a planned run, of dashes where it is not finished."""
    by_run = {end.run: end for end in ends}
    for setting in horizons:
        for arm in ARMS:
            for seed in setting.seeds:
                end = by_run.get((setting.campaign, arm, seed))
                cells = [latex.DASH] * 6 if end is None else _end_cells(end)
                name = [latex.escape(setting.label), ARM_LABELS[arm], str(seed)]
                yield latex.row([*name, *cells], latex.OURS if arm == ARMS[0] else None)


def _end_cells(end: Endpoint) -> list[str]:
    return [
        printed(end.final, 3),
        printed(end.peak, 3),
        str(end.peak_step),
        printed(end.drop, 1),
        *(latex.bold("yes") if event else "no" for event in (end.absolute, end.relative)),
    ]


def _tests_head() -> str:
    return latex.row(
        [
            latex.spanning(3, "l", "Endpoint"),
            latex.spanning(2, "c", "Events"),
            latex.spanning(2, "c", "against"),
            "$p$",
            "Standing",
        ]
    )


def _test_row(test: Comparison) -> str:
    where = {
        "fisher_p_relative_pooled": ", both campaigns pooled",
        "fisher_p_relative_kl_within_online_np": ", the KL within one arm",
    }.get(test.metric, ", without KL")
    name = "Absolute" if test.endpoint == "absolute" else "Relative drop"
    sides = [
        latex.spanning(2, "c", f"{latex.escape(side)} {events}/{runs}")
        for side, (events, runs) in (
            (test.first_name, test.first),
            (test.second_name, test.second),
        )
    ]
    return latex.row(
        [latex.spanning(3, "l", f"{name}{where}"), *sides, fisher_p(test.p), test.standing]
    )


def _caption(ends: Sequence[Endpoint], scale: Scale) -> str:
    steps = sorted({end.step for end in ends})
    length = f" of {' or '.join(map(str, steps))} steps" if steps else ""
    return " ".join(
        [
            f"Endpoints of {len(ends)} finished runs{length}. Final is MATH500 at the last step; "
            "Peak is the run's own highest MATH500 over its checkpoints, step 0 included; Drop is "
            "the difference in points.",
            "Absolute, fixed before running: the final value lies below "
            f"{ABSOLUTE_ENDPOINT:g}. Relative, exploratory: it lies more than {DROP_POINTS} points "
            "below the peak, a threshold that the paper chose after inspecting its own "
            "trajectories and that is taken over as it is.",
            "The absolute endpoint without KL is the primary result. The pooled test adds runs "
            "that were made for another question and is post hoc; no claim rests on it.",
            "A reference KL gives a silent group a gradient, so Proposition 1 does not hold for "
            "the runs with one. So few runs estimate no event rate: they are observations to "
            "replicate, neither a stability result nor evidence of a cause.",
            "Pink rows are ThinkPrior.",
            latex.escape(scale.note),
        ]
    )


def _notes(rows: Sequence[Measurement], horizons: Sequence[Setting]) -> Iterator[str]:
    """The runs that only the relative drop counts, and the events by machine, where there are."""
    by_key = {row.key[1:]: row for row in rows}
    for setting in horizons:
        for arm in ARMS:
            name = f"{ARM_LABELS[arm]}, {latex.escape(setting.label)}"
            finals, drops, by_host = (
                by_key[setting.campaign, arm, metric]
                for metric in (
                    "final_math500_of_two_relative_drop_runs",
                    "their_drops_points",
                    "events_by_host",
                )
            )
            if finals.values:
                listed = [
                    f"{printed(final, 3)} after a drop of {printed(drop, 1)} points"
                    for final, drop in zip(finals.values, drops.values, strict=True)
                ]
                yield f"{name}: counted by the relative drop alone, {'; '.join(listed)}."
            if by_host.value > 0:
                yield (f"{name}: relative-drop events by machine, {latex.escape(by_host.note)}.")


def _hosts_note(ends: Sequence[Endpoint], hosts: Mapping[Run, str]) -> str:
    machines = {hosts.get(end.run, "unknown") for end in ends}
    if len(machines) == 1:
        return "All runs were made on one machine."
    if hosts_by_seed_alone(ends, hosts):
        return "Seeds sit on machines by their index, alike in every arm and campaign."
    return "The machines are not balanced: a seed's runs were made on different ones."
