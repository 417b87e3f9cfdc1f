"""Which accuracies a table shows, under which names."""

from __future__ import annotations

from thinkprior.benchmarks import Accuracies


def test_by_default_they_are_the_papers_in_its_order() -> None:
    found = ["gsm8k", "olympiadbench", "math500_level5", "math500", "minerva_math"]
    assert Accuracies().columns(found) == {
        "math500": "MATH500",
        "math500_level5": "Level-5",
        "gsm8k": "GSM8K",
        "minerva_math": "Minerva",
        "olympiadbench": "Olympiad",
    }
    assert Accuracies().left_out == []


def test_another_benchmark_along_the_run_takes_the_place_of_math500() -> None:
    one = Accuracies("gsm8k", {"aime": "AIME", "gsm8k": "GSM8K"})
    assert (one.first, one.first_label, one.along_label) == ("gsm8k", "GSM8K", "GSM8K")
    assert one.columns(["gsm8k", "aime"]) == {"gsm8k": "GSM8K", "aime": "AIME"}
    assert one.left_out == ["MATH500", "Minerva", "Olympiad"]


def test_levels_stand_beside_their_benchmark_where_it_has_them() -> None:
    one = Accuracies("math", {"math": "MATH", "gsm8k": "GSM8K"})
    headings = one.columns(["gsm8k", "math", "math_level5"])
    assert headings == {"gsm8k": "GSM8K", "math": "MATH", "math_level5": "MATH Level-5"}


def test_math500_stays_first_where_it_is_configured() -> None:
    one = Accuracies("gsm8k", {"gsm8k": "GSM8K", "math500": "MATH500"})
    assert (one.first, one.along) == ("math500", "gsm8k")
    assert list(one.columns([])) == ["math500", "gsm8k"]
