"""Reading what jobs leave: whole files, with the columns and entries that are needed of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from thinkprior.errors import InputError

WAY_OUT = "Delete it and run Snakemake again: it is made anew."

GROUPS = ("step", "round", "position", "problem_id", "rollouts", "correct", "tokens", "used")
"""Columns of a groups log that metrics are read off."""
STEPS = ("step", "shortfall")
"""Columns of a steps log that metrics are read off."""
SCORES = ("step", "benchmark", "subset", "problems", "correct", "accuracy")
"""Columns of an evaluation's scores."""
RESPONSES = ("problem_id", "sample", "text", "tokens", "truncated", "verdict", "correct")
"""Columns of the responses of a pass, and of an evaluation's answers."""
RUNS = ("campaign", "arm", "seed")
"""First columns of a campaign's metrics, whatever they hold a row of."""


def read_parquet(path: Path | str, columns: Sequence[str]) -> pd.DataFrame:
    """Read these columns of a Parquet file.

    Raises:
        InputError: when the file is damaged or lacks a column.
        OSError: when there is none, or it cannot be opened.
    """
    import pyarrow as pa
    from pyarrow import parquet

    try:
        with Path(path).open("rb") as handle:
            names = parquet.read_schema(handle).names
            _require(path, columns, names)
            return pd.read_parquet(handle, columns=list(columns))
    except (pa.ArrowException, OSError) as error:
        # Arrow says with a bare OSError that bytes are missing or not what they must be.
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise InputError(f"{path}: not readable as Parquet: {_first(error)}. {WAY_OUT}") from error


def read_csv(path: Path | str, columns: Iterable[str], **options: Any) -> pd.DataFrame:
    """Read a CSV file, all its columns.

    Args:
        path: the file.
        columns: those that it must have.
        options: of `pandas.read_csv`.

    Raises:
        InputError: when the file is damaged or lacks a column.
        OSError: when there is none, or it cannot be opened.
    """
    try:
        table: pd.DataFrame = pd.read_csv(path, **options)
    except ValueError as error:  # Parser errors and wrong encodings are its subclasses.
        raise InputError(f"{path}: not readable as CSV: {_first(error)}. {WAY_OUT}") from error
    _require(path, columns, table.columns)
    return table


def read_json(path: Path | str, entries: Iterable[str] = ()) -> dict[str, Any]:
    """Read a JSON object.

    Raises:
        InputError: when the file is damaged, holds something else, or lacks an entry.
        OSError: when there is none, or it cannot be opened.
    """
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
    except ValueError as error:
        raise InputError(f"{path}: not JSON: {_first(error)}. {WAY_OUT}") from error
    if not isinstance(content, dict):
        raise InputError(
            f"{path}: expected a JSON object, found {type(content).__name__}. {WAY_OUT}"
        )
    if missing := [name for name in entries if name not in content]:
        raise InputError(f"{path}: it lacks {', '.join(missing)}. {WAY_OUT}")
    return content


def _require(path: Path | str, columns: Iterable[str], found: Iterable[str]) -> None:
    names = list(found)
    if missing := [column for column in columns if column not in names]:
        raise InputError(
            f"{path}: no column {', '.join(map(repr, missing))}; it has "
            f"{', '.join(map(repr, names))}. Is it of another version? {WAY_OUT}"
        )


def _first(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
