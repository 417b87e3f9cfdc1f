"""Whether two arms are told apart by few seeds: the decision rule of Appendix E."""

from __future__ import annotations

from thinkprior.measurements import Measurement
from thinkprior.statistics import disjoint


def separable(first: Measurement, second: Measurement) -> bool | None:
    """Whether the seed ranges of the two arms are disjoint; ranges that touch are not.

    Returns:
        None where an arm has fewer than two seeds, which make no range.
    """
    if min(len(first.values), len(second.values)) < 2:
        return None
    return disjoint(first.values, second.values)
