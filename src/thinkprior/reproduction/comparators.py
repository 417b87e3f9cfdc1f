"""What counts as the same: comparators of a published number and ours, as typed data.

A level (how high a number is) belongs to its models and problems, so away from the paper's own
scale only relations are compared: which of two is higher, whether they are separated, on which side
of zero, of one half or of .05. At the scale `paper` printed levels are compared as well. `judging`
does the comparing.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Reason = Literal["other_hardware", "one_seed", "set_by_design", "unrepeated"]

REASONS: dict[Reason, str] = {
    "other_hardware": "times and hosts belong to the machines that they were measured on",
    "one_seed": (
        "a seed names other random streams here, so one seed's number has no counterpart; means "
        "and ranges are compared in the tables"
    ),
    "set_by_design": (
        "it was a target when this scale's world was chosen (docs/world.md), so agreement would be "
        "no evidence"
    ),
    "unrepeated": "it comes from a campaign of the paper's that no configuration here declares",
}


class Strict(BaseModel):
    """A part of a checked-in file; unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Locator(Strict):
    """Another published number, by what differs from the row at hand.

    A field may hold `{table}`, `{setting}`, `{arm}` or `{metric}` of the row.
    """

    table: str = "{table}"
    setting: str = "{setting}"
    arm: str = "{arm}"
    metric: str = "{metric}"


class RelationBase(Strict):
    """What the kinds of relations share.

    Attributes:
        reference: The published number that the row is held against.
        difference: The published difference whose interval here decides the separation.
        between: Two published numbers whose seed ranges here decide the separation.
        level: Whether the level is compared at the paper's scale; false for times.
    """

    reference: Locator | None = None
    difference: Locator | None = None
    between: tuple[Locator, Locator] | None = None
    level: bool = True


class Exact(RelationBase):
    """A count fixed by the design: equal, as counted."""

    kind: Literal["exact"]


class Order(RelationBase):
    """On the same side of the reference as in the paper.

    Attributes:
        paper: Whether the paper calls the two separated; it does not always say.
    """

    kind: Literal["order"]
    reference: Locator
    paper: Literal["separated", "not separated", "not said"] = "not said"


class Null(RelationBase):
    """The paper finds no separation from the reference, or of a difference from `value`.

    Attributes:
        error: Our number that is the standard error, for a difference without an interval.
    """

    kind: Literal["null"]
    value: float = 0.0
    error: Locator | None = None


class Sign(RelationBase):
    """A difference, change or effect lies on the same side of `value` as in the paper.

    Attributes:
        end: Whether the row is an end of an interval, of which only the side is compared.
    """

    kind: Literal["sign"]
    value: float = 0.0
    end: bool = False


class Significance(RelationBase):
    """A p value on the same side of .05."""

    kind: Literal["significance"]


class Majority(RelationBase):
    """A count on the same side of one half of its total, which the reference is where given."""

    kind: Literal["majority"]


class Events(RelationBase):
    """More, fewer or as many events as the reference; separated where Fisher's p is below .05."""

    kind: Literal["events"]
    reference: Locator


class Ranges(RelationBase):
    """Two ranges that meet, or do not and lie the same way round, as in the paper."""

    kind: Literal["ranges"]
    reference: Locator


class Constant(RelationBase):
    """All runs share one value."""

    kind: Literal["constant"]


class Described(RelationBase):
    """The paper's words mean this count.

    Attributes:
        means: The count that they mean.
    """

    kind: Literal["described"]
    means: int


Relation = Annotated[
    Exact | Order | Null | Sign | Significance | Majority | Events | Ranges | Constant | Described,
    Field(discriminator="kind"),
]


class NotComparable(Strict):
    """No relation can be compared, for one of the fixed reasons.

    Attributes:
        otherwise: For what a world was designed for: the relation at scales that were not.
    """

    kind: Literal["not_comparable"]
    reason: Reason
    otherwise: Relation | None = None


Comparator = Relation | NotComparable
