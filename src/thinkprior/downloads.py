"""Files of Hugging Face repositories at fixed commits, checked against recorded checksums.

The first download of a repository writes its commit and its files' SHA-256 into a lock file, which
belongs under version control; every later one must give the same. A file is put in its place only
when it is whole and checked: an interrupted download leaves nothing there, and what is there and
right is neither fetched again nor deleted.
"""

from __future__ import annotations

import contextlib
import fcntl
import fnmatch
import hashlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from thinkprior.checksums import file_digest, remembered_digest
from thinkprior.errors import InputError

T = TypeVar("T")

WAITS = (1.0, 4.0, 10.0)
"""Seconds before each further try after the connection or the server failed."""


@dataclass(frozen=True)
class Repository:
    """What to fetch.

    Attributes:
        name: owner and name on the hub.
        files: patterns of the files, such as `data/train-*.parquet`; each must have one.
        revision: a commit; empty for the one in the lock, or the newest where the lock has none.
        sha256: checksums that are known beforehand, by file.
        kind: `dataset` or `model`. Of a model only files in the top folder are taken.
        optional: patterns that need not have a file.
    """

    name: str
    files: tuple[str, ...]
    revision: str = ""
    sha256: Mapping[str, str] = field(default_factory=dict)
    kind: str = "dataset"
    optional: tuple[str, ...] = ()

    @property
    def patterns(self) -> tuple[str, ...]:
        """All patterns."""
        return (*self.files, *self.optional)


@dataclass(frozen=True)
class Fetched:
    """What was fetched: the commit, and the files in the order of their names."""

    name: str
    commit: str
    files: tuple[Path, ...]


class Lock:
    """The lock file: repository to its commit and its files' checksums.

    Args:
        path: JSON; it need not exist.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self._entries = self._read()

    def commit(self, repository: Repository) -> str:
        """The commit to fetch; empty where neither the repository nor the lock names one.

        Raises:
            InputError: where the two name different ones.
        """
        locked = str(self._entries.get(repository.name, {}).get("commit", ""))
        if locked and repository.revision and locked != repository.revision:
            raise InputError(
                f"{repository.name}: the configuration pins {repository.revision}, but {self.path} "
                f"was written at {locked}. Take its entry out of {self.path} if the change is "
                "meant."
            )
        return repository.revision or locked

    def checksum(self, repository: Repository, file: str) -> str:
        """The SHA-256 that a file must have; empty where none is known.

        Raises:
            InputError: where the configuration and the lock have different ones.
        """
        locked = str(self._entries.get(repository.name, {}).get("sha256", {}).get(file, ""))
        given = repository.sha256.get(file, "").lower()
        if locked and given and locked != given:
            raise InputError(
                f"{repository.name}, {file}: the configuration has sha256 {given}, {self.path} has "
                f"{locked}. One of them is wrong."
            )
        return given or locked

    def files(self, repository: Repository, commit: str) -> list[str]:
        """Files in the lock that the patterns ask for, where it has all of them; else none."""
        entry = self._entries.get(repository.name, {})
        complete = set(entry.get("complete", []))
        if entry.get("commit") != commit or set(repository.patterns) - complete:
            return []
        return _matching(repository, entry["sha256"])

    def record(
        self,
        repository: Repository,
        commit: str,
        sha256: Mapping[str, str],
        complete: Sequence[str] = (),
    ) -> None:
        """Writes what was fetched, beside what stands there; the file changes at once or not.

        Args:
            repository: what was fetched.
            commit: its commit.
            sha256: checksums by file.
            complete: patterns all of whose files are there.
        """
        with self._alone():
            self._entries = self._read()
            known = self._entries.get(repository.name, {})
            entry = {
                "kind": repository.kind,
                "commit": commit,
                "complete": sorted({*known.get("complete", []), *complete}),
                "sha256": {**known.get("sha256", {}), **sha256},
            }
            if known == entry:
                return
            self._entries[repository.name] = entry
            self.path.parent.mkdir(parents=True, exist_ok=True)
            fresh = self.path.with_name(f".{self.path.name}.{os.getpid()}")
            fresh.write_text(
                json.dumps(self._entries, indent=2, sort_keys=True) + "\n", encoding="utf-8"
            )
            fresh.replace(self.path)

    def _read(self) -> dict[str, Any]:
        try:
            entries: dict[str, Any] = json.loads(self.path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        except (json.JSONDecodeError, UnicodeDecodeError) as error:
            raise InputError(
                f"{self.path}: not JSON ({error}). Take it from the repository."
            ) from error
        return entries

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep other jobs, which download other repositories, from writing the file meanwhile."""
        name = hashlib.sha256(os.fsencode(self.path.resolve())).hexdigest()[:16]
        place = Path(tempfile.gettempdir()) / f"thinkprior-{os.getuid()}-{name}.lock"
        with place.open("ab") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            yield


