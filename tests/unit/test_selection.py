"""Selectors: order and ties exactly, draws by closed-form frequencies, and their speed."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import permutations
from statistics import median

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import integrate, stats

from thinkprior.posterior import BetaPosterior
from thinkprior.selection import (
    SELECTORS,
    TIE_DECIMALS,
    FrozenBand,
    ProbabilisticSkip,
    Selector,
    ThompsonLearnability,
    TopLearnability,
    Uniform,
    top,
)

G = 8


def generator(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def posterior_with(groups: dict[int, list[int]], prompts: int) -> BetaPosterior:
    """A uniform start and then, for each prompt, groups of 8 with these numbers correct."""
    posterior = BetaPosterior.uniform(prompts)
    for prompt, outcomes in groups.items():
        for correct in outcomes:
            posterior.observe(prompt, correct, G)
    return posterior


def firsts(
    selector: Selector, posterior: BetaPosterior, count: int, draws: int
) -> list[NDArray[np.int64]]:
    """The first `count` prompts of many orders."""
    return [selector.order(posterior, G, count, generator(seed))[:count] for seed in range(draws)]


def assert_share(hits: int, draws: int, expected: float) -> None:
    """A two-sided binomial test that a right selector fails once in a thousand seeds."""
    assert stats.binomtest(hits, draws, expected).pvalue > 1e-3, (hits / draws, expected)


# --- What holds for every selector ----------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(SELECTORS))
@pytest.mark.parametrize("count", [1, 8, 20, 21])
def test_enough_different_prompts_come_out(name: str, count: int) -> None:
    posterior = posterior_with({0: [8, 8], 3: [0], 7: [4]}, 21)
    order = SELECTORS[name]().order(posterior, G, count, generator())
    assert len(order) >= count
    assert len(set(order.tolist())) == len(order)
    assert set(order.tolist()) <= set(range(21))


@pytest.mark.parametrize("name", sorted(SELECTORS))
def test_one_stream_gives_one_order_and_the_posterior_stays(name: str) -> None:
    posterior = posterior_with({2: [3]}, 30)
    first = SELECTORS[name]().order(posterior, G, 8, generator(5))
    second = SELECTORS[name]().order(posterior, G, 8, generator(5))
    assert first.tolist() == second.tolist()
    assert (posterior.correct.sum(), posterior.wrong.sum()) == (3, 5)


# --- Top of the scores ----------------------------------------------------------------------------


def full_sort(scores: list[float], count: int) -> list[int]:
    rounded = [round(score, TIE_DECIMALS) for score in scores]
    return sorted(range(len(scores)), key=lambda place: -rounded[place])[:count]


@given(
    st.lists(st.sampled_from([0.0, 0.25, 0.5, 7 / 9, 0.992]), min_size=1, max_size=40), st.data()
)
def test_top_is_a_full_stable_sort_when_there_are_ties(
    scores: list[float], data: st.DataObject
) -> None:
    count = data.draw(st.integers(1, len(scores)))
    assert top(np.array(scores), count).tolist() == full_sort(scores, count)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=60), st.data())
def test_top_is_a_full_stable_sort(scores: list[float], data: st.DataObject) -> None:
    count = data.draw(st.integers(1, len(scores)))
    assert top(np.array(scores), count).tolist() == full_sort(scores, count)


def test_a_cold_uninformative_start_takes_the_pool_in_order() -> None:
    order = TopLearnability().order(BetaPosterior.uniform(250), G, 8, generator())
    assert order.tolist() == list(range(8))


def test_the_highest_expected_learnability_comes_first() -> None:
    # Posterior means 1/2, 1/10 and 1/2: the last is better known than the first (Proposition 3).
    posterior = posterior_with({1: [0], 2: [4]}, 3)
    assert TopLearnability().order(posterior, G, 3, generator()).tolist() == [2, 0, 1]


@given(
    st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=20),
    st.lists(st.integers(0, 8), max_size=3),
)
def test_mirrored_prompts_tie_and_keep_their_order(
    prompts: list[tuple[float, bool]], outcomes: list[int]
) -> None:
    # Rounding makes 1 - phi and its mirror differ in the last bit; pool order must still decide.
    phi = prompts[0][0]
    rates = [1 - phi if mirrored else phi for _, mirrored in prompts]
    posterior = BetaPosterior.from_prior(rates, 4.0, 1e-3)
    for place, (_, mirrored) in enumerate(prompts):
        for correct in outcomes:
            posterior.observe(place, G - correct if mirrored else correct, G)
    order = TopLearnability().order(posterior, G, len(prompts), generator())
    assert order.tolist() == list(range(len(prompts)))


def test_the_paper_prior_prefers_middling_pass_rates() -> None:
    posterior = BetaPosterior.from_prior(np.arange(17) / 16, 4.0, 1e-3)
    order = TopLearnability().order(posterior, G, 17, generator()).tolist()
    assert order == sorted(range(17), key=lambda k: (abs(k - 8), k))


# --- Uniform --------------------------------------------------------------------------------------


def test_uniform_orders_are_equally_frequent() -> None:
    # A chi-square over all 24 orders of four prompts, whatever the posterior says.
    posterior = posterior_with({0: [8, 8, 8], 1: [4]}, 4)
    stream = generator(1)
    counts = dict.fromkeys(permutations(range(4)), 0)
    for _ in range(6000):
        counts[tuple(Uniform().order(posterior, G, 4, stream).tolist())] += 1
    assert stats.chisquare(list(counts.values())).pvalue > 1e-3


# --- Probabilistic skip (GRESO) -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("outcomes", "skip", "printed"),
    [
        ([], 2 * 0.5**8, 0.008),
        ([0], 0.9**8 + 0.1**8, 0.43),
        ([0, 0], (17 / 18) ** 8 + (1 / 18) ** 8, 0.63),
        ([8, 8], (17 / 18) ** 8 + (1 / 18) ** 8, 0.63),
    ],
)
def test_a_prompt_is_skipped_with_its_silence(
    outcomes: list[int], skip: float, printed: float
) -> None:
    # Two prompts, the second with a silence c of its own. Before it in the order, the first is
    # taken first unless it is skipped and the other is not; after it, only when the other is
    # skipped; when both are skipped, the same order is gone through again:
    # (1 - s) (1 + c) / (2 (1 - s c)).
    assert skip == pytest.approx(printed, abs=0.005)
    cold = 2 * 0.5**8
    posterior = posterior_with({0: outcomes}, 2)
    draws = 6000
    hits = sum(int(order[0] == 0) for order in firsts(ProbabilisticSkip(), posterior, 1, draws))
    assert_share(hits, draws, (1 - skip) * (1 + cold) / (2 * (1 - skip * cold)))


def test_a_small_batch_takes_a_seen_prompt_by_its_share_of_the_kept() -> None:
    # 200 prompts, half with one 0/8 group: the share among the first four is their share among
    # the kept, .57 / (.57 + .99), nearly, since four is few.
    posterior = posterior_with({prompt: [0] for prompt in range(100)}, 200)
    kept, cold = 1 - (0.9**8 + 0.1**8), 1 - 2 * 0.5**8
    draws = 2000
    taken = np.concatenate(firsts(ProbabilisticSkip(), posterior, 4, draws))
    assert_share(int((taken < 100).sum()), 4 * draws, kept / (kept + cold))


def test_the_skipped_come_back_when_too_few_are_kept() -> None:
    posterior = BetaPosterior(np.full(10, 1e9), np.full(10, 1e-3))
    order = ProbabilisticSkip().order(posterior, G, 10, generator())
    assert sorted(order.tolist()) == list(range(10))


# --- Thompson (MoPPS) -----------------------------------------------------------------------------


def chance_that_the_first_wins(a: tuple[float, float], b: tuple[float, float]) -> float:
    """P(|X - 1/2| < |Y - 1/2|) for X ~ Beta(a), Y ~ Beta(b), by quadrature."""
    first, second = stats.beta(*a), stats.beta(*b)

    def integrand(x: float) -> float:
        distance = abs(x - 0.5)
        outside = second.cdf(0.5 - distance) + second.sf(0.5 + distance)
        return float(first.pdf(x) * outside)

    return float(integrate.quad(integrand, 0, 1, points=[0.5], limit=200)[0])


@pytest.mark.parametrize("outcomes", [[], [0], [4], [0, 0, 1]])
def test_a_prompt_wins_as_often_as_its_draw_is_nearer_one_half(outcomes: list[int]) -> None:
    # The official order, smallest (draw - 1/2)^2 first, by numerical integration.
    posterior = posterior_with({0: outcomes}, 2)
    draws = 4000
    hits = sum(int(o[0] == 0) for o in firsts(ThompsonLearnability(), posterior, 1, draws))
    shape = (1.0 + sum(outcomes), 1.0 + sum(8 - c for c in outcomes))
    assert_share(hits, draws, chance_that_the_first_wins(shape, (1.0, 1.0)))


def test_cold_thompson_draws_spread_over_the_pool() -> None:
    taken = np.concatenate(firsts(ThompsonLearnability(), BetaPosterior.uniform(20), 4, 1500))
    assert stats.chisquare(np.bincount(taken, minlength=20)).pvalue > 1e-3


# --- Frozen band (prior-only) ---------------------------------------------------------------------


def test_the_frozen_band_is_the_better_half_at_step_0() -> None:
    posterior = BetaPosterior.from_prior([0.0, 0.5, 1.0, 0.4, 0.0, 0.6, 1.0, 0.9], 4.0, 1e-3)
    bands = {frozenset(o.tolist()) for o in firsts(FrozenBand(), posterior, 4, 200)}
    assert bands == {frozenset({1, 3, 5, 7})}


def test_online_evidence_never_reaches_the_frozen_band() -> None:
    phi = [0.0, 0.5, 1.0, 0.4, 0.0, 0.6, 1.0, 0.9]
    cold = BetaPosterior.from_prior(phi, 4.0, 1e-3)
    seen = BetaPosterior.from_prior(phi, 4.0, 1e-3)
    for prompt in (1, 3, 5, 7):
        seen.observe(prompt, 8, 8)
        seen.observe(prompt, 8, 8)
    for prompt in (0, 2):
        seen.observe(prompt, 4, 8)
    for seed in range(50):
        before = FrozenBand().order(cold, G, 3, generator(seed))
        after = FrozenBand().order(seen, G, 3, generator(seed))
        assert before.tolist() == after.tolist()


def test_the_frozen_band_is_drawn_from_uniformly() -> None:
    posterior = BetaPosterior.from_prior([0.5, 0.5, 0.4, 0.6, 0.0, 1.0, 0.0, 1.0], 4.0, 1e-3)
    taken = np.concatenate(firsts(FrozenBand(), posterior, 2, 2000))
    counts = np.bincount(taken, minlength=8)
    assert counts[4:].sum() == 0
    assert stats.chisquare(counts[:4]).pvalue > 1e-3


def test_the_frozen_band_breaks_ties_by_pool_order() -> None:
    order = FrozenBand().order(BetaPosterior.uniform(250), G, 8, generator())
    assert sorted(order.tolist()) == list(range(125))


# --- Speed ----------------------------------------------------------------------------------------


def seconds(action: Callable[[], object], repeats: int) -> list[float]:
    measured = []
    for _ in range(repeats):
        start = time.perf_counter()
        action()
        measured.append(time.perf_counter() - start)
    return measured


def test_selection_over_250_prompts_takes_less_than_a_millisecond() -> None:
    posterior = BetaPosterior(*(generator().gamma(1.0, 3.0, (2, 250)) + 1e-3))
    timings = seconds(lambda: TopLearnability().order(posterior, G, 8, generator()), 200)
    assert median(timings) < 1e-3


def test_selection_over_a_million_prompts_takes_less_than_a_tenth_of_a_second() -> None:
    posterior = BetaPosterior(*(generator().gamma(1.0, 3.0, (2, 10**6)) + 1e-3))
    stream = generator()
    timings = seconds(lambda: TopLearnability().order(posterior, G, 8, stream), 5)
    # The best of five: other work on the machine can only slow a run down.
    assert min(timings) < 0.1
