r"""Grade a file of golds and predictions: ``python -m thinkprior.verification FILE.jsonl``.

Each line is an object with ``gold`` and ``prediction``. A prediction is a whole reply if it holds a
box or its ``form`` is ``response``, else a bare answer, which is graded as if it stood in a box.
The rows come back on standard output, one a line, with their ``verdict``; the counts go to standard
error, and where the rows have ``expected`` also how many verdicts agree.
"""

import argparse
import json
import logging
import re
import sys
from pathlib import Path

from thinkprior.errors import InputError
from thinkprior.verification.verdicts import Verdict
from thinkprior.verification.verifier import Verifier

_BOX = re.compile(r"\\(?:boxed|fbox)\b")


def read_pairs(path: Path) -> list[dict[str, object]]:
    """Read the rows of a file of golds and predictions.

    Raises:
        InputError: A line is no JSON object, or lacks a gold or a prediction.
    """
    rows = []
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 ({error}). Save the file as UTF-8.") from error
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            raise InputError(f"{path}, line {number} is no JSON: {error}.") from None
        for key in ("gold", "prediction"):
            if not isinstance(row, dict) or not isinstance(row.get(key), str):
                raise InputError(f"{path}, line {number} needs a text as its {key!r}.")
        rows.append(row)
    return rows


def as_response(row: dict[str, object]) -> str:
    """Return the prediction of a row as a whole reply."""
    prediction = str(row["prediction"])
    form = row.get("form") or ("response" if _BOX.search(prediction) else "answer")
    return prediction if form == "response" else f"\\boxed{{{prediction}}}"


def main() -> int:
    """Grade a file and print the verdicts."""
    parser = argparse.ArgumentParser(
        prog="python -m thinkprior.verification",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("file", type=Path, help="JSONL with gold and prediction")
    parser.add_argument("--time-limit", type=float, default=5.0, help="seconds a comparison (5)")
    parser.add_argument("--workers", type=int, default=1, help="worker processes (1)")
    arguments = parser.parse_args()
    logging.basicConfig(stream=sys.stderr, format="%(levelname)s %(message)s")
    try:
        rows = read_pairs(arguments.file)
        with Verifier(time_limit=arguments.time_limit, workers=arguments.workers) as verifier:
            verdicts, report = verifier.grade(
                [str(row["gold"]) for row in rows], [as_response(row) for row in rows]
            )
    except (InputError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    for row, verdict in zip(rows, verdicts, strict=True):
        print(json.dumps({**row, "verdict": verdict}))
    counts = ", ".join(f"{verdict} {verdicts.count(verdict)}" for verdict in Verdict)
    print(f"{counts}\n{report}", file=sys.stderr)
    expected = [
        (verdict is Verdict.correct) == row["expected"]
        for row, verdict in zip(rows, verdicts, strict=True)
        if "expected" in row
    ]
    if expected:
        print(f"as expected: {sum(expected)} of {len(expected)}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
