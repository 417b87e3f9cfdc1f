"""Silence and learnability of a prompt (Section "Silent groups and learnability", Eqs. 2 and 5)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

CHUNK = 1 << 14
"""Prompts scored at a time, so that the working arrays stay in the processor's cache."""


def silence(pass_rate: ArrayLike, group_size: int) -> NDArray[np.float64]:
    """Probability s(p) = p^G + (1 - p)^G that a group is all right or all wrong (Eq. 2).

    Args:
        pass_rate: pass rates p in [0, 1], any shape.
        group_size: G, at least 2.

    Returns:
        s(p), of the same shape.
    """
    p = np.asarray(pass_rate, dtype=np.float64)
    silent: NDArray[np.float64] = p**group_size + (1.0 - p) ** group_size
    return silent


def learnability(pass_rate: ArrayLike, group_size: int) -> NDArray[np.float64]:
    """Probability U(p) = 1 - s(p) that a group is not silent (Eq. 2)."""
    learnable: NDArray[np.float64] = 1.0 - silence(pass_rate, group_size)
    return learnable


def expected_learnability(
    alpha: ArrayLike, beta: ArrayLike, group_size: int
) -> NDArray[np.float64]:
    """Posterior expectation U_beta of the learnability under Beta(alpha, beta) (Eq. 5).

    Equation 5 subtracts two ratios of rising factorials from one, which loses every digit where
    U_beta is small. The same quantity is the beta-binomial probability of 1 to G - 1 correct
    rollouts, a sum of positive terms, so it is taken that way:
    U_beta = sum over k = 1 .. G - 1 of C(G, k) (alpha)_k (beta)_{G-k} / (alpha + beta)_G.
    The two parameters are ordered first, so that swapping them gives the same number to the bit.

    Args:
        alpha: first Beta parameters, positive, shape [prompts].
        beta: second Beta parameters, positive, shape [prompts].
        group_size: G, at least 2.

    Returns:
        U_beta, shape [prompts], in (0, 1).
    """
    first = np.atleast_1d(np.asarray(alpha, dtype=np.float64))
    second = np.atleast_1d(np.asarray(beta, dtype=np.float64))
    scores = np.empty(first.shape)
    for start in range(0, len(first), CHUNK):
        part = slice(start, start + CHUNK)
        scores[part] = _expected(first[part], second[part], group_size)
    return scores


def _expected(
    alpha: NDArray[np.float64], beta: NDArray[np.float64], group_size: int
) -> NDArray[np.float64]:
    low, high = np.minimum(alpha, beta), np.maximum(alpha, beta)
    mass = low + high
    # The term of one correct rollout: G * low * (high)_{G-1} / (mass)_G.
    term = group_size * low / mass
    for j in range(group_size - 1):
        term *= (high + j) / (mass + (j + 1))
    total: NDArray[np.float64] = term.copy()
    for k in range(1, group_size - 1):
        ratio = (group_size - k) / (k + 1)
        term *= (low + k) * ratio
        term /= high + (group_size - k - 1)
        total += term
    return total
