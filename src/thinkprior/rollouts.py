"""Sampling completions: the interface of an engine, and what it gives back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Sampling:
    """How completions are drawn.

    Attributes:
        temperature: softmax temperature; 0 is greedy.
        max_new_tokens: cap on a completion, its end token included.
        max_prompt_tokens: a longer prompt is cut to its last so many tokens (Appendix F).
        stop: texts that end a completion, besides the model's end token; see `thinkprior.stopping`.
    """

    temperature: float
    max_new_tokens: int
    max_prompt_tokens: int
    stop: tuple[str, ...] = ()


@dataclass(frozen=True)
class Completion:
    """One sampled answer.

    Attributes:
        tokens: token ids, those included that end it.
        text: the decoded tokens without special tokens, up to the first stop text.
        truncated: whether the cap ended it, neither the model's end token nor a stop text.
    """

    tokens: NDArray[np.int64]
    text: str
    truncated: bool


@dataclass(frozen=True)
class PromptCompletions:
    """The completions of one prompt.

    Attributes:
        prompt_tokens: token ids of the prompt as the model read it.
        completions: its completions, in sample order.
    """

    prompt_tokens: NDArray[np.int64]
    completions: list[Completion]


class Engine(Protocol):
    """Draws completions from the current weights of one model."""

    def generate(
        self, prompts: Sequence[str], samples: int, sampling: Sampling, seeds: Sequence[int]
    ) -> list[PromptCompletions]:
        """Draw `samples` completions of each prompt.

        Args:
            prompts: prompt texts, templates applied.
            samples: completions a prompt.
            sampling: temperature and caps.
            seeds: one seed a prompt. A prompt's draws depend on its own seed and on nothing else
                that is generated with it.
        """
        ...

    def rest(self) -> None:
        """Make room on the device: nothing is generated until the weights have changed.

        Nothing to do for an engine that shares the trainer's weights. Weights that have changed
        need no call: the next `generate` samples from the newest ones.
        """
        ...
