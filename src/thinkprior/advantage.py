"""Group-relative advantages (Eq. 1)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

STANDARD_DEVIATION_OFFSET = 1e-4
"""epsilon of Eq. 1."""


def is_silent(correct: int, rollouts: int) -> bool:
    """Whether a group is all right or all wrong, decided on the integer count."""
    return correct in (0, rollouts)


def group_advantages(
    rewards: NDArray[np.float64], offset: float = STANDARD_DEVIATION_OFFSET
) -> NDArray[np.float64]:
    """A_i = (r_i - mean) / (std + epsilon) with the sample standard deviation (Eq. 1).

    Args:
        rewards: rewards of one group, shape [rollouts], at least two.
        offset: epsilon.

    Returns:
        Advantages, shape [rollouts]; exactly zero throughout a group of equal rewards.
    """
    if (rewards == rewards[0]).all():
        return np.zeros(len(rewards))
    advantages: NDArray[np.float64] = (rewards - rewards.mean()) / (rewards.std(ddof=1) + offset)
    return advantages
