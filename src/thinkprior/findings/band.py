"""The learnable band of a pool (Appendix B)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thinkprior.learnability import learnability

# It stands here and not beside `learnability`, whose module every training run depends on.
BAND = 0.8
"""A prompt is in the learnable band when U(p) under its reference pass rate is above this."""


def in_band(pass_rate: ArrayLike, group_size: int) -> NDArray[np.bool_]:
    """Whether U(p) > 0.8.

    Args:
        pass_rate: reference pass rates p, shape [prompts].
        group_size: G.

    Returns:
        Booleans, shape [prompts].
    """
    return learnability(pass_rate, group_size) > BAND
