"""The table of prompt calibration."""

from collections.abc import Sequence

from thinkprior.findings.calibration import PAPER_ACCURACY, PAPER_PASS_RATE
from thinkprior.measurements import Measurement, measurement_frame
from thinkprior.rendering import latex
from thinkprior.rendering.cells import Measured, number
from thinkprior.rendering.rounding import printed
from thinkprior.rendering.scale import Scale
from thinkprior.rendering.table import Table


def calibration_table(
    measurements: Sequence[Measurement],
    scale: Scale,
    *,
    benchmark: str,
    pool: str,
    confidence: float,
) -> Table:
    """Renders the grid, one row a cell.

    Args:
        measurements: What `thinkprior.findings.calibration` gives, of all templates.
        scale: What produced the numbers.
        benchmark: Label of the benchmark.
        pool: Name of the pool.
        confidence: Level of the intervals.

    Returns:
        The table; its frame has the measurements.
    """
    found = Measured(measurements)
    body: list[str] = []
    last = ""
    for setting, arm in dict.fromkeys((one.setting, one.arm) for one in measurements):
        if last and setting != last:
            body.append(r"\midrule")
        last = setting
        accuracy = found.get(setting, arm, "accuracy")
        interval = (
            f"$[{printed(accuracy.low, 3)}, {printed(accuracy.high, 3)}]$"
            if accuracy.n
            else latex.DASH
        )
        body.append(
            latex.row(
                [
                    latex.escape(setting),
                    *(latex.escape(part) for part in arm.split("/")),
                    number(accuracy.value, 3),
                    interval,
                    *(
                        number(found.get(setting, arm, metric).value, 3)
                        for metric in ("truncated", "no_box", "pass_rate")
                    ),
                ]
            )
        )
    body += [
        r"\midrule",
        latex.row(
            [
                "the paper",
                *[""] * 3,
                printed(PAPER_ACCURACY, 3),
                *[""] * 3,
                printed(PAPER_PASS_RATE, 3),
            ]
        ),
    ]
    tabular = latex.Tabular(
        columns="llrlrcrrr",
        head=[
            latex.row(
                [
                    *("Template", "stop", "cap", "box rule"),
                    *("accuracy", "interval", "cut off", "no box", "pass rate"),
                ]
            )
        ],
        body=body,
        caption=_caption(measurements, scale, benchmark, pool, confidence),
        label="tab:calibration",
        wide=True,
    )
    return Table(measurement_frame(measurements, scale.name), tabular.environment())


def _caption(
    measurements: Sequence[Measurement],
    scale: Scale,
    benchmark: str,
    pool: str,
    confidence: float,
) -> str:
    n = {m: max((o.n for o in measurements if o.metric == m), default=0) for m in _SETS}
    return " ".join(
        [
            f"Prompt calibration: the untrained policy on {latex.escape(benchmark)}, greedy "
            f"($n={n['accuracy']}$, {100 * confidence:g}\\% Wilson intervals), with the fractions "
            "of answers that were cut off and that have no answer by the rule; and its mean pass "
            f"rate on {latex.escape(pool)} ({n['pass_rate']} sampled answers).",
            "The last row has the paper's own figures, of its models and its pool.",
            latex.escape(scale.note),
        ]
    )


_SETS = ("accuracy", "pass_rate")
