"""Problem templates of the miniature world: seven subjects of MATH in five levels, and more.

A template draws its numbers and returns a `Draft`. Each answer is right by construction, and each
draft also carries a check that reaches the answer by another way (substitution, enumeration,
exact fractions); `thinkprior.world.generator.draw` raises when the two differ. A level is a range
of numbers, and in most subjects a second, longer kind of problem in its upper levels.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from random import Random


@dataclass(frozen=True)
class Draft:
    """A problem before it has an id.

    Attributes:
        text: the problem.
        answer: the gold answer.
        working: what a thinking model writes down on its way to the answer.
        checked: whether a second way leads to the same answer.
    """

    text: str
    answer: str
    working: str
    checked: bool


Template = Callable[[Random], Draft]
Range = tuple[int, int]


def _draft(text: str, answer: int, working: str, check: Fraction | int) -> Draft:
    return Draft(text, str(answer), working, answer == check)


def _product_working(a: int, b: int) -> str:
    """A product by tens and units, as one does it on paper."""
    tens, units = divmod(a, 10)
    if tens == 0:
        return f"{a}*{b}={a * b}"
    return f"{10 * tens}*{b}={10 * tens * b} {units}*{b}={units * b} {a}*{b}={a * b}"


_COMPUTING = ("Compute", "Find", "Work out", "Give")
_UNKNOWNS = ("x", "y", "z", "n")
_FUNCTIONS = ("f", "g", "h", "p")
_WEARS = ("hats", "coats", "scarves", "boots")
_RECTANGLES = ("rectangle", "field", "table", "room")
_ASKING = ("Next term of", "Continue", "What follows", "Extend")


# --- Prealgebra ---------------------------------------------------------------------------------


def sums(rng: Random, first: Range, second: Range) -> Draft:
    """Sum of two numbers; checked by counting."""
    a, b = rng.randint(*first), rng.randint(*second)
    text = f"{rng.choice(_COMPUTING)} {a} + {b}."
    return _draft(text, a + b, f"{a}+{b}={a + b}", len([0] * a + [0] * b))


def sums_and_differences(rng: Random, first: Range, second: Range) -> Draft:
    """Value of a + b - c; checked in another order."""
    a, b, c = rng.randint(*first), rng.randint(*second), rng.randint(*second)
    working = f"{a}+{b}={a + b} {a + b}-{c}={a + b - c}"
    text = f"{rng.choice(_COMPUTING)} {a} + {b} - {c}."
    return _draft(text, a + b - c, working, b - (c - a))


# --- Algebra ------------------------------------------------------------------------------------


def linear_equations(rng: Random, scale: Range, root: Range, shift: Range) -> Draft:
    """Root of a x + b = c; checked by trying every x."""
    a, x, b = rng.randint(*scale), rng.randint(*root), rng.randint(*shift)
    c = a * x + b
    roots = [t for t in range(-200, 201) if a * t + b == c]
    working = f"{c}-{b}={c - b} {c - b}/{a}={x}"
    name = rng.choice(_UNKNOWNS)
    return _draft(f"Solve {a} {name} + {b} = {c}.", x, working, roots[0])


# --- Counting & Probability ---------------------------------------------------------------------


def pairs(rng: Random, first: Range, second: Range) -> Draft:
    """Pairs of two kinds of things; checked by listing them."""
    a, b = rng.randint(*first), rng.randint(*second)
    listed = sum(1 for _ in range(a) for _ in range(b))
    one, other = rng.sample(_WEARS, 2)
    text = f"How many pairs from {a} {one} and {b} {other}?"
    return _draft(text, a * b, _product_working(b, a), listed)


# --- Geometry -----------------------------------------------------------------------------------


def perimeters(rng: Random, sides: Range) -> Draft:
    """Perimeter of a rectangle; checked by walking around it."""
    a, b = rng.randint(*sides), rng.randint(*sides)
    working = f"{a}+{b}={a + b} {a + b}*2={2 * (a + b)}"
    text = f"Perimeter of a {a} by {b} {rng.choice(_RECTANGLES)}?"
    return _draft(text, 2 * (a + b), working, a + b + a + b)


def triangles(rng: Random, half_base: Range, height: Range) -> Draft:
    """Area of a triangle of even base; checked by exact fractions."""
    half, b = rng.randint(*half_base), rng.randint(*height)
    working = f"{2 * half}/2={half} {_product_working(b, half)}"
    with_base = rng.choice(
        ("a triangle with base", "a roof of base", "a sail of base", "a flag of base")
    )
    text = f"Area of {with_base} {2 * half} and height {b}?"
    return _draft(text, half * b, working, Fraction(2 * half * b, 2))


# --- Intermediate Algebra -----------------------------------------------------------------------


def linear_values(rng: Random, scale: Range, shift: Range, argument: Range) -> Draft:
    """Value of a x + b; checked by repeated addition."""
    a, b, c = rng.randint(*scale), rng.randint(*shift), rng.randint(*argument)
    working = f"{a}*{c}={a * c} {a * c}+{b}={a * c + b}"
    f = rng.choice(_FUNCTIONS)
    return _draft(f"{f}(x) = {a} x + {b}. Find {f}({c}).", a * c + b, working, sum([a] * c, b))


def square_values(rng: Random, shift: Range, argument: Range) -> Draft:
    """Value of x^2 + b; checked by summing odd numbers."""
    b, c = rng.randint(*shift), rng.randint(*argument)
    working = f"{c}*{c}={c * c} {c * c}+{b}={c * c + b}"
    check = sum(2 * i + 1 for i in range(c)) + b
    f = rng.choice(_FUNCTIONS)
    return _draft(f"{f}(x) = x^2 + {b}. Find {f}({c}).", c * c + b, working, check)


def quadratic_values(rng: Random, scale: Range, shift: Range, argument: Range) -> Draft:
    """Value of x^2 - a x + b; checked by Horner's rule."""
    a, b, c = rng.randint(*scale), rng.randint(*shift), rng.randint(*argument)
    square, product = c * c, a * c
    answer = square - product + b
    working = (
        f"{c}*{c}={square} {a}*{c}={product} {square}-{product}={square - product} +{b}={answer}"
    )
    f = rng.choice(_FUNCTIONS)
    return _draft(f"{f}(x) = x^2 - {a} x + {b}. Find {f}({c}).", answer, working, c * (c - a) + b)


