"""Making the reproduction page from the tables of a scale."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from thinkprior.artifacts import RUNS, read_csv
from thinkprior.findings.main_tables import table1_measurements, table2_measurements
from thinkprior.measurements import Measurement, read_measurements
from thinkprior.rendering.scale import Scale
from thinkprior.rendering.table import write_csv
from thinkprior.reproduction.claims import Claim, decide, read_claims
from thinkprior.reproduction.markdown import markdown
from thinkprior.reproduction.page import ComparedRow, claims_frame, compare, page_frame
from thinkprior.reproduction.published import read_published
from thinkprior.reproduction.rules import read_rules


def main_measurements(tables: Mapping[str, Path | str]) -> dict[str, list[Measurement]]:
    """The numbers of Tables 1 and 2 by the file that holds them.

    Args:
        tables: `table1` with the metrics `main` behind it and `table2` with `reestimate` (those of
            the campaign that it is of); a table that is missing has no finished runs.
    """
    found = {}
    for name, campaign, numbers in (
        ("table1", "main", table1_measurements),
        ("table2", "reestimate", table2_measurements),
    ):
        if name in tables:
            table, runs = tables[name], tables[campaign]
            found[str(table)] = numbers(read_csv(table, ()), read_csv(runs, RUNS))
    return found


def reproduction(
    scale: str,
    published: Path | str,
    comparators: Path | str,
    claims: Path | str,
    main_tables: Mapping[str, Path | str],
    long_tables: Sequence[Path | str],
    absent_campaigns: Sequence[str] = (),
) -> tuple[list[ComparedRow], list[Claim]]:
    """The compared rows and the decided claims of a scale, for whoever renders them.

    Args:
        scale: its name.
        published: the paper's numbers.
        comparators: the checked-in comparators.
        claims: the checked-in claims.
        main_tables: Tables 1 and 2, as `main_measurements` takes them.
        long_tables: the files of measurements.
        absent_campaigns: campaigns of the paper that this scale does not declare.
    """
    found = main_measurements(main_tables)
    for path in long_tables:
        found[str(path)] = read_measurements(path)
    rows = compare(
        read_published(published), read_rules(comparators), found, scale, absent_campaigns
    )
    every = [measurement for measurements in found.values() for measurement in measurements]
    return rows, decide(read_claims(claims), every, absent_campaigns)


def make_reproduction(
    settings: Mapping[str, Any],
    published: Path | str,
    comparators: Path | str,
    claims: Path | str,
    main_tables: Mapping[str, Path | str],
    long_tables: Sequence[Path | str],
    csv: Path | str,
    claims_csv: Path | str,
    page: Path | str,
) -> None:
    """Writes the page as CSV and Markdown, and the claims; `settings` as its plan has them."""
    scale = Scale(settings["scale"], settings["note"])
    rows, decided = reproduction(
        scale.name,
        published,
        comparators,
        claims,
        main_tables,
        long_tables,
        settings.get("absent_campaigns", ()),
    )
    write_csv(page_frame(rows, scale.name), Path(csv))
    write_csv(claims_frame(decided, scale.name), Path(claims_csv))
    path = Path(page)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(markdown(rows, decided, scale), encoding="utf-8", newline="\n")
