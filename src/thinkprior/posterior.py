"""The Beta posterior over a prompt's pass rate (Eq. 4 and Algorithm 1)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thinkprior.errors import InputError
from thinkprior.learnability import expected_learnability


class BetaPosterior:
    """One Beta distribution a prompt, in pool order.

    Attributes:
        initial_alpha, initial_beta: parameters before any rollout, shape [prompts].
        correct, wrong: rollouts observed so far, integers, shape [prompts].
    """

    def __init__(self, initial_alpha: ArrayLike, initial_beta: ArrayLike) -> None:
        self.initial_alpha = np.array(initial_alpha, dtype=np.float64)
        self.initial_beta = np.array(initial_beta, dtype=np.float64)
        if self.initial_alpha.shape != self.initial_beta.shape or self.initial_alpha.ndim != 1:
            raise InputError("alpha and beta must be two vectors of one length.")
        both = np.concatenate([self.initial_alpha, self.initial_beta])
        if not (np.isfinite(both).all() and (both > 0).all()):
            raise InputError("alpha and beta must be positive and finite.")
        self.correct = np.zeros(len(self.initial_alpha), dtype=np.int64)
        self.wrong = np.zeros(len(self.initial_alpha), dtype=np.int64)

    @classmethod
    def uniform(cls, prompts: int) -> BetaPosterior:
        """The uninformative start, alpha = beta = 1 (online-NP, MoPPS, GRESO)."""
        return cls(np.ones(prompts), np.ones(prompts))

    @classmethod
    def from_prior(cls, pass_rates: ArrayLike, kappa: float, epsilon: float) -> BetaPosterior:
        """The external-anchor initialization (Eq. 4).

        Args:
            pass_rates: phi of each prompt, in [0, 1], in pool order.
            kappa: pseudo-counts that the prior is worth, positive.
            epsilon: epsilon_0, which keeps both parameters positive at phi = 0 and 1.
        """
        phi = np.asarray(pass_rates, dtype=np.float64)
        if not (np.isfinite(phi).all() and (phi >= 0).all() and (phi <= 1).all()):
            raise InputError("prior pass rates must lie in [0, 1].")
        if kappa <= 0 or epsilon <= 0:
            raise InputError("kappa and epsilon must be positive.")
        return cls(kappa * phi + epsilon, kappa * (1.0 - phi) + epsilon)

    def __len__(self) -> int:
        return len(self.initial_alpha)

    @property
    def alpha(self) -> NDArray[np.float64]:
        """First parameters now: the start plus the correct rollouts."""
        return self.initial_alpha + self.correct

    @property
    def beta(self) -> NDArray[np.float64]:
        """Second parameters now: the start plus the wrong rollouts."""
        return self.initial_beta + self.wrong

    @property
    def mean(self) -> NDArray[np.float64]:
        """Posterior mean pass rates."""
        alpha, beta = self.alpha, self.beta
        return alpha / (alpha + beta)

    def observe(self, prompt: int, correct: int, rollouts: int) -> None:
        """Add a group's outcome: (alpha, beta) += (C, G - C) (Algorithm 1, line 11)."""
        if not 0 <= correct <= rollouts:
            raise InputError(f"{correct} correct of {rollouts} rollouts is not possible.")
        self.correct[prompt] += correct
        self.wrong[prompt] += rollouts - correct

    def expected_learnability(self, group_size: int) -> NDArray[np.float64]:
        """U_beta of every prompt (Eq. 5), shape [prompts]."""
        return expected_learnability(self.alpha, self.beta, group_size)
