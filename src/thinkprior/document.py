"""The LaTeX document of all tables and figures: its contents in order, and its text.

Nothing is read or run here; `thinkprior.stages.document` does both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from thinkprior.errors import InputError
from thinkprior.rendering.latex import escape
from thinkprior.rendering.scale import Scale

Kind = Literal["table", "figure"]


@dataclass(frozen=True)
class Entry:
    """A table or figure of the document.

    Attributes:
        kind: Which of the two it is.
        name: Its file's name without ending.
        number: What is printed after "Table" or "Figure": the paper's number where it has one.
        title: Plain text for the table of contents; the caption comes with the table or figure.
    """

    kind: Kind
    name: str
    number: str
    title: str

    @property
    def anchor(self) -> str:
        """Its fixed name under `results/`, without the ending."""
        unnamed = self.kind == "figure" and not self.name.startswith("figure")
        return f"{self.name}-figure" if unnamed else self.name


@dataclass(frozen=True)
class Section:
    """A heading, plain text, and what stands under it."""

    title: str
    entries: Sequence[Entry]


CONTENTS: Sequence[Section] = (
    Section(
        "The prior and the main comparison",
        (
            Entry("figure", "figure1", "1", "The pool as the prior scores it; the first batch"),
            Entry("table", "table1", "1", "All arms: rollout economy and accuracy"),
            Entry("table", "table2", "2", "ThinkPrior and online-NP, re-estimated"),
            Entry("figure", "figure2", "2", "Cold-start waste, and accuracy against rollouts"),
        ),
    ),
    Section(
        "Robustness",
        (Entry("table", "table3", "3", "Backbone, anchor strength, long horizon, larger pool"),),
    ),
    Section(
        "Composition and course of training",
        (
            Entry("table", "table4", "4", "The composition with DAPO"),
            Entry("figure", "figure3", "3", "Silent groups and discarded rollouts along training"),
            Entry("table", "windows", "6", "Silent groups by window, and coverage of the pool"),
        ),
    ),
    Section(
        "What it costs",
        (
            Entry("table", "amortisation", "7", "Anchor generations against rollouts saved"),
            Entry("table", "cost", "8", "Time, memory and tokens"),
            Entry("figure", "cost", "4", "Accuracy against rollouts, tokens and seconds"),
        ),
    ),
    Section(
        "Appendix B: what the priors know",
        (
            Entry("table", "table5", "5", "Rank correlation with the reference pass rate"),
            Entry("table", "appendixB", "B1", "The length signal and the band"),
            Entry("table", "underestimated", "B2", "Underestimated prompts"),
        ),
    ),
    Section(
        "Appendix D: long horizon",
        (Entry("table", "appendixD", "D1", "Runs and endpoints"),),
    ),
    Section(
        "Appendix E: a larger prompt pool",
        (Entry("table", "appendixE", "E1", "Integrity checks and values of each seed"),),
    ),
    Section(
        "Appendix F: how accuracy was measured",
        (Entry("table", "protocol", "F1", "The evaluation protocol"),),
    ),
)
"""Everything that the document holds: the paper's tables and figures under its own numbers, and
those that set the numbers of its text and appendices."""


def names(kind: Kind, contents: Sequence[Section] = CONTENTS) -> list[str]:
    """Names of all tables, or of all figures, in the order of the document."""
    return [entry.name for part in contents for entry in part.entries if entry.kind == kind]


def document(
    scale: Scale,
    tables: Mapping[str, str],
    figures: Mapping[str, str],
    captions: Mapping[str, str],
    contents: Sequence[Section] = CONTENTS,
    left_out: Mapping[str, str] | None = None,
) -> str:
    """The document's LaTeX; what is not given is named where it would stand.

    Args:
        scale: What produced the numbers; the title page names it.
        tables: Name of a table to the path of its LaTeX, relative to the document.
        figures: Name of a figure to the path of its PDF, relative to the document.
        captions: Name of a figure to its caption, plain text.
        contents: What the document holds, in order.
        left_out: Anchor of what the configuration cannot make to what it lacks for it: named on
            the title page alone. Sections without anything else are left out.

    Raises:
        InputError: For a table or figure that is not in the contents, a figure without a caption,
            or a path that LaTeX cannot read.
    """
    _require_places("table", tables, contents)
    _require_places("figure", figures, contents)
    if lacking := sorted(set(figures) - set(captions)):
        raise InputError(f"the figure(s) {', '.join(lacking)} have no caption")
    left_out = left_out or {}
    missing = [
        f"{entry.kind.capitalize()} {entry.number} (it lacks {left_out[entry.anchor]})"
        for part in contents
        for entry in part.entries
        if entry.anchor in left_out
    ]
    lines = [_PREAMBLE, *_title_page(scale, missing)]
    for section in contents:
        if section.entries and all(entry.anchor in left_out for entry in section.entries):
            continue
        lines += ["", rf"\section{{{escape(section.title)}}}"]
        for entry in section.entries:
            if entry.anchor in left_out:
                continue
            name = f"{entry.kind.capitalize()} {escape(entry.number)}"
            title = f"{name}: {escape(entry.title)}"
            lines += [
                "",
                rf"\phantomsection\addcontentsline{{toc}}{{subsection}}{{{title}}}",
                rf"\renewcommand{{\the{entry.kind}}}{{{escape(entry.number)}}}",
            ]
            if entry.name not in (tables if entry.kind == "table" else figures):
                lines.append(rf"\textbf{{{name}}} was not made: the runs behind it are not there.")
            elif entry.kind == "table":
                lines.append(rf"\input{{{_path(tables[entry.name])}}}")
            else:
                lines += _figure(figures[entry.name], captions[entry.name], entry.name)
    return "\n".join([*lines, "", r"\end{document}", ""])


def empty_document() -> str:
    """A document that loads what the others load and holds nothing, to try a LaTeX with."""
    return "\n".join([_PREAMBLE, "An empty document.", r"\end{document}", ""])


def _require_places(kind: Kind, given: Mapping[str, str], contents: Sequence[Section]) -> None:
    wanted = names(kind, contents)
    if surplus := [name for name in given if name not in wanted]:
        raise InputError(
            f"the document has no place for the {kind}(s) {', '.join(surplus)}: "
            "add an entry to thinkprior.document.CONTENTS"
        )


def _path(path: str) -> str:
    """A path as LaTeX reads it, which has no way of quoting these characters in a file name."""
    if any(character in path for character in '\\{}$&#%~^"\n') or path != path.strip():
        raise InputError(f"LaTeX cannot read a file named {path!r}: rename it")
    return path


def _figure(path: str, caption: str, name: str) -> list[str]:
    # Captions are plain text; the one symbol with an index that they use is set as one.
    text = escape(caption).replace(r"U\_$\beta$", r"$U_\beta$")
    return [
        r"\begin{figure}",
        rf"\includegraphics[width=\linewidth]{{{_path(path)}}}",
        rf"\caption{{{text}}}",
        rf"\label{{fig:{escape(name)}}}",
        r"\end{figure}",
    ]


# The figures are 7 inches wide, so they stand at their own size. The commands about PDF leave out
# what differs from one run or machine to the next.
_PREAMBLE = r"""\documentclass[10pt]{article}
\usepackage[a4paper,textwidth=7in,textheight=10in]{geometry}
\usepackage{booktabs,graphicx}
\usepackage[table]{xcolor}
\usepackage[font=small,labelfont=bf]{caption}
\usepackage[hidelinks,pdftitle={ThinkPrior: tables and figures of a reproduction}]{hyperref}
\pdfinfoomitdate=1
\pdfsuppressptexinfo=-1
\pdftrailerid{}
\setcounter{secnumdepth}{0}
\setcounter{tocdepth}{2}
\setlength{\parindent}{0pt}
\setlength{\emergencystretch}{4em}
\raggedbottom
% Nothing floats: each table and figure stands where it is named, and one that is taller than a page
% shrinks to the page.
\newsavebox{\entry}
\newlength{\tallest}
\newenvironment{standing}[1]{%
  \par\bigskip\begin{lrbox}{\entry}\begin{minipage}{\linewidth}\captionsetup{type=#1}\centering
}{%
  \end{minipage}\end{lrbox}%
  \setlength{\tallest}{\dimexpr\textheight-5\baselineskip\relax}%
  \ifdim\dimexpr\ht\entry+\dp\entry>\tallest
    \makebox[\linewidth]{\resizebox*{!}{\tallest}{\usebox{\entry}}}%
  \else
    \usebox{\entry}%
  \fi\par\bigskip
}
\renewenvironment{table}[1][]{\begin{standing}{table}}{\end{standing}}
\renewenvironment{table*}[1][]{\begin{standing}{table}}{\end{standing}}
\renewenvironment{figure}[1][]{\begin{standing}{figure}}{\end{standing}}
\begin{document}"""


def _title_page(scale: Scale, missing: Sequence[str]) -> list[str]:
    absent = []
    if missing:
        said = "; ".join(missing)
        absent = [
            "",
            r"\medskip",
            r"\textbf{What is not here.} The configuration of this scale does not declare what "
            f"these need: {escape(said)}.",
        ]
    return [
        r"\begin{center}",
        r"{\LARGE ThinkPrior: tables and figures\par}",
        r"\medskip",
        r"{\large An independent reproduction of arXiv:2609.09075\par}",
        r"\medskip",
        rf"{{\large Scale: \textbf{{{escape(scale.name)}}}\par}}",
        r"\end{center}",
        r"\bigskip",
        r"\textbf{What produced the numbers.} " + escape(scale.note),
        "",
        r"\medskip",
        r"\textbf{What this is.} The tables and figures of \emph{ThinkPrior: Zero-Rollout "
        r"Difficulty Priors for Cold-Start Prompt Selection in RLVR}, and the numbers of its text "
        "and appendices, as this pipeline measured them. The authors of the paper released no code "
        "and no data and had no part in it: everything here was built anew from the text of the "
        "paper, and all captions are ours. Tables and figures that the paper has carry its numbers;"
        " Table 6 and those after it, and Figure 4, set what the paper says in its text or does "
        "not say.",
        *absent,
        r"\tableofcontents",
        r"\clearpage",
    ]
