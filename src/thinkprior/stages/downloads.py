"""Fetching public data sets, where there is internet."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from thinkprior.digest import file_digest
from thinkprior.downloads import Lock, Repository, fetch
from thinkprior.progress import Progress


def download_datasets(
    settings: Mapping[str, Any], manifest: Path | str, job_log: Path | str
) -> None:
    """Fetch the data sets, those apart that are there and right.

    Args:
        settings: `lock`, and `datasets` (name to repository, revision, files and sha256).
        manifest: JSON that takes data set to its repository, commit and files with their SHA-256;
            the files lie beside it.
        job_log: the job's log.
    """
    progress = Progress(job_log, "download")
    lock, folder = Lock(settings["lock"]), Path(manifest).parent
    entries = {}
    for name, of in settings["datasets"].items():
        found = fetch(dataset_repository(of), folder, lock, progress.line)
        entries[name] = {
            "repository": found.name,
            "commit": found.commit,
            "files": {str(path.relative_to(folder)): file_digest(path) for path in found.files},
        }
    Path(manifest).write_text(json.dumps(entries, indent=2) + "\n", encoding="utf-8")
    progress.line(f"commits and checksums stand in {lock.path}: keep it under version control")


def dataset_repository(settings: Mapping[str, Any]) -> Repository:
    """The repository of a data set's settings."""
    return Repository(
        settings["repository"],
        tuple(settings["files"]),
        settings["revision"],
        settings["sha256"],
    )
