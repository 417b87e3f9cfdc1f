"""The table of the evaluation protocol: accuracies with what belongs beside each."""

from collections.abc import Mapping, Sequence

from thinkprior.findings.protocol import DIFFERENT, UNTRAINED
from thinkprior.measurements import Measurement, measurement_frame
from thinkprior.protocol import Protocol
from thinkprior.rendering import latex
from thinkprior.rendering.arms import ArmRow
from thinkprior.rendering.cells import Measured, number
from thinkprior.rendering.rounding import printed
from thinkprior.rendering.scale import Scale
from thinkprior.rendering.table import Table


def protocol_table(
    measurements: Sequence[Measurement],
    arms: Sequence[ArmRow],
    benchmarks: Mapping[str, str],
    campaign: str,
    protocol: Protocol,
    confidence: float,
    scale: Scale,
) -> Table:
    """Renders the accuracies of one campaign with their intervals and fractions.

    Args:
        measurements: What `thinkprior.findings.protocol` gives, of any campaigns.
        arms: The arms of the campaign that is shown, in order.
        benchmarks: Name of each benchmark to its label.
        campaign: The campaign that is shown.
        protocol: How all of them were measured.
        confidence: Level of the intervals.
        scale: What produced the numbers.

    Returns:
        The table; its frame has all measurements, with the protocol in their notes.
    """
    found = Measured(measurements)
    rows = [(UNTRAINED, "untrained policy", None)] + [
        (arm.name, arm.label, latex.OURS if arm.ours else None) for arm in arms
    ]
    body = [_line(found, campaign, name, label, colour, benchmarks) for name, label, colour in rows]
    tabular = latex.Tabular(
        columns="l" + "lr" * len(benchmarks),
        head=[
            latex.row(
                [
                    "",
                    *(
                        latex.spanning(2, "c", _heading(found, campaign, name, label, rows))
                        for name, label in benchmarks.items()
                    ),
                ]
            ),
            latex.row(["Method", *["accuracy", "cut / no box"] * len(benchmarks)]),
        ],
        body=[body[0], r"\midrule", *body[1:]],
        caption=_caption(protocol, confidence, scale),
        label="tab:protocol",
        notes=[DIFFERENT.capitalize() + "."]
        if any(DIFFERENT in one.note for one in measurements if one.setting == campaign)
        else [],
        wide=True,
    )
    frame = measurement_frame(measurements, scale.name)
    frame["protocol"] = protocol.statement()
    return Table(frame, tabular.environment())


def _heading(
    found: Measured,
    campaign: str,
    name: str,
    label: str,
    rows: Sequence[tuple[str, str, str | None]],
) -> str:
    for arm, _, _ in rows:
        problems = found.get(campaign, arm, f"{name}_problems")
        if problems.n:
            return f"{latex.escape(label)}, $n={printed(problems.value, 0)}$"
    return latex.escape(label)


def _line(
    found: Measured,
    campaign: str,
    arm: str,
    label: str,
    colour: str | None,
    benchmarks: Mapping[str, str],
) -> str:
    cells = [latex.escape(label)]
    seeds = max(found.get(campaign, arm, f"{name}_accuracy").n for name in benchmarks)
    if arm != UNTRAINED:
        cells[0] += f" ({seeds})" if seeds else f" ({latex.DASH})"
    for name in benchmarks:
        accuracy = found.get(campaign, arm, f"{name}_accuracy")
        if accuracy.n:
            interval = f"$[{printed(accuracy.low, 3)}, {printed(accuracy.high, 3)}]$"
            cells.append(f"{printed(accuracy.value, 3)} {interval}")
        else:
            cells.append(latex.DASH)
        shares = [
            number(found.get(campaign, arm, f"{name}_{metric}").value, 3)
            for metric in ("truncated", "no_box")
        ]
        cells.append(" / ".join(shares) if accuracy.n else latex.DASH)
    return latex.row(cells, colour)


def _caption(protocol: Protocol, confidence: float, scale: Scale) -> str:
    return " ".join(
        [
            "The evaluation protocol and what it gives: accuracy with its "
            rf"{100 * confidence:g}\% Wilson interval, and the fractions of answers that were cut "
            "off and that have no box.",
            latex.escape(protocol.statement()),
            "The untrained policy is the same in all runs and is evaluated on one benchmark; of "
            "the arms (number of seeds) the means over seeds stand; the interval is that of one "
            "evaluation of $n$ problems, since seeds share them.",
            latex.escape(scale.note),
        ]
    )
