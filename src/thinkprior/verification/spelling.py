r"""One spelling for the many ways in which LaTeX, plain text and code write the same answer.

``spell`` changes how an answer is written, never what it says: ``\dfrac12``, ``\tfrac{1}{2}`` and
``\frac 1 2`` become ``\frac{1}{2}``; ``2**3`` becomes ``2^{3}``; ``1e-8`` becomes ``1\cdot
10^{-8}``; ``1\frac{4}{5}`` becomes ``\frac{9}{5}``. Both ways of comparing, exact and math-verify,
start here.
"""

import re
import unicodedata

_UNICODE = str.maketrans(
    {
        "−": "-", "–": "-", "—": "-", "﹣": "-", "×": r"\cdot ", "·": r"\cdot ", "⋅": r"\cdot ",
        "÷": r"\div ", "π": r"\pi ", "∞": r"\infty ", "≤": r"\le ", "≥": r"\ge ", "≠": r"\ne ",
        "°": r"^\circ ", "±": r"\pm ", "∓": r"\mp ", "∪": r"\cup ",
        "∈": r"\in ", "∅": r"\emptyset ",
        "√": r"\sqrt ", "θ": r"\theta ", "α": r"\alpha ", "β": r"\beta ", "≈": r"\approx ",
        "…": r"\ldots ", "⁄": "/", "∕": "/", "’": "'", "′": "'", "、": ",", "。": ".",
        "⁰": "^{0}", "¹": "^{1}", "²": "^{2}", "³": "^{3}", "⁴": "^{4}", "⁵": "^{5}",
        "⁶": "^{6}", "⁷": "^{7}", "⁸": "^{8}", "⁹": "^{9}",
        "½": r"\frac{1}{2}", "⅓": r"\frac{1}{3}", "⅔": r"\frac{2}{3}",
        "¼": r"\frac{1}{4}", "¾": r"\frac{3}{4}",
    }
)  # fmt: skip

_NOTHING = (
    "left right big Big bigg Bigg bigl bigr Bigl Bigr biggl biggr Biggl Biggr displaystyle "
    "textstyle scriptstyle limits nolimits rm it bf ! - ( ) [ ]"
)
_SPACE = ", ; : > quad qquad enspace thinspace space"
_TEXT_COMMANDS = "mathrm textrm textbf textit textnormal textsf texttt mbox hbox mathit mathsf"
_COMMANDS = {
    **dict.fromkeys(_NOTHING.split(), ""),
    **dict.fromkeys([*_SPACE.split(), " ", "\n", "\t"], " "),
    **dict.fromkeys(("dfrac", "tfrac", "cfrac"), r"\frac"),
    **dict.fromkeys(("leq", "leqslant"), r"\le"),
    **dict.fromkeys(("geq", "geqslant"), r"\ge"),
    **dict.fromkeys(("times", "ast"), r"\cdot"),
    **dict.fromkeys(_TEXT_COMMANDS.split(), r"\text"),
    **dict.fromkeys(("lvert", "rvert", "vert", "mid"), "|"),
    **dict.fromkeys(("dots", "cdots", "dotsc", "dotsb"), r"\ldots"),
    **dict.fromkeys(("boxed", "fbox"), ""),
    "neq": r"\ne", "lt": "<", "gt": ">", "lbrace": r"\{", "rbrace": r"\}", "lbrack": "[",
    "rbrack": "]", "degree": r"^\circ", "varnothing": r"\emptyset", "bigcup": r"\cup",
    "infinity": r"\infty", "colon": ":",
}  # fmt: skip

_FUNCTIONS = (
    "sin cos tan cot sec csc sinh cosh tanh arcsin arccos arctan log ln exp sqrt pi gcd lcm max "
    "min det alpha beta gamma delta epsilon theta lambda mu nu rho sigma tau phi omega infty"
)
_WORDS = {
    **{word: f"\\{word} " for word in _FUNCTIONS.split()},
    **dict.fromkeys(("and", "or"), ","),
    **dict.fromkeys(("percent", "pct", "percentage"), r"\%"),
    **dict.fromkeys(("degree", "degrees"), r"^\circ"),
    **dict.fromkeys(("inf", "infinity", "oo"), r"\infty "),
    "thousand": r"\cdot 10^{3}", "million": r"\cdot 10^{6}", "billion": r"\cdot 10^{9}",
    **{f"a{word}": f"\\arc{word} " for word in ("sin", "cos", "tan")},
}  # fmt: skip

_ALSO_IN_TEXT = "percent percentage pct degree degrees thousand million billion"
_WORDS_IN_TEXT = frozenset(_ALSO_IN_TEXT.split())
_ALSO_UNITS = frozenset({"min", "max", "sec"})

