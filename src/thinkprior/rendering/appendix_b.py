"""Appendix B: the length signal, the pool, and the learnable prompts that start low."""

import math
from collections.abc import Mapping, Sequence

import pandas as pd

from thinkprior.findings.band import BAND
from thinkprior.measurements import Measurement, measurement_frame
from thinkprior.rendering import latex
from thinkprior.rendering.rounding import printed
from thinkprior.rendering.scale import Scale
from thinkprior.rendering.table import Table


def appendix_b(
    measurements: Sequence[Measurement],
    scale: Scale,
    *,
    anchor_samples: int,
    reference_samples: int,
    cap: int,
    confidence: float,
) -> Table:
    """Renders the numbers of Appendix B other than Table 5.

    Args:
        measurements: What `thinkprior.findings.length_signal` and `pool_composition` give, of one
            campaign.
        scale: What produced the numbers.
        anchor_samples: k, samples of the anchor a prompt.
        reference_samples: Samples of the policy a prompt.
        cap: Token cap of the thinking pass.
        confidence: Of the AUCs' intervals.

    Returns:
        The table; its frame has the measurements.
    """
    found = {measurement.metric: measurement for measurement in measurements}

    def line(name: str, metric: str, digits: int) -> str:
        measurement = found.get(metric)
        return latex.row([name, _value(measurement, digits), _spread(measurement, digits)])

    def heading(text: str) -> str:
        return latex.row([latex.spanning(3, "l", rf"\textit{{{text}}}")])

    body = [
        heading("Length signal"),
        line(rf"thinking cut off at the cap of {cap} tokens", "length_truncated", 0),
        line(r"\quad their mean reference pass rate", "length_truncated_mean_reference", 3),
        line(r"\quad that of the finished", "length_finished_mean_reference", 3),
        r"\midrule",
        heading("AUC for a reference pass rate above 0"),
        line("thinking finished (one bit)", "truncation_auc", 3),
        line("reciprocal thinking length", "reciprocal_length_auc", 3),
        line(rf"verified anchor, $k={anchor_samples}$", "anchor_auc", 3),
        line(
            f"reciprocal length among the {_n(found, 'length_auc_among_finished')} finished",
            "length_auc_among_finished",
            3,
        ),
        r"\midrule",
        heading("Pool and learnable band"),
        line("prompts in the pool", "pool_size", 0),
        line(rf"in the band $U(p)>{BAND}$", "band_size_U_above_0.8", 0),
        line(r"anchor $\varphi=0$", "anchor_phi_zero", 0),
        line(r"\quad of them in the band", "anchor_phi_zero_in_band", 0),
        line(r"anchor $\varphi=1$", "anchor_phi_one", 0),
        line(r"\quad of them in the band", "anchor_phi_one_in_band", 0),
        line(
            rf"at the floor of $U_{{\beta}}$: scored 0 or {anchor_samples} of {anchor_samples}",
            "floor_scored_0_or_16_of_16",
            0,
        ),
        line("band prompts that start at the floor", "band_starting_low", 0),
        r"\midrule",
        heading("Touched by ThinkPrior runs"),
        line("band prompts by step 30", "band_touched_by_step_30", 1),
        line("band prompts in the whole run", "band_touched", 1),
        line(
            r"\quad of those that start at the floor",
            "band_starting_low_touched",
            1,
        ),
    ]
    tabular = latex.Tabular(
        columns="lcc",
        head=[latex.row(["", "value", "interval or range"])],
        body=body,
        caption=" ".join(
            [
                f"The length signal, the pool and its learnable band (reference: "
                f"{reference_samples} samples of the policy a prompt), for campaign "
                f"{latex.escape(_campaign(measurements))}.",
                "AUCs rank prompts with a reference pass rate above 0 over the others; that label "
                "is ours, the paper does not state its own. Their "
                rf"{100 * confidence:g}\% intervals are DeLong's, over prompts.",
                f"Touched means generated on at least once; mean over {_seeds(found)} with the "
                "range over seeds, where the paper gives one trace.",
                latex.escape(scale.note),
            ]
        ),
        label="tab:extended",
        notes=_notes(found),
    )
    return Table(measurement_frame(measurements, scale.name), tabular.environment())


