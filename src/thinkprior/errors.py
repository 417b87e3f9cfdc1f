"""Errors that a user can mend."""

from __future__ import annotations

from collections.abc import Sequence

from thinkprior.printable import lines


class InputError(ValueError):
    """Input that a run cannot use: a configuration, a data file, a prior, an artifact.

    The message names the file, the key or the id, and what to do about it. Scripts print it without
    a traceback, since the fault is not in the code. Whatever it quotes, it is safe to print.
    """

    def __init__(self, message: str) -> None:
        super().__init__(lines(message))


class InstallationError(InputError, RuntimeError):
    """A library or a machine that does not do what it must, such as grade a known answer right."""


class NonFiniteError(InputError):
    """A model that computes NaN or infinity.

    Attributes:
        prompts: positions of the prompts at which it did, among those of the call.
    """

    def __init__(self, message: str, prompts: Sequence[int] = ()) -> None:
        super().__init__(message)
        self.prompts = tuple(prompts)


class DisagreementError(InputError):
    """A sampler whose log-probabilities are not those of the trainer's weights."""
