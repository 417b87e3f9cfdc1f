"""Our numbers under the names of the paper's: one row a number, one shape for all tables.

Every table, figure and appendix that reports numbers saves them in this shape, with the `table`,
`arm` and `metric` under which `resources/published/published.csv` has the paper's; the reproduction
page joins the two.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Literal

import pandas as pd

from thinkprior.errors import InputError

Spread = Literal["", "seeds", "interval"]


@dataclass(frozen=True)
class Measurement:
    """One number.

    Attributes:
        table: the paper's table or appendix, as in the published numbers (`table3c`, `appendixB`,
            `text`).
        setting: the campaign that it was measured in, or what else the row is about (`band`).
        arm: the arm, or what else is compared (`thinkprior-online_np`, `-`).
        metric: the published name of the number.
        value: the number, in the unit in which the paper prints it: a fraction where it prints
            .138, points where it prints pts, per cent where it prints %, a count; nan where it
            does not exist.
        of: for a count of events, how many there could have been (4 of 6).
        n: seeds (or prompts, where the row is about prompts) behind it; 0 where that says nothing.
        spread: what `low` and `high` are: the range of the seeds, a confidence interval, or
            nothing.
        low: lower end, in the unit of `value`.
        high: upper end.
        values: the seeds' own values, in the order of the seeds.
        note: what a reader must know to read the number.
    """

    table: str
    setting: str
    arm: str
    metric: str
    value: float
    of: int | None = None
    n: int = 0
    spread: Spread = ""
    low: float = math.nan
    high: float = math.nan
    values: tuple[float, ...] = ()
    note: str = ""

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What the number is of."""
        return (self.table, self.setting, self.arm, self.metric)


def over_seeds(
    table: str, setting: str, arm: str, metric: str, values: Iterable[float], note: str = ""
) -> Measurement:
    """Mean and range of a number over the seeds that have it; nan marks a seed without one."""
    present = tuple(float(value) for value in values if not math.isnan(value))
    if not present:
        return Measurement(table, setting, arm, metric, math.nan, note=note)
    return Measurement(
        table,
        setting,
        arm,
        metric,
        # fsum: the mean of equal values is that value.
        math.fsum(present) / len(present),
        n=len(present),
        spread="seeds",
        low=min(present),
        high=max(present),
        values=present,
        note=note,
    )


def measurement_frame(measurements: Sequence[Measurement], scale: str) -> pd.DataFrame:
    """The measurements as a table, whose first column names the scale.

    Raises:
        InputError: where two of them have the same name.
    """
    keys = [measurement.key for measurement in measurements]
    for key in keys:
        if keys.count(key) > 1:
            raise InputError(f"the measurement {' / '.join(key)} stands twice")
    rows = [
        {**asdict(measurement), "values": ";".join(f"{value!r}" for value in measurement.values)}
        for measurement in measurements
    ]
    frame = pd.DataFrame(rows, columns=[field.name for field in fields(Measurement)])
    frame["of"] = frame["of"].astype("Int64")
    frame.insert(0, "scale", scale)
    return frame


def read_measurements(path: Path | str) -> list[Measurement]:
    """Measurements as `measurement_frame` holds them, from a CSV.

    Raises:
        InputError: for a file without the columns of a measurement.
    """
    text = ("table", "setting", "arm", "metric", "spread", "values", "note")
    frame = pd.read_csv(path, dtype=dict.fromkeys(text, str), keep_default_na=False, na_values=[])
    missing = [field.name for field in fields(Measurement) if field.name not in frame.columns]
    if missing:
        raise InputError(f"{path}: no table of measurements, it lacks {', '.join(missing)}")
    found = []
    for row in frame.to_dict("records"):
        found.append(
            Measurement(
                table=row["table"],
                setting=row["setting"],
                arm=row["arm"],
                metric=row["metric"],
                value=_number(row["value"]),
                of=int(row["of"]) if str(row["of"]) else None,
                n=int(row["n"]),
                spread=row["spread"],
                low=_number(row["low"]),
                high=_number(row["high"]),
                values=tuple(float(value) for value in row["values"].split(";") if value),
                note=row["note"],
            )
        )
    return found


def _number(cell: object) -> float:
    return float(str(cell)) if str(cell) else math.nan
