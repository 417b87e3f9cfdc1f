"""Named streams: pinned values, and independence of name and order."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thinkprior.randomness import stream, stream_seed

parts = st.one_of(st.integers(0, 1000), st.text("abc/", max_size=4))
names = st.lists(parts, min_size=1, max_size=4).map(tuple)


def test_a_seed_is_63_bits_of_a_sha256_over_typed_parts() -> None:
    digest = hashlib.sha256(b"str:main\x1fint:3").digest()
    assert stream_seed("main", 3) == int.from_bytes(digest, "big") >> (256 - 63)


def test_the_seed_and_the_draws_of_a_known_name_never_change() -> None:
    # A change here changes every run ever made.
    name = ("main", "thinkprior", 0, 1, "selection")
    assert stream_seed(*name) == 5966622434463667299
    assert stream(*name).integers(0, 1000, 5).tolist() == [834, 432, 32, 141, 214]


@given(names, names)
def test_different_names_have_different_seeds(
    one: tuple[str | int, ...], other: tuple[str | int, ...]
) -> None:
    assert (stream_seed(*one) == stream_seed(*other)) == (one == other)


def test_a_number_and_its_text_are_different_names() -> None:
    assert stream_seed("run", 1) != stream_seed("run", "1")
    assert stream_seed("a", "b") != stream_seed("ab") != stream_seed("b", "a")


@pytest.mark.parametrize("seed", range(5))
def test_seeds_fit_a_signed_64_bit_integer(seed: int) -> None:
    assert 0 <= stream_seed("fits", seed) < 2**63


def test_streams_do_not_depend_on_what_was_drawn_before() -> None:
    first = stream("a").random(3).tolist()
    np.random.default_rng().random(10)
    stream("b").random(100)
    again = stream("a")
    assert again.random(3).tolist() == first
    assert again.random(3).tolist() != first


def test_streams_of_neighbouring_names_are_uncorrelated() -> None:
    draws = np.array([stream("run", step).random(200) for step in range(50)])
    correlations = np.corrcoef(draws)[np.triu_indices(50, 1)]
    # 1225 correlations of 200 pairs each: about N(0, 1/200).
    assert abs(correlations).max() < 0.3
    assert correlations.std() == pytest.approx(200**-0.5, rel=0.1)