# --- Number Theory ------------------------------------------------------------------------------


def remainders(rng: Random, dividend: Range, divisors: tuple[int, ...]) -> Draft:
    """Remainder of a division; checked by trying every remainder."""
    a, b = rng.randint(*dividend), rng.choice(divisors)
    check = next(r for r in range(b) if (a - r) % b == 0)
    working = f"{a // b}*{b}={a // b * b} {a}-{a // b * b}={a % b}"
    return _draft(f"Remainder of {a} divided by {b}?", a % b, working, check)


# --- Precalculus --------------------------------------------------------------------------------


def next_terms(rng: Random, first: Range, difference: Range) -> Draft:
    """Next term of an arithmetic sequence; checked by its second difference."""
    a, d = rng.randint(*first), rng.randint(*difference)
    text = f"{rng.choice(_ASKING)} {a}, {a + d}, {a + 2 * d}?"
    working = f"{a + d}-{a}={d} {a + 2 * d}+{d}={a + 3 * d}"
    return _draft(text, a + 3 * d, working, 2 * (a + 2 * d) - (a + d))


def later_terms(rng: Random, first: Range, difference: Range, term: Range) -> Draft:
    """Term n of an arithmetic sequence; checked by writing the sequence out."""
    a, d, n = rng.randint(*first), rng.randint(*difference), rng.randint(*term)
    last = a + (n - 1) * d
    working = f"{a + d}-{a}={d} {n - 1}*{d}={(n - 1) * d} {(n - 1) * d}+{a}={last}"
    text = f"Term {n} of {a}, {a + d}, {a + 2 * d}?"
    return _draft(text, last, working, list(range(a, a + n * d, d))[n - 1])


MATH: dict[str, tuple[Template, ...]] = {
    "Algebra": (
        partial(linear_equations, scale=(2, 2), root=(2, 9), shift=(1, 9)),
        partial(linear_equations, scale=(2, 3), root=(2, 9), shift=(1, 9)),
        partial(linear_equations, scale=(2, 5), root=(2, 9), shift=(1, 9)),
        partial(linear_equations, scale=(3, 9), root=(2, 12), shift=(5, 30)),
        partial(linear_equations, scale=(4, 12), root=(5, 20), shift=(10, 60)),
    ),
    "Counting & Probability": (
        partial(pairs, first=(2, 5), second=(2, 5)),
        partial(pairs, first=(2, 5), second=(2, 9)),
        partial(pairs, first=(2, 9), second=(3, 12)),
        partial(pairs, first=(4, 12), second=(5, 20)),
        partial(pairs, first=(7, 20), second=(9, 30)),
    ),
    "Geometry": (
        partial(perimeters, sides=(2, 9)),
        partial(perimeters, sides=(2, 15)),
        partial(perimeters, sides=(2, 30)),
        partial(triangles, half_base=(2, 7), height=(3, 15)),
        partial(triangles, half_base=(5, 14), height=(7, 30)),
    ),
    "Intermediate Algebra": (
        partial(linear_values, scale=(2, 3), shift=(1, 9), argument=(2, 5)),
        partial(linear_values, scale=(2, 5), shift=(1, 9), argument=(2, 9)),
        partial(linear_values, scale=(2, 9), shift=(1, 20), argument=(2, 9)),
        partial(square_values, shift=(1, 30), argument=(3, 12)),
        partial(quadratic_values, scale=(3, 12), shift=(5, 30), argument=(5, 15)),
    ),
    "Number Theory": (
        partial(remainders, dividend=(11, 99), divisors=(2, 5, 10)),
        partial(remainders, dividend=(11, 99), divisors=(4, 5, 10)),
        partial(remainders, dividend=(11, 60), divisors=(3, 4, 6, 8)),
        partial(remainders, dividend=(30, 120), divisors=(6, 7, 8, 9)),
        partial(remainders, dividend=(100, 400), divisors=(7, 11, 12, 13)),
    ),
    "Prealgebra": (
        partial(sums, first=(2, 12), second=(2, 9)),
        partial(sums, first=(2, 30), second=(2, 9)),
        partial(sums, first=(5, 40), second=(2, 20)),
        partial(sums_and_differences, first=(5, 30), second=(2, 9)),
        partial(sums_and_differences, first=(30, 150), second=(5, 60)),
    ),
    "Precalculus": (
        partial(next_terms, first=(1, 9), difference=(2, 9)),
        partial(next_terms, first=(1, 20), difference=(2, 9)),
        partial(next_terms, first=(2, 60), difference=(2, 20)),
        partial(later_terms, first=(1, 15), difference=(2, 7), term=(4, 8)),
        partial(later_terms, first=(2, 30), difference=(3, 12), term=(6, 12)),
    ),
}
"""Templates by subject; position i holds level i + 1."""


