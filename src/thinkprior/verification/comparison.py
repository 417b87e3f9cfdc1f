r"""The rule: when an answer is the gold answer.

Identical. An answer whose spelling (``spelling.spell``) is the gold's is right, whatever it says.

Unread. An answer of more than 1,000 characters, nested deeper than 30 brackets, or with control
characters in it is wrong unless identical; so is one that holds a power or factorial of more than
40,000 bits (a tower such as ``10^{10^{10}}``), and arithmetic that is not well formed (``3/``,
``--5``, ``5 5``, ``1/0``). What only math-verify could read, and it cannot, is wrong.

Numbers. Exactly equal, or a decimal of at least six places and four significant digits that rounds
or truncates the other: 0.333333 for 1/3, not 0.333, and never 0 for 1e-8. Of two decimals only the
answer may be the rounded one. ``a/b\pi`` is a over ``b\pi``, as math-verify reads it.

Restatements. An answer that leaves an operation between two plain numbers undone, which the gold
does not, is the question and no answer: ``7-2`` for 5, ``3\cdot 4\pi`` for ``12\pi``. So is a
division that comes out whole, for a gold written as a whole number: ``84/7`` for 12. So is a sum,
integral, limit, product, maximum, gcd, remainder, whole part, absolute value or determinant, for a
number without it. Fractions (unreduced ones, and ``\frac{84}{7}``), powers, roots, factorials,
percentages and scientific notation are ways to write a number.

Units. A unit that only one side has is ignored, words after a number in ``\text`` included. Two
known units must be the same one, whatever they are called (m, metres); nothing is converted. A
single letter is a unit only after a space, or beside a gold without it. Currency signs are units.
For a gold in per cent the percentage, without its sign too, and the number that it is are right:
60\%, 60 and 0.6 for 60\%. For another gold a percentage is the number that it is, 60\% for 0.6, and
the sign is ignored only beside a whole number: 28\% for 28, not 0.5\% for 0.5.

Several values. A list is unordered, counts repetitions, and may stand in braces; ``\pm`` gives two.
A pair, tuple or interval is ordered and keeps its brackets; a bare list is right for a tuple in its
order. Values with different labels are matched by label, or in order where one side has no labels.
``1,234`` is a number, and a list where the gold is one; ``1, 234`` is a list. A decimal comma is
read in an answer (``2,74`` for 2.74), never in a gold except after a zero (``0,111``).

Labels and equations. ``x=5``, ``f(x)=5``, ``x\in A`` are 5 and A where one side has no label. Of a
chain or an equation the last side is the answer to a gold that is a value; an equation is never
answered by a value. Equations, inequalities and intervals against each other are math-verify's.

Words are compared without case. Letters are variables, and math-verify ignores their case. A
numeral with a base needs its digits; the base may be left out.
"""

import re
from collections.abc import Callable, Iterable, Sequence

from thinkprior.verification.reading import Answer, Kind, read
from thinkprior.verification.values import Expression, Status, evaluate, rational

Equality = Callable[[str, str, Expression | None, Expression | None], bool | None]
"""Whether two spelled texts are equal, given what they evaluate to; None where it cannot tell."""

_OPERATIONS = re.compile(
    r"\\(?:i{0,2}int|oint|sum|prod|lim(?:sup|inf)?|gcd|lcm|max|min|det|[bp]?mod|operatorname|lfloor"
    r"|lceil|begin)(?![A-Za-z])|\|"
)
_COMMAND = re.compile(r"\\text\{[^{}]*\}|\\[A-Za-z]+")
_WHOLE_NUMBER = re.compile(r"[-+]?\d+")
_LETTER = re.compile(r"[A-Za-z]")
_NO_SETS = frozenset({Kind.expression, Kind.words, Kind.numeral, Kind.matrix})


def judge(gold: str, answer: str, equal: Equality) -> bool | None:
    """Judge an answer by the rule.

    Args:
        gold: The right answer.
        answer: What stood in the box.
        equal: Decides whether two expressions, or two texts that the rule leaves to it, are equal.

    Returns:
        Whether the answer is right; None where that hangs on something that ``equal`` cannot tell.
    """
    if gold.strip() == answer.strip():
        return True
    expected, given = read(gold), read(answer)
    if given.kind is Kind.unreadable or expected.kind is Kind.unreadable:
        return False
    if expected.text == given.text:
        return True
    if given.expression.whole_division and _WHOLE_NUMBER.fullmatch(expected.core):
        return False
    return _same(expected, given, equal)


def _all(verdicts: Iterable[bool | None]) -> bool | None:
    unsure = False
    for verdict in verdicts:
        if verdict is False:
            return False
        unsure = unsure or verdict is None
    return None if unsure else True


def _same(gold: Answer, answer: Answer, equal: Equality) -> bool | None:
    if gold.label is not None and answer.label is not None and gold.label != answer.label:
        return equal(gold.text, answer.text, None, None)
    if gold.kind is not answer.kind:
        return _different_kinds(gold, answer, equal)
    match gold.kind:
        case Kind.expression:
            return _same_expression(gold, answer, equal)
        case Kind.words:
            if gold.core == answer.core:
                return True
            symbols = not (gold.in_text or answer.in_text or " " in gold.core + answer.core)
            return equal(gold.text, answer.text, None, None) if symbols else False
        case Kind.listing:
            return _same_listing(gold, answer, equal)
        case Kind.sequence | Kind.matrix:
            if gold.brackets != answer.brackets or len(gold.parts) != len(answer.parts):
                return False
            return _in_order(gold.parts, answer.parts, equal)
        case Kind.union:
            matched = _matched(gold.parts, answer.parts, equal)
            return matched or equal(gold.text, answer.text, None, None)
        case Kind.numeral:
            return gold.core == answer.core and gold.unit == answer.unit
        case _:
            return equal(gold.text, answer.text, None, None)


