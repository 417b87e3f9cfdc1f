"""What to do when the file system refuses: a full disk, a folder that cannot be written."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ADVICE = {
    errno.ENOSPC: "Free some space",
    errno.EDQUOT: "Free some of your quota",
    errno.EROFS: "Make it writable, or work in a folder that is",
    errno.EACCES: "Give yourself the right to it",
    errno.EPERM: "Give yourself the right to it",
    errno.EIO: "Look after the disk",
    errno.ENOENT: "Make it, or mend the path",
    errno.ENOTDIR: "Mend the path",
    errno.EISDIR: "Mend the path",
    errno.ENAMETOOLONG: "Give a shorter name",
}
"""What to do about each error that a user can mend; any other is a fault of the code."""

_NUMBER = re.compile(r"os error (\d+)|\[[Ee]rrno (\d+)\]")


def explained(error: BaseException, arguments: object) -> str | None:
    """One message about an error of the file system, or None for any other error.

    Args:
        error: what was raised; also what a library made of it.
        arguments: of the call that failed. Python does not say which file could not be written to,
            so the place is then told by the folders that stand among them.
    """
    number = _number(error)
    if number not in ADVICE:
        return None
    name = getattr(error, "filename", None)
    place = f"{name}: " if name else _fullest(arguments) if number in _SPACE else ""
    return (
        f"{place}{os.strerror(number)}. {ADVICE[number]}, and start again: what was finished "
        "before is kept."
    )


_SPACE = (errno.ENOSPC, errno.EDQUOT)


def _number(error: BaseException | None) -> int | None:
    """Number of the system's error behind an error of Python or of another language's library."""
    while error is not None:
        if isinstance(error, OSError) and error.errno is not None:
            return error.errno
        # As safetensors and pyarrow put it into the text alone.
        if found := _NUMBER.search(str(error)):
            return int(found[1] or found[2])
        error = error.__cause__
    return None


def _fullest(arguments: object) -> str:
    """The folder among some arguments whose disk has the least space left."""
    folders = {path if path.is_dir() else path.parent for path in _paths(arguments)}
    free = {
        folder: status.f_bavail * status.f_frsize
        for folder in sorted(folders)
        if folder.is_dir() and (status := os.statvfs(folder))
    }
    if not free:
        return ""
    folder = min(free, key=lambda one: free[one])
    return f"{folder} ({free[folder] / 1e6:.1f} MB left there): "


def _paths(value: Any) -> Iterator[Path]:
    if isinstance(value, (str, Path)) and os.sep in str(value) and "\n" not in str(value):
        yield Path(value)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _paths(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _paths(item)
