r"""Exact values: arithmetic on rationals, radicals, \pi, e, i and letters.

``evaluate`` reads an expression into a sum of terms, each a rational coefficient times radicals
(primes with an exponent between 0 and 1) and symbols with integer exponents. That is a canonical
form: products of radicals of distinct primes are linearly independent over the rationals
(Besicovitch, 1940), and pi, e and the letters are taken as independent. So two expressions that can
be read are equal exactly when their sums are the same.
"""

import math
import re
from dataclasses import dataclass
from decimal import Decimal, localcontext
from enum import Enum
from fractions import Fraction

Rational = int | Fraction
Monomial = frozenset[tuple[int | str, Rational]]
Value = dict[Monomial, Rational]

MOST_BITS = 40_000
"""The largest number that is worked out, in bits; ``1/2006!`` has 20,000."""
LEAST_PLACES = 6
LEAST_DIGITS = 4
_LARGEST_FACTORIAL = 5_000
_MOST_TERMS = 64
_MOST_BITS_TO_FACTOR = 256
_LARGEST_FACTOR = 10_000

_ONE: Monomial = frozenset()
_PI = Fraction("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899")
_CONSTANTS = frozenset({"pi", "e", "i", "oo"})
_GREEK_LETTERS = r"\alpha \beta \delta \epsilon \theta \lambda \mu \rho \sigma \tau \phi \omega"
_GREEK = frozenset(_GREEK_LETTERS.split())
# d is a differential, E and I are constants of their own in math-verify: it must read those.
_LETTERS = frozenset("abcefghijklmnopqrstuvwxyzABCDFGHJKLMNOPQRSTUVWXYZ")
_MARKS = r"+ - / ^ ! ( ) { } [ ] : , ; = < > \% \$ \frac \sqrt \cdot \div \pi"
_ARITHMETIC = frozenset(_MARKS.split())
_TOKEN = re.compile(r"\d+\.\d+|\d+|\.\d+|\\[A-Za-z]+|\\.|\S")
_ENDS_FACTOR = frozenset({"+", "-", "/", r"\cdot", r"\div", ":", ")", "}", "]", "^", "!"})


class Status(Enum):
    """What ``evaluate`` made of an expression."""

    exact = "exact"
    unknown = "unknown"
    unreadable = "unreadable"
    too_large = "too large"


class _UnknownError(Exception):
    """The expression holds something that only math-verify may be able to read."""


class _UnreadableError(Exception):
    """The expression is arithmetic, but not well formed."""


class _TooLargeError(Exception):
    """The expression has a power or factorial of more than ``MOST_BITS`` bits."""


@dataclass(frozen=True, slots=True)
class Expression:
    """An expression and its value.

    Attributes:
        status: Whether the value is known, and if not, why.
        value: The canonical sum; empty unless the status is ``exact``, or the value is 0.
        letters: The variables that occur, if the status is ``exact``.
        undone: An operation between two plain numbers is left to be carried out, as in ``7-2``.
        whole_division: The expression is one division of integers that comes out whole: ``84/7``.
    """

    status: Status
    value: Value
    letters: frozenset[str] = frozenset()
    undone: bool = False
    whole_division: bool = False

    @property
    def constant(self) -> bool:
        """Whether the value is known and holds no variable."""
        return self.status is Status.exact and not self.letters


def rational(value: Value) -> Rational | None:
    """Return a value as a rational number, or None where it is none."""
    if not value:
        return 0
    return value.get(_ONE) if len(value) == 1 else None


def _bounded(number: Rational) -> Rational:
    if number.numerator.bit_length() + number.denominator.bit_length() > 2 * MOST_BITS:
        raise _TooLargeError
    return number


def _add(a: Value, b: Value, sign: int = 1) -> Value:
    total = dict(a)
    for monomial, coefficient in b.items():
        changed = _bounded(total.get(monomial, 0) + sign * coefficient)
        if changed:
            total[monomial] = changed
        else:
            total.pop(monomial, None)
    return total


def _multiply_terms(a: Monomial, b: Monomial) -> tuple[Rational, Monomial]:
    """Return the product of two monomials and the whole powers of primes that it gives off."""
    if not a or not b:
        return 1, a or b
    exponents: dict[int | str, Rational] = dict(a)
    coefficient: Rational = 1
    for base, exponent in b:
        total = exponents.get(base, 0) + exponent
        if isinstance(base, int):
            whole = math.floor(total)
            coefficient = coefficient * base**whole if whole >= 0 else Fraction(1, base**-whole)
            total -= whole
        if total:
            exponents[base] = total
        else:
            exponents.pop(base, None)
    return coefficient, frozenset(exponents.items())


