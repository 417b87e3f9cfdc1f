"""Problem files: round trip, one clear error a fault, disjointness."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from thinkprior.errors import InputError
from thinkprior.problems import (
    Problem,
    check_disjoint,
    normalised_text,
    read_problems,
    write_problems,
)

texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(lambda t: t.strip())
ids = texts.filter(str.isprintable)
problems = st.lists(
    st.builds(Problem, ids, texts, texts, st.none() | st.integers(1, 5), st.none() | texts),
    min_size=1,
    max_size=5,
    unique_by=lambda problem: problem.id,
)


@given(problems)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_written_is_read_again(tmp_path: Path, rows: list[Problem]) -> None:
    path = tmp_path / "pool.jsonl"
    write_problems(path, rows)
    assert read_problems(path) == rows


def test_line_separators_inside_a_text_do_not_end_its_line(tmp_path: Path) -> None:
    # U+2028, U+0085 and a form feed end a line for str.splitlines, but not for JSON lines.
    row = Problem("a", "one\u2028two\x85three\x0cfour\nfive", "1")
    write_problems(tmp_path / "pool.jsonl", [row, Problem("b", "x", "2")])
    assert read_problems(tmp_path / "pool.jsonl")[0] == row


def test_the_file_is_a_json_object_a_line_in_plain_utf_8(tmp_path: Path) -> None:
    path = tmp_path / "pool.jsonl"
    write_problems(path, [Problem("a", "π > 3?", "yes", 2, "Geometry")])
    assert (
        path.read_bytes()
        == (
            '{"id": "a", "problem": "π > 3?", "answer": "yes", "level": 2, "subject": "Geometry"}\n'
        ).encode()
    )


def line(**changes: object) -> str:
    return json.dumps({"id": "a", "problem": "1 + 1", "answer": "2", **changes})


def test_blank_lines_further_fields_and_windows_line_ends_are_let_pass(tmp_path: Path) -> None:
    path = tmp_path / "pool.jsonl"
    path.write_bytes(
        (line(source="MATH") + "\r\n\r\n" + line(id="b", level=None) + "\r\n").encode()
    )
    assert [p.id for p in read_problems(path)] == ["a", "b"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "no problems"),
        ("\n \n", "no problems"),
        (line() + '\n{"id": "b", "prob', "line 2: not JSON .*cut off"),
        ("[1]", "line 1: expected a JSON object, found list"),
        (line() + "\n" + line(id=""), "line 2: field 'id' must be a non-empty string, found ''"),
        (line(id=7), "line 1: field 'id' .* found 7"),
        (line(problem="  "), "line 1: field 'problem' must be a non-empty string"),
        ('{"id": "a", "problem": "x"}', "line 1: field 'answer' .* found None"),
        (line(level="3"), "line 1: field 'level' must be a whole number or null, found '3'"),
        (line(level=2.5), "line 1: field 'level' .* found 2.5"),
        (line(level=True), "line 1: field 'level' .* found True"),
        (line(subject=4), "line 1: field 'subject' must be a string or null, found 4"),
        (
            line() + "\n\n" + line(problem="2 + 2"),
            "line 3: id 'a' stands already in line 1.*unique",
        ),
    ],
)
def test_a_fault_is_named_with_its_file_and_line(
    tmp_path: Path, content: str, message: str
) -> None:
    path = tmp_path / "pool.jsonl"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=re.escape(str(path)) + ".*" + message):
        read_problems(path)


def test_another_encoding_is_named(tmp_path: Path) -> None:
    path = tmp_path / "pool.jsonl"
    path.write_bytes('{"id": "é"}'.encode("latin-1"))
    with pytest.raises(InputError, match="UTF-8"):
        read_problems(path)


def test_texts_are_the_same_when_they_differ_in_case_and_white_space_only() -> None:
    assert normalised_text("  Compute\t 1 +\n2. ") == normalised_text("compute 1 + 2.")
    assert normalised_text("compute 12.") != normalised_text("compute 1 2.")


def test_a_pool_that_shares_problems_with_a_benchmark_is_refused() -> None:
    pool = [Problem(f"p{i}", f"Compute {i}.", "1") for i in range(9)]
    bench = [Problem(f"b{i}", f"compute  {i}. ", "1") for i in range(2, 20)]
    with pytest.raises(InputError) as caught:
        check_disjoint(pool, "pool.jsonl", bench, "math500.jsonl")
    message = str(caught.value)
    assert "pool.jsonl shares 7 problem(s) with math500.jsonl" in message
    assert "'p2' = 'b2', 'p3' = 'b3', 'p4' = 'b4', 'p5' = 'b5', 'p6' = 'b6' and 2 more" in message
    check_disjoint(pool[:2], "pool.jsonl", bench, "math500.jsonl")
