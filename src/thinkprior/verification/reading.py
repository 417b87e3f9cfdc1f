r"""What an answer is: a number with a unit, a list, a tuple, a matrix, words, a relation.

Reading is by structure only; nothing is compared here. What each structure means for a verdict is
the rule in ``comparison``.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import lru_cache

from thinkprior.verification.spelling import spell
from thinkprior.verification.values import Expression, Status, evaluate

LONGEST_ANSWER = 1_000
"""Characters. The longest gold of the five data sets has 210; a longer answer is not read."""
DEEPEST_NESTING = 30
"""Brackets within brackets. A deeper answer is not read."""


class Kind(Enum):
    """The structures that the rule tells apart."""

    unreadable = "unreadable"
    expression = "expression"
    words = "words"
    listing = "listing"
    sequence = "sequence"
    union = "union"
    matrix = "matrix"
    numeral = "numeral"
    equation = "equation"
    inequality = "inequality"


@dataclass(frozen=True, slots=True)
class Unit:
    r"""A unit as it was written.

    Attributes:
        name: Its canonical name where the unit is known, else its words in lower case.
        known: Whether it is in the table of units. Two known units that differ are never the same.
        letter: It is a single letter outside ``\text``, so it may be a variable.
        tight: It follows its number without a space: ``6m``, which may be a product.
    """

    name: str
    known: bool
    letter: bool
    tight: bool


@dataclass(frozen=True, slots=True)
class Answer:
    r"""An answer, read.

    Attributes:
        kind: Its structure.
        text: The whole of it, spelled.
        body: Of an expression, the text without its label.
        label: What it is said to be the value of (``x`` in ``x=5``), or None.
        core: Of an expression, what is left without unit and percent sign; of words, the words in
            lower case; of a numeral, its digits.
        expression: Of an expression, what its core evaluates to.
        unit: Of an expression, its unit; of a numeral, its base.
        percent: Whether a percent sign follows.
        parts: The elements of a listing, a sequence, a union or a matrix (row by row); of an
            equation, its last side.
        brackets: The brackets of a sequence; ``\{\}`` for a listing in braces; of a matrix, its
            shape.
        in_text: It stood in ``\text``.
        alternative: Another way to read it: a grouped number as a list, a list as a decimal comma.
    """

    kind: Kind
    text: str
    label: str | None = None
    body: str = ""
    core: str = ""
    expression: Expression = field(default_factory=lambda: Expression(Status.unknown, {}))
    unit: Unit | None = None
    percent: bool = False
    parts: tuple["Answer", ...] = ()
    brackets: str = ""
    in_text: bool = False
    alternative: "Answer | None" = None


_UNIT_WORDS = {
    "m": "m meter meters metre metres",
    "cm": "cm cms centimeter centimeters centimetre centimetres",
    "mm": "mm millimeter millimeters millimetre millimetres",
    "km": "km kms kilometer kilometers kilometre kilometres",
    "in": "inch inches",
    "ft": "ft foot feet",
    "yd": "yd yard yards",
    "mile": "mi mile miles",
    "s": "s sec secs second seconds",
    "min": "min mins minute minutes",
    "h": "h hr hrs hour hours",
    "day": "day days",
    "week": "week weeks",
    "month": "month months",
    "year": "yr yrs year years",
    "g": "g gram grams",
    "kg": "kg kgs kilogram kilograms",
    "mg": "mg milligram milligrams",
    "lb": "lb lbs pound pounds",
    "oz": "oz ounce ounces",
    "L": "L l liter liters litre litres",
    "mL": "ml mL milliliter milliliters millilitre millilitres",
    "gal": "gal gallon gallons",
    "dollar": "dollar dollars usd",
    "cent": "cent cents",
    "euro": "euro euros eur",
    "degree": "deg degree degrees",
    "rad": "rad radian radians",
    "mph": "mph",
    "kmh": "kmh kph",
    "N": "N newton newtons",
    "J": "J joule joules",
    "W": "W watt watts",
    "V": "V volt volts",
    "A": "A ampere amperes amps",
    "K": "K kelvin kelvins",
    "Hz": "Hz hertz",
    "Pa": "Pa pascal pascals",
}
_UNITS = {word: name for name, words in _UNIT_WORDS.items() for word in words.split()}
_UNITS_LOWER = {word.lower(): name for word, name in _UNITS.items()}
_POWERS = {"square": "^2", "sq": "^2", "squared": "^2", "cubic": "^3", "cu": "^3", "cubed": "^3"}
# Words that change the number before them, so they cannot be dropped as a unit can.
_CHANGE_THE_NUMBER = (
    "dozen hundred thousand million billion trillion half third quarter squared cubed factorial "
    "times plus minus over divided by choose mod modulo if or and not to for when where is"
)
_NOT_UNITS = frozenset(_CHANGE_THE_NUMBER.split())
_ARTICLES = frozenset({"a", "an", "the"})

_BRACKETS = {"(": 1, "[": 1, "{": 1, r"\{": 1, r"\langle": 1, r"\begin": 1}
_CLOSING = {")": -1, "]": -1, "}": -1, r"\}": -1, r"\rangle": -1, r"\end": -1}
_DEPTH = _BRACKETS | _CLOSING
_STRUCTURE = re.compile(r"\\[A-Za-z]+|\\.|[()\[\]{},;=<>]")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_WHOLE_TEXT = re.compile(r"\\text\{([^{}]*)\}")
_NUMBER = re.compile(r"[-+]?(?:\d+(?:\.\d+)?|\.\d+)(?:/\d+)?", re.ASCII)
_GROUPED = re.compile(r"(?<![\d,.])[1-9]\d{0,2}(?:,\d{3})+(?![\d,])")
_GROUPED_BY_SPACES = re.compile(r"(?<![\d.])[1-9]\d{0,2}(?: \d{3})+(?![\d,])")
_DECIMAL_COMMA = re.compile(r"[-+]?\d+,\d+")
_MATRIX = re.compile(
    r"(?:[(\[]?\\begin\{array\}\{[lcr|]*\}(?P<array>.*)\\end\{array\}[)\]]?"
    r"|[(\[]?\\begin\{[pbB]?(?:small)?matrix\}(?P<matrix>.*)\\end\{[pbB]?(?:small)?matrix\}[)\]]?)"
)
_NUMERAL = re.compile(r"([0-9A-F]*\d[0-9A-F]*)_\{?(\d+)\}?")
_WORDS = re.compile(r"[A-Za-z][A-Za-z \-'.]*")
_CURRENCIES = {"$": "dollar", "€": "euro", "£": "pound sterling", "¥": "yen", "₹": "rupee"}
_CURRENCY = re.compile(r"([-+]?)\\?([$€£₹¥])\s*(?=[\d.\\])")
_UNIT = re.compile(
    r"(?P<core>.*(?:[\d)}]|\\pi|\\infty))(?P<space> ?)"
    r"(?P<unit>(?:\\text\{[^{}]*\}|[A-Za-z])"
    r"(?:\\text\{[^{}]*\}|[A-Za-z]|[ /]|\\cdot\b|\^\{?-?\d\}?)*)"
)
_DEGREES = re.compile(r"(.*[\d)}])\^\\circ ?([CF])?")
_ARGUMENTS = re.compile(r"\([^()]*\)|_\{[^{}]*\}|_\w|\\text\{[^{}]*\}|_\\[a-zA-Z]+")
_LABEL = re.compile(r"(?:\\[A-Za-z]+(?![A-Za-z])|[A-Za-z ':{}|])+")
_NOT_IN_LABELS = re.compile(r"\\(?:cdot|pm|mp|div|sqrt|sum|int|prod|pi|infty)\b")


def _top_level(text: str) -> Iterator[re.Match[str]]:
    """Yield the marks of structure that stand outside all brackets."""
    depth = 0
    for mark in _STRUCTURE.finditer(text):
        change = _DEPTH.get(mark.group(), 0)
        if change == 0 and depth == 0:
            yield mark
        depth += change


def _split(text: str, marks: list[re.Match[str]]) -> list[str]:
    pieces, start = [], 0
    for mark in marks:
        pieces.append(text[start : mark.start()].strip())
        start = mark.end()
    return [*pieces, text[start:].strip()]


def _enclosed(text: str) -> tuple[str, str, str] | None:
    """Return opening bracket, inside and closing bracket, if one pair encloses the whole text."""
    opening = re.match(r"\\\{|\\langle\b|[(\[{]", text)
    if opening is None:
        return None
    depth = 0
    for mark in _STRUCTURE.finditer(text):
        depth += _DEPTH.get(mark.group(), 0)
        if depth == 0:
            if mark.end() != len(text):
                return None
            return opening.group(), text[opening.end() : mark.start()].strip(), mark.group()
    return None


def _is_label(text: str) -> bool:
    bare = _ARGUMENTS.sub("", text.replace(r"\ ", " "))
    if _NOT_IN_LABELS.search(bare):
        return False
    return bool(_LABEL.fullmatch(bare)) or (not bare and bool(text))


def _labelled(label: str, value: str, text: str) -> Answer:
    name = re.sub(r"\\text\{([^{}]*)\}", r"\1", label).replace(" ", "").lower()
    return replace(_read(value), label=name, text=text)


def _unit(written: str, *, tight: bool) -> Unit | None:
    """Return the unit that some words after a number name, or None if they name none."""
    in_text = r"\text" in written
    plain = re.sub(r"\\text\{([^{}]*)\}", r" \1 ", written).strip(" .")
    if not plain or re.search(r"(?<!\^)(?<!\^\{)(?<!-)\d", plain):
        return None
    words = re.findall(r"[A-Za-z]+", plain)
    if not words or any(word.lower() in _NOT_UNITS - _POWERS.keys() for word in words):
        return None
    names = [_UNITS.get(w) or (_UNITS_LOWER.get(w.lower()) if len(w) > 1 else None) for w in words]
    known = all(name or word.lower() in _POWERS for name, word in zip(names, words, strict=True))
    if not known and not in_text and (tight or len(words) > 3 or any(len(w) < 4 for w in words)):
        return None
    canonical = re.sub(r"[A-Za-z]+", lambda word: _canonical(word.group()), plain)
    canonical = re.sub(r"\s+|\\cdot|[{}]", "", canonical)
    powers = re.search(r"\^\d", canonical)
    if powers is not None:
        canonical = canonical.replace(powers.group(), "", 1) + powers.group()
    return Unit(canonical, known, len(plain) == 1 and not in_text, tight)


def _canonical(word: str) -> str:
    lower = word.lower()
    return _POWERS.get(lower) or _UNITS.get(word) or _UNITS_LOWER.get(lower) or lower


def _expression(text: str) -> Answer:
    """Read a number or an expression with what may follow it."""
    if _NUMBER.fullmatch(text):
        return Answer(Kind.expression, text, body=text, core=text, expression=evaluate(text))
    core, unit, percent = text, None, False
    currency = _CURRENCY.match(core)
    if currency is not None:
        unit = Unit(_CURRENCIES[currency[2]], True, False, False)
        core = currency[1] + core[currency.end() :]
    elif core.endswith((r"\$", *_CURRENCIES)):
        core, unit = core.removesuffix(r"\$"), Unit(_CURRENCIES[core[-1]], True, False, False)
        core = core.rstrip("".join(_CURRENCIES) + " ")
    if core.endswith(r"\%"):
        core, percent = core.removesuffix(r"\%").strip(), True
    degrees = _DEGREES.fullmatch(core)
    if degrees is not None:
        core, unit = degrees[1], Unit(f"degree{degrees[2] or ''}", True, False, False)
    found = _UNIT.fullmatch(core)
    if found is not None and found["core"].count("{") == found["core"].count("}"):
        named = _unit(found["unit"], tight=not found["space"])
        if named is not None:
            core, unit = found["core"], named
    enclosed = _enclosed(core) if core[:1] in ("(", "{") else None
    if enclosed is not None and enclosed[0] in "({":
        core = enclosed[1]
    core = _GROUPED.sub(lambda number: number.group().replace(",", ""), core)
    core = _GROUPED_BY_SPACES.sub(lambda number: number.group().replace(" ", ""), core)
    expression = evaluate(core)
    return Answer(
        Kind.expression,
        text,
        body=text,
        core=core,
        expression=expression,
        unit=unit,
        percent=percent,
    )


def _listing(pieces: list[str], text: str, brackets: str = "") -> Answer:
    """Read a list; a label on its first element, or the same on each, is the list's own."""
    parts: list[Answer] = []
    for piece in pieces:
        part = _read(piece)
        pair = part.kind is Kind.listing and (r"\pm" in piece or r"\mp" in piece)
        parts.extend(part.parts if pair else [part])
    labels = [part.label for part in parts]
    label = labels[0]
    if label is not None and (set(labels) == {label} or set(labels[1:]) == {None}):
        parts = [replace(part, label=None) for part in parts]
    else:
        label = None
    return Answer(Kind.listing, text, label=label, parts=tuple(parts), brackets=brackets)


