"""Silence and learnability against exact fractions and the propositions of the paper."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from thinkprior.learnability import CHUNK, expected_learnability, learnability, silence

ALPHAS = (1e-3, 1.001e-3, 0.02, 0.5, 1.0, 2.001, 4.001, 10.0, 137.5, 1e3, 1e6)
GROUP_SIZES = (2, 3, 8, 16, 64)

shapes = st.floats(1e-3, 1e6)
means = st.floats(0.01, 0.99)
small_groups = st.integers(2, 8)


def rising(a: Fraction, count: int) -> Fraction:
    """(a)_G = a (a + 1) ... (a + G - 1)."""
    product = Fraction(1)
    for j in range(count):
        product *= a + j
    return product


def exact(alpha: float, beta: float, group_size: int) -> Fraction:
    """Equation 5 without any rounding."""
    a, b = Fraction(alpha), Fraction(beta)
    whole = rising(a + b, group_size)
    return 1 - rising(a, group_size) / whole - rising(b, group_size) / whole


def single(alpha: float, beta: float, group_size: int) -> float:
    return float(expected_learnability([alpha], [beta], group_size)[0])


@pytest.mark.parametrize("group_size", GROUP_SIZES)
def test_expected_learnability_is_equation_5_to_twelve_digits(group_size: int) -> None:
    grid = [(a, b) for a in ALPHAS for b in ALPHAS]
    scores = expected_learnability([a for a, _ in grid], [b for _, b in grid], group_size)
    for (a, b), score in zip(grid, scores, strict=True):
        truth = exact(a, b, group_size)
        assert abs(Fraction(score) - truth) <= Fraction(1, 10**12) * truth, (a, b)


@given(shapes, shapes, st.integers(2, 32))
def test_expected_learnability_is_equation_5_everywhere(
    alpha: float, beta: float, group_size: int
) -> None:
    truth = exact(alpha, beta, group_size)
    error = abs(Fraction(single(alpha, beta, group_size)) - truth)
    assert error <= Fraction(1, 10**12) * truth


@pytest.mark.parametrize(("alpha", "beta"), [(0.751, 3.251), (1.0, 1.0), (5.5, 12.25)])
def test_expected_learnability_is_the_beta_binomial_chance_of_a_mixed_group(
    alpha: float, beta: float
) -> None:
    mixed = stats.betabinom.pmf(np.arange(1, 8), 8, alpha, beta).sum()
    assert single(alpha, beta, 8) == pytest.approx(mixed, rel=1e-10)


@given(shapes, shapes, st.integers(2, 16))
def test_symmetric_posteriors_score_the_same_to_the_bit(
    alpha: float, beta: float, group_size: int
) -> None:
    assert single(alpha, beta, group_size) == single(beta, alpha, group_size)


def test_many_prompts_are_scored_as_one_by_one() -> None:
    generator = np.random.default_rng(0)
    alpha, beta = generator.gamma(1.0, 3.0, (2, 2 * CHUNK + 3)) + 1e-3
    scores = expected_learnability(alpha, beta, 8)
    for place in (0, CHUNK - 1, CHUNK, 2 * CHUNK - 1, 2 * CHUNK, 2 * CHUNK + 2):
        assert scores[place] == single(alpha[place], beta[place], 8)


# --- Proposition 1 ------------------------------------------------------------------------------


def test_learnability_takes_the_values_of_the_paper() -> None:
    assert learnability(0.5, 8) == pytest.approx(0.992, abs=5e-4)
    assert learnability([0.05, 0.95], 8) == pytest.approx([0.337, 0.337], abs=5e-4)


@given(st.fractions(0, 1, max_denominator=10**6), st.integers(2, 32))
def test_silence_and_learnability_are_equation_2(p: Fraction, group_size: int) -> None:
    truth = p**group_size + (1 - p) ** group_size
    assert silence(float(p), group_size) == pytest.approx(float(truth), rel=1e-13, abs=1e-15)
    assert learnability(float(p), group_size) == pytest.approx(float(1 - truth), abs=1e-14)


@given(st.integers(2, 32))
def test_learnability_vanishes_at_the_ends_and_peaks_in_the_middle(group_size: int) -> None:
    assert learnability([0.0, 1.0], group_size).tolist() == [0.0, 0.0]
    assert learnability(0.5, group_size) == pytest.approx(1 - 2.0 ** (1 - group_size), rel=1e-15)
    inside = learnability(np.linspace(0, 1, 1001)[1:-1], group_size)
    assert (inside > 0).all()
    assert inside.argmax() == 499 or inside.max() == inside[499]


@given(means, means, small_groups)
def test_learnability_falls_with_the_distance_from_one_half(
    p: float, q: float, group_size: int
) -> None:
    near, far = sorted((p, q), key=lambda x: abs(x - 0.5))
    if abs(far - 0.5) - abs(near - 0.5) > 1e-4:
        assert learnability(near, group_size) > learnability(far, group_size)


@given(means, means, small_groups)
def test_learnability_is_strictly_concave(p: float, q: float, group_size: int) -> None:
    if abs(p - q) > 1e-3:
        chord = (learnability(p, group_size) + learnability(q, group_size)) / 2
        assert learnability((p + q) / 2, group_size) > chord


# --- Proposition 2 ------------------------------------------------------------------------------


def test_the_uninformative_start_scores_seven_ninths() -> None:
    assert single(1.0, 1.0, 8) == pytest.approx(7 / 9, rel=1e-15)


@given(st.integers(2, 64))
def test_the_uninformative_start_scores_one_minus_two_over_g_plus_one(group_size: int) -> None:
    assert single(1.0, 1.0, group_size) == pytest.approx(1 - 2 / (group_size + 1), rel=1e-13)


@given(shapes, shapes)
def test_a_start_that_ignores_the_prompt_cannot_separate_prompts(alpha: float, beta: float) -> None:
    scores = expected_learnability(np.full(250, alpha), np.full(250, beta), 8)
    assert len(set(scores.tolist())) == 1


# --- Proposition 3 ------------------------------------------------------------------------------


@given(means, st.floats(1e-3, 1e5), small_groups)
def test_dispersion_is_penalised(mean: float, mass: float, group_size: int) -> None:
    alpha, beta = mean * mass, (1 - mean) * mass
    assert single(alpha, beta, group_size) < learnability(alpha / (alpha + beta), group_size)


@given(means, st.floats(1e-3, 1e4), st.floats(1.05, 100.0), small_groups)
def test_a_better_known_prompt_scores_higher_at_the_same_mean(
    mean: float, mass: float, factor: float, group_size: int
) -> None:
    more = mass * factor
    vague = single(mean * mass, (1 - mean) * mass, group_size)
    assert vague < single(mean * more, (1 - mean) * more, group_size)


@given(means, st.integers(2, 32))
def test_the_limits_in_the_mass_are_zero_and_the_plug_in_score(
    mean: float, group_size: int
) -> None:
    nothing, everything = 1e-10, 1e12
    assert 0 < single(mean * nothing, (1 - mean) * nothing, group_size) < 1e-8
    assert single(mean * everything, (1 - mean) * everything, group_size) == pytest.approx(
        float(learnability(mean, group_size)), rel=1e-8
    )
