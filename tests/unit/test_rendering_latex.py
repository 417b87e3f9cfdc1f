"""LaTeX of the tables: escaping, numbers, and the structure of whole environments."""

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thinkprior.errors import InputError
from thinkprior.rendering import latex
from thinkprior.rendering.arms import ArmRow
from thinkprior.rendering.rounding import printed
from thinkprior.rendering.scale import Scale
from thinkprior.rendering.table1 import table1
from thinkprior.rendering.table2 import table2

HOSTILE = r"100% _{x}_ & $a^b~ #1 \\[2pt] \end{tabular} <i> | * é 中 ħ ≥"
SCALE = Scale("miniature", "Miniature scale: policies of 0.2M parameters; " + HOSTILE)


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("plain", "plain"),
        (r"a\b", r"a\textbackslash{}b"),
        ("50%_#&$", r"50\%\_\#\&\$"),
        ("{x}", r"\{x\}"),
        ("~^<>|", r"\textasciitilde{}\textasciicircum{}\textless{}\textgreater{}\textbar{}"),
        ("[2pt]", "{[}2pt{]}"),
        ("*", "{*}"),
        ("prior × posterior", r"prior $\times$ posterior"),
        ("two\nlines\t\x00 here", "two lines here"),
        ("naïve Łódź: 20°", "naïve Łódź: 20°"),
        ("中ħ\u202e", "{[}U+4E2D{]}{[}U+0127{]}"),
    ],
)
def test_escape_prints_specials_as_themselves(text: str, escaped: str) -> None:
    assert latex.escape(text) == escaped


@settings(max_examples=60, deadline=None)
@given(st.text())
def test_escaped_text_is_balanced_and_has_no_bare_special(text: str) -> None:
    check_text(latex.escape(text))


# Halves go away from zero: 33/240 = 0.1375 is printed 0.138 in the paper's Table 1, 99/240 = 0.4125
# is printed 0.413, while Python's own format gives 0.412.
@pytest.mark.parametrize(
    ("value", "digits", "signed", "text"),
    [
        (33 / 240, 3, False, "0.138"),
        (99 / 240, 3, False, "0.413"),
        (0.1 + 0.2 - 0.1625, 3, False, "0.138"),
        (-13.125, 1, True, "-13.1"),
        (17.5, 1, True, "+17.5"),
        (-0.04, 1, True, "0.0"),
        (0.0, 0, True, "0"),
        (1564.5, 0, False, "1565"),
        (-0.5, 0, True, "-1"),
    ],
)
def test_printed_numbers(value: float, digits: int, signed: bool, text: str) -> None:
    assert printed(value, digits, signed=signed) == text


# The first five are the p values of the paper's Table 2.
@pytest.mark.parametrize(
    ("p", "text"),
    [
        (0.00002, "$<10^{-4}$"),
        (0.0068, "0.007"),
        (0.0021, "0.002"),
        (0.632, "0.63"),
        (0.4, "0.40"),
        (0.0472, "0.047"),
        (0.00031, "0.0003"),
    ],
)
def test_p_values(p: float, text: str) -> None:
    assert latex.p_value(p) == text


def test_change_is_readable_without_its_colour() -> None:
    assert "{-6.7}" in latex.change_subscript(-6.667, 1)
    assert "{+17.5}" in latex.change_subscript(17.5, 1)
    assert latex.change_subscript(0.01, 1) == "$_{0.0}$"
    green = latex.change_subscript(-1, 0).split("{")[2]
    red = latex.change_subscript(1, 0).split("{")[2]
    assert green != red


def test_a_scale_must_say_what_it_is() -> None:
    with pytest.raises(InputError, match="note"):
        Scale("miniature", " ")


@pytest.mark.parametrize("seeds", [1, 3, 5])
def test_tables_are_well_formed_whatever_the_labels(seeds: int) -> None:
    first, second = rendered(seeds)
    for table in (first, second):
        check_environment(table)
        assert r"100\% \_\{x\}\_ \& \$a\textasciicircum{}b" in table
    assert "table*" in first
    assert r"\begin{table}" in second


def test_tables_compile(tmp_path: Path) -> None:
    pdflatex = shutil.which("pdflatex")
    if pdflatex is None:
        pytest.skip("pdflatex is not installed")
    inputs = []
    for index, table in enumerate((*rendered(1), *rendered(5))):
        (tmp_path / f"table{index}.tex").write_text(table, encoding="utf-8")
        inputs.append(rf"\input{{table{index}}}")
    document = [
        r"\documentclass[twocolumn]{article}",
        r"\usepackage{booktabs,graphicx}",
        r"\usepackage[table]{xcolor}",
        r"\begin{document}",
        *inputs,
        r"\end{document}",
    ]
    (tmp_path / "document.tex").write_text("\n".join(document), encoding="utf-8")
    # A draft sets every line but embeds no font, which a small installation may lack.
    options = ["-draftmode", "-interaction=nonstopmode", "-halt-on-error"]
    command = [pdflatex, *options, "document.tex"]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout[-2000:]
    assert "Overfull" not in result.stdout


