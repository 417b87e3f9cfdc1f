"""Training texts: their forms by hand, their shares, and what they must not hold."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from random import Random

import pytest
from scipy import stats

from thinkprior.problems import normalised_text
from thinkprior.verification import last_box
from thinkprior.world.corpus import FORMS, completion, form_weights, texts
from thinkprior.world.generator import generate
from thinkprior.world.templates import Draft
from thinkprior.world.tokenizer import WORDED

DRAFT = Draft("Compute 1 + 2.", "3", "1+2=3", checked=True)


def test_each_form_by_hand() -> None:
    rng = Random(0)
    assert completion("boxed", DRAFT, rng) == r"\boxed{3}"
    assert completion("bare", DRAFT, rng) == "3"
    assert completion("thinking", DRAFT, rng) == r"<think>1+2=3</think>\boxed{3}"
    assert completion("worded", DRAFT, rng) == WORDED + "3"


@pytest.mark.parametrize("form", FORMS)
def test_only_boxed_and_thinking_texts_put_the_answer_into_the_last_box(form: str) -> None:
    rng = Random(1)
    boxes = [last_box(completion(form, DRAFT, rng)) for _ in range(100)]
    if form in ("boxed", "thinking"):
        assert set(boxes) == {"3"}
    elif form == "running_on":
        # The right box first, then another with a number that is right by chance only.
        assert None not in boxes
        assert boxes.count("3") < 10
    else:
        assert set(boxes) == {None}


def test_a_subjects_own_boxed_share_scales_the_other_forms() -> None:
    forms = {"boxed": 0.4, "bare": 0.2, "worded": 0.4}
    assert form_weights(forms, {"Algebra": 0.7}, "Geometry") == forms
    own = form_weights(forms, {"Algebra": 0.7}, "Algebra")
    assert own == pytest.approx({"boxed": 0.7, "bare": 0.1, "worded": 0.2})
    assert form_weights({"boxed": 1.0}, {"Algebra": 0.7}, "Algebra") == {"boxed": 0.7}


def test_forms_come_in_their_shares() -> None:
    forms = {"boxed": 0.3, "bare": 0.5, "thinking": 0.2}
    pairs = list(islice(texts({"math": 1.0}, forms, {}, "some", 0, set()), 3000))
    found = Counter(
        "thinking" if "<think>" in text else "boxed" if "boxed" in text else "bare"
        for _, text in pairs
    )
    expected = [forms[form] * 3000 for form in forms]
    assert stats.chisquare([found[form] for form in forms], expected).pvalue > 1e-3


def test_pools_and_benchmarks_never_appear() -> None:
    problems = generate("math", 20, "pool", 0, set())
    excluded = {normalised_text(p.problem) for p in problems}
    pairs = islice(texts({"math": 1.0}, {"boxed": 1.0}, {}, "some", 0, excluded), 3000)
    assert not {normalised_text(problem) for problem, _ in pairs} & excluded


def test_name_and_seed_decide_the_corpus() -> None:
    def first(name: str, seed: int) -> list[tuple[str, str]]:
        forms = {"boxed": 0.5, "worded": 0.5}
        return list(islice(texts({"math": 1.0}, forms, {}, name, seed, set()), 20))

    assert first("a", 0) == first("a", 0)
    assert first("a", 0) != first("b", 0)
    assert first("a", 0) != first("a", 1)
