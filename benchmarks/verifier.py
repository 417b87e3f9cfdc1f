r"""The verifier against a plain loop over math-verify, on answers whose truth is known.

``python benchmarks/verifier.py [ANSWERS]`` writes 10,000 distinct golds in five surface forms
(grouped integers, fractions, decimals, radicals, pairs) and an answer to each in another spelling,
half of them made wrong. It grades them cold, with one process each: by ``Verifier`` (one worker, if
it needs one) and by ``math_verify.verify(parse(gold), parse(reply))``.
"""

import os
import random
import sys
import time
from collections.abc import Callable
from fractions import Fraction

Pair = tuple[str, str, bool]
"""Gold, answer, and whether the answer is right."""


def _integer(draw: random.Random, wrong: int) -> tuple[str, str]:
    value = draw.randint(10_000, 9_999_999) * draw.choice((1, -1))
    return f"{value:,}", draw.choice(("{}", r"{}.0", r"x = {}", r"{}\text{{ cm}}")).format(
        value + wrong
    )


def _fraction(draw: random.Random, wrong: int) -> tuple[str, str]:
    value = Fraction(draw.randint(1, 999), draw.randint(2, 999))
    given = value + Fraction(wrong, value.denominator)
    times = draw.randint(1, 4)
    p, q = given.numerator * times, given.denominator * times
    return (
        f"\\frac{{{value.numerator}}}{{{value.denominator}}}",
        draw.choice(("{}/{}", r"\dfrac{{{}}}{{{}}}", r"\frac{{{}}} {{{}}}")).format(p, q),
    )


def _decimal(draw: random.Random, wrong: int) -> tuple[str, str]:
    hundredths = draw.randint(1, 999_999)
    given = Fraction(hundredths + wrong, 100)
    written = f"\\frac{{{given.numerator}}}{{{given.denominator}}}"
    return f"{hundredths / 100:.2f}", draw.choice((written, f"{hundredths + wrong}\\%"))


def _radical(draw: random.Random, wrong: int) -> tuple[str, str]:
    outside, inside = draw.randint(2, 99), draw.choice((2, 3, 5, 6, 7, 10, 11, 13, 15, 17, 19, 21))
    given = (outside + wrong) ** 2 * inside
    return f"{outside}\\sqrt{{{inside}}}", f"\\sqrt{{{given}}}"


def _pair(draw: random.Random, wrong: int) -> tuple[str, str]:
    a, b, c = draw.randint(-99, 99), draw.randint(1, 99), draw.randint(2, 9)
    return (
        f"\\left( {a}, \\frac{{{b}}}{{{c}}} \\right)",
        f"({a + wrong},{b}/{c})",
    )


FORMS: tuple[Callable[[random.Random, int], tuple[str, str]], ...] = (
    _integer,
    _fraction,
    _decimal,
    _radical,
    _pair,
)


def write_pairs(count: int, seed: int = 0) -> list[Pair]:
    """Return distinct pairs, the surface forms in turn and every second answer wrong."""
    draw = random.Random(seed)
    pairs: dict[tuple[str, str], bool] = {}
    while len(pairs) < count:
        right = len(pairs) % 2 == 0
        pair = FORMS[len(pairs) // 2 % len(FORMS)](draw, 0 if right else draw.choice((1, 2, 7)))
        pairs.setdefault(pair, right)
    return [(gold, answer, right) for (gold, answer), right in pairs.items()]


def by_verifier(golds: list[str], replies: list[str]) -> list[bool]:
    """Grade with a fresh verifier."""
    from thinkprior.verification import Verdict, Verifier

    with Verifier(workers=1) as verifier:
        verdicts, report = verifier.grade(golds, replies)
    print(report)
    return [verdict is Verdict.correct for verdict in verdicts]


def by_math_verify(golds: list[str], replies: list[str]) -> list[bool]:
    """Grade with a loop over math-verify in its default settings."""
    from math_verify import parse, verify

    return [
        verify(parse(f"\\boxed{{{gold}}}"), parse(reply))
        for gold, reply in zip(golds, replies, strict=True)
    ]


def main(count: int) -> None:
    """Grade the same answers both ways and print the times and the faults."""
    pairs = write_pairs(count)
    golds = [gold for gold, _, _ in pairs]
    replies = [f"So the answer is $\\boxed{{{answer}}}$." for _, answer, _ in pairs]
    measured: list[tuple[float, float]] = []
    for grade in (by_verifier, by_math_verify):
        started = time.perf_counter(), sum(os.times()[:4])
        verdicts = grade(golds, replies)
        # Processor time too, the worker's with it: it does not depend on what else is running.
        measured.append((time.perf_counter() - started[0], sum(os.times()[:4]) - started[1]))
        wrong = [p for p, v in zip(pairs, verdicts, strict=True) if v is not p[2]]
        print(
            f"{grade.__name__}: {measured[-1][0]:.2f} s, {measured[-1][1]:.2f} s of processor time,"
            f" {len(wrong)} of {count} verdicts differ from the truth"
        )
        for pair in wrong[:5]:
            print("  ", pair)
    (ours, our_cpu), (theirs, their_cpu) = measured
    print(f"ratio {theirs / ours:.0f}, in processor time {their_cpu / our_cpu:.0f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
