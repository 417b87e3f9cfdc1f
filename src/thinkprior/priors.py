"""Zero-rollout difficulty priors: one phi a prompt, and the files that hold them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, logit

from thinkprior.artifacts import WAY_OUT
from thinkprior.errors import InputError


def write_prior(path: Path | str, problem_ids: Sequence[str], phi: NDArray[np.float64]) -> None:
    """Write a prior as CSV, one row a problem, in pool order."""
    pd.DataFrame({"problem_id": list(problem_ids), "phi": phi}).to_csv(path, index=False)


def read_prior(path: Path | str, problem_ids: Sequence[str]) -> NDArray[np.float64]:
    """Read a prior and put it into pool order.

    A missing prompt never gets a default: the highest score belongs to a pass rate of one half, so
    a default there would make the selector prefer just the prompts that were never measured
    (Appendix E).

    Args:
        path: CSV with the columns `problem_id` and `phi`.
        problem_ids: the pool's ids in order.

    Returns:
        phi, shape [prompts].

    Raises:
        InputError: when columns are missing, an id comes twice, is missing or is not of the pool,
            or a value is no number in [0, 1]; the message names the file and the ids.
    """
    try:
        # Ids stay as they are written: pandas would read "NA" or an empty one as a missing value.
        table = pd.read_csv(path, dtype={"problem_id": str}, keep_default_na=False)
    except (pd.errors.EmptyDataError, pd.errors.ParserError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not readable as CSV: {error}. {WAY_OUT}") from None
    for column in ("problem_id", "phi"):
        if column not in table:
            raise InputError(
                f"{path}: no column {column!r}; a prior has problem_id and phi. {WAY_OUT}"
            )
    twice = table["problem_id"][table["problem_id"].duplicated()].tolist()
    if twice:
        raise InputError(f"{path}: more than one row for {_some(twice)}. {WAY_OUT}")
    rows = dict(zip(table["problem_id"], table["phi"], strict=True))
    missing = [i for i in problem_ids if i not in rows]
    extra = sorted(set(rows) - set(problem_ids))
    if missing or extra:
        parts = []
        if missing:
            parts.append(f"no row for {_some(missing)} of the pool")
        if extra:
            parts.append(f"rows for {_some(extra)}, which the pool does not hold")
        raise InputError(
            f"{path}: {'; '.join(parts)}. A prior must cover its pool exactly "
            f"({len(problem_ids)} ids). Make the prior from this pool again."
        )
    values = pd.to_numeric(table["phi"], errors="coerce").to_numpy(dtype=np.float64)
    wrong = table["problem_id"][~((values >= 0) & (values <= 1))].tolist()
    if wrong:
        raise InputError(
            f"{path}: phi must be a number in [0, 1]; it is not for {_some(wrong)}. {WAY_OUT}"
        )
    by_id = dict(zip(table["problem_id"], values, strict=True))
    return np.array([by_id[i] for i in problem_ids])


def _some(ids: Sequence[str]) -> str:
    shown = ", ".join(map(repr, ids[:5]))
    return f"{len(ids)} id(s): {shown}" + (", ..." if len(ids) > 5 else "")


@dataclass(frozen=True)
class LengthMap:
    """Two-parameter logistic map from a thinking length to a pass rate (Appendix F).

    phi = sigmoid(intercept + slope * length / cap).

    Attributes:
        intercept, slope: its parameters.
        cap: the token cap, which scales the length.
        fitted_on: number of problems that it was fitted on.
    """

    intercept: float
    slope: float
    cap: int
    fitted_on: int

    def predict(self, lengths: NDArray[np.int64]) -> NDArray[np.float64]:
        """Pass rates at these lengths (tokens)."""
        return expit(self.intercept + self.slope * np.asarray(lengths) / self.cap)


def fit_length_map(
    lengths: NDArray[np.int64], correct: NDArray[np.int64], trials: int, cap: int
) -> LengthMap:
    """Fit the length map by binomial maximum likelihood.

    Args:
        lengths: thinking length of each problem in tokens, `cap` where the thinking never ended.
        correct: correct reference samples of each problem.
        trials: reference samples a problem.
        cap: the token cap.

    Raises:
        InputError: when there is nothing to fit on: no problem, or all samples right or all wrong.
    """
    rate = correct.sum() / (trials * len(correct)) if len(correct) else 0.0
    if rate in (0.0, 1.0):
        raise InputError(
            "the length map cannot be fitted: the reference samples of the chosen problems are all "
            "right or all wrong. Take a larger share of the pool (prior.length_fit_share)."
        )
    scaled = np.asarray(lengths, dtype=np.float64) / cap

    def loss(parameters: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        score = parameters[0] + parameters[1] * scaled
        residual = trials * expit(score) - correct
        value = np.sum(trials * np.logaddexp(0.0, score) - correct * score)
        # A ridge far below one sample's weight keeps the slope finite where lengths do not vary.
        penalty = 1e-3 * parameters[1] ** 2
        gradient = np.array(
            [residual.sum(), (residual * scaled).sum() + 2e-3 * parameters[1]], dtype=np.float64
        )
        return float(value + penalty), gradient

    start = np.array([float(logit(rate)), 0.0])
    fit = minimize(loss, start, jac=True, method="BFGS")
    return LengthMap(float(fit.x[0]), float(fit.x[1]), cap, len(correct))
