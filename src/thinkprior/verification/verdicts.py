"""What the verifier says: a verdict on each answer, and a count of them for each batch."""

from dataclasses import astuple, dataclass
from enum import StrEnum

from thinkprior.errors import InstallationError


class Verdict(StrEnum):
    """The verdict on one reply. Only ``correct`` earns the reward."""

    correct = "correct"
    wrong = "wrong"
    no_box = "no_box"
    timeout = "timeout"
    error = "error"


@dataclass(frozen=True)
class BatchReport:
    """How the replies of a batch were graded.

    Attributes:
        graded: Replies in all: the sum of the next four.
        exact: Decided by exact arithmetic.
        cached: Decided before, or earlier in this batch.
        compared: Decided by math-verify in a worker process.
        no_box: Without a complete box.
        timeouts: Replies with the verdict ``timeout``.
        errors: Replies with the verdict ``error``.
    """

    graded: int = 0
    exact: int = 0
    cached: int = 0
    compared: int = 0
    no_box: int = 0
    timeouts: int = 0
    errors: int = 0

    def __add__(self, other: "BatchReport") -> "BatchReport":
        return BatchReport(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))


class CanaryError(InstallationError):
    """The verifier graded a known answer wrong, so none of its verdicts can be trusted."""
