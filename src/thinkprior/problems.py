"""A problem, and the JSON lines files that hold pools and benchmarks."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from thinkprior.errors import InputError


@dataclass(frozen=True)
class Problem:
    """One problem with its gold answer.

    Attributes:
        id: stable and unique within its file.
        problem: the text that the model reads, without any template.
        answer: the gold final answer, as it would stand in a box.
        level: difficulty level, 1 to 5, or None where the source has none.
        subject: subject, or None where the source has none.
    """

    id: str
    problem: str
    answer: str
    level: int | None = None
    subject: str | None = None


_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def normalised_text(problem: str) -> str:
    """Text by which two problems count as the same: lower case, white space folded."""
    return re.sub(r"\s+", " ", problem).strip().lower()


def write_problems(path: Path | str, problems: Iterable[Problem]) -> None:
    """Write problems as JSON lines, one object a line."""
    lines = [json.dumps(asdict(problem), ensure_ascii=False) for problem in problems]
    Path(path).write_text("\n".join(lines) + "\n", encoding="utf-8")


def read_problems(path: Path | str) -> list[Problem]:
    """Read a JSON lines file of problems.

    Raises:
        InputError: naming the file and the line, when a line is no JSON object, lacks a field or
            holds a value of the wrong kind, when an id comes twice, or when the file is empty.
    """
    problems: list[Problem] = []
    seen: dict[str, int] = {}
    try:
        text = Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 ({error}). Save the file as UTF-8.") from error
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        place = f"{path}, line {number}"
        problem = _parse(line, place)
        if problem.id in seen:
            raise InputError(
                f"{place}: id {problem.id!r} stands already in line {seen[problem.id]}. "
                "Ids must be unique within a file."
            )
        seen[problem.id] = number
        problems.append(problem)
    if not problems:
        raise InputError(f"{path}: no problems. Expected one JSON object a line.")
    return problems


def _parse(line: str, place: str) -> Problem:
    try:
        row = json.loads(line)
    except json.JSONDecodeError as error:
        raise InputError(f"{place}: not JSON ({error}). Is the file cut off?") from error
    if not isinstance(row, dict):
        raise InputError(f"{place}: expected a JSON object, found {type(row).__name__}.")
    for field in ("id", "problem", "answer"):
        value = row.get(field)
        if not isinstance(value, str) or not value.strip():
            raise InputError(
                f"{place}: field {field!r} must be a non-empty string, found {_short(value)}."
            )
    if not row["id"].isprintable():
        raise InputError(
            f"{place}: id {row['id']!r} holds characters that do not print. Give "
            "the problem another id."
        )
    for field in ("problem", "answer", "subject"):
        if _LONE_SURROGATE.search(str(row.get(field))):
            raise InputError(
                f"{place}: field {field!r} holds half of a surrogate pair, which is no character. "
                "Was the text cut off in the middle of one?"
            )
    level = row.get("level")
    if level is not None and (isinstance(level, bool) or not isinstance(level, int)):
        raise InputError(
            f"{place}: field 'level' must be a whole number or null, found {_short(level)}."
        )
    subject = row.get("subject")
    if subject is not None and not isinstance(subject, str):
        raise InputError(
            f"{place}: field 'subject' must be a string or null, found {_short(subject)}."
        )
    return Problem(row["id"], row["problem"], row["answer"], level, subject)


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 100 else f"{text[:100]}..."


def check_disjoint(
    pool: Sequence[Problem], pool_name: str, other: Sequence[Problem], other_name: str
) -> None:
    """Refuse a training pool that shares a problem text with a benchmark.

    Raises:
        InputError: naming both files and the first shared ids. Texts are compared as
            `normalised_text` gives them.
    """
    texts = {normalised_text(problem.problem): problem.id for problem in other}
    shared = [
        f"{problem.id!r} = {texts[normalised_text(problem.problem)]!r}"
        for problem in pool
        if normalised_text(problem.problem) in texts
    ]
    if shared:
        more = f" and {len(shared) - 5} more" if len(shared) > 5 else ""
        raise InputError(
            f"{pool_name} shares {len(shared)} problem(s) with {other_name}: "
            f"{', '.join(shared[:5])}{more}. Take them out of the pool: a benchmark problem must "
            "never be trained on."
        )
