"""The Beta posterior against hand-counted groups and the paper's numbers."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thinkprior.errors import InputError
from thinkprior.posterior import BetaPosterior

groups = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 8)), min_size=1, max_size=30
)  # (prompt, correct of 8)


def test_the_prior_is_equation_4() -> None:
    posterior = BetaPosterior.from_prior([0.0, 0.25, 1.0], kappa=4.0, epsilon=1e-3)
    assert posterior.alpha == pytest.approx([0.001, 1.001, 4.001])
    assert posterior.beta == pytest.approx([4.001, 3.001, 0.001])
    assert len(posterior) == 3


def test_the_uniform_start_has_mass_two_at_one_half() -> None:
    posterior = BetaPosterior.uniform(3)
    assert posterior.alpha.tolist() == posterior.beta.tolist() == [1.0, 1.0, 1.0]
    assert posterior.mean.tolist() == [0.5, 0.5, 0.5]


def test_groups_add_their_right_and_wrong_rollouts() -> None:
    posterior = BetaPosterior.uniform(2)
    posterior.observe(1, correct=3, rollouts=8)
    posterior.observe(1, correct=0, rollouts=8)
    assert posterior.alpha.tolist() == [1.0, 4.0]
    assert posterior.beta.tolist() == [1.0, 14.0]
    assert posterior.mean[1] == pytest.approx(4 / 18)
    assert posterior.initial_alpha.tolist() == [1.0, 1.0]


@given(groups, st.randoms(use_true_random=False))
def test_the_order_of_the_evidence_does_not_matter(
    evidence: list[tuple[int, int]], random: Random
) -> None:
    phi = [0.1, 1 / 3, 0.5, 2 / 3, 0.9]
    forward = BetaPosterior.from_prior(phi, 4.0, 1e-3)
    for prompt, correct in evidence:
        forward.observe(prompt, correct, 8)
    shuffled = BetaPosterior.from_prior(phi, 4.0, 1e-3)
    random.shuffle(evidence)
    for prompt, correct in evidence:
        shuffled.observe(prompt, correct, 8)
    assert forward.alpha.tolist() == shuffled.alpha.tolist()
    assert forward.beta.tolist() == shuffled.beta.tolist()
    assert forward.expected_learnability(8).tolist() == shuffled.expected_learnability(8).tolist()


def test_one_group_outweighs_the_prior() -> None:
    # Kappa is worth four rollouts, a group eight.
    posterior = BetaPosterior.from_prior([1.0], 4.0, 1e-3)
    posterior.observe(0, correct=0, rollouts=8)
    assert posterior.mean[0] < 0.5


@pytest.mark.parametrize(("correct", "rollouts"), [(9, 8), (-1, 8)])
def test_an_impossible_group_is_refused(correct: int, rollouts: int) -> None:
    with pytest.raises(InputError, match=f"{correct} correct of {rollouts}"):
        BetaPosterior.uniform(1).observe(0, correct, rollouts)


@pytest.mark.parametrize("phi", [[-0.1], [1.1], [float("nan")], [0.5, float("inf")]])
def test_a_pass_rate_outside_the_unit_interval_is_refused(phi: list[float]) -> None:
    with pytest.raises(InputError, match=r"\[0, 1\]"):
        BetaPosterior.from_prior(phi, 4.0, 1e-3)


@pytest.mark.parametrize(
    ("kappa", "epsilon"), [(0.0, 1e-3), (-1.0, 1e-3), (4.0, 0.0), (float("nan"), 1e-3)]
)
def test_a_prior_without_strength_is_refused(kappa: float, epsilon: float) -> None:
    with pytest.raises(InputError, match="positive"):
        BetaPosterior.from_prior([0.5], kappa, epsilon)


@pytest.mark.parametrize(
    ("alpha", "beta"),
    [([1.0], [1.0, 1.0]), ([0.0], [1.0]), ([1.0], [-1.0]), ([float("inf")], [1.0])],
)
def test_parameters_that_are_no_beta_distribution_are_refused(
    alpha: list[float], beta: list[float]
) -> None:
    with pytest.raises(InputError, match="alpha and beta"):
        BetaPosterior(alpha, beta)


def test_the_start_is_a_copy() -> None:
    start = np.ones(2)
    posterior = BetaPosterior(start, start)
    start[0] = 5.0
    assert posterior.alpha.tolist() == [1.0, 1.0]
