"""Exact arithmetic on spelled expressions; values worked out by hand."""

from fractions import Fraction

import pytest

from thinkprior.verification.spelling import spell
from thinkprior.verification.values import Status, evaluate, rational, same_value, stands_for


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12", 12),
        ("-3/4", Fraction(-3, 4)),
        (r"\frac{3}{4}", Fraction(3, 4)),
        (r"\dfrac34", Fraction(3, 4)),
        ("0.75", Fraction(3, 4)),
        (".5", Fraction(1, 2)),
        ("1e-8", Fraction(1, 10**8)),
        (r"1\frac{4}{5}", Fraction(9, 5)),
        ("-4 4/9", Fraction(-40, 9)),
        (r"0.1\overline{6}", Fraction(1, 6)),
        ("0.333...", Fraction(1, 3)),
        ("2^10", 1024),
        ("-2^2", -4),
        ("2^{-1}", Fraction(1, 2)),
        ("5!", 120),
        (r"\sqrt{16}", 4),
        (r"\sqrt{2}\sqrt{8}", 4),
        (r"\sqrt[3]{27}", 3),
        (r"8^{2/3}", 4),
        (r"(1+\sqrt{2})(1-\sqrt{2})", -1),
        (r"\frac{6\pi}{2\pi}", 3),
        ("i^2", -1),
        ("(1+i)(1-i)", 2),
        ("7:32", Fraction(7, 32)),
        (r"3 \times 10^{8}", 300_000_000),
    ],
)
def test_rational_values(text: str, value: Fraction) -> None:
    expression = evaluate(spell(text))
    assert expression.status is Status.exact
    assert rational(expression.value) == value


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (r"2\sqrt{3}", r"\sqrt{12}"),
        (r"\frac{1}{\sqrt{3}}", r"\frac{\sqrt{3}}{3}"),
        (r"\sqrt{\frac{5}{12}}", r"\frac{\sqrt{15}}{6}"),
        (r"\sqrt[3]{16}", r"2\sqrt[3]{2}"),
        (r"2^{-2/3}", r"\frac{\sqrt[3]{2}}{2}"),
        (r"\frac{3}{4}\pi", r"3\pi/4"),
        ("(x-1)(x+1)", "x^2-1"),
        (r"\frac{n(n+1)}{2}", r"\frac{n^2+n}{2}"),
        (r"\frac{a b}{2}", "0.5ba"),
        ("2i", "(1+i)^2"),
    ],
)
def test_equal_expressions(one: str, other: str) -> None:
    assert same_value(evaluate(spell(one)), evaluate(spell(other))) is True


@pytest.mark.parametrize(
    "text", ["", "1-", "3/", "--5", "5 5", "1/0", "5.5.5", "(5", "2^3^4", "0^0"]
)
def test_unreadable(text: str) -> None:
    assert evaluate(text).status is Status.unreadable


@pytest.mark.parametrize("text", ["10^{10^{10}}", "9^{9^9}", "9999999!", r"\frac{1}{7^{999999}}"])
def test_too_large(text: str) -> None:
    assert evaluate(text).status is Status.too_large


@pytest.mark.parametrize(
    "text", [r"\sin x", "f(x)", "x_1", r"\frac{1}{1+\sqrt{2}}", "2^n", "dy/dx"]
)
def test_left_to_math_verify(text: str) -> None:
    assert evaluate(text).status is Status.unknown


def test_a_number_may_have_thousands_of_digits() -> None:
    # 1/2006! has 20,000 bits, and 2006!/2004! = 2005 * 2006.
    assert rational(evaluate(r"\frac{2006!}{2004!}").value) == 2005 * 2006


@pytest.mark.parametrize(
    ("written", "number", "stands"),
    [
        ("0.333333", Fraction(1, 3), True),
        ("-0.333333", Fraction(-1, 3), True),
        ("0.3333333", Fraction(1, 3), True),
        ("0.666667", Fraction(2, 3), True),
        ("0.666666", Fraction(2, 3), True),
        ("0.333334", Fraction(1, 3), False),
        ("0.33333", Fraction(1, 3), False),
        ("0.000001", Fraction(14, 10**7), False),
        ("0", Fraction(1, 10**8), False),
    ],
)
def test_a_decimal_stands_for_what_it_rounds(written: str, number: Fraction, stands: bool) -> None:
    assert stands_for(Fraction(written), number) is stands


# pi = 3.14159265358..., sqrt 2 = 1.41421356237..., 12 pi = 37.69911184...
@pytest.mark.parametrize(
    ("irrational", "decimal", "same"),
    [
        (r"\pi", "3.14159265", True),
        (r"\pi", "3.14159266", False),
        (r"\pi", "3.14", False),
        (r"\sqrt{2}", "1.41421356", True),
        (r"\sqrt{2}", "1.41421357", False),
        (r"12\pi", "37.699112", True),
        (r"12\pi", "37.7", False),
    ],
)
def test_a_decimal_for_an_irrational_number(irrational: str, decimal: str, same: bool) -> None:
    assert same_value(evaluate(irrational), evaluate(decimal)) is same
