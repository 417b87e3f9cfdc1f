"""Links to model folders that lie elsewhere."""

from __future__ import annotations

import os
from pathlib import Path

STEP = "step-00000"
"""Only step of a model that is not trained here, in its own folder."""


def link(source: Path | str, directory: Path | str) -> None:
    """Make a model's own folder, with a link to its weights as its only step.

    Args:
        source: the folder with the weights.
        directory: the model's own folder.
    """
    directory = Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    step = directory / STEP
    step.unlink(missing_ok=True)
    # Relative within the project, which may then be moved; a folder elsewhere stays where it is.
    target = Path(source)
    if not target.is_absolute():
        target = Path(os.path.relpath(target, directory.resolve()))
    step.symlink_to(target, target_is_directory=True)