# --- Stand-in for GSM8K: word problems ------------------------------------------------------------

_NAMES = ("Tom", "Ann", "Ben", "Eva")
_THINGS = ("apples", "books", "coins", "cards")


def buys_and_gives(rng: Random) -> Draft:
    """A sum and a difference in words; checked in another order."""
    a, b, c = rng.randint(5, 20), rng.randint(2, 9), rng.randint(2, 9)
    name, thing = rng.choice(_NAMES), rng.choice(_THINGS)
    text = f"{name} has {a} {thing}, buys {b} and gives away {c}. How many are left?"
    return _draft(text, a + b - c, f"{a}+{b}={a + b} {a + b}-{c}={a + b - c}", b - (c - a))


def packs(rng: Random) -> Draft:
    """A product and a sum in words; checked by repeated addition."""
    a, b, c = rng.randint(2, 9), rng.randint(2, 9), rng.randint(1, 9)
    name, thing = rng.choice(_NAMES), rng.choice(_THINGS)
    text = f"{name} has {a} packs of {b} {thing} and {c} more. How many in all?"
    return _draft(text, a * b + c, f"{a}*{b}={a * b} {a * b}+{c}={a * b + c}", sum([b] * a, c))


WORD_PROBLEMS: tuple[Template, ...] = (buys_and_gives, packs)


# --- Stand-in for Minerva Math: numbers with units ------------------------------------------------


def distances(rng: Random) -> Draft:
    """Speed times time in metres; checked by repeated addition."""
    v, t = rng.randint(2, 15), rng.randint(2, 15)
    text = f"A car goes {v} m/s for {t} s. How far?"
    return Draft(text, f"{v * t} m", _product_working(v, t), v * t == sum([v] * t))


def energies(rng: Random) -> Draft:
    """Power times time in joules; checked by repeated addition."""
    power, t = rng.randint(2, 15), rng.randint(2, 15)
    text = f"A lamp of {power} W is on for {t} s. What energy?"
    return Draft(text, f"{power * t} J", _product_working(power, t), power * t == sum([power] * t))


WITH_UNITS: tuple[Template, ...] = (distances, energies)


# --- Stand-in for OlympiadBench: two results combined ---------------------------------------------


def root_then_square(rng: Random) -> Draft:
    """The root of a linear equation put into x^2 + c; checked by exact fractions."""
    a, x, b, c = rng.randint(2, 5), rng.randint(2, 9), rng.randint(1, 9), rng.randint(1, 9)
    total = a * x + b
    root = Fraction(total - b, a)
    working = f"{total}-{b}={total - b} {total - b}/{a}={x} {x}*{x}={x * x} +{c}={x * x + c}"
    text = f"Let x solve {a} x + {b} = {total}. Find x^2 + {c}."
    return _draft(text, x * x + c, working, root**2 + c)


def remainder_then_line(rng: Random) -> Draft:
    """A remainder put into d r + b; checked by trying every remainder."""
    a, b, d = rng.randint(11, 60), rng.randint(3, 9), rng.randint(2, 5)
    rest = a % b
    check = d * next(r for r in range(b) if (a - r) % b == 0) + b
    working = (
        f"{a // b}*{b}={a // b * b} {a}-{a // b * b}={rest} {d}*{rest}={d * rest} +{b}={check}"
    )
    text = f"Let r be the remainder of {a} divided by {b}. Find {d} r + {b}."
    return _draft(text, d * rest + b, working, check)


COMBINED: tuple[Template, ...] = (root_then_square, remainder_then_line)
