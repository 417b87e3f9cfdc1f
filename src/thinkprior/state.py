"""A job's state on disk: what it has computed so far, so that it can go on after any end.

A state is a folder of files that one job writes while it runs and removes when it has finished.
Every file is written whole or not at all, and carries a checksum and the digest of what the job is
(its settings, its code, its inputs), so that neither a torn file nor another job's is ever read.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import io
import json
import os
import platform
import shutil
import tarfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self, cast

from thinkprior.checksums import remembered_digest
from thinkprior.digest import host
from thinkprior.errors import InputError

FORMAT = b"thinkprior state 1\n"
IDENTITY, LOCK, NEW, DAMAGED = "identity.json", "lock", ".new", ".damaged"
CHECKSUM_BYTES = hashlib.sha256().digest_size
LOCK_SECONDS = 600.0
"""How long a job waits for the end of a process that still holds its state."""


def job_identity(
    settings: Mapping[str, Any], code: str, inputs: Mapping[str, Path | str]
) -> dict[str, Any]:
    """What must be the same for a job to go on where another process left it.

    The machine is not among it, since schedulers move jobs; the libraries are, since another
    version of one may compute other bits.

    Args:
        settings: the resolved settings that the job depends on.
        code: digest of its code.
        inputs: role of each file or directory that it reads; their checksums are taken.
    """
    return {
        "settings": settings,
        "code": code,
        "libraries": host()["libraries"],
        "inputs": {role: remembered_digest(path) for role, path in inputs.items()},
    }


class _Checked(io.RawIOBase):
    """Passes bytes on to a file and takes their checksum."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file
        self.digest = hashlib.sha256()
        self.failure: OSError | None = None

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self.digest.update(data)
        try:
            return self.file.write(data)
        except OSError as error:
            self.failure = error
            raise


