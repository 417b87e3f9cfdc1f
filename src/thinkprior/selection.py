"""Selectors: the order in which the prompts of a pool become candidates at a step.

A selector gives positions in the pool, best first, at least as many as are asked for. Which of them
are generated, and how many, is the refill rule's business (`thinkprior.refill`).
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from thinkprior.learnability import learnability, silence
from thinkprior.posterior import BetaPosterior

TIE_DECIMALS = 12
"""Scores that agree to so many decimals are a tie. Prompts with equal evidence in another order of
addition differ in the last bits, and rounding must not decide what the paper leaves to pool
order."""


MOST_PASSES = 100
"""Passes of the probabilistic skip before the prompts still skipped follow in their order. Only a
pool whose every posterior sits at 0 or 1 comes near it."""


class Selector(Protocol):
    """Orders the prompts of a pool."""

    def order(
        self, posterior: BetaPosterior, group_size: int, count: int, generator: np.random.Generator
    ) -> NDArray[np.int64]:
        """Positions of at least `count` different prompts, best first.

        Args:
            posterior: the posterior over the pool before the step.
            group_size: G.
            count: how many are needed; at most the size of the pool.
            generator: the step's own random stream.
        """
        ...


def top(scores: NDArray[np.float64], count: int) -> NDArray[np.int64]:
    """Positions of the `count` highest scores, highest first, ties by position.

    Linear in the pool: only the scores at or above the count-th are sorted.
    """
    rounded = np.round(scores, TIE_DECIMALS)
    if count < len(rounded):
        least = np.partition(rounded, len(rounded) - count)[len(rounded) - count]
        above = np.flatnonzero(rounded > least)
        level = np.flatnonzero(rounded == least)[: count - len(above)]
        kept = np.concatenate([above, level])
    else:
        kept = np.arange(len(rounded))
    return kept[np.lexsort((kept, -rounded[kept]))]


class Uniform:
    """A uniformly random order (random, DAPO)."""

    def order(
        self,
        posterior: BetaPosterior,
        group_size: int,  # noqa: ARG002
        count: int,  # noqa: ARG002
        generator: np.random.Generator,
    ) -> NDArray[np.int64]:
        """See `Selector.order`."""
        return generator.permutation(len(posterior))


class TopLearnability:
    """Highest expected learnability first (ThinkPrior, online-NP; Algorithm 1, line 8)."""

    def order(
        self,
        posterior: BetaPosterior,
        group_size: int,
        count: int,
        generator: np.random.Generator,  # noqa: ARG002
    ) -> NDArray[np.int64]:
        """See `Selector.order`."""
        return top(posterior.expected_learnability(group_size), count)


class ThompsonLearnability:
    """Highest learnability at one posterior draw a prompt first (MoPPS)."""

    def order(
        self,
        posterior: BetaPosterior,
        group_size: int,
        count: int,
        generator: np.random.Generator,
    ) -> NDArray[np.int64]:
        """See `Selector.order`."""
        draws = generator.beta(posterior.alpha, posterior.beta)
        return top(learnability(draws, group_size), count)


class ProbabilisticSkip:
    """Uniform order, each prompt skipped with the silence of its posterior mean (GRESO).

    The pool is gone through in one random order; where too few are kept, the skipped ones are gone
    through again with new draws, until enough are taken.
    """

    def order(
        self,
        posterior: BetaPosterior,
        group_size: int,
        count: int,
        generator: np.random.Generator,
    ) -> NDArray[np.int64]:
        """See `Selector.order`."""
        waiting = generator.permutation(len(posterior))
        skip = silence(posterior.mean, group_size)
        taken: list[NDArray[np.int64]] = []
        for _ in range(MOST_PASSES):
            if sum(map(len, taken)) >= count:
                break
            skipped = generator.random(len(waiting)) < skip[waiting]
            taken.append(waiting[~skipped])
            waiting = waiting[skipped]
        return np.concatenate([*taken, waiting])


class FrozenBand:
    """Uniform over the half of the pool with the highest U_beta at step 0 (prior-only)."""

    def order(
        self,
        posterior: BetaPosterior,
        group_size: int,
        count: int,
        generator: np.random.Generator,
    ) -> NDArray[np.int64]:
        """See `Selector.order`."""
        start = BetaPosterior(posterior.initial_alpha, posterior.initial_beta)
        band = top(start.expected_learnability(group_size), max(count, len(start) // 2))
        return generator.permutation(np.sort(band))


SELECTORS: dict[str, type[Selector]] = {
    "uniform": Uniform,
    "top_learnability": TopLearnability,
    "thompson_learnability": ThompsonLearnability,
    "probabilistic_skip": ProbabilisticSkip,
    "frozen_band": FrozenBand,
}
"""Selectors by the name that the configuration uses."""
