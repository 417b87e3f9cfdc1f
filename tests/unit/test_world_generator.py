"""The generated source, pools and benchmarks: counts, and that they share no problem."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, islice
from pathlib import Path

import pytest
from scipy import stats

from thinkprior.configuration import read
from thinkprior.errors import InputError
from thinkprior.plans import data_settings
from thinkprior.pools import spread_sample
from thinkprior.problems import Problem, normalised_text, read_problems
from thinkprior.stages.problems import make_problems
from thinkprior.world.generator import KINDS, endless, generate, template_count

PROJECT = Path(__file__).resolve().parents[2]


def texts(problems: list[Problem]) -> set[str]:
    return {normalised_text(problem.problem) for problem in problems}


@pytest.mark.parametrize("kind", [*KINDS, "grade_school"])
def test_each_template_gives_as_many_different_problems(kind: str) -> None:
    problems = generate(kind, 5, "some", 0, set())
    assert len(problems) == len(texts(problems)) == 5 * template_count(kind)
    assert len({p.id for p in problems}) == len(problems)
    assert all(p.id.startswith("some/") for p in problems)


def test_math_has_seven_subjects_in_five_levels() -> None:
    cells = Counter((p.level, p.subject) for p in generate("math", 3, "some", 0, set()))
    assert set(cells.values()) == {3}
    assert {level for level, _ in cells} == {1, 2, 3, 4, 5}
    assert {subject for _, subject in cells} == {
        "Algebra", "Counting & Probability", "Geometry", "Intermediate Algebra", "Number Theory",
        "Prealgebra", "Precalculus",
    }  # fmt: skip


def test_excluded_problems_do_not_come_again() -> None:
    first = generate("math", 6, "first", 0, set())
    second = generate("math", 6, "second", 0, texts(first))
    again = generate("math", 6, "first", 0, texts(first))
    assert not texts(first) & texts(second)
    assert not texts(first) & texts(again)


def test_name_and_seed_decide_the_problems() -> None:
    one, same = generate("math", 4, "a", 0, set()), generate("math", 4, "a", 0, set())
    assert one == same
    assert texts(generate("math", 4, "b", 0, set())) != texts(one)
    assert texts(generate("math", 4, "a", 1, set())) != texts(one)


def test_more_problems_than_a_template_has_are_refused() -> None:
    # Speed and time are 2 to 15 each, so there are fewer than 200 distances.
    with pytest.raises(InputError, match=r"some: .* fewer than 200 problems left"):
        generate("with_units", 200, "some", 0, set())


def test_source_pools_and_benchmarks_of_the_default_scale_share_no_problem(tmp_path: Path) -> None:
    config = read(PROJECT / "config" / "config.yaml")
    settings = data_settings(config)
    files = {name: tmp_path / f"{name}.jsonl" for name in settings["benchmarks"]}
    make_problems(settings, tmp_path / "source.jsonl", files)
    source = read_problems(tmp_path / "source.jsonl")
    assert len(source) == 35 * settings["source_per_cell"]
    benchmarks = {name: read_problems(path) for name, path in files.items()}
    for name, problems in benchmarks.items():
        assert len(problems) == settings["benchmarks"][name]["size"]
    parts = {"source": source, **benchmarks}
    for one, other in combinations(parts, 2):
        assert not texts(parts[one]) & texts(parts[other]), (one, other)
    pools = {n: spread_sample(source, p.size, p.seed) for n, p in config.data.pools.items()}
    for problems in pools.values():
        assert len(texts(problems)) == len(problems)
    assert texts(pools["pool250"]) <= texts(pools["pool1200"]) <= texts(source)
    # MATH500's stand-in covers the cells evenly too.
    cells = Counter((p.level, p.subject) for p in benchmarks["math500"])
    assert len(cells) == 35
    assert max(cells.values()) - min(cells.values()) <= 1


def test_the_endless_drafts_keep_to_their_shares_and_leave_out_the_excluded() -> None:
    shares = {"math": 0.7, "with_units": 0.2, "combined": 0.1}
    excluded = texts(generate("math", 20, "bench", 0, set()))
    drawn = list(islice(endless(shares, "some", 0, excluded), 3000))
    assert not {normalised_text(draft.text) for *_, draft in drawn} & excluded
    kinds = Counter(
        "math" if subject else "with_units" if draft.answer[-1] in "mJ" else "combined"
        for subject, _, draft in drawn
    )
    # Excluded drafts are drawn again, so math loses a little; without exclusion the shares hold.
    assert kinds["math"] < 2200
    free = list(islice(endless(shares, "some", 0, set()), 3000))
    math = sum(subject is not None for subject, *_ in free)
    assert stats.binomtest(math, 3000, 0.7).pvalue > 1e-3
    cells = Counter((subject, level) for subject, level, _ in free if subject)
    assert stats.chisquare(list(cells.values())).pvalue > 1e-3


def test_the_endless_drafts_are_those_of_their_name_and_seed() -> None:
    def first(name: str, seed: int) -> list[str]:
        return [d.text for *_, d in islice(endless({"math": 1.0}, name, seed, set()), 20)]

    assert first("a", 0) == first("a", 0)
    assert first("a", 0) != first("b", 0)
    assert first("a", 0) != first("a", 1)
