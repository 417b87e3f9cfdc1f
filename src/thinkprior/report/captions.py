"""Captions: the text files that Snakemake's own report shows too."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from jinja2 import Environment, StrictUndefined, TemplateError

from thinkprior.errors import InputError


def read_caption(path: Path | str, configuration: Mapping[str, Any]) -> list[str]:
    """A caption's paragraphs as plain text.

    Captions hold no markup but `{{ snakemake.config["scale"] }}` and its like, so they read the
    same here and through Snakemake's reStructuredText.

    Args:
        path: the caption.
        configuration: what `snakemake.config` is in it.

    Raises:
        InputError: for a caption that does not render, naming it.
    """
    source = Path(path).read_text(encoding="utf-8")
    environment = Environment(undefined=StrictUndefined, autoescape=False)
    try:
        text = environment.from_string(source).render(
            snakemake=SimpleNamespace(config=configuration)
        )
    except TemplateError as error:
        raise InputError(f"{path}: the caption does not render: {error}") from error
    return [" ".join(part.split()) for part in re.split(r"\n\s*\n", text) if part.strip()]
