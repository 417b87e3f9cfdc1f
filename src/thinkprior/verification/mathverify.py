r"""The rule with math-verify's equality, its faults mended. Imported by the worker process only.

What is changed in math-verify 0.8 and 0.9, each because of a wrong verdict:

- decimals are read as rationals, so that ``14.0 - 1.0i`` is ``14 - i``;
- numbers are equal by ``values.same_number``, not to six places or 15 digits: 1/2004! and 1/2006!,
  or 1e-8 and 0, are not equal;
- a single letter is compared with an expression as expressions are: ``x`` is ``\frac{2x}{2}``;
- equations without solutions are not equal to each other;
- letters under a root are also taken as positive, unless there is an absolute value: \sqrt{1/n} is
  1/\sqrt{n};
- ``y'`` is not ``y``, and ``E_1``, ``M_\odot`` and \hbar are read;
- ``i`` is the imaginary unit where no other letter occurs, and both sides have the same
  assumptions;
- ``2(3)`` is 6, not the mixed number 5.
"""

import logging
import re
from fractions import Fraction
from functools import lru_cache
from typing import Any

import sympy
from latex2sympy2_extended import latex2sympy2
from math_verify import grader

from thinkprior.verification.comparison import judge
from thinkprior.verification.values import Expression, same_number, stands_for

_DIGITS = 60
_CLOSE = Fraction(1, 10**50)
_NORMALIZATION = latex2sympy2.NormalizationConfig(
    basic_latex=True, units=False, malformed_operators=True, nits=False, boxed="none"
)
_READABLE = [
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"(?<![_^\d.A-Za-z])(\d+(?:\.\d+)?) ?\(", r"\1\\cdot ("),
        (r"\)\(", r")\\cdot ("),
        (r"_\{\\text\{(\w+)\}\}", r"_{\1}"),
        (r"\\odot\b", "o"),
        (r"\\hbar\b ?", r"h_{b} "),
        (r"([A-Za-z])'", r"\1_{p}"),
        (r"_\{(\w+)\}'", r"_{\1p}"),
        (r"E_", r"\\Xi_"),
    )
]

# It warns that its time limit is off; the limit is on this process.
logging.getLogger("math_verify.grader").setLevel(logging.ERROR)


class _NotReadError(Exception):
    """math-verify cannot read a text."""


def _number(_parser: object, text: str) -> Any:
    return sympy.Rational(text.replace(",", ""))


def _complex(expression: Any) -> tuple[Fraction, Fraction] | None:
    """Return the real and imaginary part of a constant to 60 digits."""
    parts = []
    for part in expression.evalf(_DIGITS, maxn=4 * _DIGITS).as_real_imag():
        if not (part.is_Float or part.is_Rational) or not part.is_finite:
            return None
        number = sympy.Rational(part)
        parts.append(Fraction(int(number.p), int(number.q)))
    return parts[0], parts[1]


def _constants_equal(gold: Any, answer: Any) -> bool:
    """Whether two expressions without variables are the same number."""
    gold, answer = gold.doit(), answer.doit()
    if gold == answer:
        return True
    a, b = _complex(gold), _complex(answer)
    if a is None or b is None:
        return False
    if gold.is_Rational and answer.is_Rational:
        return same_number(
            Fraction(int(gold.p), int(gold.q)), Fraction(int(answer.p), int(answer.q))
        )
    size = max(map(abs, (*a, *b)))
    if max(abs(a[0] - b[0]), abs(a[1] - b[1])) <= size * _CLOSE:
        return True
    if size < _CLOSE:
        return sympy.simplify(gold - answer).is_zero is True
    if a[1] or b[1]:
        return False
    if answer.is_Rational:
        return stands_for(Fraction(int(answer.p), int(answer.q)), a[0])
    return bool(gold.is_Rational) and stands_for(Fraction(int(gold.p), int(gold.q)), b[0])


def _constant(expression: Any) -> bool:
    return isinstance(expression, sympy.Expr) and not expression.free_symbols


