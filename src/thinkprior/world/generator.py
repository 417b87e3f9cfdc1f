"""Generated problems: sources in seven subjects and five levels, and stand-ins of benchmarks."""

from __future__ import annotations

from collections.abc import Iterator, Set
from random import Random

from thinkprior.errors import InputError
from thinkprior.problems import Problem, normalised_text
from thinkprior.randomness import stream_seed
from thinkprior.world.grade_school import GRADE_SCHOOL
from thinkprior.world.templates import COMBINED, MATH, WITH_UNITS, WORD_PROBLEMS, Draft, Template

KINDS = ("math", "word_problems", "with_units", "combined")
"""Kinds of the miniature's problems: MATH-like; and the stand-ins for GSM8K, Minerva Math and
OlympiadBench."""

SOURCES = {"world": "math", "grade_school": "grade_school"}
"""`data.generator` to the kind of problem that pools are drawn from: the miniature's MATH-like one,
or word problems in English, for language models."""

_BY_SUBJECT = {"math": MATH, "grade_school": GRADE_SCHOOL}


def _templates(kind: str) -> list[tuple[str | None, int | None, Template]]:
    """(subject, level, template) of a kind, in a fixed order."""
    if kind in _BY_SUBJECT:
        return [
            (subject, level, template)
            for subject, by_level in _BY_SUBJECT[kind].items()
            for level, template in enumerate(by_level, start=1)
        ]
    plain = {
        "word_problems": WORD_PROBLEMS,
        "with_units": WITH_UNITS,
        "combined": COMBINED,
    }
    return [(None, None, template) for template in plain[kind]]


def template_count(kind: str) -> int:
    """Number of templates of a kind; one a level x subject cell where it has subjects."""
    return len(_templates(kind))


def draw(template: Template, rng: Random) -> Draft:
    """One draft of a template, its answer checked by the template's second way.

    Raises:
        AssertionError: when the two ways to the answer differ, which is a fault of the template.
    """
    draft = template(rng)
    if not draft.checked:
        raise AssertionError(f"template {template} made a wrong answer: {draft}")
    return draft


def generate(
    kind: str, per_template: int, name: str, seed: int, exclude: Set[str]
) -> list[Problem]:
    """Distinct problems, `per_template` of each template of the kind.

    Args:
        kind: one of `KINDS` or of the values of `SOURCES`.
        per_template: how many problems of each template (of each level x subject cell for math).
        name: prefix of the ids; also names the random stream.
        seed: the world's seed.
        exclude: normalised texts that must not come again.

    Raises:
        InputError: when a template cannot give that many distinct problems.
    """
    problems: list[Problem] = []
    taken = set(exclude)
    for position, (subject, level, template) in enumerate(_templates(kind)):
        rng = Random(stream_seed("generate", name, seed, position))
        found = 0
        for _ in range(200 * per_template):
            if found == per_template:
                break
            draft = draw(template, rng)
            text = normalised_text(draft.text)
            if text in taken:
                continue
            taken.add(text)
            problems.append(
                Problem(f"{name}/{len(problems):05d}", draft.text, draft.answer, level, subject)
            )
            found += 1
        if found < per_template:
            raise InputError(
                f"{name}: template {template} has fewer than {per_template} problems left; "
                "ask for fewer problems."
            )
    return problems


def endless(
    shares: dict[str, float], name: str, seed: int, exclude: Set[str]
) -> Iterator[tuple[str | None, int | None, Draft]]:
    """Endless drafts for training a model: a kind by its share, then a template evenly.

    Args:
        shares: kind to its share of the drafts; shares need not sum to one.
        name: name of the random stream.
        seed: its seed.
        exclude: normalised texts (pools and benchmarks) that must not appear.

    Yields:
        Subject and level (None outside math) and the draft.
    """
    rng = Random(stream_seed("endless", name, seed))
    templates = {kind: _templates(kind) for kind in shares}
    kinds, weights = list(shares), list(shares.values())
    while True:
        kind = rng.choices(kinds, weights)[0]
        subject, level, template = rng.choice(templates[kind])
        draft = draw(template, rng)
        if normalised_text(draft.text) not in exclude:
            yield subject, level, draft