def fetch(
    repository: Repository,
    folder: Path | str,
    lock: Lock,
    report: Callable[[str], None],
    *,
    endpoint: str | None = None,
    waits: Sequence[float] = WAITS,
) -> Fetched:
    """Fetches the files of a repository, those apart that are there and right.

    Args:
        repository: what to fetch.
        folder: files go to `<folder>/<owner>--<name>/<commit>/<file>`.
        lock: what earlier downloads gave; it is written after each file.
        report: takes lines of progress.
        endpoint: another hub.
        waits: seconds before each further try.

    Raises:
        InputError: for no network, a gated or missing repository, a pattern without a file, or a
            checksum that differs; the message says what to do.
    """
    commit = lock.commit(repository)
    names = lock.files(repository, commit) if commit else []
    home = place_of(repository, folder, commit)
    if names and all(_is_right(home / n, lock.checksum(repository, n)) for n in names):
        # Needs no network: all that was ever fetched is there.
        report(f"{repository.name}: there, as in {lock.path}")
        return Fetched(repository.name, commit, tuple(home / name for name in names))
    commit, listed = _tried(
        lambda: _listing(repository, commit, endpoint), repository, report, waits
    )
    names, home = _matching(repository, listed), place_of(repository, folder, commit)
    for pattern in repository.files:
        if not fnmatch.filter(names, pattern):
            some = ", ".join(sorted(listed)[:20])
            advice = (
                "Set the files in the configuration."
                if repository.kind == "dataset"
                else "Models are read from safetensors: choose another repository or revision, or "
                "convert it and give the folder as `path`."
            )
            raise InputError(
                f"{repository.name} at {commit} has no file {pattern}. It has: {some}. {advice}"
            )
    for name in names:
        target, expected = home / name, lock.checksum(repository, name)
        if target.exists():
            found = remembered_digest(target)
            if expected in ("", found):
                lock.record(repository, commit, {name: found})
                continue
            report(f"{target}: damaged, its SHA-256 differs; fetching it anew")
        checksum = _fetch_file(repository, commit, name, target, expected, report, endpoint, waits)
        lock.record(repository, commit, {name: checksum})
        report(f"{repository.name}: {name}, {target.stat().st_size:,} bytes, sha256 {checksum}")
    lock.record(repository, commit, {}, repository.patterns)
    return Fetched(repository.name, commit, tuple(home / name for name in names))


def is_there(repository: Repository, folder: Path | str, lock: Lock) -> bool:
    """Whether all files are there, as the lock has them; their bytes are not read."""
    commit = lock.commit(repository)
    names = lock.files(repository, commit) if commit else []
    home = place_of(repository, folder, commit)
    return bool(names) and all((home / name).is_file() for name in names)


def place_of(repository: Repository, folder: Path | str, commit: str) -> Path:
    """Where the files of a repository lie."""
    return Path(folder) / repository.name.replace("/", "--") / commit


def _matching(repository: Repository, names: Sequence[str] | Mapping[str, str]) -> list[str]:
    return sorted(
        name
        for name in names
        if (repository.kind == "dataset" or "/" not in name)
        and any(fnmatch.fnmatchcase(name, pattern) for pattern in repository.patterns)
    )


def _is_right(path: Path, expected: str) -> bool:
    return bool(expected) and path.is_file() and remembered_digest(path) == expected


def _listing(repository: Repository, commit: str, endpoint: str | None) -> tuple[str, list[str]]:
    from huggingface_hub import HfApi

    api = HfApi(endpoint=endpoint)
    ask = api.dataset_info if repository.kind == "dataset" else api.model_info
    info = ask(repository.name, revision=commit or None)
    return str(info.sha), [sibling.rfilename for sibling in info.siblings or []]


