"""The verifier as it is used: batches, counts, cache, worker processes, canaries, the command
line."""

import json
import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest

from thinkprior.errors import InputError
from thinkprior.verification import BatchReport, CanaryError, Verdict, Verifier, pool, verifier

# math-verify works for minutes on the first of these; the exact path cannot decide the others.
ENDLESS = r"\binom{100000000}{50000000}"
FOR_WORKERS = (("x+1", r"\frac{x^2-1}{x-1}"), ("x<3", r"(-\infty, 3)"))


def boxed(*answers: str) -> list[str]:
    return [f"So it is \\boxed{{{answer}}}." for answer in answers]


def test_a_batch_and_its_counts() -> None:
    golds = ["5", "5", "5", "5", r"\frac{3}{4}", "12\\pi"]
    replies = [*boxed("5", "6", "5"), "It is 5.", *boxed("0.75", "1-")]
    with Verifier() as verifier:
        verdicts, report = verifier.grade(golds, replies)
        assert verdicts == ["correct", "wrong", "correct", "no_box", "correct", "wrong"]
        assert report == BatchReport(graded=6, exact=4, cached=1, no_box=1)
        verifier.grade(golds[:2], replies[:2])
        assert verifier.report == BatchReport(graded=8, exact=4, cached=3, no_box=1)


def test_an_empty_batch() -> None:
    with Verifier() as verifier:
        assert verifier.grade([], []) == ([], BatchReport())


def test_workers_decide_what_takes_math_verify() -> None:
    golds = [gold for gold, _ in FOR_WORKERS]
    replies = boxed(*(answer for _, answer in FOR_WORKERS))
    with Verifier(workers=2) as verifier:
        verdicts, report = verifier.grade([*golds, golds[0]], [*replies, replies[0]])
        assert verdicts == ["correct"] * 3
        assert report == BatchReport(graded=3, compared=2, cached=1)
        _, report = verifier.grade(golds, replies)
        assert report == BatchReport(graded=2, cached=2)


def test_a_timeout_is_counted_and_logged_and_the_next_answer_is_graded(
    caplog: pytest.LogCaptureFixture,
) -> None:
    gold, answer = FOR_WORKERS[0]
    with Verifier(time_limit=0.5) as verifier, caplog.at_level(logging.WARNING):
        golds, replies = ["5", gold, "7"], boxed(ENDLESS, answer, ENDLESS)
        verdicts, report = verifier.grade(golds, replies)
        assert verdicts == [Verdict.timeout, Verdict.correct, Verdict.timeout]
        assert report == BatchReport(graded=3, compared=3, timeouts=2)
        assert (
            sum(ENDLESS in record.getMessage().replace("\\\\", "\\") for record in caplog.records)
            == 2
        )
        # It may have been the machine's fault, so it is tried again; what was decided is not.
        _, report = verifier.grade(golds[:2], replies[:2])
        assert report == BatchReport(graded=2, compared=1, cached=1, timeouts=1)


STUB = """
import sys
from thinkprior.verification.messages import receive, send
send(sys.stdout.buffer, {"ready": True})
while True:
    gold, answer = receive(sys.stdin.buffer)
    right = "x+2" in answer
    %s
"""


def stub(monkeypatch: pytest.MonkeyPatch, folder: Path, body: str) -> None:
    """Put another program in the place of the worker."""
    (folder / "stub_worker.py").write_text(STUB % body)
    monkeypatch.setenv("PYTHONPATH", str(folder))
    monkeypatch.setattr(pool, "_WORKER_MODULE", "stub_worker")


@pytest.mark.parametrize("correct", ["True", "False"])
def test_a_worker_that_always_says_the_same_stops_the_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, correct: str
) -> None:
    stub(monkeypatch, tmp_path, f'send(sys.stdout.buffer, {{"correct": {correct}}})')
    with Verifier() as verifier, pytest.raises(CanaryError, match="known answer"):
        verifier.grade(["x<3"], boxed(r"(-\infty, 3)"))


def test_a_worker_whose_every_comparison_fails_stops_the_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    stub(monkeypatch, tmp_path, 'send(sys.stdout.buffer, {"error": "ImportError: antlr4"})')
    with Verifier() as verifier, pytest.raises(CanaryError, match="ImportError: antlr4"):
        verifier.grade(["x<3"], boxed(r"(-\infty, 3)"))


