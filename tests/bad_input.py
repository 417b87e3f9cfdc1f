"""Bad input: what was done, what was said, and the page that lists both."""

from __future__ import annotations

import os
import re
from collections.abc import Collection
from pathlib import Path

from thinkprior.digest import file_digest

PAGE = Path(__file__).resolve().parents[1] / "docs" / "bad_input.md"
WRITE = "THINKPRIOR_WRITE_DOCS"
"""Environment variable under which the tests write their part of the page instead of reading it."""

Row = tuple[str, str, str]
"""Kind, what was done, and the message."""


def snapshot(folder: Path) -> dict[str, str]:
    """Checksum of every file under a folder."""
    return {str(path): file_digest(path) for path in sorted(folder.rglob("*")) if path.is_file()}


def message_of(printed: str, *folders: Path) -> str:
    """The one error message of what was printed, folders of this test taken out of its paths.

    It may go on in indented lines, one a fault.
    """
    assert "Traceback" not in printed, printed
    # Snakemake shows the log of a failed job besides, which holds it too.
    messages = set(re.findall(r"^error: .*(?:\n {2,}.*)*", printed, re.MULTILINE))
    assert len(messages) == 1, printed
    text = str(messages.pop())
    for folder in folders:
        text = text.replace(f"{folder}{os.sep}", "").replace(str(folder), ".")
    return text


def check_page(part: str, rows: list[Row], skippable: Collection[str] = ()) -> None:
    """The part of the page between its two marks is what the tests produced.

    Args:
        part: its name.
        rows: what they produced.
        skippable: kinds whose tests are skipped on some machines, so that rows may be missing.
    """
    lines = [_line(row) for row in rows]
    page = PAGE.read_text(encoding="utf-8")
    start, end = f"<!-- {part}: begin -->\n", f"<!-- {part}: end -->\n"
    before, _, rest = page.partition(start)
    inside, _, after = rest.partition(end)
    if os.environ.get(WRITE):
        head = ["| kind | what was done | message |", "| --- | --- | --- |"]
        text = "\n".join([*head, *lines]) + "\n"
        PAGE.write_text(before + start + text + end + after, encoding="utf-8")
        return
    shown = inside.splitlines()[2:]
    other = [line for line in lines if line not in shown]
    other += [
        line
        for line in shown
        if line not in lines and line.split(" | ")[0].strip("| ") not in skippable
    ]
    assert not other, f"docs/bad_input.md drifts; write it with {WRITE}=1:\n" + "\n".join(other)


def _line(row: Row) -> str:
    cells = [cell.replace("\\", "\\\\").replace("|", "\\|") for cell in row[:2]]
    message = "<br>".join(f"`{line.strip()}`" for line in row[2].replace("`", "'").splitlines())
    message = message.replace("|", "\\|")
    return f"| {cells[0]} | {cells[1]} | {message} |"