def _separated(text: str, marks: list[re.Match[str]]) -> Answer:
    """Read a text with commas or semicolons outside all brackets."""
    semicolons = [mark for mark in marks if mark.group() == ";"]
    if semicolons:
        groups = _split(text, semicolons)
        if any("," in (mark.group() for mark in _top_level(group)) for group in groups):
            groups = [f"({group})" for group in groups]
        return _listing(groups, text)
    listing = _listing(_split(text, marks), text)
    ungrouped = _GROUPED.sub(lambda number: number.group().replace(",", ""), text)
    if not any(mark.group() == "," for mark in _top_level(ungrouped)):
        return replace(_read(ungrouped), text=text, alternative=listing)
    if ungrouped != text and ", " in ungrouped:
        spaced = [piece.strip() for piece in ungrouped.split(", ")]
        if all(_NUMBER.fullmatch(piece) for piece in spaced):
            return _listing(spaced, text)
    if _DECIMAL_COMMA.fullmatch(text):
        return replace(listing, alternative=_expression(text.replace(",", ".")))
    return listing


def _related(text: str, marks: list[re.Match[str]]) -> Answer | None:
    """Read a text with relation signs: a labelled value, a calculation, a relation."""
    signs = [mark.group() for mark in marks]
    if r"\approx" in signs:
        first, second, *_ = _split(text, [mark for mark in marks if mark.group() == r"\approx"])
        if not first:
            return _read(second)
        return _labelled(first, second, text) if _is_label(first) else _read(first)
    if signs == [r"\in"]:
        before, after = _split(text, marks)
        return _labelled(before, after, text) if _is_label(before) else None
    if set(signs) != {"="}:
        return Answer(Kind.inequality, text)
    sides = _split(text, marks)
    if _is_label(sides[0]):
        return _labelled(sides[0], sides[-1], text)
    if len(sides) == 2 and _is_label(sides[1]):
        return _labelled(sides[1], sides[0], text)
    if all(evaluate(side).constant for side in sides):
        return _read(sides[-1])
    return Answer(Kind.equation, text, parts=(_read(sides[-1]),))


