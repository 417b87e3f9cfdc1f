"""The page: published rows beside ours, from files to CSV and Markdown."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from thinkprior.errors import InputError
from thinkprior.measurements import Measurement, measurement_frame, over_seeds
from thinkprior.rendering.scale import Scale
from thinkprior.reproduction.claims import Claim, ClaimText, Decision, Verdict
from thinkprior.reproduction.markdown import escape, markdown
from thinkprior.reproduction.page import (
    HEADINGS,
    ComparedRow,
    compare,
    grouped,
    page_frame,
    status_counts,
)
from thinkprior.reproduction.published import PublishedRow, parse, read_published
from thinkprior.reproduction.rules import read_rules
from thinkprior.reproduction.statuses import Status
from thinkprior.stages.reproduction import make_reproduction

FOLDER = Path(__file__).resolve().parents[2] / "resources" / "published"
PUBLISHED = read_published(FOLDER / "published.csv")
RULES = read_rules(FOLDER / "comparators.yaml")
LARGE = [
    over_seeds("table3d", "large_pool", "thinkprior", "silent_at_10", [0.15, 0.113, 0.1]),
    over_seeds("table3d", "large_pool", "online_np", "silent_at_10", [0.287, 0.175, 0.263]),
]


def page(
    found: Mapping[str, Sequence[Measurement]], scale: str = "miniature"
) -> dict[Any, ComparedRow]:
    return {row.published.key: row for row in compare(PUBLISHED, RULES, found, scale)}


def test_every_published_row_stands_on_the_page_in_its_order() -> None:
    rows = compare(PUBLISHED, RULES, {}, "miniature")
    assert [row.published for row in rows] == PUBLISHED
    assert {row.judgement.status for row in rows} == {Status.NOT_RUN, Status.NOT_COMPARABLE}
    assert sum(count for _, count in status_counts(rows)) == 328


def test_the_papers_own_numbers_are_as_in_the_paper() -> None:
    words = {"at chance": 0.5, "just clear of zero": 2.0}
    found = []
    for row in PUBLISHED:
        printed = row.printed
        low, high = printed.ends if printed.kind == "range" else (math.nan, math.nan)
        table, _, arm, metric = row.key
        found.append(
            Measurement(
                table,
                RULES.our_settings(row)[0],
                arm,
                metric,
                words.get(printed.text, printed.value),
                of=2 if printed.text in words else printed.of,
                low=low,
                high=high,
            )
        )
    agreeing = {Status.SAME, Status.SAME_UNSEPARATED, Status.UNDECIDED, Status.NOT_COMPARABLE}
    agreeing |= {Status.SAME_SEPARATED}
    rows = compare(PUBLISHED, RULES, {"paper.csv": found}, "miniature")
    assert {
        row.published.key: row.judgement for row in rows if row.judgement.status not in agreeing
    } == {}
    levels = compare(PUBLISHED, RULES, {"paper.csv": found}, "paper")
    assert Status.DIFFERENT_LEVEL not in {row.judgement.status for row in levels}
    assert sum(row.judgement.status is Status.SAME_LEVEL for row in levels) > 200


def test_a_row_has_ours_its_range_and_its_file() -> None:
    row = page({"table3.csv": LARGE})[
        "table3d", "pool 1200, 200 steps", "thinkprior", "silent_at_10"
    ]
    assert (row.shown, row.spread) == ("0.121", "0.100 to 0.150, n = 3")
    assert row.artifact == "table3.csv"
    assert row.comparator == "order: online_np"
    assert row.judgement.status is Status.SAME_SEPARATED


def test_a_reference_may_stand_in_another_table() -> None:
    without = over_seeds(
        "appendixE", "large_pool", "online_np", "math500_without_low_seed", [0.5, 0.6]
    )
    ours = over_seeds("table3d", "large_pool", "thinkprior", "math500", [0.55, 0.65])
    key = ("appendixE", "pool 1200", "online_np", "math500_without_low_seed")
    assert page({"e.csv": [without], "d.csv": [ours]})[key].judgement.status is Status.SAME


def test_the_campaign_that_the_paper_does_not_state_is_looked_for() -> None:
    metric = "full_run_wasted_rollouts"
    waste = [
        over_seeds("text", "reestimate", "thinkprior", metric, [960.0, 970.0]),
        over_seeds("text", "reestimate", "online_np", metric, [880.0, 890.0]),
    ]
    row = page({"windows.csv": waste})["text", "main pool", "thinkprior", metric]
    assert row.judgement.status is Status.SAME_SEPARATED
    assert row.ours is not None
    assert row.ours.setting == "reestimate"


def test_a_range_given_by_its_ends() -> None:
    found = [
        Measurement("text", "main", "random", "window_rate_range", 3.0),
        Measurement("text", "main", "random", "window_rate_min", 30.0),
        Measurement("text", "main", "random", "window_rate_max", 33.0),
        over_seeds("text", "reestimate", "online_np", "window_rate_first", [20.0, 22.0]),
    ]
    row = page({"w.csv": found})["text", "main pool", "random", "window_rate_range"]
    assert row.shown == "30.0 to 33.0%"
    assert row.judgement.status is Status.SAME


def test_p_values_are_not_rounded_to_the_limit() -> None:
    name = "math500_permutation_p_one_sided"
    found = [Measurement("table2", "reestimate", "thinkprior-online_np", name, 0.0486)]
    row = page({"t.csv": found})["table2", "reestimate", "thinkprior-online_np", name]
    assert row.shown == "0.049"
    assert row.judgement.status is Status.DIFFERENT


def test_a_number_in_two_files_is_refused() -> None:
    with pytest.raises(InputError, match=r"silent_at_10 stands in both a\.csv and b\.csv"):
        page({"a.csv": LARGE, "b.csv": LARGE})


def test_the_parts_follow_the_paper() -> None:
    rows = compare(PUBLISHED, RULES, {}, "miniature")
    parts = grouped(rows)
    assert [heading for heading, _ in parts] == list(HEADINGS.values())
    assert [row for _, part in parts for row in part] == sorted(
        rows, key=lambda row: list(HEADINGS).index(row.published.table)
    )
    other = replace(rows[0], published=replace(rows[0].published, table="table9"))
    assert grouped([*rows, other])[-1] == ("table9", [other])


HOSTILE = "<script>alert(1)</script> | *b* [l](http://x) `c`\n# h"


def test_hostile_text_reads_as_itself() -> None:
    assert escape(HOSTILE) == (
        r"&lt;script&gt;alert(1)&lt;/script&gt; \| \*b\* \[l\](http://x) \`c\` \# h"
    )
    hostile = PublishedRow(HOSTILE, HOSTILE, HOSTILE, HOSTILE, parse("1"), HOSTILE)
    row = replace(
        compare(PUBLISHED, RULES, {}, "miniature")[0],
        published=hostile,
        ours=Measurement("t", "s", "a", "m", 1.0, note=HOSTILE),
        shown=HOSTILE,
        artifact=HOSTILE,
        why=HOSTILE,
    )
    claim = Claim(
        ClaimText(id="i", statement=HOSTILE, where=HOSTILE, rule=HOSTILE),
        Decision(Verdict.HOLDS, HOSTILE),
    )
    text = markdown([row], [claim], Scale(HOSTILE, HOSTILE))
    assert "<script" not in text
    assert "[l](" not in text
    assert not any(line.startswith("# h") for line in text.splitlines())
    for line in text.splitlines():
        if line.startswith("|"):
            cells = line.replace(r"\|", "").count("|") - 1
            assert cells in (2, 5, 8)


def test_from_files_to_files(tmp_path: Path) -> None:
    long_table = tmp_path / "table3.csv"
    measurement_frame(LARGE, "miniature").to_csv(long_table, index=False)
    outputs = {"csv": "r.csv", "claims_csv": "c.csv", "page": "r.md"}
    make_reproduction(
        {"scale": "miniature", "note": "A note."},
        FOLDER / "published.csv",
        FOLDER / "comparators.yaml",
        FOLDER / "claims.yaml",
        {},
        [long_table],
        **{name: tmp_path / "out" / path for name, path in outputs.items()},
    )
    frame = pd.read_csv(tmp_path / "out" / "r.csv", keep_default_na=False)
    assert len(frame) == 328
    row = frame[
        (frame["table"] == "table3d")
        & (frame["arm"] == "thinkprior")
        & (frame["metric"] == "silent_at_10")
    ].iloc[0]
    assert row["scale"] == "miniature"
    assert (row["published"], row["ours"], row["status"]) == ("0.121", "0.121", "same_separated")
    assert (row["n"], row["artifact"]) == (3, str(long_table))
    claims = pd.read_csv(tmp_path / "out" / "c.csv")
    assert set(claims["verdict"]) == {"not run"}
    text = (tmp_path / "out" / "r.md").read_text()
    assert "## Table 3(d): the larger pool" in text
    assert "| same direction, separated here | 2 |" in text


def test_absent_numbers_stay_empty() -> None:
    rows = compare(PUBLISHED, RULES, {}, "miniature")
    frame = page_frame(rows, "miniature")
    assert set(frame["ours"]) == {""}
    assert frame["value"].isna().all()
