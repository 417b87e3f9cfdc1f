"""The page: everything in one file, which loads nothing from anywhere."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from thinkprior.digest import settings_digest
from thinkprior.report.captions import read_caption
from thinkprior.report.comparison import read_claims, read_comparison
from thinkprior.report.items import CLAIMS, ITEMS, REPRODUCTION, SECTIONS, Item
from thinkprior.report.numbers import Numbers, read_numbers
from thinkprior.report.provenance import Made, campaign_runs, distinct, read_records
from thinkprior.report.tables import HtmlTable, UnknownMacroError, html_table
from thinkprior.report.text import breakable, visible

MEDIA_TYPES = {
    "csv": "text/csv",
    "pdf": "application/pdf",
    "png": "image/png",
    "tex": "application/x-tex",
    "yaml": "application/yaml",
}


@dataclass(frozen=True)
class Download:
    """A file within the page: its ending, its name, and a data URI."""

    ending: str
    name: str
    uri: str


@dataclass(frozen=True)
class View:
    """An item as it stands on the page.

    Attributes:
        item: which.
        caption: what to look for, in paragraphs.
        missing: files of it that are not there; it is shown only where this is empty.
        downloads: its files but the picture.
        made: how it was made, where a record says so.
        table: of a table.
        source: LaTeX of a table that cannot be shown, and why not.
        figure: data URI of a figure.
        legend: caption of a figure.
        numbers: of a CSV file.
    """

    item: Item
    caption: Sequence[str]
    missing: Sequence[str] = ()
    downloads: Sequence[Download] = ()
    made: Made | None = None
    table: HtmlTable | None = None
    source: tuple[str, str] | None = None
    figure: str = ""
    legend: str = ""
    numbers: Numbers | None = None


@dataclass(frozen=True)
class Assets:
    """Template, style sheet and script of the page."""

    template: Path
    style: Path
    script: Path


def page(
    *,
    folder: Path,
    configuration: Mapping[str, Any],
    manifests: Sequence[Path | str],
    captions: Mapping[str, Path],
    documents: Mapping[str, Markup],
    code: str,
    assets: Assets,
    left_out: Mapping[str, str] | None = None,
) -> str:
    """The page's HTML, the same for the same files.

    Args:
        folder: of the scale: what is there of the items is shown, and what is not is named.
        configuration: the whole configuration of the scale.
        manifests: of the finished runs.
        captions: name to caption file.
        documents: name to HTML of what stands under Deviations.
        code: digest of the code that makes the page.
        assets: its template, style sheet and script.
        left_out: anchor of what this configuration cannot make to what it lacks for it; it is named
            in a list of its own, and sections without anything else are left out.
    """
    left_out = left_out or {}
    made = read_records(folder / "records")

    def view(item: Item) -> View:
        return _view(item, folder, read_caption(captions[item.anchor], configuration), made)

    campaigns = campaign_runs(configuration["campaigns"], manifests)
    style = assets.style.read_text(encoding="utf-8")
    script = assets.script.read_text(encoding="utf-8")
    described = yaml.safe_dump(dict(configuration), sort_keys=False, allow_unicode=True)
    sections = [
        (section, views)
        for section in SECTIONS
        if (views := [view(item) for item in section.items if item.anchor not in left_out])
    ]
    reproduction, claims = view(REPRODUCTION), view(CLAIMS)
    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: visible(value) if type(value) is str else value,
    )
    environment.filters["breakable"] = breakable
    return environment.from_string(assets.template.read_text(encoding="utf-8")).render(
        scale=configuration["scale"],
        note=configuration["note"],
        about=read_caption(captions["workflow"], configuration),
        policy=(
            "default-src 'none'; img-src data:; "
            f"style-src '{_content_hash(style)}'; script-src '{_content_hash(script)}'; "
            "base-uri 'none'; form-action 'none'"
        ),
        style=Markup(style),
        script=Markup(script),
        sections=sections,
        views=[view for _, views in sections for view in views],
        reproduction=reproduction,
        comparison=None
        if reproduction.missing
        else read_comparison(folder / REPRODUCTION.files["csv"]),
        claims=claims,
        claim_list=[] if claims.missing else read_claims(folder / CLAIMS.files["csv"]),
        campaigns=campaigns,
        finished=sum(campaign.finished for campaign in campaigns),
        planned=sum(campaign.planned for campaign in campaigns),
        hosts=distinct(campaign.hosts for campaign in campaigns),
        run_codes=distinct(campaign.codes for campaign in campaigns),
        configuration_digest=settings_digest(configuration),
        configuration=described,
        configuration_file=_download("configuration.yaml", described.encode()),
        code=code,
        documents=documents,
        anchors=_anchors(folder),
        left_out=[(ITEMS[name].title, lacks) for name, lacks in left_out.items() if name in ITEMS],
    )


def _view(item: Item, folder: Path, caption: Sequence[str], made: Mapping[str, Made]) -> View:
    paths = {ending: folder / file for ending, file in item.files.items()}
    missing = [str(path) for path in paths.values() if not path.is_file()]
    if missing:
        return View(item, caption, missing)
    downloads = [
        _download(path.name, path.read_bytes())
        for ending, path in paths.items()
        if ending not in ("png", "txt")
    ]
    table, source, figure, legend, numbers = None, None, "", "", None
    if item.kind == "table":
        latex = paths["tex"].read_text(encoding="utf-8")
        try:
            table = html_table(latex)
        except UnknownMacroError as error:
            source = (latex, str(error))
    elif item.kind == "figure":
        figure = _download(paths["png"].name, paths["png"].read_bytes()).uri
        legend = paths["txt"].read_text(encoding="utf-8").strip()
    else:
        numbers = read_numbers(paths["csv"])
    record = next((made[str(path)] for path in paths.values() if str(path) in made), None)
    return View(
        item,
        caption,
        downloads=downloads,
        made=record,
        table=table,
        source=source,
        figure=figure,
        legend=legend,
        numbers=numbers,
    )


def _anchors(folder: Path) -> dict[str, str]:
    """Path of an item's file to its place on the page."""
    return {
        str(folder / file): item.anchor
        for section in SECTIONS
        for item in section.items
        for file in item.files.values()
    }


def _download(name: str, content: bytes) -> Download:
    ending = name.rpartition(".")[2]
    encoded = base64.b64encode(content).decode("ascii")
    return Download(ending, name, f"data:{MEDIA_TYPES[ending]};base64,{encoded}")


def _content_hash(text: str) -> str:
    """The hash by which a content security policy allows one inline script or style."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode('ascii')}"
