"""Generated problems, solved anew from their texts by a parser of this file's own."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from random import Random

import pytest

from thinkprior.world.generator import KINDS, _templates, draw
from thinkprior.world.templates import Draft, Template

DRAWS = 200


def solve_linear(a: int, b: int, c: int) -> int:
    """x of a x + b = c."""
    x = Fraction(c - b, a)
    assert x.denominator == 1
    return int(x)


def term(n: int, first: int, second: int, third: int) -> int:
    assert second - first == third - second
    return first + (n - 1) * (second - first)


NUMBER = r"(\d+)"
SOLVERS: tuple[tuple[str, Callable[..., object]], ...] = (
    (r"[A-Z][a-z ]* # \+ #\.", lambda a, b: a + b),
    (r"[A-Z][a-z ]* # \+ # - #\.", lambda a, b, c: a + b - c),
    (r"[A-Z][a-z ]* # \w \+ # = #\.", solve_linear),
    (r"How many pairs from # \w+ and # \w+\?", lambda a, b: a * b),
    (r"Perimeter of a # by # \w+\?", lambda a, b: 2 * a + 2 * b),
    (r"Area of [a-z ]*base # and height #\?", lambda a, b: Fraction(a * b, 2)),
    (r"\w\(x\) = # x \+ #\. Find \w\(#\)\.", lambda a, b, x: a * x + b),
    (r"\w\(x\) = x\^2 \+ #\. Find \w\(#\)\.", lambda b, x: x**2 + b),
    (r"\w\(x\) = x\^2 - # x \+ #\. Find \w\(#\)\.", lambda a, b, x: x**2 - a * x + b),
    (r"Remainder of # divided by #\?", lambda a, b: a - b * (a // b)),
    (r"[A-Z][a-z ]* #, #, #\?", lambda *s: term(4, *s)),
    (r"Term # of #, #, #\?", term),
    (r"\w+ has # \w+, buys # and gives away #\. How many are left\?", lambda a, b, c: a + b - c),
    (r"\w+ has # packs of # \w+ and # more\. How many in all\?", lambda a, b, c: a * b + c),
    (r"A car goes # m/s for # s\. How far\?", lambda v, t: f"{v * t} m"),
    (r"A lamp of # W is on for # s\. What energy\?", lambda p, t: f"{p * t} J"),
    (
        r"Let x solve # x \+ # = #\. Find x\^2 \+ #\.",
        lambda a, b, c, d: solve_linear(a, b, c) ** 2 + d,
    ),
    (
        r"Let r be the remainder of # divided by #\. Find # r \+ #\.",
        lambda a, b, d, e: d * (a % b) + e,
    ),
)


def solved(text: str) -> str:
    """The answer to a problem, from its text alone."""
    for pattern, solver in SOLVERS:
        found = re.fullmatch(pattern.replace("#", NUMBER), text)
        if found:
            return str(solver(*map(int, found.groups())))
    raise AssertionError(f"no solver reads {text!r}: add one")


TEMPLATES = [
    pytest.param(template, id=f"{kind}-{subject}-{level}" if subject else f"{kind}-{place}")
    for kind in KINDS
    for place, (subject, level, template) in enumerate(_templates(kind))
]


def drafts(template: Template) -> list[Draft]:
    rng = Random(0)
    return [draw(template, rng) for _ in range(DRAWS)]


@pytest.mark.parametrize("template", TEMPLATES)
def test_the_answer_follows_from_the_text(template: Template) -> None:
    for draft in drafts(template):
        assert draft.answer == solved(draft.text), draft


@pytest.mark.parametrize("template", TEMPLATES)
def test_the_working_is_true_and_ends_in_the_answer(template: Template) -> None:
    for draft in drafts(template):
        value = Fraction(0)
        for line in draft.working.split():
            left, right = line.split("=")
            # "+7=40" goes on from the line before.
            first, *rest = re.findall(
                r"(?:^|[-+*/])-?\d+", left if left[0].isdigit() else f"{value}{left}"
            )
            value = Fraction(first)
            for operation in rest:
                number = Fraction(operation[1:])
                value = {
                    "+": value + number,
                    "-": value - number,
                    "*": value * number,
                    "/": value / number if number else value,
                }[operation[0]]
            assert value == Fraction(right), (line, draft)
        assert str(value) == draft.answer.split()[0], draft


@pytest.mark.parametrize("template", TEMPLATES)
def test_a_template_makes_many_different_problems(template: Template) -> None:
    assert len({draft.text for draft in drafts(template)}) > 60


def test_a_template_with_a_wrong_answer_is_caught() -> None:
    def wrong(rng: Random) -> Draft:
        return Draft("Compute 1 + 1.", "3", "1+1=3", checked=False)

    with pytest.raises(AssertionError, match="wrong answer"):
        draw(wrong, Random(0))