def test_every_escaped_character_can_be_set(tmp_path: Path) -> None:
    pdflatex = shutil.which("pdflatex")
    if pdflatex is None:
        pytest.skip("pdflatex is not installed")
    characters = [chr(code) for code in (*range(0x20, 0x3000), 0x4E2D, 0xFB01, 0xFFFD, 0x1F600)]
    body = "\n".join(latex.escape("X" + character) for character in characters)
    document = "\\documentclass{article}\n\\begin{document}\n" + body + "\n\\end{document}\n"
    (tmp_path / "document.tex").write_text(document, encoding="utf-8")
    options = ["-draftmode", "-interaction=nonstopmode", "-halt-on-error"]
    command = [pdflatex, *options, "document.tex"]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
    assert result.returncode == 0, result.stdout[-2000:].decode(errors="replace")


def rendered(seeds: int) -> tuple[str, str]:
    """Both tables from made-up runs, every text hostile, one arm missing."""
    rows, points = [], []
    for arm in ("online_np", "thinkprior", "bank"):
        for seed in range(seeds):
            row = {
                "campaign": HOSTILE,
                "arm": arm,
                "seed": seed,
                "steps": 60,
                "generated_per_step": 64.0 if arm != "bank" else 100.3,
                "silent_at_10": 0.1 + 0.01 * seed + 0.1 * (arm == "online_np"),
                "waste_at_30": 300.0 + seed,
            }
            names = ["math500", "math500_level5", "gsm8k", "minerva_math", "olympiadbench"]
            rows.append(row | dict.fromkeys(names, 0.5 + 0.01 * seed))
            points += [
                {
                    "campaign": HOSTILE,
                    "arm": arm,
                    "seed": seed,
                    "step": step,
                    "generated_rollouts": 64 * step,
                    "math500": 0.1,
                    "math500_level5": 0.1,
                }
                for step in (0, 10)
            ]
    arms = [
        ArmRow("random", HOSTILE, "no_selection", True, False),
        ArmRow("online_np", "[2pt] " + HOSTILE, "ablation", True, False),
        ArmRow("thinkprior", "* " + HOSTILE, "verified_prior", True, True),
        ArmRow("bank", HOSTILE, "composition", False, False),
    ]
    metrics = pd.DataFrame(rows)
    first = table1(metrics, arms, SCALE)
    second = table2(
        metrics,
        pd.DataFrame(points),
        SCALE,
        generator=np.random.default_rng(0),
        first_label=HOSTILE,
        second_label="[" + HOSTILE,
        resamples=100,
    )
    return first.latex, second.latex


TOKEN = re.compile(r"\\[a-zA-Z]+\*?|\\.|.", re.DOTALL)


def check_text(text: str) -> None:
    """Braces balanced, mathematics closed, no special character bare outside mathematics."""
    depth, in_mathematics = 0, False
    for token in TOKEN.findall(text):
        if token == "$":
            in_mathematics = not in_mathematics
        elif token in "{}":
            depth += 1 if token == "{" else -1
            assert depth >= 0, text
        elif not in_mathematics:
            assert token not in '#%_^~<>|"', f"bare {token} in {text}"
    assert depth == 0, text
    assert not in_mathematics, text


def check_environment(source: str) -> None:
    """A table environment with closed environments and rows of equal numbers of cells."""
    lines = [line for line in source.splitlines() if not line.startswith("%")]
    # The choice of a width is an argument, not text.
    body = re.sub(r"\\resizebox\{.*\}\{!\}\{%", r"\\resizebox{}{!}{", "\n".join(lines))
    check_text(body)
    stack = []
    for kind, name in re.findall(r"\\(begin|end)\{([a-z*]+)\}", body):
        if kind == "begin":
            stack.append(name)
        else:
            assert stack.pop() == name
    assert not stack
    match = re.search(r"\\begin\{tabular\}\{([lrc]+)\}(.*)\\end\{tabular\}", body, re.DOTALL)
    assert match is not None
    columns, content = match.groups()
    without_rules = re.sub(r"\\(toprule|midrule|bottomrule|cmidrule\(lr\)\{[\d-]+\})", "", content)
    rows = [row for row in re.split(r"\\\\", without_rules) if row.strip()]
    assert len(rows) > 4
    for row in rows:
        check_text(row)
        spans = [int(span) for span in re.findall(r"\\multicolumn\{(\d+)\}", row)]
        cells = len(re.findall(r"(?<!\\)&", row)) + 1
        assert cells + sum(span - 1 for span in spans) == len(columns), row
    outside = body.replace(content, "")
    assert not re.search(r"(?<!\\)&", outside)
    assert outside.count(r"\caption{") == outside.count(r"\label{") == 1
