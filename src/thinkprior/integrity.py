"""Whether the artifacts of a scale are what their records say, and what the tables rest on.

Each job leaves a record (`thinkprior.records`): the function it called, with which arguments, and
the checksums of what it read and wrote. From these the chain from the models to the last table is
checked: nothing on disk differs from what its job wrote, nothing was made from inputs that have
changed since, and every number that was derived from logs comes out again.
"""

from __future__ import annotations

import importlib
import json
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from thinkprior.digest import file_digest
from thinkprior.errors import InputError
from thinkprior.priors import read_prior
from thinkprior.problems import check_disjoint, read_problems

UNRECORDED = ("benchmarks", "document", "logs", "plan.csv", "records", "state")
"""What is no result: times, logs, the plan, the records themselves, states of runs; and what LaTeX
leaves beside the document."""

DEVICE_KEYS = ("machine", "processor", "libraries")
"""Entries of a host by which runs of one table are held together."""


@dataclass(frozen=True)
class Finding:
    """Something that is off.

    Attributes:
        check: the check that found it.
        where: a path, a campaign or a run.
        what: a sentence.
    """

    check: str
    where: str
    what: str


@dataclass(frozen=True)
class Record:
    """A job's record, as `thinkprior.records.write_record` wrote it."""

    path: Path
    content: Mapping[str, Any]

    @property
    def outputs(self) -> Mapping[str, str]:
        """Path to checksum of what the job wrote."""
        outputs: Mapping[str, str] = self.content["outputs"]
        return outputs

    @property
    def inputs(self) -> Mapping[str, str]:
        """Path to checksum of what the job read."""
        inputs: Mapping[str, str] = self.content["inputs"]
        return inputs


def read_records(folder: Path) -> tuple[list[Record], list[Finding]]:
    """All records under a folder, and a finding for each that cannot be read."""
    records, findings = [], []
    for path in sorted(folder.rglob("*.json")):
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            missing = [key for key in ("rule", "inputs", "outputs") if key not in content]
            if missing:
                raise ValueError(f"it lacks {', '.join(missing)}")
        except (ValueError, TypeError, OSError) as error:
            findings.append(Finding("records", str(path), f"not readable as a record: {error}"))
            continue
        records.append(Record(path, content))
    return records, findings


def check_files(records: Sequence[Record]) -> list[Finding]:
    """Outputs that are missing or differ from their record, and inputs that changed since."""
    findings, digests = [], dict[str, str | None]()

    def digest(path: str) -> str | None:
        if path not in digests:
            digests[path] = file_digest(path) if Path(path).exists() else None
        return digests[path]

    for record in records:
        for path, recorded in record.outputs.items():
            found = digest(path)
            if found is None:
                findings.append(Finding("checksums", path, "missing, though its record is there"))
            elif found != recorded:
                findings.append(Finding("checksums", path, "not the bytes that its job wrote"))
        for path, recorded in record.inputs.items():
            found = digest(path)
            if found is None:
                findings.append(Finding("inputs", path, f"missing; {record.path} was made from it"))
            elif found != recorded:
                findings.append(
                    Finding("inputs", path, f"changed since {record.path} was made from it")
                )
    return findings


def check_covered(folder: Path, records: Sequence[Record]) -> list[Finding]:
    """Files that no record speaks for, so that a change of theirs would go unseen."""
    written = {Path(path) for record in records for path in record.outputs}
    findings = []
    for path in sorted(folder.rglob("*")):
        relative = path.relative_to(folder)
        if not path.is_file() or relative.parts[0] in UNRECORDED or path.name.startswith("."):
            continue
        if not written.intersection([path, *path.parents]):
            findings.append(Finding("coverage", str(path), "no record speaks for it"))
    return findings


def check_copies(results: Path, sources: Mapping[str, str]) -> list[Finding]:
    """Files under fixed names that are the rendering of no scale.

    Args:
        results: the folder that holds the fixed names and the scales' folders.
        sources: fixed name to what it is a copy of, under the folder of a scale.
    """
    findings = []
    for name, source in sources.items():
        copy = results / name
        if not copy.is_file():
            continue
        digests = {file_digest(path) for path in results.glob(f"*/{source}")}
        if file_digest(copy) not in digests:
            findings.append(Finding("copies", str(copy), f"not the bytes of any scale's {source}"))
    return findings


def derive_again(records: Iterable[Record]) -> list[Finding]:
    """Calls what each record of a derived artifact called, and compares what comes out.

    Only functions that derive numbers from files are called again (their records say `derived`);
    what a model computed is held by its checksum alone.
    """
    findings = []
    for record in records:
        if not record.content.get("derived"):
            continue
        with tempfile.TemporaryDirectory() as folder:
            # The same names in another folder: some functions name a file after another one.
            places = {path: str(Path(folder) / path.lstrip("/")) for path in record.outputs}
            for place in places.values():
                Path(place).parent.mkdir(parents=True, exist_ok=True)
            arguments = _replaced(record.content["arguments"], places)
            module, _, name = record.content["function"].partition(":")
            try:
                getattr(importlib.import_module(module), name)(**arguments)
            except (InputError, OSError, KeyError, ValueError, TypeError) as error:
                findings.append(
                    Finding("derived", str(record.path), f"cannot be derived again: {error}")
                )
                continue
            for path, place in places.items():
                if not Path(place).exists() or file_digest(place) != file_digest(path):
                    findings.append(
                        Finding("derived", path, "differs from what its inputs give today")
                    )
    return findings


