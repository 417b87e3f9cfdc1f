"""The report page from what lies under a scale's folder."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from thinkprior.availability import left_out
from thinkprior.configuration import parse
from thinkprior.report.documents import document
from thinkprior.report.page import Assets, page

DEVIATIONS_SECTION = "What differs from the paper here"
"""Section of `docs/results.md` that the page shows."""


def make_report(
    configuration: str,
    code: str,
    folder: Path | str,
    manifests: Sequence[Path | str],
    captions: Sequence[Path | str],
    decisions: Path | str,
    notes: Path | str,
    template: Path | str,
    style: Path | str,
    script: Path | str,
    report: Path | str,
) -> None:
    """Write the report.

    Args:
        configuration: the whole configuration of the scale as JSON; text, since its order counts
            and the job's record sorts mappings.
        code: digest of the code that makes the page.
        folder: of the scale.
        manifests: of the finished runs.
        captions: text files, named as `thinkprior.report.items.captions` says.
        decisions: `docs/decisions.md`.
        notes: `docs/results.md`.
        template: Jinja template of the page.
        style: its style sheet.
        script: its script.
        report: takes the page.
    """
    values = json.loads(configuration)
    html = page(
        folder=Path(folder),
        configuration=values,
        manifests=manifests,
        captions={Path(path).stem: Path(path) for path in captions},
        documents={
            "decisions": document(decisions),
            "notes": document(notes, DEVIATIONS_SECTION),
        },
        code=code,
        assets=Assets(Path(template), Path(style), Path(script)),
        left_out=left_out(parse(values, "the configuration of the report")),
    )
    Path(report).parent.mkdir(parents=True, exist_ok=True)
    Path(report).write_text(html, encoding="utf-8", newline="\n")
