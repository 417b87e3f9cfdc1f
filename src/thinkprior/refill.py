"""Which candidates of a step are generated, and which groups enter the update."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from thinkprior.advantage import is_silent
from thinkprior.rollouts import PromptCompletions


@dataclass(frozen=True)
class CandidateGroup:
    """A generated and verified group.

    Attributes:
        prompt: position of the prompt in the pool.
        round: refill round in which it was generated, from 0.
        rewards: 1.0 for a correct rollout and 0.0 for a wrong one, shape [rollouts].
        completions: the prompt and its rollouts.
        used: whether the group enters the update.
    """

    prompt: int
    round: int
    rewards: NDArray[np.float64] = field(repr=False)
    completions: PromptCompletions = field(repr=False)
    used: bool = True

    @property
    def correct(self) -> int:
        """Number of correct rollouts."""
        return int(np.count_nonzero(self.rewards))

    @property
    def silent(self) -> bool:
        """Whether the group is all right or all wrong."""
        return is_silent(self.correct, len(self.rewards))


@dataclass(frozen=True)
class Refill:
    """Whether silent groups are discarded and refilled.

    Attributes:
        discard_silent: whether a silent group leaves the batch (DAPO) or stays in it.
        most_rounds: rounds of B candidates a step, at most.
    """

    discard_silent: bool
    most_rounds: int


Generate = Callable[[Sequence[int], int], list[CandidateGroup]]
"""Generates and verifies a group for each of these prompts; takes the round's number."""


def gather(
    order: NDArray[np.int64], batch_prompts: int, refill: Refill, generate: Generate
) -> list[CandidateGroup]:
    """Generate candidate groups in rounds of B down the order.

    Without discarding there is one round and each of its groups is used. With it, rounds follow
    until B groups are not silent, the cap is reached or the order ends; the first B non-silent
    groups in arrival order are used and the surplus counts as generated only (Appendix F).

    Args:
        order: pool positions, best first.
        batch_prompts: B.
        refill: the rule.
        generate: makes the groups.

    Returns:
        Every generated group in arrival order.
    """
    if not refill.discard_silent:
        return generate([int(prompt) for prompt in order[:batch_prompts]], 0)
    groups: list[CandidateGroup] = []
    for number in range(refill.most_rounds):
        candidates = order[number * batch_prompts : (number + 1) * batch_prompts]
        if len(candidates) == 0 or sum(not group.silent for group in groups) >= batch_prompts:
            break
        groups.extend(generate([int(prompt) for prompt in candidates], number))
    room = batch_prompts
    marked = []
    for group in groups:
        used = not group.silent and room > 0
        room -= used
        marked.append(replace(group, used=used))
    return marked
