"""SHA-256 of files and folders; those of big files are taken once and remembered.

A model of 7 billion parameters takes half a minute to read, and every job that uses it puts its
checksum into a record. So a big file's checksum is kept in the user's cache folder, under what the
file system says of the file: any writing to it changes that. `snakemake verify` reads the bytes.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from thinkprior.errors import InputError

REMEMBERED_BYTES = 16 << 20
"""Size from which a checksum is remembered; reading a smaller file takes milliseconds."""

SETTLED_SECONDS = 2.0
"""Time since the last change before a checksum is remembered: clocks of file systems are coarse, so
that a change right after the reading might leave the times as they are."""

FOLDER = "XDG_CACHE_HOME"
"""Environment variable of the cache folder, `~/.cache` without it."""


def file_digest(path: Path | str) -> str:
    """SHA-256 of a file, or of a directory's files and their names; the bytes are read.

    Links are followed. Files whose names begin with a dot do not count.

    Raises:
        InputError: for a directory that holds a link to one above it.
    """
    return _digest(Path(path), _of_bytes)


def remembered_digest(path: Path | str) -> str:
    """What `file_digest` gives, without reading big files again that have not changed since.

    A file counts as unchanged when its place, device, inode, size and times of change (that of its
    content and that of the inode, which no program can set back) are.
    """
    return _digest(Path(path), _remembered)


def _digest(path: Path, of_file: Callable[[Path], str]) -> str:
    if not path.is_dir():
        return of_file(path)
    parts = [f"{file.relative_to(path)} {of_file(file)}" for file in sorted(_files(path, ()))]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _files(folder: Path, above: tuple[Path, ...]) -> Iterator[Path]:
    real = folder.resolve()
    if real in above:
        raise InputError(f"{folder}: a link to a folder that holds it. Take it away.")
    for item in folder.iterdir():
        if item.is_dir():
            yield from _files(item, (*above, real))
        elif item.is_file() and not item.name.startswith("."):
            yield item


def _of_bytes(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as handle:
        while block := handle.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _remembered(path: Path) -> str:
    real = path.resolve()
    state = _state(real)
    if int(state["size"]) < REMEMBERED_BYTES:
        return _of_bytes(real)
    # Without a home, or one that can be written, checksums are just taken anew each time.
    with contextlib.suppress(OSError, RuntimeError):
        note = _note(real)
        if known := _read(note, state):
            return known
    digest = _of_bytes(real)
    changed = max(int(state["changed_ns"]), int(state["inode_changed_ns"])) / 1e9
    if _state(real) == state and time.time() - changed > SETTLED_SECONDS:
        with contextlib.suppress(OSError, RuntimeError):
            _write(_note(real), state, digest)
    return digest


def _state(path: Path) -> dict[str, str]:
    """What changes with every writing to a file. Text, since JSON's numbers may lose digits."""
    found = path.stat()
    return {
        "path": str(path),
        "device": str(found.st_dev),
        "inode": str(found.st_ino),
        "size": str(found.st_size),
        "changed_ns": str(found.st_mtime_ns),
        "inode_changed_ns": str(found.st_ctime_ns),
    }


def _note(path: Path) -> Path:
    folder = os.environ.get(FOLDER) or str(Path.home() / ".cache")
    name = hashlib.sha256(os.fsencode(path)).hexdigest()
    return Path(folder) / "thinkprior" / "checksums" / f"{name}.json"


def _read(note: Path, state: dict[str, str]) -> str | None:
    """The checksum in a note; None for a note that is missing, torn, or of another state."""
    try:
        found = json.loads(note.read_bytes())
        digest = str(found["sha256"])
        return digest if found == _content(state, digest) else None
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def _write(note: Path, state: dict[str, str], digest: str) -> None:
    note.parent.mkdir(parents=True, exist_ok=True)
    new = note.with_name(f".{note.name}.{os.getpid()}")
    new.write_text(json.dumps(_content(state, digest)), encoding="utf-8")
    new.replace(note)


def _content(state: dict[str, str], digest: str) -> dict[str, str]:
    content = {**state, "sha256": digest}
    seal = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    return {**content, "seal": seal}
