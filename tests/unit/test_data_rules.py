"""The rules for faulty golds, by hand and on the real files, local or with the hub's fields."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from thinkprior.datasets import DATASETS, Change, Loaded, candidates, check_folder, load
from thinkprior.digest import file_digest
from thinkprior.errors import InputError
from thinkprior.golds import (
    after_hashes,
    boxes,
    last_box,
    without_dollars,
    without_thousands_commas,
)
from thinkprior.pools import spread_sample
from thinkprior.problems import Problem, check_disjoint, read_problems
from thinkprior.stages.datasets import make_datasets, read_rows
from thinkprior.verification import Verdict, Verifier

SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "data"


@cache
def rows(name: str) -> list[dict[str, Any]]:
    if not SHARED.is_dir():
        pytest.skip(f"the data sets are not at {SHARED}")
    with (SHARED / f"{name}.jsonl").open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]


@cache
def local(name: str) -> Loaded:
    return load(name, rows(name), f"{name}.jsonl", hub=False)


# --- Boxes ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("solution", "expected"),
    [
        (r"so $\boxed{5}$.", ["5"]),
        (r"\boxed{\frac{1}{2}} or \fbox{ 3 }", [r"\frac{1}{2}", "3"]),
        (r"our answer is $\boxed 2$.", ["2"]),
        (r"$\boxed\pi$ and $\boxed-3$", [r"\pi", "-"]),
        (r"there are $\boxed{}$ primes", [""]),
        (r"\boxed{\{1,2\}}", [r"\{1,2\}"]),
        (r"\boxed{\left\{ x \right.}", [r"\left\{ x \right."]),
        (r"cut off: \boxed{1 + \frac{1}{2}", []),
        (r"\boxedfoo{3}", []),
        ("none", []),
    ],
)
def test_boxes_are_read_as_tex_reads_them(solution: str, expected: list[str]) -> None:
    assert boxes(solution) == expected
    assert last_box(solution) == (expected[-1] if expected else "")


def test_the_last_box_is_the_gold_of_all_of_math_but_the_two_empty_ones() -> None:
    differing = {r["id"] for r in rows("math_train") if last_box(r["solution"]) != r["answer"]}
    assert differing == {"math_train/05341", "math_train/05343"}
    for name in ("math500", "math_test"):
        assert all(last_box(r["solution"]) == r["answer"] for r in rows(name))


def test_solutions_with_several_distinct_boxes_are_those_that_the_file_marks() -> None:
    several = {r["id"] for r in rows("math_train") if len(set(boxes(r["solution"]))) > 1}
    assert several == {r["id"] for r in rows("math_train") if "all_boxed" in r}
    assert len(several) == 25


# --- Other golds ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("2,125", "2125"),
        ("1,450,000", "1450000"),
        ("-1,234.5", "-1234.5"),
        # A list, a decimal comma, a coordinate: no thousands.
        ("1,2,3", "1,2,3"),
        ("2,74", "2,74"),
        ("1234,567", "1234,567"),
        ("(1,234)", "(1,234)"),
        ("18", "18"),
    ],
)
def test_only_thousands_commas_are_taken_out(answer: str, expected: str) -> None:
    assert without_thousands_commas(answer) == expected


def test_gsm8k_golds_are_plain_integers_afterwards() -> None:
    loaded = local("gsm8k_test")
    assert all(p.answer.lstrip("-").isdigit() for p in loaded.problems)
    assert len(loaded.changes) == 14
    change = Change("gsm8k_test", "gsm8k_test/0146", "thousands comma taken out", "2,125", "2125")
    assert change in loaded.changes


def test_what_follows_the_last_hashes_is_the_answer() -> None:
    assert after_hashes("2 + 2 = <<2+2=4>>4 #### no\n#### 4,000 ") == "4,000"
    assert after_hashes("no answer") == ""


def test_dollars_are_taken_off() -> None:
    assert without_dollars("$\\frac{1}{2}$") == "\\frac{1}{2}"
    assert without_dollars("$1$, $2$") == "1, 2"


# How each form of code in Minerva's golds reads in mathematics, by hand.
CODE = {
    "3.83e35": r"3.83 \times 10^{35}",
    "1e-8": r"10^{-8}",
    "7.353e14": r"7.353\cdot 10^{14}",
    "-1./3": r"-\frac{1}{3}",
    "-3./2": "-1.5",
    "np.arcsin(10/13)": r"\arcsin\left(\frac{10}{13}\right)",
    r"\arcsin{1.3 \sin{\theta_w}}": r"\arcsin(1.3\sin\theta_w)",
    r"\frac{1}{2}(\exp{a*t} + \exp{-a*t})": r"\frac{e^{at}+e^{-at}}{2}",
    r"\frac{1}{2a}(\exp{a*t} - \exp{-a*t})": r"\frac{e^{at}-e^{-at}}{2a}",
    r"x_{0} \cos (\omega t)+$ $\dot{x}_{0} \sin (\omega t) / \omega": (
        r"x_0\cos(\omega t)+\frac{\dot{x}_0}{\omega}\sin(\omega t)"
    ),
    "+2": "2",
}


def test_golds_written_as_code_stand_as_they_are_and_the_verifier_reads_them() -> None:
    answers = {p.answer for p in local("minerva_math").problems}
    assert set(CODE) <= answers
    assert not local("minerva_math").changes
    wrong = {"3.83e35": "3.83", "1e-8": "0", "-1./3": "-3", "np.arcsin(10/13)": "10/13"}
    with Verifier(time_limit=5) as verifier:
        right, _ = verifier.grade(list(CODE), [rf"\boxed{{{a}}}" for a in CODE.values()])
        other, _ = verifier.grade(list(wrong), [rf"\boxed{{{a}}}" for a in wrong.values()])
    assert set(right) == {Verdict.correct}
    assert set(other) == {Verdict.wrong}


def test_unsolvable_problems_stay_and_are_named() -> None:
    def named(name: str) -> set[str]:
        return {c.id for c in local(name).changes if c.rule.startswith("not solvable")}

    assert named("olympiadbench_maths_en") == {"olympiadbench/2608"}
    older = named("olympiadbench_maths_en_675")
    assert len(older) == 16
    revised = {r["id"] for r in rows("olympiadbench_maths_en") if "problem_before_revision" in r}
    assert older == revised | {"olympiadbench/2608"}


# --- Counts and fields ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(DATASETS))
def test_every_file_has_its_count(name: str) -> None:
    counts = {
        "math_train": 7500,
        "math_test": 5000,
        "math500": 500,
        "gsm8k_test": 1319,
        "minerva_math": 272,
        "olympiadbench_maths_en": 674,
        "olympiadbench_maths_en_675": 675,
    }
    assert len(local(name).problems) == counts[name]


def test_another_count_is_one_clear_message() -> None:
    row = {"id": "a", "problem": "p", "answer": "1"}
    with pytest.raises(InputError, match=r"x\.jsonl: 1 rows, but math500 has 500\."):
        load("math500", [row], "x.jsonl", hub=False)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"answer": " "}, r"row 2 \(1\): the answer is empty"),
        ({"problem": ""}, r"row 2 \(1\): the problem is empty"),
        ({"id": "0"}, "row 2: id '0' comes twice"),
        ({"answer": None}, "row 2: field 'answer' must be a text, found None"),
        ({"level": "3"}, "row 2: field 'level' must be a whole number or null, found '3'"),
    ],
)
def test_a_faulty_row_is_named(change: Mapping[str, object], message: str) -> None:
    made = [{"id": str(n), "problem": "p", "answer": "1"} for n in range(272)]
    made[1] |= change  # type: ignore[arg-type]
    with pytest.raises(InputError, match=message):
        load("minerva_math", made, "x.jsonl", hub=False)


def test_a_hub_file_of_other_fields_names_those_it_has() -> None:
    made = [{"problem": "p", "solution": "s"}] * 272
    with pytest.raises(InputError, match=r"row 1: field 'answer' .* found are problem, solution"):
        load("minerva_math", made, "math-ai/minervamath", hub=True)


# --- What a pool may hold -------------------------------------------------------------------------


def test_a_pool_is_never_drawn_from_unreliable_golds_or_twice_from_one_text() -> None:
    kept = candidates(local("math_train"), "math_train")
    left = {change.id: change.rule for change in kept.changes}
    marked = {r["id"] for r in rows("math_train") if "all_boxed" in r}
    assert set(left) == marked | {"math_train/05341", "math_train/05343", "math_train/00959"}
    assert left["math_train/00959"] == "never in a pool: same text as math_train/00925"
    assert left["math_train/05341"] == "never in a pool: an empty box"
    assert len(kept.rows) == 7500 - 28


@pytest.mark.parametrize("name", [n for n in DATASETS if n != "math_train"])
def test_a_test_split_is_never_a_pool(name: str) -> None:
    with pytest.raises(InputError, match=f"{name} is a test split, and a pool is never drawn"):
        candidates(Loaded([]), name)


def cells(problems: list[Problem]) -> Counter[tuple[int | None, str | None]]:
    return Counter((p.level, p.subject) for p in problems)


def test_pools_of_250_and_1200_are_spread_nested_and_apart_from_every_benchmark() -> None:
    # The smallest of the 35 cells has 41 problems, so 1200 / 35 = 34.3 a cell never runs out.
    source = candidates(local("math_train"), "math_train").problems
    whole = cells([p for p in local("math_train").problems if p.level])
    assert (len(whole), min(whole.values())) == (35, 41)
    small, large = (spread_sample(source, size, 0) for size in (250, 1200))
    assert {p.id for p in small} < {p.id for p in large}
    # 250 = 35 x 7 + 5 and 1200 = 35 x 34 + 10.
    assert Counter(cells(small).values()) == {7: 30, 8: 5}
    assert Counter(cells(large).values()) == {34: 25, 35: 10}
    assert not {"math_train/02773", "math_train/02832"} & {p.id for p in large}
    for name in DATASETS:
        if name not in ("math_train", "math_test"):
            check_disjoint(large, "pool", local(name).problems, name)


def test_the_whole_training_set_is_apart_from_math500_but_not_from_the_test_split() -> None:
    train = local("math_train").problems
    check_disjoint(train, "math_train", local("math500").problems, "math500")
    with pytest.raises(InputError, match=r"shares 1 problem.*math_train/02948"):
        check_disjoint(train, "math_train", local("math_test").problems, "math_test")


# --- Files with the fields of the hub -------------------------------------------------------------


def hub_shaped(name: str) -> list[dict[str, Any]]:
    """The rows of a local file with the fields that the data set has on the hub."""
    of = rows(name)
    if name == "math_train":
        return [
            {
                "problem": r["problem"],
                "level": f"Level {r['level'] or '?'}",
                "solution": r["solution"],
                "type": r["subject"],
            }
            for r in of
        ]
    if name == "math500":
        keys = ("problem", "solution", "answer", "subject", "level", "unique_id")
        return [{key: r[key] for key in keys} for r in of]
    if name == "gsm8k_test":
        return [
            {"question": r["problem"], "answer": f"{r['solution']}\n#### {r['answer']}"} for r in of
        ]
    if name == "minerva_math":
        return [{"question": r["problem"], "answer": r["answer"]} for r in of]
    return [
        {
            "id": r["source_id"],
            "question": r["problem"],
            "solution": [r["solution"]],
            "final_answer": r["final_answer"],
            "context": None,
            "image_1": None,
            "subfield": r["subject"],
        }
        for r in of
    ]


FILES = {
    "math_train": ("data/train-00000-of-00001.parquet",),
    "math500": ("test.jsonl",),
    "gsm8k_test": ("main/test-00000-of-00001.parquet",),
    "minerva_math": ("a.jsonl", "b.jsonl"),
    "olympiadbench_maths_en": ("OE_TO_maths_en_COMP.parquet",),
}


@pytest.fixture(scope="module")
def downloaded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A manifest with files as the hub has them, one data set in two."""
    folder = tmp_path_factory.mktemp("hub")
    entries = {}
    for name, files in FILES.items():
        made = hub_shaped(name)
        share = -(-len(made) // len(files))
        for number, file in enumerate(files):
            path = folder / name / file
            path.parent.mkdir(parents=True, exist_ok=True)
            part = pd.DataFrame(made[number * share : (number + 1) * share])
            if path.suffix == ".parquet":
                part.to_parquet(path)
            else:
                part.to_json(path, orient="records", lines=True)
        entries[name] = {
            "repository": f"owner/{name}",
            "commit": "c" * 40,
            "files": {f"{name}/{file}": file_digest(folder / name / file) for file in files},
        }
    manifest = folder / "downloads.json"
    manifest.write_text(json.dumps(entries))
    return manifest


SETTINGS: dict[str, Any] = {
    "seed": 0,
    "training_set": "math_train",
    "benchmarks": {n: {"dataset": n, "size": 0} for n in FILES if n != "math_train"},
}


def made(folder: Path, settings: Mapping[str, Any], **origin: Any) -> dict[str, list[Problem]]:
    folder.mkdir()
    files = {n: folder / f"{n}.jsonl" for n in settings["benchmarks"]}
    source = folder / "source.jsonl" if settings["training_set"] else None
    make_datasets(
        settings,
        source=source,
        benchmarks=files,
        changes=folder / "changes.csv",
        job_log=folder / "log",
        **{"local": {}, "manifest": None, **origin},
    )
    return {n: read_problems(p) for n, p in {**files, "source": source}.items() if p}


def test_the_hub_gives_the_problems_of_the_local_folder(tmp_path: Path, downloaded: Path) -> None:
    here = {name: SHARED / f"{name}.jsonl" for name in FILES}
    from_here = made(tmp_path / "local", SETTINGS, local=here)
    from_hub = made(tmp_path / "hub", SETTINGS, manifest=downloaded)
    # The hub has no courses of Minerva's problems.
    from_here["minerva_math"] = [
        Problem(p.id, p.problem, p.answer) for p in from_here["minerva_math"]
    ]
    assert from_hub == from_here
    changes = pd.read_csv(tmp_path / "hub" / "changes.csv")
    concluded = changes[changes["rule"].str.startswith("empty box")]
    assert list(concluded["id"]) == ["math_train/05341", "math_train/05343"]


def test_a_file_that_changed_after_the_download_is_refused(
    tmp_path: Path, downloaded: Path
) -> None:
    path = downloaded.parent / "math500" / "test.jsonl"
    content = path.read_bytes()
    try:
        path.write_bytes(content[:-10])
        with pytest.raises(InputError, match=r"test\.jsonl: changed .*prefetch --forcerun"):
            made(tmp_path / "hub", SETTINGS, manifest=downloaded)
    finally:
        path.write_bytes(content)


def test_a_smaller_benchmark_is_drawn_by_the_seed_in_the_order_of_the_set(tmp_path: Path) -> None:
    rows("gsm8k_test")
    here = {name: SHARED / f"{name}.jsonl" for name in FILES}
    settings = {
        "training_set": "",
        "benchmarks": {"gsm8k": {"dataset": "gsm8k_test", "size": 100}},
    }
    drawn = [
        [p.id for p in made(tmp_path / str(n), {**settings, "seed": seed}, local=here)["gsm8k"]]
        for n, seed in enumerate((0, 0, 1))
    ]
    assert drawn[0] == drawn[1] == sorted(drawn[0])
    assert len(set(drawn[0])) == 100
    assert drawn[0] != drawn[2]
    with pytest.raises(InputError, match="1319 problems, 2000 were asked for"):
        too_many = {"gsm8k": {"dataset": "gsm8k_test", "size": 2000}}
        made(tmp_path / "more", {**settings, "seed": 0, "benchmarks": too_many}, local=here)


# --- Files ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.jsonl", '{"a": 1}\n{"b', "line 2: not JSON .* cut off"),
        ("a.jsonl", "[1]", "line 1: expected an object"),
        ("a.parquet", "PAR1", "not readable as Parquet"),
    ],
)
def test_a_broken_file_is_named(tmp_path: Path, name: str, content: str, message: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match=f"{name}.*{message}"):
        read_rows(tmp_path / name)


def test_a_folder_without_the_files_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"data\.folder: .*nowhere is not there"):
        check_folder(tmp_path / "nowhere", ["math500"])
    (tmp_path / "math500.jsonl").touch()
    with pytest.raises(InputError, match=r"lacks math_train\.jsonl, gsm8k_test\.jsonl\.$"):
        check_folder(tmp_path, ["math_train", "math500", "gsm8k_test"])
