"""The reproduction page as Markdown."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence

from thinkprior.printable import one_line
from thinkprior.rendering.scale import Scale
from thinkprior.reproduction.claims import Claim
from thinkprior.reproduction.page import ComparedRow, grouped, status_counts

_SPECIAL = re.compile(r"([\\`*_{}\[\]|#~!])")


def escape(text: str) -> str:
    """Plain text that Markdown and HTML read as itself, on one line."""
    seen = one_line(" ".join(text.split()))
    return _SPECIAL.sub(r"\\\1", html.escape(seen, quote=False))


def markdown(rows: Sequence[ComparedRow], claims: Sequence[Claim], scale: Scale) -> str:
    """The whole page: what it is of, the claims, counts by status, and every row."""
    lines = [
        "# The paper's numbers beside ours",
        "",
        f"Scale `{escape(scale.name)}`. {escape(scale.note)} A level belongs to its models and "
        "problems; what is compared here are relations. Separated means that a 95% interval "
        "excludes zero, or that seed ranges do not meet; not separated is no evidence of equality.",
        "",
        "## Claims",
        "",
        *_table(
            ("claim", "where in the paper", "verdict", "numbers here", "rule"),
            (
                (
                    escape(claim.text.statement),
                    escape(claim.text.where),
                    f"**{escape(claim.decision.verdict.value)}**",
                    escape(claim.decision.finding),
                    escape(claim.text.rule),
                )
                for claim in claims
            ),
        ),
        "",
        "## Rows by status",
        "",
        *_table(
            ("status", "rows"),
            ((escape(status.label), str(count)) for status, count in status_counts(rows)),
        ),
        "",
    ]
    for heading, part in grouped(rows):
        lines += [
            f"## {escape(heading)}",
            "",
            *_artifacts(part),
            *_table(
                ("setting", "arm", "number", "paper", "here", "range", "status", "how compared"),
                (_cells(row) for row in part),
            ),
            "",
        ]
    return "\n".join(lines)


def _cells(row: ComparedRow) -> tuple[str, ...]:
    published = row.published
    return tuple(
        escape(text)
        for text in (
            published.setting,
            published.arm,
            published.metric,
            published.printed.text,
            row.shown or "-",
            row.spread or "-",
            row.judgement.status.label,
            f"{row.judgement.explanation} {row.why}{_note(row)}",
        )
    )


def _note(row: ComparedRow) -> str:
    """What our table says of its number."""
    said = "" if row.ours is None else row.ours.note.strip().rstrip(".")
    return f" Our number: {said}." if said and row.shown else ""


def _artifacts(rows: Sequence[ComparedRow]) -> list[str]:
    files = list(dict.fromkeys(row.artifact for row in rows if row.artifact))
    return [f"Our numbers are in {', '.join(map(escape, files))}.", ""] if files else []


def _table(head: Sequence[str], body: Iterable[Sequence[str]]) -> list[str]:
    return [
        f"| {' | '.join(head)} |",
        f"|{' --- |' * len(head)}",
        *(f"| {' | '.join(cells)} |" for cells in body),
    ]
