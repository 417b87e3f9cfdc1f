"""The fixed names under `results/`: what each is a copy of, under the folder of the scale."""

from __future__ import annotations

from thinkprior.report.items import all_items

SOURCES: dict[str, str] = {
    **{
        f"{item.anchor}.{ending}": file
        for item in all_items()
        for ending, file in item.files.items()
        if ending != "txt"
    },
    "reproduction.md": "reproduction.md",
    "report.html": "report.html",
    "paper.pdf": "document/paper.pdf",
}
"""File name under `results/` to the file under `results/<scale>/`."""

NAMES = sorted({name.rpartition(".")[0] for name in SOURCES})
"""The names without their endings."""

NEEDS_LATEX = {"paper.pdf"}
"""Those that `rule all` leaves out."""