class State:
    """The state of one job. Use it as a context: it is locked until the block ends."""

    def __init__(
        self, folder: Path | str, identity: Mapping[str, Any], report: Callable[[str], None]
    ) -> None:
        """Take a state up, or begin one.

        State of another identity is moved aside, to `<folder>-aside-<n>`, and a new one is begun.

        Args:
            folder: where it lies.
            identity: what must be the same for the job to go on from it; JSON values, nested as
                they come.
            report: takes a line about anything that is found wrong.

        Raises:
            InputError: when the folder cannot be written, or another process keeps holding it.
        """
        self.folder = Path(folder)
        self.identity = {name: json.dumps(value) for name, value in _flat(identity).items()}
        text = json.dumps(self.identity, sort_keys=True)
        self.key = hashlib.sha256(text.encode()).hexdigest()
        self.report = report
        with self._disk():
            self._lock = self._take_lock()
            for left in self.folder.glob(f"*{NEW}"):
                left.unlink()
            self._check_identity(text)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._lock.close()

    def put(self, name: str, write: Callable[[IO[bytes]], object]) -> None:
        """Write a file, whole or not at all.

        Args:
            name: its name; a file of that name is replaced.
            write: writes its content to a stream.

        Raises:
            InputError: when the disk does not take it; the file of that name is as before.
        """
        new = self.folder / (name + NEW)
        with self._disk():
            try:
                with new.open("wb") as file:
                    checked = _Checked(file)
                    checked.write(FORMAT + self.key.encode() + b"\n")
                    try:
                        write(cast(IO[bytes], checked))
                    except RuntimeError as error:
                        # What torch.save makes of a full disk.
                        raise checked.failure or error from error
                    file.write(checked.digest.digest())
                    file.flush()
                    os.fsync(file.fileno())
                new.rename(self.folder / name)
            except BaseException:
                new.unlink(missing_ok=True)
                raise
            _sync(self.folder)

    def put_bytes(self, name: str, content: bytes) -> None:
        """Write a file as in `put`."""
        self.put(name, lambda file: file.write(content))

    def get(self, name: str) -> bytes | None:
        """Content of a file; None where there is none, or none that can be trusted.

        A file that cannot be trusted is reported and renamed.
        """
        path = self.folder / name
        head = FORMAT + self.key.encode() + b"\n"
        try:
            with path.open("rb") as file:
                size = os.fstat(file.fileno()).st_size
                # In three parts: the content may be a gigabyte, of which no copy is made.
                found = file.read(len(head))
                content = file.read(max(0, size - len(head) - CHECKSUM_BYTES))
                checksum = file.read()
        except FileNotFoundError:
            return None
        digest = hashlib.sha256(found)
        digest.update(content)
        if found == head and digest.digest() == checksum:
            return content
        self.report(f"{path} is torn or damaged (its checksum does not hold): not used")
        path.rename(path.with_name(name + DAMAGED))
        return None

    def put_folder(self, name: str, source: Path) -> None:
        """Write a copy of a folder of files as one file."""

        def write(stream: IO[bytes]) -> None:
            with tarfile.open(fileobj=stream, mode="w|") as archive:
                archive.add(source, arcname=".")

        self.put(name, write)

    def get_folder(self, name: str, target: Path) -> bool:
        """Put a folder of `put_folder` at `target`; False where `get` gives nothing."""
        data = self.get(name)
        if data is None:
            return False
        target.mkdir(parents=True, exist_ok=True)
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            # File by file: extraction with a filter came with Python 3.11.4.
            for member in archive:
                place = target / member.name
                if member.isdir():
                    place.mkdir(parents=True, exist_ok=True)
                elif (content := archive.extractfile(member)) is not None:
                    place.parent.mkdir(parents=True, exist_ok=True)
                    place.write_bytes(content.read())
        return True

    def names(self, prefix: str) -> list[str]:
        """Names of the files that begin with `prefix`, sorted."""
        names = (path.name for path in self.folder.glob(f"{prefix}*"))
        return sorted(name for name in names if not name.endswith((NEW, DAMAGED)))

    def keep_newest(self, prefix: str, count: int) -> None:
        """Remove all but the last files, by name, that begin with `prefix`."""
        for name in self.names(prefix)[:-count]:
            (self.folder / name).unlink(missing_ok=True)

    def beside(self, ending: str) -> Path:
        """Path of a file next to the folder, which stays when the state is removed."""
        return self.folder.with_name(f"{self.folder.name}-{ending}")

    def finish(self) -> None:
        """Remove the state: the job's outputs are written."""
        discard(self.folder)

    def _take_lock(self) -> IO[bytes]:
        deadline = time.monotonic() + LOCK_SECONDS
        path = self.folder / LOCK
        waiting = False
        while True:
            self.folder.mkdir(parents=True, exist_ok=True)
            file = path.open("ab")
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                file.close()
                if error.errno not in (errno.EAGAIN, errno.EACCES):
                    raise
                holder = path.read_text(encoding="utf-8", errors="replace").strip()
                if not waiting:
                    self.report(f"waiting for {holder}, which still works on {self.folder}")
                    waiting = True
                if time.monotonic() > deadline:
                    raise InputError(
                        f"{self.folder}: {holder} works on the same job. "
                        "Let it end, or end it, and start again."
                    ) from None
                time.sleep(0.1)
                continue
            # The process before may have removed the folder: then this is the lock of nothing.
            with contextlib.suppress(FileNotFoundError):
                if path.stat().st_ino == os.fstat(file.fileno()).st_ino:
                    file.truncate(0)
                    file.write(f"process {os.getpid()} on {platform.node()}\n".encode())
                    file.flush()
                    return file
            file.close()

    def _check_identity(self, text: str) -> None:
        path = self.folder / IDENTITY
        begun = [item for item in self.folder.iterdir() if item.name != LOCK]
        if begun:
            reason = self._difference(path)
            if reason is None:
                return
            number = 1
            while (aside := self.beside(f"aside-{number}")).exists():
                number += 1
            # The folder's lock is held through its file, wherever that lies.
            self.folder.rename(aside)
            self.report(f"starts anew: {reason}; the old state is kept in {aside}")
            old = self._lock
            self._lock = self._take_lock()
            old.close()
        new = self.folder / (IDENTITY + NEW)
        new.write_text(text, encoding="utf-8")
        new.rename(path)
        _sync(self.folder)

    def _difference(self, path: Path) -> str | None:
        """Why the folder's state is another job's, or None."""
        try:
            old = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return f"{path} is missing or damaged"
        if old == self.identity:
            return None
        names = [n for n in sorted({*old, *self.identity}) if old.get(n) != self.identity.get(n)]
        shown = [
            f"{name} ({_short(old.get(name))}, now {_short(self.identity.get(name))})"
            for name in names[:5]
        ]
        more = f" and {len(names) - 5} more" if len(names) > 5 else ""
        return f"its state is of another {', '.join(shown)}{more}"

    @contextlib.contextmanager
    def _disk(self) -> Any:
        try:
            yield
        except OSError as error:
            raise InputError(
                f"{error.filename or self.folder}: {error.strerror}. The job keeps its state in "
                f"{self.folder}: make it writable or free some space, and start again."
            ) from error


def discard(folder: Path | str) -> None:
    """Remove a job's state, if there is any: whatever could need it is finished."""
    folder = Path(folder)
    # Renamed first: whoever waits for the lock makes a new folder, and not files in this one.
    gone = folder.with_name(f".{folder.name}.finished")
    shutil.rmtree(gone, ignore_errors=True)
    with contextlib.suppress(FileNotFoundError):
        folder.rename(gone)
        shutil.rmtree(gone)


def _flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{prefix}{name}.")
        else:
            flat[f"{prefix}{name}"] = value
    return flat


def _short(value: str | None) -> str:
    if value is None:
        return "none"
    return value if len(value) <= 20 else f"{value[:12]}..."


def _sync(folder: Path) -> None:
    """Make a renaming in a folder last through a loss of power."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
