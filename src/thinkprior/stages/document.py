"""Typesetting the document of all tables and figures with latexmk."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from thinkprior.document import document, empty_document
from thinkprior.errors import InputError
from thinkprior.rendering.scale import Scale

PROGRAMS = ("latexmk", "pdflatex")
INSTALL = (
    "The document needs latexmk and pdflatex with the packages booktabs, caption, colortbl, "
    "geometry, graphicx, hyperref and xcolor. On Debian or Ubuntu: apt-get install "
    "--no-install-recommends latexmk texlive-latex-base texlive-latex-recommended. With TeX Live's "
    "own manager: tlmgr install latexmk booktabs caption colortbl geometry graphics hyperref "
    "xcolor. Nothing else of the pipeline needs LaTeX."
)


@cache
def check_latex() -> None:
    """Sets an empty document, so that a lacking LaTeX is known before anything is trained.

    Raises:
        InputError: If a program or a package is missing; it says what to install.
    """
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "empty.tex"
        source.write_text(empty_document(), encoding="utf-8")
        typeset(source)


def make_document(
    settings: Mapping[str, Any],
    tables: Sequence[Path | str],
    figures: Sequence[Path | str],
    captions: Sequence[Path | str],
    tex: Path | str,
) -> None:
    """Writes the document of all tables and figures and typesets it beside its source.

    Args:
        settings: `scale` and `note` of the scale in force; `left_out` where its configuration
            cannot make everything, as `thinkprior.document.document` takes it.
        tables: LaTeX of the tables, named as in `thinkprior.document.CONTENTS`; what is missing is
            named in its place.
        figures: PDFs of the figures.
        captions: Their captions, plain text.
        tex: The document's source; the PDF and LaTeX's log get its name with other endings.

    Raises:
        InputError: As `thinkprior.document.document` and `typeset`.
    """
    source = Path(tex)

    def relative(paths: Sequence[Path | str]) -> dict[str, str]:
        return {
            Path(path).stem: Path(os.path.relpath(path, source.parent)).as_posix() for path in paths
        }

    text = document(
        Scale(settings["scale"], settings["note"]),
        relative(tables),
        relative(figures),
        {Path(path).stem: Path(path).read_text(encoding="utf-8") for path in captions},
        left_out=settings.get("left_out"),
    )
    source.parent.mkdir(parents=True, exist_ok=True)
    source.write_text(text, encoding="utf-8", newline="\n")
    typeset(source)


def typeset(source: Path) -> Path:
    """Typesets a LaTeX file with latexmk, in its own folder; the same files give the same bytes.

    Returns:
        The PDF.

    Raises:
        InputError: If a program or package is missing, or LaTeX stops: with its first error, where
            that is, and the path of its log.
    """
    missing = [name for name in PROGRAMS if shutil.which(name) is None]
    if missing:
        raise InputError(f"{' and '.join(missing)} not found. {INSTALL}")
    command = [
        "latexmk",
        "-norc",  # a user's own settings could choose another program or folder
        "-gg",  # what an earlier run left behind could fail again
        "-pdf",
        "-interaction=nonstopmode",
        "-halt-on-error",
        "-file-line-error",
        "-no-shell-escape",
        source.name,
    ]
    environment = {
        **os.environ,
        "SOURCE_DATE_EPOCH": "0",
        "FORCE_SOURCE_DATE": "1",
        "max_print_line": "1000",  # else LaTeX breaks the lines of its log anywhere
    }
    run = subprocess.run(
        command,
        cwd=source.parent,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    log, pdf = source.with_suffix(".log"), source.with_suffix(".pdf")
    if run.returncode != 0 or not pdf.exists():
        written = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
        raise InputError(_failure(source, log, written or run.stdout + run.stderr))
    return pdf


def _failure(source: Path, log: Path, text: str) -> str:
    """One message about a LaTeX run that failed."""
    package = re.search(r"File `([^']+)' not found", text)
    if package and package[1].endswith((".sty", ".cls", ".def", ".clo")):
        return f"LaTeX lacks {package[1]}. {INSTALL}"
    # "file:line: message", or "! message" where LaTeX knows no line; the place stands after "l.".
    error = re.search(r"^(?:\S+:\d+: |! ).*$", text, re.MULTILINE)
    place = re.search(r"^l\.\d+ (.*)$", text[error.end() :], re.MULTILINE) if error else None
    first = error[0] if error else next(iter(text.strip().splitlines()[-1:]), "no output")
    near = f" near {place[1].strip()[-60:]!r}" if place else ""
    return f"LaTeX stopped at {source}: {first}{near}. Its log is {log}."
