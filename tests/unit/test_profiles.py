"""The profiles: what one profile must share with the other, and with the rules."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]


def profile(name: str) -> dict[str, Any]:
    text = (ROOT / "profiles" / name / "config.yaml").read_text(encoding="utf-8")
    values: dict[str, Any] = yaml.safe_load(text)
    return values


def test_a_cluster_finds_the_same_jobs_stale_as_a_single_machine() -> None:
    # A workflow profile takes the place of the default one: what it leaves out is lost. Only the
    # number of GPUs is not, since SLURM knows that itself.
    default, slurm = profile("default"), profile("slurm")
    del default["resources"]
    assert default.items() <= slurm.items()


def test_every_rule_that_asks_for_more_is_a_rule_that_is_submitted() -> None:
    rules = "".join(path.read_text("utf-8") for path in (ROOT / "workflow/rules").glob("*.smk"))
    defined = set(re.findall(r"^\s*rule (\w+):", rules, re.MULTILINE))
    local = {
        name
        for block in re.findall(r"^localrules:\n((?:    \w+,\n)+)", rules, re.MULTILINE)
        for name in re.findall(r"\w+", block)
    }
    assert set(profile("slurm")["set-resources"]) <= defined - local


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, {}),
        (
            # Quoted: unquoted, Snakemake takes the one for a number and the other for a function.
            {"SBATCH_ACCOUNT": "0815", "SBATCH_PARTITION": "all"},
            {"slurm_account": "'0815'", "slurm_partition": "'all'"},
        ),
    ],
)
def test_account_and_partition_are_those_of_sbatch(
    environment: dict[str, str], expected: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from snakemake.profiles import ProfileConfigFileParser

    for name in ("SBATCH_ACCOUNT", "SBATCH_PARTITION"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with (ROOT / "profiles/slurm/config.yaml").open(encoding="utf-8") as file:
        parsed = ProfileConfigFileParser().parse(file)
    default = dict(item.split("=", 1) for item in parsed["default-resources"])
    assert {name: value for name, value in default.items() if name[:5] == "slurm"} == expected