def _matrix(text: str) -> Answer | None:
    found = _MATRIX.fullmatch(text)
    if found is None:
        return None
    inside = (found["array"] or found["matrix"] or "").strip().removesuffix("\\\\")
    rows = [[_read(cell.strip()) for cell in row.split("&")] for row in inside.split("\\\\")]
    shape = ",".join(str(len(row)) for row in rows)
    return Answer(
        Kind.matrix, text, parts=tuple(cell for row in rows for cell in row), brackets=shape
    )


def _read(text: str) -> Answer:
    if _NUMBER.fullmatch(text):
        return _expression(text)
    whole = _WHOLE_TEXT.fullmatch(text)
    if whole is not None:
        return replace(_read(spell(whole[1])), in_text=True, text=text)
    marks = list(_top_level(text))
    separators = [mark for mark in marks if mark.group() in (",", ";")]
    if separators:
        return _separated(text, separators)
    relations = [m for m in marks if m.group() in _RELATIONS]
    if relations:
        related = _related(text, relations)
        if related is not None:
            return related
    unions = [mark for mark in marks if mark.group() == r"\cup"]
    if unions:
        return Answer(Kind.union, text, parts=tuple(map(_read, _split(text, unions))))
    if r"\begin" in text and (matrix := _matrix(text)) is not None:
        return matrix
    enclosed = _enclosed(text)
    if enclosed is not None:
        opening, inside, closing = enclosed
        inner = [mark for mark in _top_level(inside) if mark.group() in (",", ";")]
        if opening == r"\{":
            return _listing(_split(inside, inner), text, r"\{\}")
        if inner and opening != "{":
            parts = tuple(replace(_read(piece), label=None) for piece in _split(inside, inner))
            brackets = "()" if opening == r"\langle" else opening + closing
            return Answer(Kind.sequence, text, parts=parts, brackets=brackets)
        if opening in ("(", "{"):
            return _read(inside)
    if r"\pm" in text or r"\mp" in text:
        signs = (("+", "-"), ("-", "+"))
        both = [text.replace(r"\pm", plus).replace(r"\mp", minus) for plus, minus in signs]
        return _listing([re.sub(r"(?<=[-+]) ", "", one) for one in both], text)
    numeral = _NUMERAL.fullmatch(text)
    if numeral is not None and all(int(d, 16) < int(numeral[2][:3]) for d in numeral[1]):
        base = Unit(numeral[2], True, False, False)
        return Answer(Kind.numeral, text, core=numeral[1].lower(), unit=base)
    plain = re.sub(r"\\text\{([^{}]*)\}", r" \1 ", text).strip()
    if _WORDS.fullmatch(plain) and re.search(r"[A-Za-z]{2}", plain):
        words = " ".join(w for w in re.findall(r"[a-z]+", plain.lower()) if w not in _ARTICLES)
        return Answer(Kind.words, text, core=words, in_text=r"\text" in text)
    return _expression(text)


_RELATIONS = frozenset({"=", "<", ">", r"\le", r"\ge", r"\ne", r"\in", r"\approx"})


@lru_cache(maxsize=65_536)
def read(text: str) -> Answer:
    """Read an answer.

    Args:
        text: The answer as it was written.

    Returns:
        Its structure; ``Kind.unreadable`` for an answer beyond ``LONGEST_ANSWER`` characters or
        ``DEEPEST_NESTING`` brackets, or with control characters in it.
    """
    if len(text) < LONGEST_ANSWER and _NUMBER.fullmatch(text):
        return _expression(text)
    if len(text) > LONGEST_ANSWER or _CONTROL.search(text):
        return Answer(Kind.unreadable, text)
    spelled = spell(text)
    depth = deepest = 0
    for mark in _STRUCTURE.findall(spelled):
        depth += _DEPTH.get(mark, 0)
        deepest = max(deepest, depth)
    if deepest > DEEPEST_NESTING or len(spelled) > 2 * LONGEST_ANSWER:
        return Answer(Kind.unreadable, text)
    return _read(spelled)
