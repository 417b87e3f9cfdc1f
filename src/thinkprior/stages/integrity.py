"""`snakemake verify`: the artifacts of a scale held against their records."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from thinkprior.errors import InputError
from thinkprior.fixed_names import SOURCES
from thinkprior.integrity import (
    Finding,
    check_copies,
    check_covered,
    check_files,
    check_pools,
    check_runs,
    check_scores,
    derive_again,
    read_records,
)
from thinkprior.printable import one_line


def verify_scale(folder: str) -> None:
    """Check everything that a scale has computed; print what was checked and what is off.

    Args:
        folder: the scale's folder, such as `results/miniature`.

    Raises:
        InputError: when something is off; the lines above it say what.
    """
    root = Path(folder)
    records, findings = read_records(root / "records")
    if not records:
        raise InputError(f"{root}: no records, so nothing to verify. Run the workflow first.")
    derived = sum(bool(record.content.get("derived")) for record in records)
    checks: dict[str, Callable[[], list[Finding]]] = {
        f"checksums of what {len(records)} jobs read and wrote": lambda: check_files(records),
        "copies under fixed names": lambda: check_copies(root.parent, SOURCES),
        "files that no record speaks for": lambda: check_covered(root, records),
        f"{derived} derived artifacts, made again": lambda: derive_again(records),
        "accuracies against the answers behind them": lambda: check_scores(root),
        "priors against pools, pools against benchmarks": lambda: check_pools(root),
        "what the runs of a campaign must share": lambda: check_runs(root, records),
    }
    for name, check in checks.items():
        found = check()
        findings += found
        print(f"{'ok ' if not found else f'{len(found)} off'}  {name}", flush=True)
    for finding in findings:
        print(one_line(f"off: {finding.check}: {finding.where}: {finding.what}"), flush=True)
    if findings:
        raise InputError(
            f"{root}: {len(findings)} finding(s), listed above. Delete an artifact that is off and "
            "run Snakemake again, and it is made anew."
        )
    print(f"{root}: everything is as its records say")
