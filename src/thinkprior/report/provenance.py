"""How things were made: the records of tables and figures, and the manifests of runs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from thinkprior.errors import InputError


@dataclass(frozen=True)
class Made:
    """How an item was made.

    Attributes:
        rule, function: the workflow rule, and what it called.
        settings_digest, code_digest: of what it was given and of the code that ran.
        inputs, outputs: path to SHA-256.
        seconds: what the call took, as text; empty where unknown.
        host: the machine.
    """

    rule: str
    function: str
    settings_digest: str
    code_digest: str
    inputs: Mapping[str, str]
    outputs: Mapping[str, str]
    seconds: str
    host: str


def read_records(folder: Path) -> dict[str, Made]:
    """Output path to how it was made, from all records under a folder."""
    made: dict[str, Made] = {}
    for path in sorted(folder.rglob("*.json")):
        content = _read(path)
        seconds = content.get("usage", {}).get("seconds")
        entry = Made(
            rule=str(content.get("rule", "")),
            function=str(content.get("function", "")),
            settings_digest=str(content.get("settings_digest", "")),
            code_digest=str(content.get("code_digest", "")),
            inputs=content.get("inputs", {}),
            outputs=content.get("outputs", {}),
            seconds="" if seconds is None else f"{float(seconds):.2f}",
            host=describe_host(content.get("host", {})),
        )
        made.update(dict.fromkeys(entry.outputs, entry))
    return made


def describe_host(host: Mapping[str, Any]) -> str:
    """A host in a line: machine, processor, cores, system, Python and libraries."""
    libraries = host.get("libraries", {})
    parts = [
        str(host.get("machine", "unknown machine")),
        f"{host.get('processor', 'unknown processor')}, {host.get('cores', '?')} cores",
        str(host.get("system", "")),
        f"Python {host.get('python', '?')}",
        *(f"{name} {version}" for name, version in sorted(libraries.items()) if version),
    ]
    return " · ".join(part for part in parts if part)


@dataclass
class CampaignRuns:
    """The finished runs of a campaign.

    Attributes:
        name, title: as configured.
        planned: how many runs it has when it is finished.
        facts: what its runs share: name to value.
        finished: how many are.
        hosts, codes: host and code digest to the number of runs.
    """

    name: str
    title: str
    planned: int
    facts: Mapping[str, str]
    finished: int = 0
    hosts: dict[str, int] = field(default_factory=dict)
    codes: dict[str, int] = field(default_factory=dict)

    @property
    def mixed(self) -> bool:
        """Whether its runs differ in host or code, so that arms may not compare."""
        return len(self.hosts) > 1 or len(self.codes) > 1


def campaign_runs(
    campaigns: Mapping[str, Mapping[str, Any]], manifests: Sequence[Path | str]
) -> list[CampaignRuns]:
    """The runs behind the page, by campaign in the order of the configuration.

    Args:
        campaigns: that section of the configuration.
        manifests: of the finished runs.

    Raises:
        InputError: for a manifest of a campaign that is not configured.
    """
    found = {
        name: CampaignRuns(
            name,
            str(row["title"]),
            len(row["arms"]) * len(row["seeds"]),
            {
                "policy": str(row["policy"]),
                "anchor": str(row["anchor"]),
                "pool": str(row["pool"]),
                "steps": str(row["steps"]),
                "KL weight": f"{row['kl_beta']:g}",
                "arms x seeds": f"{len(row['arms'])} x {len(row['seeds'])}",
            },
        )
        for name, row in campaigns.items()
    }
    for path in manifests:
        content = _read(Path(path))
        name = str(content.get("name", "")).partition("/")[0]
        if name not in found:
            raise InputError(f"{path}: a run of {name!r}, which the configuration does not have")
        runs = found[name]
        runs.finished += 1
        _count(runs.hosts, describe_host(content.get("host", {})))
        _count(runs.codes, str(content.get("code_digest", "")))
    return list(found.values())


def distinct(counts: Iterable[Mapping[str, int]]) -> list[str]:
    """The distinct keys, in order of first appearance."""
    return list(dict.fromkeys(key for one in counts for key in one))


def _count(counts: dict[str, int], key: str) -> None:
    counts[key] = counts.get(key, 0) + 1


def _read(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InputError(f"{path}: not JSON ({error}). Delete it and make it anew.") from error
    if not isinstance(content, dict):
        raise InputError(f"{path}: not a record. Delete it and make it anew.")
    return content
