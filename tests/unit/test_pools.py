"""Spread samples: counts by hand, nesting, and what the seed decides."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thinkprior.errors import InputError
from thinkprior.pools import spread_sample
from thinkprior.problems import Problem


def source_of(sizes: dict[tuple[int | None, str | None], int]) -> list[Problem]:
    return [
        Problem(f"{level}-{subject}-{number:03d}", "text", "1", level, subject)
        for (level, subject), size in sizes.items()
        for number in range(size)
    ]


def counts(pool: list[Problem]) -> Counter[tuple[int | None, str | None]]:
    return Counter((problem.level, problem.subject) for problem in pool)


SOURCE = source_of({(level, subject): 10 for level in range(1, 6) for subject in "ABCDEFG"})


def test_cells_get_equal_counts() -> None:
    assert set(counts(spread_sample(SOURCE, 70, 0)).values()) == {2}


def test_cells_differ_by_one_at_most_where_the_size_does_not_divide() -> None:
    found = counts(spread_sample(SOURCE, 250, 0))
    assert len(found) == 35
    # 250 = 35 * 7 + 5
    assert Counter(found.values()) == {7: 30, 8: 5}


def test_cells_that_run_out_drop_out() -> None:
    # Ten from cells of 1, 2 and 20: 1 + 2 + 7.
    source = source_of({(1, "A"): 1, (1, "B"): 2, (2, "A"): 20})
    assert counts(spread_sample(source, 10, 0)) == {(1, "A"): 1, (1, "B"): 2, (2, "A"): 7}


def test_the_whole_source_can_be_taken() -> None:
    pool = spread_sample(SOURCE, 350, 3)
    assert sorted(p.id for p in pool) == sorted(p.id for p in SOURCE)


@given(st.integers(1, 349), st.integers(1, 349), st.integers(0, 5))
def test_a_larger_pool_contains_a_smaller_one(one: int, other: int, seed: int) -> None:
    small, large = sorted((one, other))
    inner = {p.id for p in spread_sample(SOURCE, small, seed)}
    outer = {p.id for p in spread_sample(SOURCE, large, seed)}
    assert len(inner) == small
    assert inner <= outer


def test_the_seed_decides_the_pool_and_its_order() -> None:
    one, same, other = (spread_sample(SOURCE, 100, seed) for seed in (0, 0, 1))
    assert [p.id for p in one] == [p.id for p in same]
    assert {p.id for p in one} != {p.id for p in other}
    # The order mixes the cells: it is neither the source's nor sorted.
    assert [p.id for p in one] != sorted(p.id for p in one)
    assert len({p.level for p in one[:15]}) > 2


def test_the_order_of_the_source_does_not_matter() -> None:
    forward, backward = spread_sample(SOURCE, 99, 4), spread_sample(SOURCE[::-1], 99, 4)
    assert [p.id for p in forward] == [p.id for p in backward]


def test_rows_without_a_level_or_a_subject_are_left_out() -> None:
    source = source_of({(None, "A"): 5, (2, None): 5, (1, "A"): 3})
    assert counts(spread_sample(source, 3, 0)) == {(1, "A"): 3}
    with pytest.raises(InputError, match=r"pool of 4 .* holds 3 .*size"):
        spread_sample(source, 4, 0)
