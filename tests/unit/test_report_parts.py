"""What the report is put together from: text, numbers, captions, documents, records, items."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thinkprior.document import CONTENTS
from thinkprior.errors import InputError
from thinkprior.report.captions import read_caption
from thinkprior.report.comparison import badge, read_claims, read_comparison
from thinkprior.report.documents import document
from thinkprior.report.items import SECTIONS, all_items, captions
from thinkprior.report.numbers import read_numbers, read_rows, short
from thinkprior.report.provenance import campaign_runs, read_records
from thinkprior.report.text import breakable, visible
from thinkprior.reproduction.statuses import Status
from thinkprior.stages.report import DEVIATIONS_SECTION

ROOT = Path(__file__).resolve().parents[2]


def test_what_a_browser_obeys_or_hides_is_replaced() -> None:
    # A bell, a right-to-left override, a zero-width space, a lone surrogate, a no-break space.
    assert visible("a\x07b\u202ec\u200bd\ud800e\u00a0f\tg\n") == "a�b�c�d�e f\tg\n"


@given(st.text())
def test_visible_text_is_as_long_and_can_be_written(text: str) -> None:
    shown = visible(text)
    assert len(shown) == len(text)
    shown.encode("utf-8")


def test_names_break_at_their_signs_and_stay_text() -> None:
    assert breakable("silent_at<10>'a.b:c/d") == (
        "silent_<wbr>at&lt;10&gt;&#39;a.<wbr>b:<wbr>c/<wbr>d"
    )


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("0.42751097092766577", "0.4275"),
        ("0.149125", "0.1491"),
        ("0.04", "0.04"),
        ("3840", "3840"),
        ("-13.28125", "-13.28"),
        ("12345.678", "12346"),
        ("0.0", "0.0"),
        ("2.5e-06", "2.5e-06"),
        ("4.3210987e-10", "4.321e-10"),
        ("yes", "yes"),
        ("nan", "nan"),
        ("", ""),
        (".138", ".138"),
    ],
)
def test_numbers_are_shortened_and_never_lengthened(text: str, shown: str) -> None:
    assert short(text) == shown


def test_a_csv_file(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text('what,seconds\n"load, save",1.23456\nrest,\n', encoding="utf-8")
    numbers = read_numbers(path)
    assert numbers.columns == ["what", "seconds"]
    assert [[cell.text for cell in row] for row in numbers.rows] == [
        ["load, save", "1.235"],
        ["rest", ""],
    ]
    assert numbers.numeric == {1}
    assert read_rows(path, ["seconds"])[0] == {"what": "load, save", "seconds": "1.23456"}


@pytest.mark.parametrize(
    ("content", "named"), [("", "empty"), ("a,b\n1\n", "line 2"), ("a\n1\n", "columns seconds")]
)
def test_a_broken_csv_file_is_named(tmp_path: Path, content: str, named: str) -> None:
    path = tmp_path / "x.csv"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=named) as raised:
        read_rows(path, ["seconds"])
    assert str(path) in str(raised.value)


def test_a_caption_names_the_scale_and_is_text(tmp_path: Path) -> None:
    path = tmp_path / "x.rst"
    path.write_text('At the {{ snakemake.config["scale"] }}\nscale.\n\nMore.\n', encoding="utf-8")
    assert read_caption(path, {"scale": "<b>"}) == ["At the <b> scale.", "More."]
    path.write_text("{{ snakemake.wildcards.x }}", encoding="utf-8")
    with pytest.raises(InputError, match="does not render"):
        read_caption(path, {"scale": "micro"})


def test_every_item_has_a_caption_that_names_the_scale() -> None:
    folder = ROOT / "workflow" / "report"
    assert {path.stem for path in folder.glob("*.rst")} == set(captions())
    for name in captions():
        paragraphs = read_caption(folder / f"{name}.rst", {"scale": "SCALE"})
        assert sum(text.count("SCALE scale") for text in paragraphs) == 1, name
        # No markup: the same text is reStructuredText for Snakemake and plain for the page.
        assert not re.search(r"[*`|\\]|_\b|::|<", " ".join(paragraphs)), name


def test_items_have_places_of_their_own_and_are_those_of_the_document() -> None:
    anchors = [section.anchor for section in SECTIONS] + [item.anchor for item in all_items()]
    assert len(set(anchors)) == len(anchors)
    files = [file for item in all_items() for file in item.files.values()]
    assert len(set(files)) == len(files)
    entries = {(entry.name, entry.kind) for part in CONTENTS for entry in part.entries}
    assert entries <= {(item.name, item.kind) for item in all_items()}


def test_a_document_acts_on_nothing(tmp_path: Path) -> None:
    path = tmp_path / "notes.md"
    path.write_text(
        "# Title\n\n## One\n\nA [file](world.md), a [page](https://example.org/), "
        "[a trick](javascript:alert(1)), ![picture](https://example.org/x.png) and "
        "<script>alert(1)</script>\x1b.\n\n| a | b |\n| --- | ---: |\n| 1 | `2` |\n\n"
        "## Two\n\nNo.\n",
        encoding="utf-8",
    )
    found = document(path, "One")
    assert found == (
        '<p>A file, a <a href="https://example.org/">page</a>, [a trick](javascript:alert(1)), '
        "picture and &lt;script&gt;alert(1)&lt;/script&gt;�.</p>\n"
        "<table>\n<thead>\n<tr>\n<th>a</th>\n<th>b</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n"
        "<td>1</td>\n<td><code>2</code></td>\n</tr>\n</tbody>\n</table>\n"
    )
    whole = document(path)
    assert "Title" not in whole
    assert "<h4>Two</h4>" in whole
    with pytest.raises(InputError, match="Three"):
        document(path, "Three")


def test_the_documents_of_the_report_are_there() -> None:
    assert "<table>" in document(ROOT / "docs" / "decisions.md")
    assert "<li>" in document(ROOT / "docs" / "results.md", DEVIATIONS_SECTION)


def record(**changes: Any) -> dict[str, Any]:
    return {
        "rule": "table1",
        "function": "m:f",
        "settings_digest": "s",
        "code_digest": "c",
        "inputs": {"in.csv": "1"},
        "outputs": {"t.tex": "2", "t.csv": "3"},
        "usage": {"seconds": 1.234},
        "host": {"machine": "vm", "processor": "CPU", "cores": 2, "python": "3.11"},
        **changes,
    }


def test_records_are_found_by_what_they_wrote(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "table1.json").write_text(json.dumps(record()), encoding="utf-8")
    made = read_records(tmp_path)
    assert set(made) == {"t.tex", "t.csv"}
    assert made["t.tex"].seconds == "1.23"
    assert made["t.tex"].host == "vm · CPU, 2 cores · Python 3.11"
    (tmp_path / "torn.json").write_text('{"rule": ', encoding="utf-8")
    with pytest.raises(InputError, match=r"torn\.json"):
        read_records(tmp_path)


def test_runs_are_counted_by_campaign_and_differences_shown(tmp_path: Path) -> None:
    campaign = {
        **{"title": "T", "policy": "p", "anchor": "a", "pool": "pool250", "steps": 60},
        **{"kl_beta": 0.04, "arms": ["x", "y"], "seeds": [0, 1, 2]},
    }
    paths = []
    for seed, machine in enumerate(["one", "one", "two"]):
        path = tmp_path / f"{seed}.json"
        content = {"name": f"main/x/seed{seed}", "code_digest": "c", "host": {"machine": machine}}
        path.write_text(json.dumps(content), encoding="utf-8")
        paths.append(path)
    main, other = campaign_runs({"main": campaign, "other": campaign}, paths)
    assert (main.planned, main.finished, main.mixed) == (6, 3, True)
    assert list(main.hosts.values()) == [2, 1]
    assert main.facts["KL weight"] == "0.04"
    assert (other.finished, other.mixed) == (0, False)
    with pytest.raises(InputError, match="'main'"):
        campaign_runs({"other": campaign}, paths)


def test_every_status_has_a_colour_and_its_words() -> None:
    for status in Status:
        shown = badge(status.value)
        assert shown.words == status.label
        assert shown.tone in ("agrees", "open", "differs", "none")
    assert badge("something new").words == "something new"


def test_a_reproduction_without_its_columns_is_named(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("scale\nmicro\n", encoding="utf-8")
    for read in (read_claims, read_comparison):
        with pytest.raises(InputError, match="lacks the columns"):
            read(path)
