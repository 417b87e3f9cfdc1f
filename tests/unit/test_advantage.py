"""Group-relative advantages by hand and by Proposition 1(iii)."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thinkprior.advantage import STANDARD_DEVIATION_OFFSET, group_advantages, is_silent


@st.composite
def groups(draw: st.DrawFn) -> tuple[int, int]:
    """Group size and number correct of a group that is not silent."""
    size = draw(st.integers(2, 32))
    return size, draw(st.integers(1, size - 1))


def rewards(size: int, correct: int) -> np.ndarray:
    return np.array([1.0] * correct + [0.0] * (size - correct))


@given(groups())
def test_the_squared_advantages_sum_to_g_minus_one(group: tuple[int, int]) -> None:
    size, correct = group
    mass = (group_advantages(rewards(size, correct), offset=0.0) ** 2).sum()
    assert mass == pytest.approx(size - 1, rel=1e-12)


@pytest.mark.parametrize("correct", [1, 7])
def test_the_finite_normaliser_gives_the_appendix_value_in_the_worst_case(correct: int) -> None:
    mass = (group_advantages(rewards(8, correct)) ** 2).sum()
    assert mass == pytest.approx(7 * (1 + 1e-4 * math.sqrt(8)) ** -2, rel=1e-12)
    assert round(float(mass), 3) == 6.996


@given(groups())
def test_no_composition_is_worse_than_one_or_all_but_one_correct(group: tuple[int, int]) -> None:
    size, correct = group
    mass = (group_advantages(rewards(size, correct)) ** 2).sum()
    assert mass >= (size - 1) * (1 + STANDARD_DEVIATION_OFFSET * math.sqrt(size)) ** -2 * (
        1 - 1e-12
    )


def test_the_advantages_of_three_of_eight_by_hand() -> None:
    # Mean 3/8; sample variance 3 * 5 / (8 * 7) = 15/56.
    deviation = math.sqrt(15 / 56) + 1e-4
    found = group_advantages(rewards(8, 3))
    assert found == pytest.approx([0.625 / deviation] * 3 + [-0.375 / deviation] * 5, rel=1e-12)


@pytest.mark.parametrize("reward", [0.0, 1.0, 0.1])
@pytest.mark.parametrize("size", [2, 3, 8, 10])
def test_equal_rewards_have_exactly_no_advantage(reward: float, size: int) -> None:
    # The mean of ten times 0.1 is not 0.1, so a plain difference would not be zero.
    assert not group_advantages(np.full(size, reward)).any()


@given(groups())
def test_a_group_is_silent_only_when_all_right_or_all_wrong(group: tuple[int, int]) -> None:
    size, correct = group
    assert not is_silent(correct, size)
    assert is_silent(0, size)
    assert is_silent(size, size)
