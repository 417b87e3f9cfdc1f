"""The public data sets: their counts, and how their rows become problems.

A data set comes as a local file of one object a row (`<name>.jsonl`) or as the files of a Hugging
Face repository, whose fields differ. Both give the same problems. The rules for the known faults of
the golds are those of docs/data.md; each row that one of them touches is reported as a `Change`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from thinkprior.errors import InputError
from thinkprior.golds import (
    after_hashes,
    boxes,
    last_box,
    without_dollars,
    without_thousands_commas,
)
from thinkprior.problems import Problem, normalised_text

Raw = Mapping[str, Any]
"""A row as its file holds it."""


@dataclass(frozen=True)
class Change:
    """What a rule did to a row.

    Attributes:
        dataset: the data set.
        id: the row.
        rule: the rule, in a few words.
        before, after: the value that changed, both empty where none did.
    """

    dataset: str
    id: str
    rule: str
    before: str = ""
    after: str = ""


@dataclass(frozen=True)
class Row:
    """A problem with its worked solution, which may be empty."""

    problem: Problem
    solution: str = ""


@dataclass
class Loaded:
    """A data set in order, and what the rules did."""

    rows: list[Row]
    changes: list[Change] = field(default_factory=list)

    @property
    def problems(self) -> list[Problem]:
        """The problems alone."""
        return [row.problem for row in self.rows]


@dataclass(frozen=True)
class Dataset:
    """What is known of a data set beforehand.

    Attributes:
        split: whether it may be trained on.
        count: its problems.
        from_hub: a row of its Hugging Face repository and its number to the row.
    """

    split: Literal["train", "test"]
    count: int
    from_hub: Callable[[Raw, int], Row]


def _text(raw: Raw, key: str) -> str:
    value = raw.get(key)
    if not isinstance(value, str):
        raise InputError(
            f"field {key!r} must be a text, found {value!r}. Another revision may have other "
            f"fields; those found are {', '.join(sorted(raw))}."
        )
    return value


def _math(split: str) -> Callable[[Raw, int], Row]:
    def row(raw: Raw, number: int) -> Row:
        solution = _text(raw, "solution")
        problem = Problem(
            f"math_{split}/{number:05d}",
            _text(raw, "problem"),
            last_box(solution),
            _level(_text(raw, "level")),
            _text(raw, "type"),
        )
        return Row(problem, solution)

    return row


def _level(text: str) -> int | None:
    """`Level 3` as 3, `Level ?` as None."""
    digits = text.removeprefix("Level ").strip()
    return int(digits) if digits.isdigit() else None


def _math500(raw: Raw, _number: int) -> Row:
    level = raw.get("level")
    problem = Problem(
        f"math500/{_text(raw, 'unique_id')}",
        _text(raw, "problem"),
        _text(raw, "answer"),
        None if level is None else int(level),
        _text(raw, "subject"),
    )
    return Row(problem, _text(raw, "solution"))


def _gsm8k(raw: Raw, number: int) -> Row:
    worked = _text(raw, "answer")
    return Row(
        Problem(f"gsm8k_test/{number:04d}", _text(raw, "question"), after_hashes(worked)), worked
    )


def _minerva(raw: Raw, number: int) -> Row:
    answer = _text(raw, "answer").strip()
    return Row(Problem(f"minerva_math/{number:03d}", _text(raw, "question"), answer))


def _olympiad(raw: Raw, _number: int) -> Row:
    answers = raw.get("final_answer")
    # Parquet gives an array, JSON a list.
    listed = [] if answers is None or isinstance(answers, str) else [str(a) for a in answers]
    if len(listed) != 1:
        raise InputError(f"field 'final_answer' must be a list of one text, found {answers!r}.")
    subject = raw.get("subfield")
    problem = Problem(
        f"olympiadbench/{raw.get('id')}",
        _text(raw, "question"),
        without_dollars(listed[0]),
        None,
        subject if isinstance(subject, str) else None,
    )
    solutions = raw.get("solution")
    return Row(problem, "\n\n".join(map(str, solutions)) if solutions is not None else "")


DATASETS: Mapping[str, Dataset] = {
    "math_train": Dataset("train", 7500, _math("train")),
    "math_test": Dataset("test", 5000, _math("test")),
    "math500": Dataset("test", 500, _math500),
    "gsm8k_test": Dataset("test", 1319, _gsm8k),
    "minerva_math": Dataset("test", 272, _minerva),
    "olympiadbench_maths_en": Dataset("test", 674, _olympiad),
    "olympiadbench_maths_en_675": Dataset("test", 675, _olympiad),
}

# What the solutions conclude; their box is empty.
CONCLUDED = {"math_train/05341": "0", "math_train/05343": "0"}

UNSOLVABLE = "T N Y W R"
"""'The number you will receive': a relay problem that gets its number from another one."""


def load(name: str, raw: Sequence[Raw], place: str, *, hub: bool) -> Loaded:
    """The problems of a data set.

    Args:
        name: key of `DATASETS`.
        raw: rows in the order of their files.
        place: the files, for messages.
        hub: whether the rows have the fields of the Hugging Face repository, not of a local file.

    Raises:
        InputError: for another number of rows than the data set has, for a row without a field that
            it needs, and for an id that comes twice.
    """
    expected = DATASETS[name].count
    if len(raw) != expected:
        raise InputError(
            f"{place}: {len(raw)} rows, but {name} has {expected}. A file is cut off, or is of "
            "another split or release."
        )
    loaded = Loaded([])
    seen: set[str] = set()
    for number, one in enumerate(raw):
        try:
            row = DATASETS[name].from_hub(one, number) if hub else _local(one)
        except InputError as error:
            raise InputError(f"{place}, row {number + 1}: {error}") from None
        row = _mended(name, row, loaded.changes)
        problem = row.problem
        if not problem.problem.strip() or not problem.answer.strip():
            empty = "problem" if not problem.problem.strip() else "answer"
            raise InputError(f"{place}, row {number + 1} ({problem.id}): the {empty} is empty.")
        if problem.id in seen:
            raise InputError(f"{place}, row {number + 1}: id {problem.id!r} comes twice.")
        seen.add(problem.id)
        loaded.rows.append(row)
    return loaded


def _local(raw: Raw) -> Row:
    level, subject = raw.get("level"), raw.get("subject")
    if level is not None and (isinstance(level, bool) or not isinstance(level, int)):
        raise InputError(f"field 'level' must be a whole number or null, found {level!r}.")
    problem = Problem(
        _text(raw, "id"),
        _text(raw, "problem"),
        _text(raw, "answer"),
        level,
        None if subject is None else _text(raw, "subject"),
    )
    solution = raw.get("solution")
    return Row(problem, solution if isinstance(solution, str) else "")


def _mended(name: str, row: Row, changes: list[Change]) -> Row:
    """The row after the rules that hold wherever it is used."""
    problem = row.problem

    def note(rule: str, before: str = "", after: str = "") -> None:
        changes.append(Change(name, problem.id, rule, before, after))

    if name.startswith("math_") and problem.level is None:
        note("no level in the source")
    if not problem.answer.strip() and problem.id in CONCLUDED:
        note("empty box: what the solution concludes", "", CONCLUDED[problem.id])
        return replace(row, problem=replace(problem, answer=CONCLUDED[problem.id]))
    if name == "gsm8k_test":
        answer = without_thousands_commas(problem.answer)
        if answer != problem.answer:
            note("thousands comma taken out", problem.answer, answer)
        return replace(row, problem=replace(problem, answer=answer))
    if name.startswith("olympiadbench") and UNSOLVABLE in problem.problem:
        note("not solvable as written; kept, so that n is that of published scores")
    return row


def candidates(loaded: Loaded, name: str) -> Loaded:
    """The rows that a pool may be drawn from, and those that are left out with the reason.

    A training reward must be right: a row is left out where its solution boxes more than one text,
    of which the last may be a part of the answer only, or boxes nothing; and where another row has
    the same text, of which the first stays.

    Raises:
        InputError: for a test split, which is never a pool.
    """
    if DATASETS[name].split != "train":
        raise InputError(f"{name} is a test split, and a pool is never drawn from one.")
    result = Loaded([])
    first: dict[str, str] = {}
    for row in loaded.rows:
        problem, text = row.problem, normalised_text(row.problem.problem)
        reasons = [*_unreliable(row.solution)]
        if text in first:
            reasons.append(f"same text as {first[text]}")
        first.setdefault(text, problem.id)
        if reasons:
            result.changes.append(
                Change(name, problem.id, f"never in a pool: {'; '.join(reasons)}")
            )
        else:
            result.rows.append(row)
    return result


def _unreliable(solution: str) -> Iterator[str]:
    if not solution:
        return
    boxed = list(dict.fromkeys(boxes(solution)))
    if len(boxed) > 1:
        yield "several distinct boxes"
    if "" in boxed:
        yield "an empty box"


def check_folder(folder: Path | str, names: Iterable[str]) -> None:
    """Refuse a local folder without the files of these data sets.

    Raises:
        InputError: naming the folder or all the files that are missing.
    """
    if not Path(folder).is_dir():
        raise InputError(f"data.folder: {folder} is not there.")
    missing = [name for name in names if not Path(folder, f"{name}.jsonl").is_file()]
    if missing:
        raise InputError(
            f"data.folder: {folder} lacks {', '.join(f'{name}.jsonl' for name in missing)}."
        )