def _numeric_eq(gold: Any, answer: Any, *precision: int) -> bool:
    matrices = (sympy.MatrixBase, sympy.MatrixExpr)
    if isinstance(gold, matrices) and isinstance(answer, matrices):
        gold, answer = gold.doit(), answer.doit()
        if not hasattr(gold, "flat") or not hasattr(answer, "flat") or gold.shape != answer.shape:
            return False
        pairs = zip(gold.flat(), answer.flat(), strict=True)
        return all(grader.sympy_expr_eq(g, a, *precision) for g, a in pairs)
    return _constant(gold) and _constant(answer) and _constants_equal(gold, answer)


def _symbolic_eq(gold: Any, answer: Any) -> bool:
    if _constant(gold) and _constant(answer):
        return False
    if _its_symbolic_eq(gold, answer):
        return True
    if not (_has_roots(gold) or _has_roots(answer)) or gold.has(sympy.Abs) or answer.has(sympy.Abs):
        return False
    letters = gold.free_symbols | answer.free_symbols
    positive = {letter: sympy.Symbol(letter.name, positive=True) for letter in letters}
    return bool(_its_symbolic_eq(gold.xreplace(positive), answer.xreplace(positive)))


def _has_roots(expression: Any) -> bool:
    powers = expression.atoms(sympy.Pow) if isinstance(expression, sympy.Expr) else ()
    return any(p.base.free_symbols and p.exp.is_Rational and not p.exp.is_Integer for p in powers)


def _compare_symbols(gold: Any, answer: Any) -> bool:
    return bool(_its_compare_symbols(gold, answer) or _symbolic_eq(gold, answer))


def _solve_and_compare(gold: Any, answer: Any, *precision: int) -> bool:
    if not sympy.solve(gold, gold.free_symbols) or not sympy.solve(answer, answer.free_symbols):
        return False
    return bool(_its_solve_and_compare(gold, answer, *precision))


_its_symbolic_eq = grader.sympy_symbolic_eq
_its_compare_symbols = grader.sympy_compare_symbols
_its_solve_and_compare = grader.sympy_solve_and_compare
grader.sympy_numeric_eq = _numeric_eq
grader.sympy_symbolic_eq = _symbolic_eq
grader.sympy_compare_symbols = _compare_symbols
grader.sympy_solve_and_compare = _solve_and_compare
latex2sympy2._Latex2Sympy.parse_number = _number
latex2sympy2.convert_number = lambda text: _number(None, text)


@lru_cache(maxsize=256)
def _parse(text: str, real: bool) -> Any:
    for pattern, replacement in _READABLE:
        text = pattern.sub(replacement, text)
    try:
        parsed = latex2sympy2.latex2sympy(
            latex2sympy2.normalize_latex(text, _NORMALIZATION),
            is_real=real,
            convert_degrees=False,
            normalization_config=None,
        )
    except (MemoryError, RecursionError):
        raise
    except Exception as error:
        # The parser reports what it cannot read with bare Exceptions, TypeErrors and more.
        raise _NotReadError from error
    letters = parsed.free_symbols
    if {letter.name for letter in letters} == {"i"}:
        return parsed.xreplace(dict.fromkeys(letters, sympy.I))
    return parsed


def _equal(gold: str, answer: str, _gold: Expression | None, _answer: Expression | None) -> bool:
    real = not (grader.should_treat_as_complex(gold) or grader.should_treat_as_complex(answer))
    try:
        expected, given = _parse(gold, real), _parse(answer, real)
    except _NotReadError:
        return False
    return bool(
        grader.verify(
            expected,
            given,
            allow_set_relation_comp=True,
            timeout_seconds=None,
            raise_on_error=True,
        )
    )


def compare(gold: str, answer: str) -> bool:
    """Judge an answer by the rule, expressions compared by math-verify.

    Args:
        gold: The right answer.
        answer: What stood in the box.

    Returns:
        Whether the answer is right.
    """
    return judge(gold, answer, _equal) is True