def _multiply(a: Value, b: Value) -> Value:
    if len(a) * len(b) > _MOST_TERMS:
        raise _UnknownError
    total: Value = {}
    for left, p in a.items():
        for right, q in b.items():
            coefficient, monomial = _multiply_terms(left, right)
            total = _add(total, {monomial: _bounded(coefficient * p) * q})
    return total


def _inverse(value: Value) -> Value:
    if not value:
        raise _UnreadableError
    if len(value) > 1:
        raise _UnknownError
    ((monomial, coefficient),) = value.items()
    inverted: Value = {_ONE: Fraction(1) / coefficient}
    for base, exponent in monomial:
        inverted = _multiply(inverted, _root_of(base, -exponent))
    return inverted


def _root_of(base: int | str, exponent: Rational) -> Value:
    """Return a prime or a symbol to a power as a value."""
    if isinstance(base, str):
        return {frozenset({(base, exponent)}): 1}
    whole = math.floor(exponent)
    coefficient: Rational = base**whole if whole >= 0 else Fraction(1, base**-whole)
    rest = exponent - whole
    return {frozenset({(base, rest)}) if rest else _ONE: coefficient}


def _factors(number: int) -> dict[int, int]:
    if number.bit_length() > _MOST_BITS_TO_FACTOR:
        raise _UnknownError
    found: dict[int, int] = {}
    divisor = 2
    while divisor * divisor <= number and divisor < _LARGEST_FACTOR:
        while number % divisor == 0:
            number //= divisor
            found[divisor] = found.get(divisor, 0) + 1
        divisor += 1 + divisor % 2
    if number >= _LARGEST_FACTOR**2:
        raise _UnknownError
    if number > 1:
        found[number] = found.get(number, 0) + 1
    return found


def _fractional_power(base: Value, exponent: Fraction) -> Value:
    """Return a positive number to a fractional power."""
    number = rational(base)
    if number is None or number < 0 or abs(exponent) > MOST_BITS:
        raise _UnknownError
    if number == 0:
        if exponent < 0:
            raise _UnreadableError
        return {}
    power: Value = {_ONE: 1}
    for part, sign in ((number.numerator, 1), (number.denominator, -1)):
        for prime, times in _factors(part).items():
            total = sign * times * exponent
            if abs(total) * prime.bit_length() > MOST_BITS:
                raise _TooLargeError
            power = _multiply(power, _root_of(prime, total))
    return power


def _power(base: Value, exponent: Value) -> Value:
    to = rational(exponent)
    if to is None:
        raise _UnknownError
    if to.denominator != 1:
        return _fractional_power(base, Fraction(to))
    times = int(to)
    number = rational(base)
    if number is not None:
        if number == 0 and times <= 0:
            raise _UnreadableError
        if number in (0, 1, -1):
            return {_ONE: number ** (times % 2 or 2)} if number else {}
        bits = max(abs(number.numerator).bit_length(), number.denominator.bit_length())
        if bits * abs(times) > MOST_BITS:
            raise _TooLargeError
        return {_ONE: Fraction(number) ** times if times < 0 else number**times}
    if abs(times) > _MOST_TERMS:
        raise _UnknownError
    power: Value = {_ONE: 1}
    for _ in range(abs(times)):
        power = _multiply(power, base)
    return _inverse(power) if times < 0 else power


def _constant_kinds(value: Value) -> set[Monomial]:
    """Return the monomials without letters: 1, pi, the square root of 2; of 0, that of 1."""
    if not value:
        return {_ONE}
    return {m for m in value if all(isinstance(b, int) or b in _CONSTANTS for b, _ in m)}


def _both_numbers(a: Value, b: Value) -> bool:
    """Whether a product of two constants leaves a product of two numbers to be carried out."""
    if rational(a) is not None and rational(b) is not None:
        return True
    if len(a) != 1 or len(b) != 1 or not _constant_kinds(a) or not _constant_kinds(b):
        return False
    (p,), (q,) = a.values(), b.values()
    return abs(p) != 1 and abs(q) != 1