def _replaced(value: Any, places: Mapping[str, str]) -> Any:
    """Arguments with other output paths."""
    if isinstance(value, dict):
        return {key: _replaced(item, places) for key, item in value.items()}
    if isinstance(value, list):
        return [_replaced(item, places) for item in value]
    return places.get(value, value) if isinstance(value, str) else value


def check_scores(folder: Path) -> list[Finding]:
    """Evaluations whose accuracies are not those of the answers beside them."""
    findings = []
    for path in sorted(folder.glob("runs/*/*/seed*/scores.csv")):
        try:
            scores = pd.read_csv(path)
            answers = pd.read_parquet(path.with_name("answers.parquet"))
            counted = {
                name: (int(part["correct"].sum()), len(part))
                for name, part in answers.groupby(["step", "benchmark"])
            }
            for row in scores[scores["subset"] == "all"].to_dict("records"):
                right, number = counted[(row["step"], row["benchmark"])]
                if (right, number) != (row["correct"], row["problems"]):
                    findings.append(
                        Finding(
                            "scores",
                            str(path),
                            f"step {row['step']} of {row['benchmark']} says "
                            f"{row['correct']}/{row['problems']}, the answers {right}/{number}",
                        )
                    )
        except (OSError, ValueError, KeyError) as error:
            findings.append(Finding("scores", str(path), f"cannot be counted again: {error}"))
    return findings


def check_pools(folder: Path) -> list[Finding]:
    """Priors that do not cover their pool, and pools that share a problem with a benchmark."""
    findings = []
    benchmarks = sorted((folder / "data/benchmarks").glob("*.jsonl"))
    for pool in sorted((folder / "data/pools").glob("*.jsonl")):
        try:
            problems = read_problems(pool)
            for benchmark in benchmarks:
                check_disjoint(problems, str(pool), read_problems(benchmark), str(benchmark))
        except (InputError, OSError) as error:
            findings.append(Finding("pools", str(pool), str(error)))
            continue
        for prior in sorted((folder / "priors" / pool.stem).glob("*.csv")):
            if prior.name.endswith(".lengths.csv"):
                continue
            try:
                read_prior(prior, [problem.id for problem in problems])
            except (InputError, OSError) as error:
                findings.append(Finding("priors", str(prior), str(error)))
    return findings


def check_runs(folder: Path, records: Sequence[Record]) -> list[Finding]:
    """Campaigns whose runs do not share model, data, protocol, step-0 score or hosts."""
    findings: list[Finding] = []
    campaigns: dict[str, list[tuple[str, int, Record]]] = defaultdict(list)
    for record in records:
        if record.content["rule"] == "train":
            plan = record.content["arguments"]["settings"]["plan"]
            campaigns[plan["campaign"]].append((plan["arm"], plan["seed"], record))
    for campaign, runs in sorted(campaigns.items()):
        findings += _check_same(campaign, runs)
        findings += _check_step_0(folder, campaign, runs)
        findings += _check_hosts(campaign, runs)
    return findings


def _check_same(campaign: str, runs: Sequence[tuple[str, int, Record]]) -> list[Finding]:
    kinds = Counter(_shared(record) for _, _, record in runs)
    if len(kinds) == 1:
        return []
    common, _ = kinds.most_common(1)[0]
    odd = [f"{arm}/seed{seed}" for arm, seed, record in runs if _shared(record) != common]
    return [
        Finding(
            "protocol",
            campaign,
            f"{', '.join(odd)}: model, data, protocol or code differ from the other runs'",
        )
    ]


def _shared(record: Record) -> str:
    """What all runs of a campaign must have in common, as text."""
    settings = dict(record.content["arguments"]["settings"])
    plan = {k: v for k, v in settings["plan"].items() if k not in ("arm", "seed", "refill")}
    rest = {k: v for k, v in settings.items() if k not in ("plan", "selector", "kappa", "epsilon")}
    files = {path: digest for path, digest in record.inputs.items() if "/priors/" not in path}
    return json.dumps([plan, rest, files, record.content["code_digest"]], sort_keys=True)


def _check_step_0(
    folder: Path, campaign: str, runs: Sequence[tuple[str, int, Record]]
) -> list[Finding]:
    first: dict[str, list[str]] = defaultdict(list)
    for arm, seed, _ in runs:
        path = folder / "runs" / campaign / arm / f"seed{seed}" / "scores.csv"
        if path.exists():
            scores = pd.read_csv(path)
            # The benchmark along the run is the only one that step 0 has.
            start = scores[(scores["step"] == 0) & (scores["subset"] == "all")]
            first[str(start["correct"].tolist())].append(f"{arm}/seed{seed}")
    if len(first) <= 1:
        return []
    groups = sorted(first.values(), key=len)
    odd = ", ".join(name for group in groups[:-1] for name in group)
    return [Finding("step-0 score", campaign, f"{odd}: not the score of the rest")]


def _check_hosts(campaign: str, runs: Sequence[tuple[str, int, Record]]) -> list[Finding]:
    """Several hosts are in order when every arm has its seeds on the same ones."""
    hosts: dict[str, dict[int, str]] = defaultdict(dict)
    for arm, seed, record in runs:
        host = record.content["host"]
        hosts[arm][seed] = json.dumps([host.get(key) for key in DEVICE_KEYS], sort_keys=True)
    if len({host for seeds in hosts.values() for host in seeds.values()}) == 1:
        return []
    arms = sorted(hosts)
    if all(hosts[arm] == hosts[arms[0]] for arm in arms):
        return []
    return [
        Finding(
            "hosts",
            campaign,
            "runs come from several machines or library versions, and not by seed alike for "
            f"every arm ({', '.join(arms)})",
        )
    ]
