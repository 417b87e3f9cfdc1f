"""Prior files, one clear error a fault; and the length map on simulated data."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import optimize, stats

from thinkprior.errors import InputError
from thinkprior.priors import LengthMap, fit_length_map, read_prior, write_prior

IDS = ["a", "b", "c"]

# --- Files ----------------------------------------------------------------------------------------


@given(
    st.dictionaries(
        st.text("abcNAn0159.,/\"' -", min_size=1, max_size=6), st.floats(0, 1), min_size=1
    )
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_written_is_read_again_to_the_bit(tmp_path: Path, prior: dict[str, float]) -> None:
    path = tmp_path / "prior.csv"
    write_prior(path, list(prior), np.array(list(prior.values())))
    backwards = list(prior)[::-1]
    assert read_prior(path, backwards).tolist() == [prior[i] for i in backwards]


def test_a_prior_comes_in_pool_order(tmp_path: Path) -> None:
    path = tmp_path / "prior.csv"
    path.write_text("phi,problem_id,note\n0.5,b,x\n1,c,y\n0,a,z\n")
    assert read_prior(path, IDS).tolist() == [0.0, 0.5, 1.0]


@pytest.mark.parametrize("name", ["NA", "null", "nan", "None", "007", "1e3", "True"])
def test_an_id_is_text_whatever_it_looks_like(tmp_path: Path, name: str) -> None:
    write_prior(tmp_path / "prior.csv", [name], np.array([0.25]))
    assert read_prior(tmp_path / "prior.csv", [name]).tolist() == [0.25]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "not readable as CSV"),
        ("id,phi\na,0.5\n", "no column 'problem_id'"),
        ("problem_id,rate\na,0.5\n", "no column 'phi'"),
        ("problem_id,phi\na,0\nb,0\n", r"no row for 1 id\(s\): 'c' of the pool.*exactly \(3 ids\)"),
        ("problem_id,phi\n", r"no row for 3 id\(s\): 'a', 'b', 'c'"),
        (
            "problem_id,phi\na,0\nb,0\nc,0\nd,0\n",
            r"rows for 1 id\(s\): 'd', which the pool does not",
        ),
        ("problem_id,phi\na,0\nb,0\nd,0\n", "no row for .* 'c' of the pool; rows for .* 'd'"),
        ("problem_id,phi\na,0\nb,0\nc,0\n,0\nd,0\n", r"rows for 2 id\(s\): '', 'd'"),
        ("problem_id,phi\na,0\nb,0\nc,0\nb,1\n", r"more than one row for 1 id\(s\): 'b'"),
        ("problem_id,phi\na,0\nb,nan\nc,0\n", r"number in \[0, 1\].* 'b'"),
        ("problem_id,phi\na,0\nb,\nc,0\n", r"number in \[0, 1\].* 'b'"),
        ("problem_id,phi\na,0\nb,half\nc,0\n", r"number in \[0, 1\].* 'b'"),
        ("problem_id,phi\na,-0.1\nb,0\nc,1.01\n", r"number in \[0, 1\].* 2 id\(s\): 'a', 'c'"),
        ("problem_id,phi\na,inf\nb,0\nc,0\n", r"number in \[0, 1\].* 'a'"),
    ],
)
def test_a_fault_is_named_with_its_file_and_ids(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "prior.csv"
    path.write_text(content)
    with pytest.raises(InputError, match=re.escape(str(path)) + ".*" + message):
        read_prior(path, IDS)


def test_many_missing_ids_are_counted_and_five_shown(tmp_path: Path) -> None:
    path = tmp_path / "prior.csv"
    path.write_text("problem_id,phi\n")
    with pytest.raises(InputError, match=r"no row for 9 id\(s\): '0', '1', '2', '3', '4', \.\.\."):
        read_prior(path, [str(i) for i in range(9)])


# --- Length map -----------------------------------------------------------------------------------

CAP, TRIALS = 2560, 32


def simulated(
    intercept: float, slope: float, problems: int, seed: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Lengths with a third at the cap, as the paper's anchor has, and correct samples."""
    generator = np.random.default_rng(seed)
    lengths = np.minimum(generator.integers(50, CAP * 3 // 2, problems), CAP)
    rates = 1 / (1 + np.exp(-(intercept + slope * lengths / CAP)))
    return lengths, generator.binomial(TRIALS, rates)


@pytest.mark.parametrize(("intercept", "slope"), [(0.0, -3.0), (1.5, -2.0), (-1.0, 0.5)])
def test_the_length_map_recovers_the_parameters(intercept: float, slope: float) -> None:
    lengths, correct = simulated(intercept, slope, 4000, 0)
    fit = fit_length_map(lengths, correct, TRIALS, CAP)
    # The standard errors here are below 0.03.
    assert fit.intercept == pytest.approx(intercept, abs=0.1)
    assert fit.slope == pytest.approx(slope, abs=0.1)
    assert (fit.cap, fit.fitted_on) == (CAP, 4000)


@pytest.mark.parametrize("seed", range(5))
def test_the_length_map_is_the_maximum_of_the_binomial_likelihood(seed: int) -> None:
    # Twenty-five problems, as in the paper; another optimizer over scipy's binomial.
    lengths, correct = simulated(0.3, -2.5, 25, seed)
    fit = fit_length_map(lengths, correct, TRIALS, CAP)

    def negative(parameters: NDArray[np.float64]) -> float:
        rates = 1 / (1 + np.exp(-(parameters[0] + parameters[1] * lengths / CAP)))
        return float(-stats.binom.logpmf(correct, TRIALS, rates).sum())

    best = optimize.minimize(negative, [0.0, 0.0], method="Nelder-Mead", options={"xatol": 1e-7})
    # The ridge, far below a sample's weight, may pull by a few thousandths.
    assert [fit.intercept, fit.slope] == pytest.approx(best.x.tolist(), abs=0.01)
    assert negative(np.array([fit.intercept, fit.slope])) <= best.fun + 1e-4
    # The score equations of a logistic fit: totals match, also weighted with the length.
    residual = TRIALS * fit.predict(lengths) - correct
    assert residual.sum() == pytest.approx(0, abs=1e-3)
    assert (residual * lengths / CAP).sum() == pytest.approx(0, abs=0.02)


def test_longer_thinking_predicts_less_success() -> None:
    fit = LengthMap(intercept=1.0, slope=-2.0, cap=100, fitted_on=25)
    predicted = fit.predict(np.array([0, 50, 100]))
    assert predicted == pytest.approx([1 / (1 + np.exp(-1)), 0.5, 1 / (1 + np.exp(1))])


def test_lengths_that_separate_right_from_wrong_give_a_finite_map() -> None:
    lengths = np.array([10, 20, 2560, 2560])
    fit = fit_length_map(lengths, np.array([32, 32, 0, 0]), 32, CAP)
    assert np.isfinite([fit.intercept, fit.slope]).all()
    assert fit.predict(lengths) == pytest.approx([1, 1, 0, 0], abs=0.05)


def test_lengths_that_do_not_vary_give_the_pass_rate() -> None:
    fit = fit_length_map(np.full(10, 2560), np.arange(10), 32, CAP)
    assert fit.predict(np.array([2560])) == pytest.approx([45 / 320], abs=1e-4)


@pytest.mark.parametrize("correct", [[], [0, 0, 0], [32, 32, 32]])
def test_a_map_without_anything_to_fit_is_refused(correct: list[int]) -> None:
    lengths = np.full(len(correct), 100)
    with pytest.raises(InputError, match="length_fit_share"):
        fit_length_map(lengths, np.array(correct, dtype=np.int64), 32, CAP)
