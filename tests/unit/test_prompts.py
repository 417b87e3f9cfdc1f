"""Prompt templates."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thinkprior.errors import InputError
from thinkprior.prompts import Template


@given(st.text())
def test_the_problem_stands_in_the_template_as_it_is(problem: str) -> None:
    # Braces, percent signs and backslashes of LaTeX included.
    assert Template("Q: {problem}\nA:").prompt(problem) == "Q: " + problem + "\nA:"


def test_other_braces_of_the_template_stay() -> None:
    template = Template(r"{problem} Put it in \boxed{}.")
    assert template.prompt(r"\frac{1}{2}") == r"\frac{1}{2} Put it in \boxed{}."


def test_a_problem_that_names_the_placeholder_is_not_filled_twice() -> None:
    assert Template("{problem}!").prompt("what is {problem}?") == "what is {problem}?!"


def test_a_template_without_a_place_for_the_problem_is_refused() -> None:
    with pytest.raises(InputError, match=r"'Solve it\.' must contain \{problem\}"):
        Template("Solve it.")
