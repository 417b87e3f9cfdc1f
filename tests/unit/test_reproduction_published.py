"""Reading the paper's printed numbers."""

import math
from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from thinkprior.errors import InputError
from thinkprior.reproduction.published import COLUMNS, WORDS, parse, read_published

PROJECT = Path(__file__).resolve().parents[2]
PUBLISHED = PROJECT / "resources" / "published" / "published.csv"


@pytest.mark.parametrize(
    ("text", "kind", "values", "unit", "of", "digits"),
    [
        (".138", "number", (0.138,), "", None, 3),
        ("64", "number", (64.0,), "", None, 0),
        ("~138", "number", (138.0,), "", None, 0),
        ("about 5", "number", (5.0,), "", None, 0),
        ("-13.1 pts", "number", (-13.1,), "points", None, 1),
        ("+0.68 pts", "number", (0.68,), "points", None, 2),
        ("-10.6%", "number", (-10.6,), "percent", None, 1),
        ("55%", "number", (55.0,), "percent", None, 0),
        ("5.6x", "number", (5.6,), "ratio", None, 1),
        ("<1e-4", "below", (1e-4,), "", None, 4),
        ("4/6", "count", (4.0,), "", 6, 0),
        ("21/76", "count", (21.0,), "", 76, 0),
        ("119/250", "count", (119.0,), "", 250, 0),
        ("1200/1200", "count", (1200.0,), "", 1200, 0),
        ("0.822 +- 0.039", "deviation", (0.822, 0.039), "", None, 3),
        ("0.125-0.167", "range", (0.125, 0.167), "", None, 3),
        ("37.5-40.8%", "range", (37.5, 40.8), "percent", None, 1),
        ("0.098, 0.290", "list", (0.098, 0.290), "", None, 3),
        ("1/2, 3/4", "list", (1.0, 3.0), "", None, 0),
        ("at chance", "words", (), "", None, 0),
        ("just clear of zero", "words", (), "", None, 0),
    ],
)
def test_what_a_printed_string_says(
    text: Any, kind: Any, values: Any, unit: Any, of: Any, digits: Any
) -> None:
    found = parse(text)
    assert (found.kind, found.values, found.unit, found.of, found.digits) == (
        kind,
        values,
        unit,
        of,
        digits,
    )


def test_approximate_numbers_are_marked() -> None:
    assert parse("~138").approximate
    assert parse("about 5").approximate
    assert not parse("138").approximate


def test_the_rounding_is_half_a_unit_of_the_last_decimal() -> None:
    assert parse("0.138").rounding == pytest.approx(0.0005)
    assert parse("64").rounding == 0.5


def test_words_have_no_value() -> None:
    assert math.isnan(parse("at chance").value)


@pytest.mark.parametrize("text", ["", "some", "1.2.3", "4/", "0.1, some", "<", "nan"])
def test_an_unknown_string_is_refused(text: Any) -> None:
    with pytest.raises(InputError, match="neither a number of a known form"):
        parse(text)


def test_every_published_row_is_read() -> None:
    rows = read_published(PUBLISHED)
    kinds = Counter(row.printed.kind for row in rows)
    assert len(rows) == 328
    assert {row.printed.text for row in rows if row.printed.kind == "words"} == set(WORDS)
    # Counted in the file by hand: ranges with a hyphen, "+-", "<", two commas outside of quotes.
    assert (kinds["range"], kinds["deviation"], kinds["below"], kinds["list"]) == (5, 2, 2, 3)


def test_the_copy_holds_the_numbers_of_the_shared_file() -> None:
    shared = PROJECT.parent / "shared" / "paper" / "published.csv"
    if not shared.exists():
        pytest.skip("the shared folder with the paper's numbers is not here")
    ours, theirs = (
        pd.read_csv(path, dtype=str, keep_default_na=False)[list(COLUMNS)]
        for path in (PUBLISHED, shared)
    )
    pd.testing.assert_frame_equal(ours, theirs)


def test_errors_name_the_file_and_the_line(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text("table,setting,arm,metric,printed,note\na,b,c,d,1,\na,b,c,e,many,\n")
    with pytest.raises(InputError, match=r"p\.csv, line 3: .*'many'"):
        read_published(path)
    path.write_text("table,setting,arm,metric,printed,note\na,b,c,d,1,\na,b,c,d,2,\n")
    with pytest.raises(InputError, match="a / b / c / d stands twice"):
        read_published(path)
    path.write_text("table,setting\n")
    with pytest.raises(InputError, match="arm, metric, printed, note"):
        read_published(path)
