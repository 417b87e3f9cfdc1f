"""What each prompt setting gives at step 0, beside the paper's fingerprints."""

from __future__ import annotations

import pandas as pd

from thinkprior.measurements import Measurement
from thinkprior.statistics import wilson_interval

TABLE = "calibration"

PAPER_ACCURACY, PAPER_PASS_RATE = 0.126, 0.147
"""The paper's step-0 MATH500 accuracy, and about the mean reference pass rate of its pool."""


def calibration_measurements(
    template: str, cells: pd.DataFrame, confidence: float
) -> list[Measurement]:
    """The cells of one template.

    Args:
        template: its name, the setting of the measurements.
        cells: columns set, stop, cap, box_rule, answers, correct, truncated, no_box.
        confidence: level of the Wilson intervals.

    Returns:
        For each cell (arm `<stop>/<cap>/<box rule>`): accuracy with its interval, truncated and
        no_box (fractions) on the benchmark, and pass_rate on the pool, which has no interval since
        the samples of a problem are alike.
    """
    rows: list[Measurement] = []
    for cell in cells.to_dict("records"):
        arm, n = f"{cell['stop']}/{cell['cap']}/{cell['box_rule']}", int(cell["answers"])
        correct = int(cell["correct"])
        if cell["set"] == "pool":
            rows.append(Measurement(TABLE, template, arm, "pass_rate", correct / n, n=n))
            continue
        low, high = wilson_interval(correct, n, confidence)
        rows.append(
            Measurement(
                TABLE,
                template,
                arm,
                "accuracy",
                correct / n,
                n=n,
                spread="interval",
                low=low,
                high=high,
            )
        )
        rows += [
            Measurement(TABLE, template, arm, metric, int(cell[metric]) / n, n=n)
            for metric in ("truncated", "no_box")
        ]
    return rows
