"""What can be said of one published number beside ours."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Status(Enum):
    """A short name; `LABELS` has the words for readers.

    An order (which of two is higher) has five outcomes; what is either so or not has two, and a
    third where too few seeds stand behind it to tell.
    """

    SAME = "same"
    SAME_SEPARATED = "same_separated"
    SAME_UNSEPARATED = "same_unseparated"
    NO_DIFFERENCE = "no_difference"
    OTHER_UNSEPARATED = "other_unseparated"
    OTHER_SEPARATED = "other_separated"
    DIFFERENT = "different"
    SAME_LEVEL = "same_level"
    DIFFERENT_LEVEL = "different_level"
    UNDECIDED = "undecided"
    NOT_COMPARABLE = "not_comparable"
    NOT_RUN = "not_run"

    @property
    def label(self) -> str:
        """The status in plain words."""
        return LABELS[self]


LABELS: dict[Status, str] = {
    Status.SAME: "as in the paper",
    Status.SAME_SEPARATED: "same direction, separated here",
    Status.SAME_UNSEPARATED: "same direction, not separated here",
    Status.NO_DIFFERENCE: "no difference here",
    Status.OTHER_UNSEPARATED: "other direction, not separated here",
    Status.OTHER_SEPARATED: "other direction, separated here",
    Status.DIFFERENT: "not as in the paper",
    Status.SAME_LEVEL: "same level",
    Status.DIFFERENT_LEVEL: "different level",
    Status.UNDECIDED: "cannot be told from these numbers",
    Status.NOT_COMPARABLE: "not comparable",
    Status.NOT_RUN: "not run, or no number here",
}


@dataclass(frozen=True)
class Judgement:
    """A status and one or two sentences that say why."""

    status: Status
    explanation: str
