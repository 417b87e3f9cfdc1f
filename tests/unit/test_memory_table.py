"""docs/memory.md holds the tables that the plan gives, and they add up."""

from __future__ import annotations

from pathlib import Path

from thinkprior.memory_table import COLUMNS, DOCUMENT, tables, written

ROOT = Path(__file__).parents[2]


def test_the_document_does_not_drift() -> None:
    text = (ROOT / DOCUMENT).read_text(encoding="utf-8")
    assert written(text, tables(ROOT)) == text, "run python -m thinkprior.memory_table"


def test_parts_add_up_and_every_column_fits_its_card() -> None:
    blocks = tables(ROOT).split("\n\n")
    for block in blocks[1:3]:
        rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in block.splitlines()]
        names = [row[0] for row in rows]
        end = names.index("**sum**")
        for place, column in enumerate(COLUMNS, start=1):
            parts = [float(row[place]) for row in rows[2:end] if row[place]]
            total = float(rows[end][place].strip("*"))
            assert abs(sum(parts) - total) < 0.1
            assert total < column.memory