class _Reader:
    """A recursive-descent reader of one expression; juxtaposition binds tighter than ``/``."""

    def __init__(self, tokens: list[str]) -> None:
        self.tokens = [*tokens, ""]
        self.at = 0
        self.undone = False
        self.whole_division = False

    @property
    def next(self) -> str:
        return self.tokens[self.at]

    def expect(self, token: str) -> None:
        if self.next != token:
            raise _UnreadableError
        self.at += 1

    def sign(self) -> int:
        if self.next in ("+", "-"):
            self.at += 1
            return -1 if self.tokens[self.at - 1] == "-" else 1
        return 1

    def sum(self) -> Value:
        sign = self.sign()
        first = self.product()
        if self.next not in ("+", "-"):
            return first if sign == 1 else _add({}, first, -1)
        kinds = _constant_kinds(first)
        total = _add({}, first, sign)
        while self.next in ("+", "-"):
            sign = self.sign()
            term = self.product()
            kind = _constant_kinds(term)
            self.undone = self.undone or not kinds.isdisjoint(kind)
            kinds |= kind
            total = _add(total, term, sign)
        return total

    def product(self) -> Value:
        started_at = self.at
        total = self.juxtaposition()
        while (operator := self.next) in (r"\cdot", "/", r"\div", ":"):
            self.at += 1
            scientific = self.at - started_at == 2 and self.tokens[self.at : self.at + 2] == [
                "10",
                "^",
            ]
            sign = self.sign()
            factor = self.juxtaposition()
            a, b = rational(total), rational(factor)
            if operator == r"\cdot":
                self.undone = self.undone or (_both_numbers(total, factor) and not scientific)
            elif a is not None and b is not None:
                if operator == r"\div" or a.denominator != 1 or b.denominator != 1:
                    self.undone = True
                elif b and a % b == 0 and abs(b) != 1 and operator == "/":
                    self.whole_division = True
            if sign < 0:
                factor = _add({}, factor, -1)
            total = _multiply(total, factor if operator == r"\cdot" else _inverse(factor))
        return total

    def juxtaposition(self) -> Value:
        number_before = self.next[:1].isdigit() or self.next[:1] == "."
        total = self.power()
        while self.next and self.next not in _ENDS_FACTOR:
            if self.next[0].isdigit() or self.next[0] == ".":
                raise _UnreadableError
            fraction = self.next == r"\frac"
            factor = self.power()
            if number_before and fraction and rational(factor) is not None:
                raise _UnreadableError
            self.undone = self.undone or _both_numbers(total, factor)
            number_before = False
            total = _multiply(total, factor)
        return total

    def power(self) -> Value:
        base = self.atom()
        if self.next == "^":
            self.at += 1
            base = _power(base, self.exponent())
        if self.next == "!":
            self.at += 1
            number = rational(base)
            if number is None or number.denominator != 1 or number < 0 or self.next == "!":
                raise _UnknownError
            if number > _LARGEST_FACTORIAL:
                raise _TooLargeError
            base = {_ONE: math.factorial(int(number))}
        if self.next == "^":
            raise _UnreadableError
        return base

    def exponent(self) -> Value:
        sign = self.sign()
        value = self.atom()
        return value if sign == 1 else _add({}, value, -1)

    def group(self, opening: str, closing: str) -> Value:
        self.expect(opening)
        value = self.sum()
        self.expect(closing)
        return value

    def atom(self) -> Value:
        token = self.next
        if token == "(":
            return self.group("(", ")")
        if token == "{":
            return self.group("{", "}")
        self.at += 1
        if token[:1].isdigit() or (token[:1] == "." and len(token) > 1):
            whole, point, places = token.partition(".")
            digits = int(whole + places)
            number: Rational = Fraction(digits, 10 ** len(places)) if point else digits
            return {_ONE: number} if number else {}
        if token == r"\frac":
            numerator = self.group("{", "}")
            return _multiply(numerator, _inverse(self.group("{", "}")))
        if token == r"\sqrt":
            degree: Value = {_ONE: 2}
            if self.next == "[":
                degree = self.group("[", "]")
            return _power(self.group("{", "}"), _inverse(degree))
        if token == r"\pi":
            return {frozenset({("pi", 1)}): 1}
        if token in _LETTERS or token in _GREEK:
            if self.next == "(" and not self.is_product():
                raise _UnknownError
            return {frozenset({(token, 1)}): 1}
        raise _UnreadableError

    def is_product(self) -> bool:
        """Whether ``letter(...)`` is a product, as in ``n(n+1)``, and no function's value."""
        closes_at = self.tokens.index(")", self.at) if ")" in self.tokens[self.at :] else self.at
        return any(token in ("+", "-") for token in self.tokens[self.at : closes_at])


def _without_powers_of_i(value: Value) -> Value:
    reduced: Value = {}
    for monomial, coefficient in value.items():
        times = dict(monomial).get("i", 0)
        rest = frozenset((base, exponent) for base, exponent in monomial if base != "i")
        if times % 2:
            rest |= {("i", 1)}
        reduced = _add(reduced, {rest: -coefficient if times % 4 in (2, 3) else coefficient})
    return reduced


