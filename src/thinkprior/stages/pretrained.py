"""Models that are not made here: fetched from the hub, or linked."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from thinkprior.downloads import Lock, Repository, fetch
from thinkprior.model_links import link
from thinkprior.progress import Progress

FILES, OPTIONAL = ("*.safetensors", "*.json"), ("tokenizer*", "merges.txt", "*.jinja")
"""What is taken of a model's repository; pickled weights (`*.bin`, `*.pth`) never are."""


def link_model(
    settings: Mapping[str, Any], source: Path | str, directory: Path | str, job_log: Path | str
) -> None:
    """Link a model folder.

    Args:
        settings: where it comes from, for the record.
        source: the folder.
        directory: the model's own folder, which takes the link as its only step.
        job_log: the job's log.
    """
    link(source, directory)
    Progress(job_log, "model").line(f"linked: {settings} at {source}")


def download_model(settings: Mapping[str, Any], directory: Path | str, job_log: Path | str) -> None:
    """Fetch a model, the files apart that are there and right, and link it.

    Args:
        settings: `repository`, `revision`, `folder` and `lock`.
        directory: the model's own folder, which takes the link as its only step.
        job_log: the job's log.
    """
    progress = Progress(job_log, "download")
    folder, lock = Path(settings["folder"]) / "models", Lock(settings["lock"])
    found = fetch(repository_of(settings), folder, lock, progress.line)
    link(found.files[0].parent, directory)
    progress.line(
        f"commit and checksums stand in {settings['lock']}: keep it under version control"
    )


def repository_of(settings: Mapping[str, Any]) -> Repository:
    """The repository of a model's settings, with what is taken of it."""
    return Repository(
        settings["repository"], FILES, settings["revision"], kind="model", optional=OPTIONAL
    )
