"""Training texts of the miniature models: a prompt and a completion in one of several forms.

A base model's low pass rate is mostly a matter of form: it knows more answers than it puts into a
box and ends. The shares of the forms are what makes a miniature model a base or an instructed one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from random import Random

from thinkprior.randomness import stream_seed
from thinkprior.world.generator import endless
from thinkprior.world.templates import Draft
from thinkprior.world.tokenizer import WORDED

FORMS = ("boxed", "bare", "worded", "running_on", "thinking")
"""Completion forms: a box and the end; the bare answer; a sentence; a box and then another; working
between think delimiters and then a box."""


def completion(form: str, draft: Draft, rng: Random) -> str:
    """Text of a completion, without its end token."""
    box = rf"\boxed{{{draft.answer}}}"
    if form == "boxed":
        return box
    if form == "bare":
        return draft.answer
    if form == "worded":
        return WORDED + draft.answer
    if form == "running_on":
        return rf"{box} so \boxed{{{rng.randint(1, 99)}}}"
    return f"<think>{draft.working}</think>{box}"


def form_weights(
    forms: Mapping[str, float], boxed_by_subject: Mapping[str, float], subject: str | None
) -> dict[str, float]:
    """Shares of the forms for one subject.

    Where the subject has a boxed share of its own, the other forms share the rest in proportion.
    """
    if subject is None or subject not in boxed_by_subject:
        return dict(forms)
    boxed = boxed_by_subject[subject]
    rest = sum(share for form, share in forms.items() if form != "boxed")
    scaled = {form: (1 - boxed) * share / rest for form, share in forms.items() if form != "boxed"}
    return {"boxed": boxed, **scaled}


def texts(
    kinds: Mapping[str, float],
    forms: Mapping[str, float],
    boxed_by_subject: Mapping[str, float],
    name: str,
    seed: int,
    exclude: Set[str],
) -> Iterator[tuple[str, str]]:
    """Endless (problem, completion) pairs of one model's corpus.

    Args:
        kinds: problem kind to its share.
        forms: completion form to its share.
        boxed_by_subject: boxed share of single subjects, in place of the general one.
        name: names the corpus's random stream: two models with one name and seed see the same.
        seed: seed of the stream.
        exclude: normalised problem texts that no model may see (pools and benchmarks).
    """
    rng = Random(stream_seed("forms", name, seed))
    by_subject: dict[str | None, tuple[list[str], list[float]]] = {}
    for subject, _, draft in endless(dict(kinds), name, seed, exclude):
        if subject not in by_subject:
            weights = form_weights(forms, boxed_by_subject, subject)
            by_subject[subject] = (list(weights), list(weights.values()))
        names, weights_list = by_subject[subject]
        form = rng.choices(names, weights_list)[0]
        yield draft.text, completion(form, draft, rng)
