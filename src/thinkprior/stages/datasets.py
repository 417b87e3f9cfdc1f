"""Problem files made of public data sets: the source of the pools, and the benchmarks."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd

from thinkprior.datasets import Change, Loaded, Raw, candidates, load
from thinkprior.digest import file_digest
from thinkprior.errors import InputError
from thinkprior.problems import Problem, write_problems
from thinkprior.progress import Progress
from thinkprior.randomness import stream


def make_datasets(
    settings: Mapping[str, Any],
    local: Mapping[str, Path | str],
    manifest: Path | str | None,
    source: Path | str | None,
    benchmarks: Mapping[str, Path | str],
    changes: Path | str,
    job_log: Path | str,
) -> None:
    """Make the problem files.

    Args:
        settings: `training_set`, `seed`, and `benchmarks` (name to dataset and size, 0 for all).
        local: data set to its file, for those that come from a local folder.
        manifest: what `download_datasets` wrote, for the others.
        source: file that takes the rows that a pool may be drawn from; None where pools are drawn
            from generated problems.
        benchmarks: benchmark name to its file.
        changes: CSV that takes what the rules for faulty golds did, a row a touched problem.
        job_log: the job's log.
    """
    progress = Progress(job_log, "datasets")
    done: list[Change] = []

    def loaded(name: str) -> Loaded:
        found = _loaded(name, local, manifest)
        done.extend(found.changes)
        progress.line(f"{name}: {len(found.rows)} problems, {len(found.changes)} touched by a rule")
        return found

    if source is not None:
        name = settings["training_set"]
        kept = candidates(loaded(name), name)
        done.extend(kept.changes)
        progress.line(f"{name}: {len(kept.rows)} may be in a pool")
        write_problems(source, kept.problems)
    for name, path in benchmarks.items():
        of = settings["benchmarks"][name]
        problems = loaded(of["dataset"]).problems
        write_problems(path, _drawn(problems, of["size"], settings["seed"], of["dataset"]))
    pd.DataFrame(
        [asdict(change) for change in done], columns=["dataset", "id", "rule", "before", "after"]
    ).drop_duplicates().to_csv(changes, index=False, lineterminator="\n")


def _drawn(problems: list[Problem], size: int, seed: int, name: str) -> list[Problem]:
    """So many problems, drawn by the seed, in the order of the data set; all of them for 0."""
    if size in (0, len(problems)):
        return problems
    if size > len(problems):
        raise InputError(
            f"{name} has {len(problems)} problems, {size} were asked for. Lower the benchmark's "
            "size, or leave it out for all."
        )
    chosen = stream("benchmark", seed, name).permutation(len(problems))[:size]
    return [problems[place] for place in sorted(chosen)]


def _loaded(name: str, local: Mapping[str, Path | str], manifest: Path | str | None) -> Loaded:
    if name in local:
        path = Path(local[name])
        return load(name, read_rows(path), str(path), hub=False)
    if manifest is None:
        raise InputError(f"{name}: neither a local file nor a download.")
    folder = Path(manifest).parent
    entry = json.loads(Path(manifest).read_text(encoding="utf-8"))[name]
    rows: list[Raw] = []
    for file, checksum in entry["files"].items():
        path = folder / file
        if not path.is_file() or file_digest(path) != checksum:
            raise InputError(
                f"{path}: {'changed since it was fetched' if path.is_file() else 'missing'}. Fetch "
                "it anew: snakemake prefetch --forcerun download_datasets"
            )
        rows += read_rows(path)
    return load(name, rows, f"{entry['repository']} at {entry['commit']}", hub=True)


def read_rows(path: Path) -> list[Raw]:
    """The rows of a JSON lines or Parquet file.

    Raises:
        InputError: for a file that is missing or neither of them.
    """
    if not path.is_file():
        raise InputError(f"{path}: not there. data.folder must hold it.")
    if path.suffix == ".parquet":
        try:
            table = pd.read_parquet(path)
        except (OSError, ValueError) as error:
            raise InputError(f"{path}: not readable as Parquet ({error}).") from error
        return [{str(k): v for k, v in row.items()} for row in table.to_dict("records")]
    rows: list[Raw] = []
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            raise InputError(
                f"{path}, line {number}: not JSON ({error}). Is the file cut off?"
            ) from error
        if not isinstance(row, dict):
            raise InputError(f"{path}, line {number}: expected an object.")
        rows.append(row)
    return rows
