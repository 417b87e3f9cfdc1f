"""The exact path never changes a verdict: it agrees with the workers, and with the truth.

Golds are drawn at random with a known value, answers are the value or another one in another
spelling, or garbage. What the exact path decides is compared with math-verify in a worker.
"""

import random
from fractions import Fraction

import pytest

from thinkprior.verification import Verdict
from thinkprior.verification.exact import decide
from thinkprior.verification.pool import WorkerPool


def spellings(value: Fraction) -> list[str]:
    """Ways to write a rational number."""
    p, q = value.numerator, value.denominator
    sign, size = ("-" if p < 0 else ""), abs(p)
    ways = [
        f"{p}/{q}",
        f"\\frac{{{p}}}{{{q}}}",
        f"{sign}\\dfrac{{{2 * size}}}{{{2 * q}}}",
        f"x = \\frac{{{p}}}{{{q}}}",
        f"\\frac{{{p}}}{{{q}}}\\text{{ cm}}",
    ]
    if q == 1:
        ways = [
            f"{p}",
            f"{p}.0",
            f"{p:,}",
            f"+{p}" if p > 0 else f"{p}",
            f"{p} m",
            f"\\text{{{p}}}",
        ]
    elif size > q:
        ways.append(f"{sign}{size // q}\\frac{{{size % q}}}{{{q}}}")
    if 10**6 % q == 0:
        decimal = f"{p / q:.6f}".rstrip("0").rstrip(".")
        ways += [decimal, f"{decimal}e0"]
        ways += [f"{float(100 * value):g}\\%"] if abs(value) < 1000 and q in (2, 4, 5) else []
    return ways


def draw_value(draw: random.Random) -> Fraction:
    denominator = draw.choice((1, 1, 2, 3, 4, 5, 7, 8, 12, 40, 99, 625))
    return Fraction(draw.randint(-2000, 2000), denominator)


def rationals(draw: random.Random) -> tuple[str, str, bool]:
    value = draw_value(draw)
    right = draw.random() < 0.5
    given = value if right else value + draw.choice((1, -1, Fraction(1, 2), Fraction(1, 10), 10))
    gold = draw.choice([w for w in spellings(value) if "m" not in w and "%" not in w])
    return gold, draw.choice(spellings(given)), right


def radicals(draw: random.Random) -> tuple[str, str, bool]:
    a, b, n = draw.randint(1, 40), draw.randint(2, 9), draw.choice((2, 3, 5, 6, 7, 10))
    right = draw.random() < 0.5
    c = a if right else a + draw.randint(1, 3)
    gold = draw.choice(
        (f"{a}\\sqrt{{{n}}}+{b}", f"{b} + {a}\\sqrt {n}", f"{b}+\\sqrt{{{a * a * n}}}")
    )
    return gold, draw.choice((f"{b}+{c}\\sqrt{{{n}}}", f"\\sqrt{{{c * c * n}}}+{b}")), right


def multiples_of_pi(draw: random.Random) -> tuple[str, str, bool]:
    p, q = draw.randint(1, 60), draw.choice((1, 2, 3, 4, 6))
    right = draw.random() < 0.5
    r = p if right else p + draw.randint(1, 3)
    answers = [
        f"\\frac{{{r}}}{{{q}}}\\pi",
        f"{r}\\pi/{q}",
        f"\\dfrac{{{r}\\pi}}{{{q}}}",
        f"{r}*pi/{q}",
    ]
    return f"\\frac{{{p}\\pi}}{{{q}}}", draw.choice(answers), right


def polynomials(draw: random.Random) -> tuple[str, str, bool]:
    a, b = draw.randint(1, 9), draw.randint(1, 9)
    right = draw.random() < 0.5
    c = b if right else b + 1
    gold = f"x^2+{a + b}x+{a * b}"
    return gold, draw.choice((f"(x+{a})(x+{c})", f"x^2+{a * c}+{a + c}x", f"(x+{c})({a}+x)")), right


