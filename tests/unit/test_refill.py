"""Refill rules by hand-counted examples."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thinkprior.refill import CandidateGroup, Refill, gather
from thinkprior.rollouts import PromptCompletions

NONE = Refill(discard_silent=False, most_rounds=1)
DAPO = Refill(discard_silent=True, most_rounds=4)

S, L = 0, 4  # a silent group and a learnable one, by their correct rollouts of eight


def generator_of(correct: Sequence[int]) -> Callable[[Sequence[int], int], list[CandidateGroup]]:
    """Groups whose number correct is fixed by the prompt."""

    def generate(prompts: Sequence[int], number: int) -> list[CandidateGroup]:
        return [
            CandidateGroup(
                prompt,
                number,
                np.array([1.0] * correct[prompt] + [0.0] * (8 - correct[prompt])),
                PromptCompletions(np.array([prompt]), []),
            )
            for prompt in prompts
        ]

    return generate


def outcome(
    correct: Sequence[int], batch: int, rule: Refill, order: Sequence[int] | None = None
) -> tuple[list[int], list[int], list[int]]:
    """Prompts generated, their rounds, and the prompts used."""
    places = np.arange(len(correct)) if order is None else np.array(order, dtype=np.int64)
    groups = gather(places, batch, rule, generator_of(correct))
    return (
        [group.prompt for group in groups],
        [group.round for group in groups],
        [group.prompt for group in groups if group.used],
    )


def test_without_refill_the_first_b_are_generated_and_all_used() -> None:
    assert outcome([S, L, S, L], 3, NONE) == ([0, 1, 2], [0, 0, 0], [0, 1, 2])


def test_the_order_is_followed() -> None:
    assert outcome([S, L, S, L], 2, NONE, [3, 0, 1, 2]) == ([3, 0], [0, 0], [3, 0])


def test_dapo_stops_after_a_full_first_round() -> None:
    assert outcome([L, 1, 7, L], 2, DAPO) == ([0, 1], [0, 0], [0, 1])


def test_dapo_drops_the_surplus_in_arrival_order() -> None:
    # Round 0 gives one learnable group of three, round 1 three: four, of which the first three in
    # arrival order are used; the fourth counts as generated only.
    correct = [S, L, 8, L, L, L, L, L, L]
    generated, rounds, used = outcome(correct, 3, DAPO)
    assert generated == [0, 1, 2, 3, 4, 5]
    assert rounds == [0, 0, 0, 1, 1, 1]
    assert used == [1, 3, 4]


def test_dapo_all_right_groups_are_silent_too() -> None:
    assert outcome([8, 8, L, L], 2, DAPO) == ([0, 1, 2, 3], [0, 0, 1, 1], [2, 3])


def test_dapo_stops_at_its_cap_with_a_shortfall() -> None:
    # Four rounds of two hold one learnable group; the ninth prompt would be learnable.
    correct = [S, S, S, L, S, S, S, S, L, L]
    generated, rounds, used = outcome(correct, 2, DAPO)
    assert generated == list(range(8))
    assert rounds == [0, 0, 1, 1, 2, 2, 3, 3]
    assert used == [3]


def test_dapo_stops_where_the_order_ends_inside_a_round() -> None:
    generated, rounds, used = outcome([S, S, S, L, L], 2, DAPO)
    assert generated == [0, 1, 2, 3, 4]
    assert rounds == [0, 0, 1, 1, 2]
    assert used == [3, 4]


def test_dapo_stops_where_the_order_ends_after_a_round() -> None:
    assert outcome([S, S, S, S], 2, DAPO) == ([0, 1, 2, 3], [0, 0, 1, 1], [])


def test_dapo_without_a_learnable_group_uses_none() -> None:
    assert outcome([S] * 40, 8, DAPO)[2] == []


@given(st.lists(st.integers(0, 8), min_size=1, max_size=60), st.integers(1, 9), st.integers(1, 5))
def test_dapo_counts(correct: list[int], batch: int, most_rounds: int) -> None:
    generated, rounds, used = outcome(correct, batch, Refill(True, most_rounds))
    assert generated == list(range(len(generated)))  # down the order, without replacement
    assert len(generated) <= most_rounds * batch
    assert rounds == [place // batch for place in generated]
    learnable = [place for place in generated if 0 < correct[place] < 8]
    assert used == learnable[:batch]
    if len(used) < batch:
        assert len(generated) == min(len(correct), most_rounds * batch)
    else:
        before_last = [place for place in learnable if rounds[place] < rounds[-1]]
        assert len(before_last) < batch


@pytest.mark.parametrize(("correct", "silent"), [(0, True), (8, True), (1, False), (7, False)])
def test_a_group_knows_whether_it_is_silent(correct: int, silent: bool) -> None:
    (group,) = generator_of([correct])([0], 0)
    assert (group.correct, group.silent) == (correct, silent)
