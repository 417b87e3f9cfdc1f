r"""Text from models and data files appears as text everywhere, and does nothing.

The report in a browser is tried in `test_report_page`, the typeset document in `test_document`.
"""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.bad_input import snapshot
from tests.unit.test_bad_input import one_run

from thinkprior.errors import InputError
from thinkprior.forkserver import run_here
from thinkprior.printable import LONGEST_LINE, lines, one_line
from thinkprior.priors import read_prior, write_prior
from thinkprior.probing import probe, read_responses
from thinkprior.problems import Problem, read_problems, write_problems
from thinkprior.progress import Progress
from thinkprior.prompts import Template
from thinkprior.rendering import latex
from thinkprior.report.text import breakable, visible
from thinkprior.reproduction.markdown import escape as markdown_escape
from thinkprior.rollouts import Completion, PromptCompletions, Sampling
from thinkprior.verification import Verdict, Verifier
from thinkprior.verification.verifier import logger as verifier_logger

ROOT = Path(__file__).resolve().parents[2]
ANSI = "\x1b[2J\x1b[31mred\x1b]0;title\x07"
HOSTILE = [
    ANSI,
    "NUL \x00, C1 \x9b31m, delete \x7f",
    "turned \u202egnp.exe\u2066 and hidden \u200b\ufeff",
    "two\nerror: lines\r\x85\u2028more",
    "<script>alert(1)</script><img src=x onerror=alert(1)>",
    r"\input{/etc/passwd} \write18{touch PWNED} \immediate\write18{touch PWNED} 100% $x^2$ #1 & ~",
    "| a | [l](javascript:alert(1)) `c` **b** # h",
    "{{ 7 * 7 }} {% raw %} ${HOME} $(touch PWNED) `touch PWNED`; touch PWNED",
    '=HYPERLINK("http://x") ',
    "x" * 20_000,
]
NAMES = [
    "../../x",
    "/etc/passwd",
    "a b/c d",
    "..",
    "-rf",
    "=1+1",
    "@SUM(A1)",
    "NA",
    "a,b\"c'd",
    "<script>alert(1)</script>",
    r"\input{/etc/passwd}%",
    "$(touch PWNED)",
    "i" * 5_000,
]
"""Ids that a data file may hold: all that print."""


@given(st.text(st.characters()))
def test_a_line_holds_nothing_but_what_prints(text: str) -> None:
    assert one_line(text).isprintable()
    assert one_line(one_line(text)) == one_line(text)
    assert lines(lines(text)) == lines(text)


@given(st.text(st.characters()))
def test_only_the_first_line_begins_at_the_margin(text: str) -> None:
    assert all(not line or line.startswith(" ") for line in lines(text).split("\n")[1:])


