"""The amortisation figures: what the anchor pass costs against what it saves."""

from collections.abc import Sequence

from thinkprior.findings.amortisation import PASS, TIMING
from thinkprior.measurements import Measurement, measurement_frame
from thinkprior.rendering import latex
from thinkprior.rendering.cells import Measured, number, seed_range, seeds, significant_decimals
from thinkprior.rendering.scale import Scale
from thinkprior.rendering.table import Table


def amortisation_table(
    measurements: Sequence[Measurement],
    scale: Scale,
    *,
    anchor: str,
    samples: int,
    pool: int,
    labels: tuple[str, str],
    hardware: str,
) -> Table:
    """Renders the amortisation figures.

    Args:
        measurements: What `thinkprior.findings.amortisation.amortisation` gives.
        scale: What produced the numbers.
        anchor: The anchor as printed.
        samples: k, its samples a prompt.
        pool: Prompts of the pool.
        labels: DAPO and its composition as printed.
        hardware: What the seconds were measured on.

    Returns:
        The table; its frame has the measurements.
    """
    found = Measured(measurements)
    alone, composed = (latex.escape(label) for label in labels)

    def of(metric: str) -> float:
        return found.get(PASS, "-", metric).value

    seconds = [of("anchor_seconds"), of("generation_seconds_saved_per_run_with_dapo")]
    digits = significant_decimals(seconds)
    saved = [
        of("rollouts_saved_per_run_with_dapo"),
        of("tokens_saved_per_run_with_dapo"),
        of("generation_seconds_saved_per_run_with_dapo"),
    ]
    ratios = [
        of("runs_per_anchor_pass"),
        of("runs_per_anchor_pass_tokens"),
        of("runs_per_anchor_pass_seconds"),
    ]
    body = [
        latex.row(
            [
                latex.escape(f"Anchor pass ({samples} × {pool}, {anchor})"),
                number(of("anchor_generations"), 0),
                number(of("anchor_tokens"), 0),
                number(of("anchor_seconds"), digits),
            ]
        ),
        latex.row(
            [
                f"Saved a run by {composed} against {alone}",
                *(
                    number(value, places)
                    for value, places in zip(saved, (0, 0, digits), strict=True)
                ),
            ]
        ),
        latex.row(
            [
                "Runs that pay the pass back",
                *(
                    "never" if gain <= 0 else number(ratio, 1)
                    for gain, ratio in zip(saved, ratios, strict=True)
                ),
            ]
        ),
        latex.row(
            [
                "Reference answers of the length map's fit",
                number(of("length_prior_generations"), 0),
                latex.DASH,
                latex.DASH,
            ]
        ),
        r"\midrule",
        *_timing(found, alone, composed),
    ]
    tabular = latex.Tabular(
        columns="lrrr",
        head=[latex.row(["", "generations", "tokens", "seconds"])],
        body=body,
        caption=_caption(found, hardware, scale),
        label="tab:amortisation",
    )
    return Table(measurement_frame(measurements, scale.name), tabular.environment())


def _timing(found: Measured, alone: str, composed: str) -> list[str]:
    names = [f"seconds_per_rollout_{which}" for which in ("a", "b", "pooled")]
    measured = [found.get(TIMING, "-", name) for name in names]
    # Milliseconds keep a rollout of a small model readable.
    largest = max((one.value for one in measured if one.value == one.value), default=0.0)
    factor, unit = (1000.0, "ms") if largest < 0.1 else (1.0, "s")
    digits = significant_decimals([factor * one.value for one in measured])
    lines = [latex.row([f"Generation a rollout, {unit}", "mean", "seed range", "$n$"])]
    for label, one in zip((alone, composed, "pooled"), measured, strict=True):
        scaled = Measurement(
            one.table,
            one.setting,
            one.arm,
            one.metric,
            factor * one.value,
            low=factor * one.low,
            high=factor * one.high,
            values=tuple(factor * value for value in one.values),
        )
        lines.append(
            latex.row(
                [
                    rf"\quad {label}",
                    number(scaled.value, digits),
                    seed_range(scaled, digits),
                    str(one.n),
                ]
            )
        )
    return lines


def _caption(found: Measured, hardware: str, scale: Scale) -> str:
    count = found.get(PASS, "-", "rollouts_saved_per_run_with_dapo").n
    return " ".join(
        [
            "The anchor pass against what the prior saves a run with DAPO's refilling "
            f"(difference of the means of {seeds(count)} an arm).",
            "The paper gives the counts only and calls their ratio no measured break-even: a "
            "generation of the small anchor is not one of the policy. Tokens and seconds are ours; "
            "those of the pass are its whole job, loading and grading included, those of a run its "
            "generation alone.",
            f"Seconds are those of the campaign's own jobs, on {latex.escape(hardware)}, which "
            "other jobs may have shared.",
            latex.escape(scale.note),
        ]
    )