def _fetch_file(
    repository: Repository,
    commit: str,
    name: str,
    target: Path,
    expected: str,
    report: Callable[[str], None],
    endpoint: str | None,
    waits: Sequence[float],
) -> str:
    from huggingface_hub import hf_hub_download

    # The hub's client deletes a file before it fetches another over it; so it writes elsewhere. It
    # goes on where a connection broke, by 10 MB, and throws a part away when its process ends.
    staging = target.parent / f".fetching-{os.getpid()}"

    def download() -> Path:
        return Path(
            hf_hub_download(
                repository.name,
                name,
                repo_type=repository.kind,
                revision=commit,
                local_dir=staging,
                endpoint=endpoint,
            )
        )

    target.parent.mkdir(parents=True, exist_ok=True)
    for left in target.parent.glob(".fetching-*"):
        # Of a process that was killed.
        if not _alive(int(left.name.rpartition("-")[2])):
            shutil.rmtree(left, ignore_errors=True)
    try:
        part = _tried(download, repository, report, waits)
        checksum = file_digest(part)
        if expected and checksum != expected:
            raise InputError(
                f"{repository.name}, {name} at {commit}: the file fetched has sha256 "
                f"{checksum}, but {expected} was expected. It was thrown away. Try again; if it "
                "stays so, the checksum or the file on the hub is wrong."
            )
        part.replace(target)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return checksum


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _tried(
    action: Callable[[], T],
    repository: Repository,
    report: Callable[[str], None],
    waits: Sequence[float],
) -> T:
    """The action's result, after some tries where the connection or the server fails."""
    for attempt in range(len(waits) + 1):
        try:
            return action()
        except Exception as error:
            advice, again = _explained(error, repository)
            if not advice:
                raise
            if not again or attempt == len(waits):
                tries = f" ({attempt + 1} tries)" if attempt else ""
                raise InputError(f"{repository.name}: {advice}{tries}") from error
            report(
                f"{repository.name}: {type(error).__name__}, trying again in {waits[attempt]:g} s"
            )
            time.sleep(waits[attempt])
    raise AssertionError


def _offline(repository: Repository) -> str:
    other = (
        "set data.source: local and data.folder"
        if repository.kind == "dataset"
        else "give the model's folder as `path` in the configuration"
    )
    return (
        "the hub cannot be reached. Run `snakemake prefetch` on a machine with internet and a copy "
        f"of this folder, or {other}"
    )


def _explained(error: Exception, repository: Repository) -> tuple[str, bool]:
    """What an error of the hub's client means, and whether another try may help."""
    from huggingface_hub import errors

    page = f"https://huggingface.co/{'datasets/' if repository.kind == 'dataset' else ''}"
    page += repository.name
    if isinstance(error, errors.OfflineModeIsEnabled):
        return f"HF_HUB_OFFLINE is set. Unset it, or: {_offline(repository)}", False
    if isinstance(error, errors.GatedRepoError):
        return (
            f"the repository is gated. Accept its terms at {page}, then `hf auth login` or set "
            "HF_TOKEN",
            False,
        )
    if isinstance(error, errors.RepositoryNotFoundError):
        return f"no such repository, or a private one: {page}. Is HF_TOKEN needed?", False
    if isinstance(error, errors.RevisionNotFoundError):
        return "no such revision. Set `revision` in the configuration to a commit of it", False
    if isinstance(error, errors.RemoteEntryNotFoundError):
        return "a file is not there at this revision. Set `files` in the configuration", False
    if isinstance(error, errors.LocalEntryNotFoundError):
        return _offline(repository), True
    if isinstance(error, errors.HfHubHTTPError):
        status = error.response.status_code if error.response is not None else 0
        return f"the hub answers with HTTP {status}", status in (0, 408, 429) or status >= 500
    if _is_network(error):
        return f"{_offline(repository)} ({type(error).__name__}: {error})", True
    return "", False


def _is_network(error: Exception) -> bool:
    # Named and not imported: which client the hub's library has under it changes.
    names = {cls.__module__.partition(".")[0] for cls in type(error).__mro__}
    client = names & {"httpx", "httpx2", "requests", "urllib3"}
    # The hub's library says with a bare OSError that a file came out shorter than announced.
    short = type(error) is OSError and "Consistency check failed" in str(error)
    return bool(client) or short or isinstance(error, (ConnectionError, TimeoutError))