def test_what_prints_stays_as_it_is() -> None:
    assert one_line("naïve 中 $x$ \\boxed{1} – “a”") == "naïve 中 $x$ \\boxed{1} – “a”"
    assert one_line("\x1b[31m\u202e\n") == r"\x1b[31m\u202e\n"
    assert len(one_line("x" * 10**6)) < LONGEST_LINE + 100


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: repr(text[:12]))
def test_messages_and_logs(
    text: str, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "job.log"
    progress = Progress(log, "run", every=0)
    progress.line(f"said {text}")
    for kind in ("InputError", "KeyError", "OSError"):
        arguments = {"kind": kind, "text": text}
        assert run_here("tests.unit.test_hostile_text:fail", arguments, log=str(log)) == 1
    printed = [*capfd.readouterr().err.splitlines(), *log.read_text("utf-8").splitlines()]
    assert printed
    assert all(line.isprintable() for line in printed)
    # No text may pass for a message of its own.
    beginnings = ("error: place: ", "error: some")
    assert all(x.startswith(beginnings) for x in printed if x.startswith("error:"))


def fail(kind: str, text: str) -> None:
    if kind == "InputError":
        raise InputError(f"place: {text}")
    if kind == "KeyError":
        raise KeyError(text)
    raise FileNotFoundError(2, "No such file", f"some {text}")


# --- The verifier ---------------------------------------------------------------------------------

BOXES = [
    *HOSTILE,
    "__import__('os').system('touch PWNED')",
    r"\text{__import__('os').system('touch PWNED')}",
    "(lambda: open('PWNED', 'w'))()",
    "[open('PWNED', 'w') for _ in (1,)]",
    "exec(\"open('PWNED', 'w')\")",
    r"\operatorname{open}('PWNED')",
    "9**9**9**9",
    "()" * 2_000,
]


def test_the_verifier_runs_nothing_and_logs_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.chdir(tmp_path)
    replies = [f"\\boxed{{{box}}}" for box in BOXES]
    with Verifier(time_limit=2) as verifier, caplog.at_level(logging.WARNING):
        for gold in ("x^2+x-2", "5"):
            verdicts, _ = verifier.grade([gold] * len(BOXES), replies)
            assert Verdict.correct not in verdicts
        verifier_logger.warning("reached")
    assert list(tmp_path.iterdir()) == []
    assert all(record.getMessage().isprintable() for record in caplog.records)


def test_graded_files_come_back_as_plain_json(tmp_path: Path) -> None:
    path = tmp_path / "pairs.jsonl"
    rows = [{"gold": "5", "prediction": text} for text in HOSTILE]
    path.write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in rows), "utf-8")
    run = subprocess.run(
        [sys.executable, "-m", "thinkprior.verification", str(path)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        check=True,
    )
    assert [json.loads(line)["prediction"] for line in run.stdout.splitlines()] == HOSTILE
    assert all(line.isprintable() for line in run.stdout.splitlines())


# --- Artifacts ------------------------------------------------------------------------------------


class Says:
    """An engine whose model answers every prompt with the same texts."""

    def __init__(self, texts: list[str]) -> None:
        self.texts = texts

    def generate(
        self, prompts: Any, samples: int, sampling: Sampling, seeds: Any
    ) -> list[PromptCompletions]:
        tokens = np.array([1])
        answers = [Completion(tokens, text, False) for text in self.texts]
        return [PromptCompletions(tokens, answers) for _ in prompts]

    def rest(self) -> None:
        """Nothing to put to rest."""


def test_answers_are_kept_as_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    problems = [Problem(name, "Compute 1.", "1") for name in NAMES]
    with Verifier() as verifier:
        table = probe(
            Says(HOSTILE),
            verifier,
            problems,
            Template("{problem}"),
            samples=len(HOSTILE),
            sampling=Sampling(0.9, 10, 64),
            name=("probe", "x"),
            report=print,
        )
    table.to_parquet("responses.parquet", index=False)
    read = read_responses("responses.parquet", NAMES, ["text"])
    assert read["text"].tolist() == HOSTILE * len(NAMES)
    assert [path.name for path in tmp_path.iterdir()] == ["responses.parquet"]


def test_ids_are_names_and_no_paths(tmp_path: Path) -> None:
    path = tmp_path / "pool.jsonl"
    write_problems(path, [Problem(name, f"Compute {name}.", "1") for name in NAMES])
    assert [problem.id for problem in read_problems(path)] == NAMES
    write_prior(tmp_path / "prior.csv", NAMES, np.linspace(0, 1, len(NAMES)))
    assert read_prior(tmp_path / "prior.csv", NAMES).tolist() == list(np.linspace(0, 1, len(NAMES)))


def test_a_run_over_such_ids_writes_its_own_files_only(
    model_directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    function, arguments = one_run(tmp_path)
    problems = [Problem(name, f"compute {i}", "1") for i, name in enumerate(NAMES)]
    write_problems(arguments["pool"], problems)
    write_prior(arguments["prior"], NAMES, np.full(len(NAMES), 0.5))
    before = snapshot(tmp_path)
    assert run_here(function, arguments) == 0
    written = {Path(name).relative_to(tmp_path).parts[0] for name in set(snapshot(tmp_path))}
    assert written == {"model", "pool.jsonl", "anchor.csv", "results", "state", "run.log"}
    assert set(before) <= set(snapshot(tmp_path))
    groups = pd.read_parquet(arguments["outputs"]["groups"])
    assert set(groups["problem_id"]) <= set(NAMES)


# --- What is rendered -----------------------------------------------------------------------------


@pytest.mark.parametrize("text", [*HOSTILE, *NAMES], ids=lambda text: repr(text[:12]))
def test_markdown_html_and_latex_show_it(text: str) -> None:
    shown = markdown_escape(text)
    assert shown.isprintable()
    assert "<" not in shown
    for mark in "|`[]*#":
        assert mark not in shown.replace(f"\\{mark}", "")
    assert "<" not in str(breakable(text)).replace("<wbr>", "")
    assert all(c.isprintable() or c in "\n\t" for c in visible(text))
    set_by_latex = latex.escape(text)
    assert set_by_latex.isprintable()
    for command in (r"\input", r"\write", r"\immediate"):
        assert command not in set_by_latex
    assert "%" not in set_by_latex.replace(r"\%", "")