def _different_kinds(gold: Answer, answer: Answer, equal: Equality) -> bool | None:
    kinds = {gold.kind, answer.kind}
    if Kind.equation in kinds and _relates_letters(gold) and _relates_letters(answer):
        return equal(gold.text, answer.text, None, None)
    if answer.kind is Kind.equation:
        return False if gold.kind is Kind.inequality else _same(gold, answer.parts[0], equal)
    if gold.kind is Kind.equation:
        return False
    if gold.alternative is not None and gold.alternative.kind is answer.kind:
        if gold.kind is Kind.expression or gold.text.lstrip("+-").startswith("0,"):
            return _same(gold.alternative, answer, equal)
        return False
    if answer.alternative is not None and answer.alternative.kind is gold.kind:
        return _same(gold, answer.alternative, equal)
    for one, other in ((gold, answer), (answer, gold)):
        if one.kind is Kind.listing and len(one.parts) == 1:
            parts = (one.parts[0], other) if one is gold else (other, one.parts[0])
            return _same(*parts, equal)
    if kinds == {Kind.listing, Kind.sequence}:
        if any(side.brackets not in ("", "()") for side in (gold, answer)):
            return False
        return _in_order(gold.parts, answer.parts, equal)
    if kinds == {Kind.numeral, Kind.expression}:
        numeral, number = (gold, answer) if gold.kind is Kind.numeral else (answer, gold)
        by_digits = numeral is gold or (numeral.unit is not None and numeral.unit.name == "10")
        return by_digits and numeral.core == number.core
    if (Kind.inequality in kinds and kinds & _NO_SETS) or kinds < _NO_SETS - {Kind.expression}:
        return False
    for side in (gold, answer):
        if side.kind is Kind.expression and side.expression.status is not Status.unknown:
            return False
    return equal(gold.text, answer.text, None, None)


def _relates_letters(answer: Answer) -> bool:
    """Whether an answer is an equation, or a labelled value with letters: ``y=2x+3``."""
    return answer.kind is Kind.equation or (answer.label is not None and _letters(answer.core))


def _in_order(golds: Sequence[Answer], answers: Sequence[Answer], equal: Equality) -> bool | None:
    if len(golds) != len(answers):
        return False
    return _all(_same(g, a, equal) for g, a in zip(golds, answers, strict=True))


def _same_listing(gold: Answer, answer: Answer, equal: Equality) -> bool | None:
    if len(gold.parts) != len(answer.parts):
        return False
    labels = {part.label for part in gold.parts}
    other_labels = {part.label for part in answer.parts}
    if (len(labels) > 1) != (len(other_labels) > 1):
        return _in_order(gold.parts, answer.parts, equal)
    return _matched(gold.parts, answer.parts, equal)


def _matched(golds: Sequence[Answer], answers: Sequence[Answer], equal: Equality) -> bool | None:
    """Whether the answers are the golds in some order, each as often."""
    if len(golds) != len(answers):
        return False
    left = list(answers)
    unsure = False
    for gold in golds:
        for place, answer in enumerate(left):
            verdict = gold.label == answer.label and _same(gold, answer, equal)
            unsure = unsure or verdict is None
            if verdict:
                del left[place]
                break
        else:
            return None if unsure else False
    return True


def _letters(text: str) -> bool:
    """Whether a text has letters that are not numbers (e, i) and not part of a command."""
    return any(letter not in "ei" for letter in _LETTER.findall(_COMMAND.sub("", text)))


def _same_expression(gold: Answer, answer: Answer, equal: Equality) -> bool | None:
    expected, given = gold.expression, answer.expression
    gold_core, answer_core = gold.core, answer.core
    if gold.unit is not None and answer.unit is not None:
        if gold.unit.known and answer.unit.known and gold.unit.name != answer.unit.name:
            return False
    elif _is_product(gold, answer, in_gold=True) or _is_product(answer, gold):
        gold_core, answer_core = gold.body, answer.body
        expected, given = evaluate(gold_core), evaluate(answer_core)
    if given.status in (Status.unreadable, Status.too_large):
        return False
    if expected.status is Status.too_large:
        return False
    if gold.in_text != answer.in_text and len(gold_core) == len(answer_core) == 1:
        return gold_core.lower() == answer_core.lower()
    if expected.constant and (given.letters or _letters(answer_core)):
        return False
    if given.undone and not expected.undone and expected.status is Status.exact:
        return False
    if expected.constant and set(_OPERATIONS.findall(answer_core)) - set(
        _OPERATIONS.findall(gold_core)
    ):
        return False
    if gold.percent is answer.percent:
        return equal(gold_core, answer_core, expected, given)
    bare: bool | None = False
    if gold.percent or _is_whole(expected):
        bare = equal(gold_core, answer_core, expected, given)
    if bare:
        return True
    if gold.percent:
        gold_core = f"\\frac{{{gold_core}}}{{100}}"
    else:
        answer_core = f"\\frac{{{answer_core}}}{{100}}"
    as_number = equal(gold_core, answer_core, evaluate(gold_core), evaluate(answer_core))
    return None if bare is None and not as_number else as_number


def _is_product(one: Answer, other: Answer, *, in_gold: bool = False) -> bool:
    """Whether what looks like a unit is a variable: beside its letter, or tight in a gold."""
    if one.unit is None or not one.unit.letter:
        return False
    letters = {letter.lower() for letter in evaluate(other.body).letters}
    return one.unit.name.lower() in letters or (in_gold and one.unit.tight)


def _is_whole(expression: Expression) -> bool:
    number = rational(expression.value) if expression.status is Status.exact else None
    return number is not None and number.denominator == 1
