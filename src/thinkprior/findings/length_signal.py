"""What a thinking length knows of difficulty (Appendix B, "Where the length signal comes from")."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from thinkprior.measurements import Measurement
from thinkprior.statistics import auc, auc_interval, mann_whitney_p

LABEL = "label: reference pass rate above 0 (the paper does not state its label)"


def length_signal(
    reference: NDArray[np.float64],
    lengths: NDArray[np.int64],
    capped: NDArray[np.bool_],
    answer_truncated: NDArray[np.bool_],
    anchor: NDArray[np.float64],
    campaign: str,
    confidence: float,
) -> list[Measurement]:
    """Truncation and AUCs of the thinking pass beside those of the verified probe.

    A prompt is truncated where the thinking reached its cap, that is where the closing delimiter
    never came: there the length is the cap. Whole answers can be cut off after the thinking has
    ended; where any were, the same figures with that definition stand in rows `answer_...`.

    Args:
        reference: reference pass rates in pool order, shape [prompts].
        lengths: thinking lengths in tokens, the cap where the thinking was cut off.
        capped: whether the thinking was cut off.
        answer_truncated: whether the answer was, in its thinking or after it.
        anchor: phi of the verified anchor.
        campaign: campaign whose pool it is.
        confidence: of the intervals of the AUCs (DeLong).

    Returns:
        Rows of `appendixB`. The test of chance among the finished prompts is the two-sided
        Mann-Whitney test, `length_auc_among_finished_p`.
    """
    solvable = reference > 0

    def row(arm: str, metric: str, value: float, n: int, note: str = "") -> Measurement:
        return Measurement("appendixB", campaign, arm, metric, value, n=n, note=note)

    def ranking(
        arm: str, metric: str, scores: NDArray[np.float64], part: NDArray[np.bool_], note: str
    ) -> Measurement:
        if not part.any():
            return row(arm, metric, math.nan, 0, note)
        low, high = auc_interval(scores[part], solvable[part], confidence)
        return Measurement(
            "appendixB",
            campaign,
            arm,
            metric,
            auc(scores[part], solvable[part]),
            n=int(part.sum()),
            spread="" if math.isnan(low) else "interval",
            low=low,
            high=high,
            note=note,
        )

    everywhere = np.ones(len(reference), dtype=bool)
    # A longer thinking ranks lower, as its reciprocal does; this one is defined at length 0 too.
    shortness = -lengths.astype(np.float64)
    finished = ~capped
    found = [
        *_truncated(campaign, "length", reference, capped),
        ranking("length", "truncation_auc", finished.astype(float), everywhere, LABEL),
        ranking("length", "reciprocal_length_auc", shortness, everywhere, LABEL),
        ranking("anchor", "anchor_auc", anchor, everywhere, LABEL),
        ranking("length", "length_auc_among_finished", shortness, finished, LABEL),
        row(
            "length",
            "length_auc_among_finished_p",
            mann_whitney_p(shortness[finished & solvable], shortness[finished & ~solvable]),
            int(finished.sum()),
            "two-sided Mann-Whitney test of an AUC of 1/2",
        ),
        row("-", "reference_above_zero", float(solvable.sum()), len(reference)),
        row(
            "-",
            "reference_above_zero_among_finished",
            float((finished & solvable).sum()),
            int(finished.sum()),
        ),
    ]
    if (answer_truncated != capped).any():
        found += _truncated(campaign, "answer", reference, answer_truncated)
        found.append(
            ranking(
                "length",
                "answer_truncation_auc",
                (~answer_truncated).astype(float),
                everywhere,
                f"answers cut off in their thinking or after it; {LABEL}",
            )
        )
    return found


def _truncated(
    campaign: str, prefix: str, reference: NDArray[np.float64], cut: NDArray[np.bool_]
) -> list[Measurement]:
    def mean(part: NDArray[np.bool_]) -> float:
        return float(reference[part].mean()) if part.any() else math.nan

    count = int(cut.sum())
    return [
        Measurement(
            "appendixB",
            campaign,
            "-",
            f"{prefix}_truncated",
            float(count),
            of=len(cut),
            n=len(cut),
        ),
        Measurement(
            "appendixB",
            campaign,
            "-",
            f"{prefix}_truncated_mean_reference",
            mean(cut),
            n=count,
        ),
        Measurement(
            "appendixB",
            campaign,
            "-",
            f"{prefix}_finished_mean_reference",
            mean(~cut),
            n=len(cut) - count,
        ),
    ]
