"""Bad input through Snakemake: one message, and nothing lost but what the failed job was to make.

The rows of `docs/bad_input.md` are written from here too (`THINKPRIOR_WRITE_DOCS=1`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.bad_input import Row, check_page, message_of, snapshot
from tests.workflow.test_micro import copy_of

ROWS: list[Row] = []
RUN = "results/micro/runs/main/thinkprior/seed0"
PRIOR = "results/micro/priors/pool250/anchor.anchor.csv"
RESPONSES = "results/micro/responses/pool250/anchor.anchor@300.parquet"
POOL = "results/micro/data/pools/pool250.jsonl"


@dataclass(frozen=True)
class Spoiled:
    """A file that is spoiled, what is asked for then, and what may be lost: the job's outputs."""

    done: str
    path: str
    spoil: Callable[[bytes], bytes]
    target: str
    says: str
    lost: str


def without_second_line(data: bytes) -> bytes:
    lines = data.splitlines(keepends=True)
    return b"".join(lines[:1] + lines[2:])


OF_THE_RUN = rf"{RUN}/|results/micro/usage/train/"
CASES = [
    Spoiled("a prior without one prompt, before a run", PRIOR, without_second_line,
            f"{RUN}/groups.parquet", r"anchor\.anchor\.csv: no row for 1 id", OF_THE_RUN),
    Spoiled("a pool cut off, before a pass over it", POOL, lambda data: data[:-20], RESPONSES,
            r"pool250\.jsonl, line 40: not JSON.*cut off",
            rf"{RESPONSES}|results/micro/usage/probe/"),
    Spoiled("responses cut off, before a prior", RESPONSES, lambda data: data[:-20],
            PRIOR, "not readable as Parquet.*made anew", PRIOR),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.done)
def test_a_spoiled_file_stops_what_reads_it(case: Spoiled, finished: Path, tmp_path: Path) -> None:
    project = copy_of(finished, tmp_path)
    results, path = project.folder / "results", project.folder / case.path
    path.write_bytes(case.spoil(path.read_bytes()))
    before = snapshot(results)
    run = project.snakemake(case.target)
    after = snapshot(results)
    assert run.returncode != 0
    message = message_of(run.stdout + run.stderr, project.folder)
    assert re.search(case.says, message), message
    changed = {
        str(Path(name).relative_to(project.folder))
        for name, digest in before.items()
        if after.get(name) != digest
    }
    its_own = re.compile(f"{case.lost}|results/micro/(logs|benchmarks|records)/")
    assert [name for name in changed if not its_own.match(name)] == []
    ROWS.append(("workflow", case.done, message))


def test_the_main_campaign_left_out(finished: Path, tmp_path: Path) -> None:
    project = copy_of(finished, tmp_path)
    before = snapshot(project.folder / "results")
    del project.values["campaigns"]["main"]
    run = project.snakemake("--dry-run")
    message = message_of(run.stdout + run.stderr, project.folder)
    assert run.returncode != 0
    assert "micro.yaml: campaigns: main missing" in message
    assert snapshot(project.folder / "results") == before
    ROWS.append(("workflow", "the campaign main left out", message))


def test_the_page_is_what_the_tests_produced() -> None:
    if len(ROWS) < len(CASES) + 1:
        pytest.skip("its rows come from the tests above: run all of this file together")
    check_page("workflow", ROWS)
