r"""The answer of a reply: its last complete box.

A box is ``\boxed{...}`` or ``\fbox{...}``, its braces matched as TeX matches them: ``\{`` and
``\}`` are characters, not braces. A box that never closes is no answer, and neither is an earlier
one that the reply set out to replace: after ``\boxed{5}. Checking once more, it is \boxed{`` there
is none. ``\boxed 5``, without braces, is no box.
"""

import re

# A reply cut off right after ``\boxed`` has opened a box too. A line break ``\\`` is skipped, so
# that its second backslash does not escape a brace, unless a box follows: some models write
# ``\\boxed``.
_TOKEN = re.compile(
    r"(?P<box>\\(?:boxed|fbox)\s*(?:\{|\Z))|(?P<skip>\\\\(?!boxed|fbox)|\\[{}])|[{}]"
)
_FIRST = re.compile(r"\\(?:boxed|fbox)\b")


def last_box(text: str) -> str | None:
    r"""Return what stands in the last complete box of a reply.

    Args:
        text: A whole reply.

    Returns:
        The text between the braces, stripped (``""`` for an empty box), or None when the reply has
        no box or opens another one after its last complete box and never closes it. Of nested boxes
        the outer one is the answer, as long as it closes.
    """
    first = _FIRST.search(text)
    if first is None:
        return None
    start_of_answer = end_of_answer = -1
    # One entry an open brace: where the box starts that it opened, or None for a plain brace.
    open_braces: list[int | None] = []
    for token in _TOKEN.finditer(text, first.start()):
        if token["skip"]:
            continue
        if token["box"]:
            open_braces.append(token.end())
        elif token.group() == "{":
            open_braces.append(None)
        elif open_braces:
            start = open_braces.pop()
            if start is not None:
                start_of_answer, end_of_answer = start, token.start()
    if any(start is not None and start > end_of_answer for start in open_braces):
        return None
    return None if start_of_answer < 0 else text[start_of_answer:end_of_answer].strip()