_PLAIN = re.compile(r"[-+\d./()]*")
_COMMAND = re.compile(r"\\([A-Za-z]+|.)", re.DOTALL)
_INVISIBLE = re.compile(r"\\(?:left|right)\s*\.|\\h?phantom\s*(?:\{[^{}]*\}|\\?\S)")
_UPRIGHT_CONSTANT = re.compile(r"\\(?:mathrm|text)\s*\{\s*([ei])\s*\}")
_TEXT = re.compile(r"(\\text\s*\{[^{}]*\})")
_WORD = re.compile(r"(?<![\\A-Za-z])[A-Za-z]{2,}(?![A-Za-z])")
_MODULE = re.compile(r"(?<![\\A-Za-z.])(?:np|numpy|math|sympy)\.(?=[a-z])")
_E_NOTATION = re.compile(r"(?<![\w.}\\])(\d+\.?\d*|\.\d+)[eE]([-+]?\d+)(?![\w.])")
_COMPARISON = re.compile(r"<=|>=|!=|==")
_REPEATING = re.compile(r"(?<![\d.])(\d*)\.(\d*)\\(?:overline|bar|dot|widehat)\s*\{?(\d+)\}?")
_TRAILING_DOTS = re.compile(r"(?<![\d.])(\d*)\.(\d*?)(\d)\3{2,}\s*\\ldots\s*\Z")
_MIXED = re.compile(
    r"(?<![\d.^_])(?<![\^_]\{)(\d+)\s*(?:\\frac\{(\d+)\}\{(\d+)\}|(?<=\s)(\d+)/(\d+))(?![\d.^])"
)
_ARGUMENT = re.compile(r"\s*(?:(?=\{)|(\\[A-Za-z]+|\w))")
_RADICAND = re.compile(r"\s*(\[[^\]]*\])?\s*(\d*)")
_POINT_WITHOUT_DIGITS = re.compile(r"(\d)\.(?=[/\s)}+*]|\Z)")
_GROUPING = re.compile(r"\s*\{\s*,\s*\}\s*")
_SPACES = re.compile(r"\s+")
_REMOVABLE_SPACE = re.compile(r"(?<![\w,]) | (?![\w.])")
_BEFORE, _AFTER = " ,;:=", " .,;:"


def _word(found: re.Match[str]) -> str:
    """Spell a bare word; one that names a function of nothing is a unit, as in ``5 min``."""
    word = found.group()
    argument = found.string[found.end() :].lstrip(" ")
    if word in _ALSO_UNITS and not argument.startswith(("(", "{", "\\", "^", "_")):
        return word
    return _WORDS.get(word, word)


def _words(text: str) -> str:
    return _WORD.sub(_word, text)


def _in_text(text: str) -> str:
    """Spell what stands inside a text command: a separator, a percentage, degrees or words."""
    inside = text[text.index("{") + 1 : -1].strip()
    word = inside.strip(", ").lower()
    if not word and "," not in inside:
        return " "
    if word in ("and", "or", ""):
        return ","
    if word in _WORDS_IN_TEXT:
        return _WORDS[word]
    return f"\\text{{{inside}}}"


def _close(text: str, opened_at: int, brackets: str = "()") -> int:
    """Return where the bracket closes that opens at a position, or -1."""
    depth = 0
    for position in range(opened_at, len(text)):
        if text[position] in brackets:
            depth += 1 if text[position] == brackets[0] else -1
        if depth == 0:
            return position
    return -1


def _braces_for_parentheses(text: str, command: str) -> str:
    r"""Write ``command(...)`` as ``command{...}``, as in ``\sqrt(2)``, ``x^(2/3)``."""
    start = 0
    while (found := text.find(command, start)) >= 0:
        start = found + len(command)
        opened_at = start + len(text[start:]) - len(text[start:].lstrip())
        if opened_at < len(text) and text[opened_at] == "(":
            closed_at = _close(text, opened_at)
            if closed_at < 0:
                return text
            inside = text[opened_at + 1 : closed_at]
            text = f"{text[:start]}{{{inside}}}{text[closed_at + 1 :]}"
    return text


def _argument(text: str, start: int) -> tuple[str, int] | None:
    """Return a command's argument as TeX takes it, in braces or one token, and where it ends."""
    found = _ARGUMENT.match(text, start)
    if found is None:
        return None
    if found[1] is None:
        closed_at = _close(text, found.end(), "{}")
        return None if closed_at < 0 else (text[found.end() + 1 : closed_at], closed_at + 1)
    argument, end = found[1], found.end()
    for _ in range({r"\frac": 2, r"\sqrt": 1}.get(argument, 0)):
        inner = _argument(text, end)
        if inner is None:
            return None
        argument, end = f"{argument}{{{inner[0]}}}", inner[1]
    return argument, end