def underestimated(rows: pd.DataFrame, scale: Scale, *, anchor_samples: int) -> Table:
    """Renders the band prompts that the anchor scores 0 or 1.

    Args:
        rows: What `thinkprior.findings.starting_low.starting_low` gives.
        scale: What produced the numbers.
        anchor_samples: k, samples of the anchor a prompt.
    """
    seeds = int(rows["seeds"].max()) if len(rows) else 0
    body = []
    for phi in (0.0, 1.0):
        part = rows[rows["phi"] == phi]
        scored = f"{0 if phi == 0 else anchor_samples} of {anchor_samples}"
        if phi == 1:
            body.append(r"\midrule")
        text = rf"\textit{{Anchor scored {scored}: {len(part)} prompts}}"
        body.append(latex.row([latex.spanning(6, "l", text)]))
        for row in part.to_dict("records"):
            body.append(
                latex.row(
                    [
                        latex.escape(str(row["problem_id"])),
                        latex.DASH if pd.isna(row["level"]) else str(row["level"]),
                        latex.DASH if pd.isna(row["subject"]) else latex.escape(row["subject"]),
                        printed(row["reference"], 3),
                        f"{row['seeds_touching']} of {seeds}" if seeds else latex.DASH,
                        latex.DASH if pd.isna(row["first_step"]) else str(row["first_step"]),
                    ]
                )
            )
    ever = int((rows["seeds_touching"] > 0).sum())
    touched = (
        f"Over {_count(seeds, 'finished ThinkPrior run')}, {ever} of these {len(rows)} prompts "
        "were ever generated on."
        if seeds
        else ""
        if rows.empty
        else "No ThinkPrior run is finished."
    )
    tabular = latex.Tabular(
        columns="lclccc",
        head=[
            latex.row(
                ["prompt", "level", "subject", "reference $p$", "seeds touching", "first step"]
            )
        ],
        body=body,
        caption=" ".join(
            [
                rf"Prompts of the learnable band $U(p)>{BAND}$ that the anchor scores at an "
                r"extreme, so that their $U_{\beta}$ starts at the floor: underestimated above, "
                "overestimated below.",
                "Seeds touching: runs that generated a group on the prompt at any step; first "
                "step: the earliest over the seeds.",
                touched,
                latex.escape(scale.note),
            ]
        ),
        label="tab:underestimated",
    )
    frame = rows.copy()
    frame.insert(0, "scale", scale.name)
    return Table(frame, tabular.environment())


def _n(found: Mapping[str, Measurement], metric: str) -> int:
    return found[metric].n if metric in found else 0


def _campaign(measurements: Sequence[Measurement]) -> str:
    return measurements[0].setting if measurements else latex.DASH


def _seeds(found: Mapping[str, Measurement]) -> str:
    return _count(_n(found, "band_touched"), "finished run")


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' if number != 1 else ''}"


def _value(measurement: Measurement | None, digits: int) -> str:
    if measurement is None or math.isnan(measurement.value):
        return latex.DASH
    of = "" if measurement.of is None else f" of {measurement.of}"
    return printed(measurement.value, digits) + of


def _spread(measurement: Measurement | None, digits: int) -> str:
    if measurement is None or not measurement.spread:
        return ""
    if measurement.spread == "seeds":
        digits = 0
    low, high = printed(measurement.low, digits), printed(measurement.high, digits)
    return f"$[{low}, {high}]$"


def _notes(found: Mapping[str, Measurement]) -> list[str]:
    notes = []
    chance, p = found.get("length_auc_among_finished"), found.get("length_auc_among_finished_p")
    if chance is not None and p is not None and chance.spread and not math.isnan(p.value):
        inside = chance.low <= 0.5 <= chance.high
        positive = found["reference_above_zero_among_finished"]
        notes.append(
            f"Of the {positive.n} finished prompts {positive.value:.0f} have a reference above 0; "
            f"the interval of length's AUC among them {'includes' if inside else 'excludes'} "
            f"chance, 0.5 (two-sided Mann--Whitney $p$ {_equals(latex.p_value(p.value))})."
        )
    elif chance is not None:
        notes.append(
            "Among the finished prompts no interval exists: fewer than two of a class, or the "
            "classes are separated."
        )
    answers = found.get("answer_truncated")
    if answers is not None:
        area = found["answer_truncation_auc"]
        notes.append(
            "Cut off means that the closing delimiter never came. Counting also the answers that "
            f"were cut off after their thinking had ended, {answers.value:.0f} of {answers.of} "
            f"are (mean reference {_value(found['answer_truncated_mean_reference'], 3)}, of the "
            f"others {_value(found['answer_finished_mean_reference'], 3)}; AUC {_value(area, 3)})."
        )
    return notes


def _equals(p: str) -> str:
    return p if p.startswith("$<") else f"= {p}"
