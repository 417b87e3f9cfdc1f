"""Cells of tables of measurements, by the name of the number; what does not exist is a dash."""

import math
from collections.abc import Sequence

from thinkprior.measurements import Measurement
from thinkprior.rendering import latex
from thinkprior.rendering.rounding import printed


class Measured:
    """Looks measurements up by setting, arm and metric."""

    def __init__(self, measurements: Sequence[Measurement]) -> None:
        self._found = {(one.setting, one.arm, one.metric): one for one in measurements}

    def get(self, setting: str, arm: str, metric: str) -> Measurement:
        """The measurement, or one that is not a number where there is none."""
        missing = Measurement("", setting, arm, metric, math.nan)
        return self._found.get((setting, arm, metric), missing)


def number(value: float, digits: int, *, signed: bool = False, unit: str = "") -> str:
    """A number with its unit (LaTeX, with the space before it)."""
    if not math.isfinite(value):
        return latex.DASH
    text = printed(value, digits, signed=signed)
    return (latex.mathematics(text) if text[0] in "+-" else text) + unit


def seed_range(measured: Measurement, digits: int) -> str:
    """The range of the seeds, or the dash."""
    if not measured.values:
        return latex.DASH
    return f"$[{printed(measured.low, digits)}, {printed(measured.high, digits)}]$"


def seed_values(measured: Measurement, digits: int) -> str:
    """The seeds' values with strokes between them, as the paper lists them."""
    return "/".join(printed(value, digits) for value in measured.values) or latex.DASH


def significant_decimals(values: Sequence[float], significant: int = 3) -> int:
    """Decimals by which the largest of some numbers shows so many significant digits."""
    largest = max((abs(value) for value in values if math.isfinite(value)), default=0.0)
    if largest == 0:
        return 0
    return max(0, significant - 1 - math.floor(math.log10(largest)))


def seeds(count: int) -> str:
    """`3 seeds`, `1 seed`."""
    return f"{count} seed{'' if count == 1 else 's'}"


def seed_counts(counts: Sequence[tuple[str, int]]) -> str:
    """`3 seeds per arm`, or each arm's where they differ, of (label as LaTeX, seeds)."""
    if len({count for _, count in counts}) == 1:
        return f"{seeds(counts[0][1])} per arm"
    return "seeds per arm differ: " + ", ".join(f"{label} {count}" for label, count in counts)