def complex_numbers(draw: random.Random) -> tuple[str, str, bool]:
    a, b = draw.randint(-9, 9), draw.randint(2, 9)
    right = draw.random() < 0.5
    return (
        f"{a}+{b}i",
        f"{b if right else b + 1}i+{a}" if a >= 0 else f"{b if right else -b}i{a}",
        right,
    )


def tuples(draw: random.Random) -> tuple[str, str, bool]:
    values = [draw_value(draw) for _ in range(draw.randint(2, 3))]
    right = draw.random() < 0.5
    given = list(values)
    if not right:
        given[draw.randrange(len(given))] += 1
    plain = [[w for w in spellings(v) if "x" not in w and "," not in w] for v in (*values, *given)]
    written = [draw.choice(ways) for ways in plain]
    opening, closing = draw.choice(("()", "[]", "(]", ("", ""), (r"\{", r"\}")))
    if not opening or opening == r"\{":
        tail = written[len(values) :]
        draw.shuffle(tail)
        written[len(values) :] = tail
        # As a list the values may also match in another order.
        right = sorted(values) == sorted(given)
    gold = ", ".join(f"\\frac{{{v.numerator}}}{{{v.denominator}}}" for v in values)
    return (
        f"{opening}{gold}{closing}",
        f"{opening}{', '.join(written[len(values) :])}{closing}",
        right,
    )


def matrices(draw: random.Random) -> tuple[str, str, bool]:
    values = [draw_value(draw) for _ in range(4)]
    right = draw.random() < 0.5
    given = [*values[:3], values[3] if right else values[3] + 1]
    a, b, c, d = (f"\\frac{{{v.numerator}}}{{{v.denominator}}}" for v in values)
    e, f, g, h = (f"{v.numerator}/{v.denominator}" for v in given)
    return (
        f"\\begin{{pmatrix}} {a} & {b} \\\\ {c} & {d} \\end{{pmatrix}}",
        f"\\begin{{bmatrix}}{e}&{f}\\\\{g}&{h}\\end{{bmatrix}}",
        right,
    )


FAMILIES = (rationals, radicals, multiples_of_pi, polynomials, complex_numbers, tuples, matrices)
PIECES = (
    *"0123456789", *"0123456789", "-", "+", "/", ".", ",", " ", "(", ")", "=", "^2", "!", "x", "n",
    r"\pi", r"\frac{1}{2}", r"\frac{3}{4}", r"\sqrt{2}", r"\cdot ", " m", " cm", r"\%", r"\$",
    "{2}",
)  # fmt: skip
GOLDS = ("5", "12", r"\frac{3}{4}", r"12\pi", "15 m", "2.5", "-3", "1,2", "(1,2)", "x^2-1", r"75\%")


@pytest.fixture(scope="module")
def pool() -> WorkerPool:
    return WorkerPool(1, 20.0)


def test_the_exact_path_is_right_and_agrees_with_the_workers(pool: WorkerPool) -> None:
    draw = random.Random(20_260_517)
    drawn = [FAMILIES[number % len(FAMILIES)](draw) for number in range(700)]
    for gold, answer, right in drawn:
        # An exact division is a restatement only where the gold is a whole number.
        assert decide(gold, answer) is right, (gold, answer)
    outcomes = pool.compare([(gold, answer) for gold, answer, _ in drawn])
    for (gold, answer, right), outcome in zip(drawn, outcomes, strict=True):
        assert outcome.verdict is (Verdict.correct if right else Verdict.wrong), (gold, answer)


def test_garbage_gets_the_same_verdict_on_both_paths(pool: WorkerPool) -> None:
    draw = random.Random(7)
    pairs = [
        (draw.choice(GOLDS), "".join(draw.choice(PIECES) for _ in range(draw.randint(1, 6))))
        for _ in range(1500)
    ]
    exact = [decide(gold, answer) for gold, answer in pairs]
    decided = [
        (pair, verdict) for pair, verdict in zip(pairs, exact, strict=True) if verdict is not None
    ]
    assert len(decided) > 0.9 * len(pairs)
    outcomes = pool.compare([pair for pair, _ in decided])
    for (pair, verdict), outcome in zip(decided, outcomes, strict=True):
        assert (outcome.verdict is Verdict.correct) is verdict, pair
    pool.close()
