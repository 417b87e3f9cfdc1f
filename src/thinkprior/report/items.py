"""What the report shows, in its order: the document's tables and figures, and bare numbers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from thinkprior.document import CONTENTS, Entry

Kind = Literal["table", "figure", "data"]

ENDINGS: Mapping[Kind, tuple[str, ...]] = {
    "table": ("tex", "csv"),
    "figure": ("pdf", "png", "csv", "txt"),
    "data": ("csv",),
}
"""Kind to the endings of its files: a rendered table, a figure with its caption, bare numbers."""

_FOLDERS: Mapping[Kind, str] = {"table": "tables/", "figure": "figures/", "data": ""}


@dataclass(frozen=True)
class Item:
    """A table, figure or file of numbers.

    Attributes:
        name: as in its file names.
        kind: what its files are.
        title: its heading.
    """

    name: str
    kind: Kind
    title: str

    @property
    def anchor(self) -> str:
        """Its name on the page, and of its caption, `workflow/report/<anchor>.rst`."""
        if self.kind == "data":
            return self.name
        return Entry(self.kind, self.name, "", "").anchor

    @property
    def files(self) -> dict[str, str]:
        """Ending to the file, under the folder of the scale."""
        return {
            ending: f"{_FOLDERS[self.kind]}{self.name}.{ending}" for ending in ENDINGS[self.kind]
        }

    @property
    def target(self) -> str:
        """What makes it, by its fixed name: `snakemake results/table1.tex`."""
        return f"results/{self.anchor}.{ENDINGS[self.kind][0]}"


@dataclass(frozen=True)
class Section:
    """A part of the page.

    Attributes:
        title: its heading.
        items: in the order in which they stand.
    """

    title: str
    items: tuple[Item, ...]

    @property
    def anchor(self) -> str:
        """Its name on the page."""
        return "section-" + re.sub(r"[^a-z0-9]+", "-", self.title.lower()).strip("-")


def _numbered(kind: Kind, number: str, title: str) -> str:
    return f"{kind.capitalize()} {number}: {title}"


SECTIONS = (
    *(
        Section(
            part.title,
            tuple(
                Item(entry.name, entry.kind, _numbered(entry.kind, entry.number, entry.title))
                for entry in part.entries
            ),
        )
        for part in CONTENTS
    ),
    Section(
        "The world of this scale",
        (Item("world", "data", "What the pool is for the policy and the anchor"),),
    ),
)
"""All tables and figures. The reproduction page, provenance and deviations follow them."""

CLAIMS = Item("claims", "data", "The paper's claims")
REPRODUCTION = Item("reproduction", "data", "Published numbers and ours")


def all_items() -> tuple[Item, ...]:
    """Every item, the two of the reproduction page last."""
    return (*(item for section in SECTIONS for item in section.items), CLAIMS, REPRODUCTION)


ITEMS: Mapping[str, Item] = {item.anchor: item for item in all_items()}
"""Anchor to its item."""


def section_of(item: Item) -> str:
    """Title of the section in which an item stands."""
    return next((part.title for part in SECTIONS if item in part.items), "Reproduction")


def captions() -> tuple[str, ...]:
    """Names of the captions under `workflow/report`: that of the whole, then one an item."""
    return ("workflow", *(item.anchor for item in all_items()))
