"""The document of all tables and figures: its text, its errors, and its pages where LaTeX is."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from thinkprior.document import CONTENTS, Entry, Section, document, names
from thinkprior.errors import InputError
from thinkprior.rendering import latex
from thinkprior.rendering.scale import Scale
from thinkprior.stages.document import check_latex, make_document, typeset

HOSTILE = r"100% _{x}_ & $a^b~ #1 \\[2pt] \end{table} \input{/etc/passwd} <i> | * é ß 中 \u202e"
SCALE = Scale("micro_1", "Micro scale: a test. " + HOSTILE)
TWO = (
    Section("Tables & figures", (Entry("table", "one", "1", "Of 100%"),)),
    Section("More", (Entry("figure", "two", "2", "A picture"), Entry("table", "three", "B1", "C"))),
)
needs_latex = pytest.mark.skipif(
    not (shutil.which("latexmk") and shutil.which("pdflatex")),
    reason="latexmk and pdflatex are not installed (tests/install_optional.sh)",
)


def test_entries_stand_in_order_under_their_numbers() -> None:
    tables = {"one": "../tables/one.tex", "three": "../tables/three.tex"}
    text = document(SCALE, tables, {"two": "../figures/two.pdf"}, {"two": HOSTILE}, TWO)
    places = [
        r"\section{Tables \& figures}",
        r"\renewcommand{\thetable}{1}",
        r"\input{../tables/one.tex}",
        r"\section{More}",
        r"\renewcommand{\thefigure}{2}",
        r"\includegraphics[width=\linewidth]{../figures/two.pdf}",
        r"\renewcommand{\thetable}{B1}",
        r"\input{../tables/three.tex}",
        r"\end{document}",
    ]
    found = [text.index(place) for place in places]
    assert found == sorted(found)
    assert text.count(r"\input{") == 2


def test_names_and_captions_are_text() -> None:
    tables = {"one": "one.tex", "three": "three.tex"}
    text = document(SCALE, tables, {"two": "two.pdf"}, {"two": HOSTILE}, TWO)
    assert r"\textbf{micro\_1}" in text
    escaped = r"100\% \_\{x\}\_ \& \$a\textasciicircum{}b\textasciitilde{} \#1"
    assert text.count(escaped) == 2
    assert text.count(r"\textbackslash{}input\{/etc/passwd\}") == 2
    assert "é ß {[}U+4E2D{]}" in text
    assert "Of 100\\%" in text


def test_the_title_page_says_whose_numbers_these_are() -> None:
    text = document(Scale("tiny", "Tiny models."), {}, {}, {}, ())
    assert r"Scale: \textbf{tiny}" in text
    assert "Tiny models." in text
    assert "independent reproduction" in text
    assert "no code and no data" in " ".join(text.split())


def test_what_is_missing_is_named_in_its_place() -> None:
    text = document(SCALE, {"one": "one.tex"}, {}, {}, TWO)
    assert text.index("one.tex") < text.index(r"\textbf{Figure 2} was not made")
    assert text.index("Figure 2") < text.index(r"\textbf{Table B1} was not made")


def test_what_cannot_be_set_is_refused() -> None:
    tables = {"one": "one.tex", "three": "three.tex"}
    with pytest.raises(InputError, match=r"no place for the table\(s\) nine"):
        document(SCALE, tables | {"nine": "nine.tex"}, {"two": "two.pdf"}, {"two": "x"}, TWO)
    with pytest.raises(InputError, match=r"figure\(s\) two have no caption"):
        document(SCALE, tables, {"two": "two.pdf"}, {}, TWO)
    with pytest.raises(InputError, match="100%"):
        document(SCALE, {"one": "100%.tex"}, {}, {}, TWO)


def test_every_number_is_given_once() -> None:
    for kind in ("table", "figure"):
        numbers = [item.number for part in CONTENTS for item in part.entries if item.kind == kind]
        assert len(set(numbers)) == len(numbers)
    # The paper has five tables and three figures.
    assert {"table1", "table2", "table3", "table4", "table5"} <= set(names("table"))
    assert {"figure1", "figure2", "figure3"} <= set(names("figure"))


def test_without_latex_one_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    check_latex.cache_clear()
    with pytest.raises(InputError, match=r"latexmk and pdflatex not found.*apt-get install"):
        check_latex()


@pytest.mark.parametrize(
    ("log", "message"),
    [
        (
            "./paper.tex:5: LaTeX Error: File `caption.sty' not found.\n",
            r"LaTeX lacks caption.sty.*texlive-latex-recommended.*tlmgr",
        ),
        (
            "(./paper.tex\n../tables/one.tex:3: Undefined control sequence.\nl.3 a & \\nonsense\n",
            r"one.tex:3: Undefined control sequence. near 'a & .*nonsense'. Its log is .*paper.log",
        ),
        ("! Emergency stop.\n", "paper.tex: ! Emergency stop"),
        ("", "no output"),
    ],
)
def test_a_failure_is_one_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, log: str, message: str
) -> None:
    # A latexmk that writes this log and fails, so that it is tried without LaTeX as well.
    programs = tmp_path / "programs"
    programs.mkdir()
    (tmp_path / "given").write_text(log, encoding="utf-8")
    for name in ("latexmk", "pdflatex"):
        program = programs / name
        program.write_text("#!/bin/sh\n/bin/cp given paper.log\nexit 12\n", encoding="utf-8")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", str(programs))
    (tmp_path / "paper.tex").write_text("", encoding="utf-8")
    with pytest.raises(InputError, match=message) as error:
        typeset(tmp_path / "paper.tex")
    assert "\n" not in str(error.value)


def table(label: str, rows: int) -> str:
    body = [latex.row([latex.escape(HOSTILE), str(number), "0.5"]) for number in range(rows)]
    head = [latex.row(["Prompt", "silent@10", "rate"])]
    notes = [latex.escape(HOSTILE)]
    caption = latex.escape("What is seen. " + HOSTILE)
    return latex.Tabular("lrr", head, body, caption, label, notes, wide=True).environment()


def made(folder: Path) -> Path:
    """The whole document from made-up tables, one of them far longer than a page."""
    for kind in ("tables", "figures"):
        (folder / kind).mkdir(parents=True)
    tables, figures, captions = [], [], []
    for name in names("table"):
        tables.append(folder / "tables" / f"{name}.tex")
        tables[-1].write_text(table(f"tab:{name}", 120 if name == "table3" else 8), "utf-8")
    for name in names("figure"):
        figures.append(folder / "figures" / f"{name}.pdf")
        captions.append(folder / "figures" / f"{name}.txt")
        figures[-1].write_bytes(PICTURE)
        captions[-1].write_text(f"The picture of {name}. {HOSTILE}\n", encoding="utf-8")
    source = folder / "document" / "paper.tex"
    settings = {"scale": SCALE.name, "note": SCALE.note}
    make_document(settings, tables, figures, captions, source)
    return source


# A page of 504 x 200 points with a line across.
PICTURE = b"""%PDF-1.4
1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj
2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj
3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 504 200]/Contents 4 0 R/Resources<<>>>>endobj
4 0 obj<</Length 21>>stream
0 0 m 504 200 l S    
endstream endobj
trailer<</Root 1 0 R/Size 5>>
%%EOF
"""


@needs_latex
def test_the_document_has_everything_within_its_pages(tmp_path: Path) -> None:
    source = made(tmp_path / "a b")
    log = source.with_suffix(".log").read_text(encoding="utf-8", errors="replace")
    assert "Overfull" not in log
    assert "LaTeX Warning" not in log
    if shutil.which("pdftotext") is None:
        pytest.skip("pdftotext (poppler-utils) is not installed: the text of the PDF is not read")
    text = pdf_text(source.with_suffix(".pdf"))
    assert "??" not in text
    for part in CONTENTS:
        assert text.count(part.title) >= 2  # in the contents and as a heading
        for entry in part.entries:
            kind = entry.kind.capitalize()
            # The title in the contents and the start of the caption.
            assert f"{kind} {entry.number}: {entry.title}" in text
            start = "What is seen" if kind == "Table" else f"The picture of {entry.name}"
            assert f"{kind} {entry.number}: {start}" in text
    assert "root:" not in text  # nothing was read from the machine
    assert r"\input{/etc/passwd}" in text


def pdf_text(pdf: Path) -> str:
    command = ["pdftotext", str(pdf), "-"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return re.sub(r"\s+", " ", text)


@needs_latex
def test_the_same_tables_give_the_same_bytes_anywhere(tmp_path: Path) -> None:
    first, again = (made(tmp_path / name).with_suffix(".pdf") for name in ("first", "again"))
    assert first.read_bytes() == again.read_bytes()


@needs_latex
def test_a_run_after_a_failed_one_works(tmp_path: Path) -> None:
    source = made(tmp_path)
    good = source.with_suffix(".pdf").read_bytes()
    spoiled = tmp_path / "tables" / "table2.tex"
    kept = spoiled.read_text("utf-8")
    spoiled.write_text(kept.replace("Prompt", r"\nonsense"), encoding="utf-8")
    with pytest.raises(InputError, match=r"tables/table2\.tex:\d+: Undefined control sequence"):
        typeset(source)
    spoiled.write_text(kept, encoding="utf-8")
    assert typeset(source).read_bytes() == good


@needs_latex
def test_the_installed_latex_works() -> None:
    check_latex()
