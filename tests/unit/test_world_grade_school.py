"""Grade-school problems, solved anew from their sentences by a parser of this file's own."""

from __future__ import annotations

import re
from random import Random

import pytest

from thinkprior.world.generator import draw
from thinkprior.world.grade_school import GRADE_SCHOOL

STARTS_OF_TWO = (
    r"has (\d+) boxes with (\d+)",
    r"buys (\d+) \w+ for (\d+) dollars each",
    r"bakes (\d+) trays of \w+, with (\d+)",
    r"rides (\d+) \w+ each day for (\d+) days",
    r"has (\d+) classes of (\d+)",
    r"has (\d+) rows of (\d+)",
    r"reads (\d+) \w+ each evening for (\d+) evenings",
)
ADDING = "more|also buys|for delivery|new "
TAKING = (
    "gives .* away|loses|coupon|gives .* back|eat|burns|by bus|are ill|move away|breaks|cut down"
    "|twice"
)
TIMES = "trades|gets|puts .* cherries|sponsor|buckets|minutes"
SHARES = "bags of|bills of|boxes of|stop after|groups of|looks after|one note"


def solved(text: str) -> float:
    """The answer, from the text alone."""
    start, *events = text.split(". ")[:-1]
    of_two = [found for pattern in STARTS_OF_TWO if (found := re.search(pattern, start))]
    value = float(re.findall(r"\d+", start)[0])
    if of_two:
        value = float(of_two[0][1]) * float(of_two[0][2])
    for event in events:
        (number,) = map(int, re.findall(r"\d+", event))
        if re.search(SHARES, event):
            value /= number
        elif re.search(TIMES, event):
            value *= number
        elif re.search(TAKING, event):
            value -= number
        else:
            assert re.search(ADDING, event), event
            value += number
    return value


@pytest.mark.parametrize("topic", GRADE_SCHOOL)
@pytest.mark.parametrize("level", [1, 2, 3, 4, 5])
def test_answers_follow_from_the_sentences(topic: str, level: int) -> None:
    rng = Random(7)
    for _ in range(200):
        draft = draw(GRADE_SCHOOL[topic][level - 1], rng)
        assert solved(draft.text) == int(draft.answer), draft
        assert int(draft.answer) >= 1
        # One event each for levels 1 and 3, none for 2, two for 4, three for 5.
        assert draft.text.count(". ") - 1 == {1: 1, 2: 0, 3: 1, 4: 2, 5: 3}[level]
        assert not re.search(r"\b1 \w+s\b", draft.text)


def test_there_are_seven_topics_in_five_levels() -> None:
    assert len(GRADE_SCHOOL) == 7
    assert {len(templates) for templates in GRADE_SCHOOL.values()} == {5}
