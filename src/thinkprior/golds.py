r"""Gold answers as data sets write them: boxes in solutions, the line after `####`, dollar signs.

The rules are those of docs/data.md.
"""

from __future__ import annotations

import re

_BOX = re.compile(r"\\(?:boxed|fbox)(?![a-zA-Z])\s*")
_ESCAPED_OR_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)
_TOKEN = re.compile(r"\\[a-zA-Z]+|\\.|[^{}$\s]", re.DOTALL)


def boxes(solution: str) -> list[str]:
    r"""Every box of a solution in order, stripped; an empty box as an empty text.

    Braces are matched as TeX matches them. A box without braces holds what TeX takes as its
    argument: the next character or command (`\boxed 2`). A box that never closes is none.
    """
    found = []
    for start in _BOX.finditer(solution):
        if solution[start.end() : start.end() + 1] == "{":
            inside = _braced(solution, start.end())
            if inside is not None:
                found.append(inside.strip())
        elif token := _TOKEN.match(solution, start.end()):
            found.append(token.group())
    return found


def _braced(text: str, start: int) -> str | None:
    depth = 0
    for token in _ESCAPED_OR_BRACE.finditer(text, start):
        depth += {"{": 1, "}": -1}.get(token.group(), 0)
        if depth == 0:
            return text[start + 1 : token.start()]
    return None


def last_box(solution: str) -> str:
    """The answer of a worked solution: its last box; empty where it has none or an empty one."""
    return (boxes(solution) or [""])[-1]


def after_hashes(solution: str) -> str:
    """The answer of a GSM8K solution: what follows its last `####`; empty where there is none."""
    return solution.rpartition("####")[2].strip() if "####" in solution else ""


_GROUPED = re.compile(r"[+-]?\d{1,3}(?:,\d{3})+(?:\.\d+)?")


def without_thousands_commas(answer: str) -> str:
    """A number without its thousands commas: `2,125` as `2125`. Anything else stays as it is."""
    return answer.replace(",", "") if _GROUPED.fullmatch(answer) else answer


def without_dollars(answer: str) -> str:
    """OlympiadBench's answer without the dollar signs around its mathematics."""
    return answer.replace("$", "").strip()