def _braced(text: str, command: str, arguments: int) -> str:
    r"""Put the arguments of a command in braces: ``\frac12``, ``\sqrt3``, but ``\sqrt13`` whole."""
    at = len(text)
    while (at := text.rfind(command, 0, at)) >= 0:
        start = end = at + len(command)
        written = ""
        if command == r"\sqrt" and (root := _RADICAND.match(text, start)) is not None:
            written, end = root[1] or "", root.end(1) if root[1] else start
            if root[2]:
                text = f"{text[:start]}{written}{{{root[2]}}}{text[root.end() :]}"
                continue
        for _ in range(arguments):
            argument = _argument(text, end)
            if argument is None:
                break
            written, end = f"{written}{{{argument[0]}}}", argument[1]
        else:
            text = f"{text[:start]}{written}{text[end:]}"
    return text


def _repeating(found: re.Match[str]) -> str:
    whole, fixed, period = found.groups()
    nines = 10 ** len(period) - 1
    numerator = int(f"{whole or 0}{fixed}") * nines + int(period)
    return f"\\frac{{{numerator}}}{{{nines * 10 ** len(fixed)}}}"


def _mixed(found: re.Match[str]) -> str:
    whole = int(found[1])
    numerator, denominator = int(found[2] or found[4]), int(found[3] or found[5])
    if numerator >= denominator:
        return found.group()
    return f"\\frac{{{whole * denominator + numerator}}}{{{denominator}}}"


def spell(text: str) -> str:
    """Return an answer in the one spelling that the rest of the verifier reads.

    Args:
        text: An answer as a dataset or a model wrote it, of bounded length: see
            ``comparison.LONGEST_ANSWER``.

    Returns:
        The same answer. Spaces stay only where they say something: between letters or digits, and
        after a comma, where they tell a list from a grouped number.
    """
    text = text.strip()
    if text.isascii() and _PLAIN.fullmatch(text) and ".." not in text:
        return _POINT_WITHOUT_DIGITS.sub(r"\1", text).rstrip(_AFTER)
    text = text.replace("...", r"\ldots ")
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text.translate(_UNICODE)).translate(_UNICODE)
        text = "".join(str(unicodedata.digit(c)) if c.isdecimal() else c for c in text)
    if "\\" in text:
        text = _INVISIBLE.sub("", text)
        text = _UPRIGHT_CONSTANT.sub(r"\1", text)
        text = re.sub(r"\\!\s*", "", text)
        text = _COMMAND.sub(lambda found: _COMMANDS.get(found[1], found.group()), text)
    if "$" in text:
        text = re.sub(r"(?<!\\)\$", "", text)
    text = re.sub(r"(?<!\\)%", r"\\%", text)
    text = _GROUPING.sub(",", text.replace("~", " "))
    if "text" in text:
        parts = _TEXT.split(text)
        text = "".join(_in_text(part) if n % 2 else _words(part) for n, part in enumerate(parts))
    else:
        text = _words(_MODULE.sub("", text) if "." in text else text)
    text = _E_NOTATION.sub(r"\1\\cdot 10^{\2}", text)
    text = text.replace("**", "^").replace("*", r"\cdot ")
    text = _COMPARISON.sub(
        lambda found: {"<=": r"\le ", ">=": r"\ge ", "!=": r"\ne ", "==": "="}[found.group()], text
    )
    if "frac" in text:
        text = _braced(text, r"\frac", 2)
    if "sqrt" in text:
        text = _braces_for_parentheses(text, r"\sqrt")
        text = _braced(text, r"\sqrt", 1)
    if r"\{" in text:
        text = re.sub(r"\\\{\s*\\\}", r"\\emptyset", text)
    if "^" in text:
        text = re.sub(r"\^\s*\{?\s*\\prime\s*\}?", "'", text)
        text = _braces_for_parentheses(text, "^").replace(r"^{\circ}", r"^\circ")
    if r"\exp" in text:
        text = re.sub(r"\\exp\s*\{", "e^{", _braces_for_parentheses(text, r"\exp"))
    if "." in text:
        text = _TRAILING_DOTS.sub(r"\1.\2\\overline{\3}", text)
        text = _REPEATING.sub(_repeating, text)
        text = _POINT_WITHOUT_DIGITS.sub(r"\1", text)
    text = _SPACES.sub(" ", text)
    text = _MIXED.sub(_mixed, text)
    text = re.sub(r",(?:\s*,)+", ",", _REMOVABLE_SPACE.sub("", text))
    return text.rstrip(_AFTER).removesuffix(r"\\").rstrip(_AFTER).lstrip(_BEFORE)
