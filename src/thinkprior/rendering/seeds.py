"""Summaries over seeds, and the checks that metric tables must pass before they are summarised."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pandas as pd

from thinkprior.errors import InputError

FEW_SEEDS = 3
"""Up to so many seeds an arm the paper gives seed ranges and no test or deviation."""


@dataclass(frozen=True)
class SeedSummary:
    """One measure of one arm over the seeds that have it; nan where there are too few.

    Attributes:
        values: The values, a seed each.
        mean: Their mean.
        sd: Sample standard deviation (n - 1).
        low: Lowest value.
        high: Highest value.
    """

    values: tuple[float, ...]
    mean: float
    sd: float
    low: float
    high: float

    @property
    def n(self) -> int:
        """Number of seeds with a value."""
        return len(self.values)


def summarise(values: Iterable[float]) -> SeedSummary:
    """Summary of the values that are there; nan marks a seed without one."""
    present = pd.Series(list(values), dtype="float64").dropna()
    if present.empty:
        return SeedSummary((), math.nan, math.nan, math.nan, math.nan)
    return SeedSummary(
        tuple(present),
        float(present.mean()),
        float(present.std(ddof=1)) if len(present) > 1 else math.nan,
        float(present.min()),
        float(present.max()),
    )


def checked_runs(frame: pd.DataFrame, columns: Sequence[str], what: str) -> pd.DataFrame:
    """The frame, once it is known to hold each run of one campaign once.

    Args:
        frame: One row per finished run.
        columns: Columns that are read, besides campaign, arm, seed and steps.
        what: Name of the table for errors.

    Raises:
        InputError: For missing columns, no rows, several campaigns, numbers of steps that differ,
            or a run that stands twice.
    """
    require_columns(frame, ["campaign", "arm", "seed", "steps", *columns], what)
    _require_one_campaign(frame, what)
    lengths = sorted(frame["steps"].unique().tolist())
    if len(lengths) > 1:
        raise InputError(
            f"the {what} mix runs of {lengths} steps, whose final accuracies do not compare: "
            "give runs of one length"
        )
    _require_unique(frame, ["arm", "seed"], what)
    return frame


def checked_series(frame: pd.DataFrame, columns: Sequence[str], what: str) -> pd.DataFrame:
    """The frame, once it is known to hold each step of each run of one campaign once.

    Args:
        frame: One row per run and step.
        columns: Columns that are read, besides campaign, arm, seed and step.
        what: Name of the table for errors.

    Raises:
        InputError: For missing columns, no rows, several campaigns or a step that stands twice.
    """
    require_columns(frame, ["campaign", "arm", "seed", "step", *columns], what)
    _require_one_campaign(frame, what)
    _require_unique(frame, ["arm", "seed", "step"], what)
    return frame


def require_columns(frame: pd.DataFrame, columns: Sequence[str], what: str) -> None:
    """Checks that a frame has the columns that are read.

    Raises:
        InputError: Naming the missing ones.
    """
    missing = [column for column in columns if column not in frame.columns]
    if missing:
        raise InputError(f"the {what} lack the columns {', '.join(missing)}")


def _require_one_campaign(frame: pd.DataFrame, what: str) -> None:
    campaigns = sorted(str(name) for name in frame["campaign"].unique())
    if not campaigns:
        raise InputError(f"the {what} are empty: finish at least one run first")
    if len(campaigns) > 1:
        raise InputError(
            f"the {what} mix the campaigns {', '.join(campaigns)}: give the rows of one"
        )


def _require_unique(frame: pd.DataFrame, key: list[str], what: str) -> None:
    repeated = frame.loc[frame.duplicated(key), key]
    if len(repeated):
        row = ", ".join(f"{name} {value}" for name, value in repeated.iloc[0].items())
        raise InputError(f"the {what} hold {row} more than once")