def test_an_error_in_one_comparison_is_counted_and_logged(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    body = (
        'send(sys.stdout.buffer, {"error": "TypeError: x"} if "3" in gold else {"correct": right})'
    )
    stub(monkeypatch, tmp_path, body)
    with Verifier() as verifier, caplog.at_level(logging.WARNING):
        verdicts, report = verifier.grade(["x<3"], boxed(r"(-\infty, 3)"))
    assert verdicts == [Verdict.error]
    assert (report.compared, report.errors) == (1, 1)
    assert "TypeError: x" in caplog.text


def test_a_worker_that_dies_is_an_error_and_is_replaced(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    body = 'sys.exit(3) if "3" in gold else send(sys.stdout.buffer, {"correct": right})'
    stub(monkeypatch, tmp_path, body)
    with Verifier() as verifier, caplog.at_level(logging.WARNING):
        verdicts, report = verifier.grade(["x<3", "x<4"], boxed(r"(-\infty, 3)", "(x+2)<6"))
    assert verdicts == [Verdict.error, Verdict.correct]
    assert report.errors == 1
    assert "exit status 3" in caplog.text


def test_a_worker_that_cannot_start_is_said_to_be_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "_WORKER_MODULE", "no_such_module")
    with Verifier() as verifier, pytest.raises(RuntimeError, match="did not start"):
        verifier.grade(["x<3"], boxed(r"(-\infty, 3)"))


@pytest.mark.parametrize("always", [True, False, None])
def test_an_exact_path_that_always_says_the_same_stops_the_run(
    monkeypatch: pytest.MonkeyPatch, always: bool | None
) -> None:
    monkeypatch.setattr(verifier, "decide", lambda gold, answer: always)
    with Verifier() as grader, pytest.raises(CanaryError, match="known answer"):
        grader.grade(["5"], boxed("5"))


def test_boxes_that_are_never_found_stop_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verifier, "last_box", lambda text: None)
    with Verifier() as grader, pytest.raises(CanaryError, match="no_box"):
        grader.grade(["5"], boxed("5"))


def test_bad_input_is_named() -> None:
    with Verifier() as grader:
        with pytest.raises(InputError, match="2 golds and 1 responses"):
            grader.grade(["1", "2"], ["x"])
        with pytest.raises(InputError, match="gold of response 1 is empty"):
            grader.grade(["1", " "], ["x", "y"])
    with pytest.raises(InputError, match="positive time limit"):
        Verifier(time_limit=0)
    with pytest.raises(InputError, match="at least one worker"):
        Verifier(workers=0)


def test_a_forked_child_does_not_use_its_parents_workers() -> None:
    gold, answer = FOR_WORKERS[0]
    with Verifier() as grader:
        grader.grade([gold], boxed(answer))
        child = os.fork()
        if child == 0:
            # Not through pytest: only the exit status of the child comes back.
            verdicts, _ = grader.grade(["x<4"], boxed(r"(-\infty, 4)"))
            grader.close()
            os._exit(0 if verdicts == [Verdict.correct] else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert grader.grade(["x<5"], boxed(r"(-\infty, 5)"))[0] == [Verdict.correct]


def test_importing_and_exact_grading_load_no_heavy_library() -> None:
    script = (
        "import sys\n"
        "from thinkprior.verification import Verifier\n"
        "Verifier().grade(['5'], ['\\\\boxed{5.0}'])\n"
        "print([m for m in ('sympy', 'math_verify', 'numpy', 'torch') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_nothing_in_an_answer_is_run(tmp_path: Path) -> None:
    witness = tmp_path / "witness"
    code = (
        f"__import__('os').system('touch {witness}')",
        f"exec(\"open('{witness}','w')\")",
        f"\\write18{{touch {witness}}}",
        f"x.__class__.__init__.__globals__ open('{witness}','w')",
    )
    with Verifier() as grader:
        for gold in ("5", "x", "x<3"):
            verdicts, _ = grader.grade([gold] * len(code), boxed(*code))
            assert set(verdicts) <= {Verdict.wrong, Verdict.error}
    assert not witness.exists()


def run_command_line(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "thinkprior.verification", *map(str, arguments)],
        capture_output=True,
        text=True,
    )


def test_the_command_line_grades_a_file(tmp_path: Path) -> None:
    rows = [
        {"gold": "5", "prediction": "5.0", "expected": True},
        {"gold": "5", "prediction": r"First \boxed{5}, then \boxed{6}.", "expected": False},
        {"gold": "5", "prediction": "5", "form": "response", "expected": False},
        {"gold": r"\{1,2\}", "prediction": r"\{2,1\}", "expected": False},
    ]
    file = tmp_path / "pairs.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)) + "\n")
    done = run_command_line(file)
    assert done.returncode == 0
    verdicts = [json.loads(line)["verdict"] for line in done.stdout.splitlines()]
    assert verdicts == ["correct", "wrong", "no_box", "correct"]
    assert "as expected: 3 of 4" in done.stderr


def test_the_command_line_names_what_is_wrong_with_a_file(tmp_path: Path) -> None:
    file = tmp_path / "pairs.jsonl"
    for line, message in (
        ('{"gold": "5"}', "line 1 needs a text as its 'prediction'"),
        ("{", "line 1 is no JSON"),
        ('{"gold": "", "prediction": "5"}', "gold of response 0 is empty"),
    ):
        file.write_text(line)
        done = run_command_line(file)
        assert done.returncode == 2
        assert message in done.stderr
        assert "Traceback" not in done.stderr