def evaluate(text: str) -> Expression:
    r"""Read a spelled expression and work out its exact value.

    Args:
        text: An expression as ``spelling.spell`` writes it, without units, labels and separators.

    Returns:
        The expression with its value. Its status is ``unknown`` where it holds anything but
        numbers, ``+ - / : ^ ! ( )``, ``\frac``, ``\sqrt``, ``\cdot``, ``\div``, ``\pi`` and single
        letters, or needs more than this module's arithmetic (a denominator with several terms,
        say); ``unreadable`` where it is arithmetic that is not well formed (``3/``, ``--5``, ``5
        5``, ``1/0``); ``too_large`` where it holds a number of more than ``MOST_BITS`` bits.
    """
    tokens = _TOKEN.findall(text)
    if r"\infty" in tokens:
        if tokens[:-1] in ([], ["+"], ["-"]) and tokens[-1] == r"\infty":
            sign = -1 if tokens[0] == "-" else 1
            return Expression(Status.exact, {frozenset({("oo", 1)}): sign})
        return Expression(Status.unknown, {})
    reader = _Reader(tokens)
    try:
        value = reader.sum()
        if reader.next:
            raise _UnreadableError
    except _UnknownError:
        return Expression(Status.unknown, {}, undone=reader.undone)
    except _TooLargeError:
        return Expression(Status.too_large, {})
    except _UnreadableError:
        known = all(t in _ARITHMETIC or t[0].isdigit() or t[0] == "." for t in tokens)
        return Expression(Status.unreadable if known else Status.unknown, {})
    symbols = {base for monomial in value for base, _ in monomial if isinstance(base, str)}
    letters = symbols - _CONSTANTS
    if "i" in symbols:
        if letters:
            letters.add("i")
        else:
            value = _without_powers_of_i(value)
    return Expression(Status.exact, value, frozenset(letters), reader.undone, reader.whole_division)


def _places(number: Rational) -> int | None:
    """Return how many decimal places a number has, or None if it has no end."""
    twos = fives = 0
    rest = number.denominator
    if rest.bit_length() > 400:
        return None
    while rest % 2 == 0:
        rest, twos = rest // 2, twos + 1
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    return max(twos, fives) if rest == 1 else None


def stands_for(written: Rational, value: Rational) -> bool:
    """Whether a decimal may stand for a number that it rounds or truncates.

    It may with ``LEAST_PLACES`` decimal places and ``LEAST_DIGITS`` significant digits: 0.333333
    for 1/3, but neither 0.333 nor, for 1e-8, 0.
    """
    places = _places(written)
    if places is None or places < LEAST_PLACES:
        return False
    scaled, digits = abs(value) * 10**places, abs(written) * 10**places
    if digits < 10 ** (LEAST_DIGITS - 1) or (written < 0) != (value < 0):
        return False
    return digits in (math.floor(scaled), math.floor(scaled + Fraction(1, 2)))


def same_number(gold: Rational, answer: Rational, *, gold_is_written: bool = True) -> bool:
    """Whether two numbers agree: equal, or one a decimal that stands for the other.

    Args:
        gold: The right answer.
        answer: The answer to judge. It may round the gold; a gold that is a decimal stands only for
            an answer that is none.
        gold_is_written: False where ``gold`` approximates an irrational number, which is never
            equal to a decimal.
    """
    if gold_is_written and gold == answer:
        return True
    if stands_for(answer, gold):
        return True
    return gold_is_written and _places(answer) is None and stands_for(gold, answer)


def approximate(value: Value) -> Fraction | None:
    """Return a constant to 60 digits, or None for one that is not a real number."""
    total = Fraction(0)
    with localcontext() as context:
        context.prec = 70
        for monomial, coefficient in value.items():
            term = Fraction(coefficient)
            for base, exponent in monomial:
                if base == "pi" and isinstance(exponent, int) and abs(exponent) < 100:
                    term *= _PI**exponent
                elif base == "e" and isinstance(exponent, int) and abs(exponent) < 100:
                    term *= Fraction(Decimal(exponent).exp())
                elif isinstance(base, int):
                    power = Decimal(exponent.numerator) / Decimal(exponent.denominator)
                    term *= Fraction(Decimal(base) ** power)
                else:
                    return None
            total += term
    return total


def same_value(gold: Expression, answer: Expression) -> bool | None:
    """Whether two expressions whose values are known are equal.

    Returns:
        None where that is not for this module to say: letters that differ in case only, which
        math-verify takes for the same.
    """
    if gold.value == answer.value:
        return True
    a, b = rational(gold.value), rational(answer.value)
    if a is not None and b is not None:
        return same_number(a, b)
    if gold.letters or answer.letters:
        return None if _folded(gold.value) == _folded(answer.value) else False
    if b is not None and (irrational := approximate(gold.value)) is not None:
        return stands_for(b, irrational)
    if a is not None and (irrational := approximate(answer.value)) is not None:
        return stands_for(a, irrational)
    return False


def _folded(value: Value) -> Value:
    total: Value = {}
    for monomial, coefficient in value.items():
        term: Value = {_ONE: coefficient}
        for base, exponent in monomial:
            folded = base.lower() if isinstance(base, str) else base
            term = _multiply(term, {frozenset({(folded, exponent)}): 1})
        total = _add(total, term)
    return total
