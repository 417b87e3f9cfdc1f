"""A campaign that is killed at random moments, everything at once, ends with the same bytes.

`KILL_TABLE=<file>` writes what each kill hit and what was recovered, as in docs/resume.md.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tests.workflow.test_micro import Project

RESULTS = Path("results", "micro")
TARGET = str(RESULTS / "metrics" / "main.csv")
pytestmark = pytest.mark.skipif(
    not Path("/proc/self/environ").exists(), reason="the processes of a campaign are found in /proc"
)

APART = re.compile(r"(logs|benchmarks|usage|records|state)/|timings\.parquet$|manifest\.json$")
"""What may differ: what a job took, its log, and which processes worked on it."""
RECOVERED = re.compile(r"(goes on after step \d+|\S+: \d+ problems had been answered before)")
MARK = "THINKPRIOR_TEST_OF_KILLS"


def small(project: Project) -> Project:
    """Three runs of one campaign, long enough to be hit."""
    main = project.values["campaigns"]["main"]
    main.update(arms=["random", "dapo", "thinkprior"], steps=40)
    return project


def start(project: Project) -> subprocess.Popen[bytes]:
    (project.folder / "tmp").mkdir(exist_ok=True)
    path = project.folder / "micro.yaml"
    path.write_text(json.dumps(project.values), encoding="utf-8")
    with (project.folder / "output.txt").open("wb") as output:
        return subprocess.Popen(
            [
                *(sys.executable, "-m", "snakemake", TARGET, "--cores", "2", "--nolock"),
                *("--configfile", path.name),
            ],
            cwd=project.folder,
            env={
                **os.environ,
                "PYTHONPATH": str(project.folder / "src"),
                "TMPDIR": str(project.folder / "tmp"),
                MARK: str(project.folder),
            },
            stdout=output,
            stderr=output,
            start_new_session=True,
        )


def tree(project: Project) -> list[int]:
    """Snakemake, its jobs, the warm server, its children and the verifier's workers."""
    mark = f"{MARK}={project.folder}".encode()
    found = []
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and mark in (folder / "environ").read_bytes().split(b"\0"):
                found.append(int(folder.name))
        except OSError:
            continue
    return found


def kill(project: Project) -> int:
    killed = set()
    while pids := tree(project):
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
                killed.add(pid)
            except ProcessLookupError:
                continue
        time.sleep(0.02)
    return len(killed)


def work_begins(project: Project, process: subprocess.Popen[bytes]) -> None:
    """Wait until a job that keeps a state has taken it up."""
    since = time.time()
    while process.poll() is None:
        for lock in (project.folder / RESULTS / "state").rglob("lock"):
            with contextlib.suppress(FileNotFoundError):
                if lock.stat().st_mtime >= since:
                    return
        time.sleep(0.02)


def states(project: Project) -> dict[str, str]:
    """Each unfinished job and the newest thing that its state holds."""
    root = project.folder / RESULTS / "state"
    found = {}
    for identity in root.rglob("identity.json"):
        names = [p.name for p in identity.parent.iterdir() if not p.name.endswith(".new")]
        kept = sorted(name for name in names if re.match(r"(step|part)-", name))
        found[str(identity.parent.relative_to(root))] = kept[-1] if kept else "nothing yet"
    return found


def log_of(project: Project, job: str, since: float = 0.0) -> str:
    """Log of a job, if it was written after a time."""
    rule, *wildcards = job.split("/")
    folder = {"model": "models", "policy": "models", "probe": "responses"}.get(rule, rule)
    path = project.folder / RESULTS / "logs" / folder / (".".join(wildcards) + ".log")
    fresh = path.exists() and path.stat().st_mtime >= since
    return path.read_text(encoding="utf-8") if fresh else ""


def outputs(project: Project) -> dict[str, bytes]:
    root = project.folder / RESULTS
    files = {str(p.relative_to(root)): p for p in root.rglob("*") if p.is_file()}
    return {name: p.read_bytes() for name, p in sorted(files.items()) if not APART.search(name)}


def manifests(project: Project) -> dict[str, Any]:
    """Manifests without what belongs to single processes: who did what, and cached verdicts."""
    found = {}
    for path in (project.folder / RESULTS / "runs").rglob("manifest.json"):
        values = json.loads(path.read_text(encoding="utf-8"))
        del values["sittings"]
        for name in ("exact", "cached", "compared"):
            del values["verifier"][name]
        found[str(path.relative_to(project.folder))] = values
    return found


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Project:
    project = small(Project(tmp_path_factory.mktemp("whole") / "project"))
    process = start(project)
    assert process.wait() == 0, (project.folder / "output.txt").read_text("utf-8")
    return project


def write_table(rows: list[dict[str, Any]]) -> None:
    if table := os.environ.get("KILL_TABLE"):
        Path(table).write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


REMADE = {
    "evaluations": ("runs/*/*/*/scores.csv", "runs/*/*/*/answers.parquet", "metrics"),
    "runs": ("runs", "metrics"),
    "everything": ("*",),
}
"""What is not there at the start: a campaign is killed in each of these parts of it."""


def begin(project: Project, whole: Project, part: str) -> None:
    """Put a project where everything is done but one part."""
    for name in ("results", ".snakemake"):
        shutil.rmtree(project.folder / name, ignore_errors=True)
        # Both keep their times, by which Snakemake sees what is done.
        shutil.copytree(whole.folder / name, project.folder / name)
    for pattern in REMADE[part]:
        for path in (project.folder / RESULTS).glob(pattern):
            shutil.rmtree(path) if path.is_dir() else path.unlink()


@pytest.mark.parametrize(
    "kills",
    [
        {"runs": 3, "evaluations": 2},
        pytest.param({"runs": 25, "evaluations": 15, "everything": 10}, marks=pytest.mark.slow),
    ],
    ids=lambda kills: str(sum(kills.values())),
)
def test_killed_at_random_moments_it_ends_with_the_same_bytes(
    whole: Project, tmp_path: Path, kills: dict[str, int]
) -> None:
    moments = random.Random(str(kills))
    project = small(Project(tmp_path / "project"))
    rows: list[dict[str, Any]] = []
    for part, count in kills.items():
        left = count
        while left:
            # A part that is through before all of its kills were dealt is made once more.
            begin(project, whole, part)
            left -= killed_until_done(project, whole, left, moments, rows)
    assert any("goes on after step" in row["recovered"] for row in rows)
    if kills["evaluations"] > 2:
        # Two kills may both miss the half second in which an evaluation has some of its answers.
        assert any("answered before" in row["recovered"] for row in rows)


def killed_until_done(
    project: Project, whole: Project, most: int, moments: random.Random, rows: list[dict[str, Any]]
) -> int:
    """Start a campaign again and again until it is done; returns the kills that it took."""
    mine: list[dict[str, Any]] = []
    pending: list[dict[str, Any]] = []
    kills, ended = 0, False
    while not ended:
        begun, clock = time.monotonic(), time.time()
        process = start(project)
        if kills < most:
            work_begins(project, process)
            deadline = time.monotonic() + moments.uniform(0, 4)
            while process.poll() is None and time.monotonic() < deadline:
                time.sleep(0.01)
        else:
            process.wait()
        ended = process.poll() is not None
        processes = 0 if ended else kill(project)
        process.wait()
        # What this sitting took up of what the kills before it had hit.
        for row in list(pending):
            if found := RECOVERED.findall(log_of(project, row["job"], clock)):
                row["recovered"] = found[-1]
            if found or row["state"] == "nothing yet":
                pending.remove(row)
        if ended:
            continue
        kills += 1
        for job, state in (states(project) or {"none": "nothing yet"}).items():
            row = {
                "kill": len({row["kill"] for row in rows if row not in mine}) + kills,
                "seconds": round(time.monotonic() - begun, 1),
                "processes": processes,
                "job": job,
                "state": state,
                "recovered": "",
            }
            for rows_of in (rows, mine, pending):
                rows_of.append(row)
        write_table(rows)
    assert process.returncode == 0, (project.folder / "output.txt").read_text("utf-8")
    made, expected = outputs(project), outputs(whole)
    for row in mine:
        row["equal"] = made == expected
    write_table(rows)
    assert sorted(made) == sorted(expected)
    assert [name for name, data in made.items() if data != expected[name]] == []
    assert manifests(project) == manifests(whole)
    assert states(project) == {}
    return kills


def test_asked_to_end_it_ends_within_seconds_and_goes_on(whole: Project, tmp_path: Path) -> None:
    """SIGTERM to every process of a job, as from a scheduler."""
    project = small(Project(tmp_path / "project"))
    begin(project, whole, "runs")
    process = start(project)
    steps = project.folder / RESULTS / "state" / "train"
    while process.poll() is None and not any(steps.rglob("step-*")):
        time.sleep(0.01)
    asked = time.monotonic()
    for pid in tree(project):
        os.kill(pid, signal.SIGTERM)
    assert process.wait(timeout=60) != 0
    while tree(project):
        assert time.monotonic() - asked < 20, "a process goes on"
        time.sleep(0.05)
    jobs = states(project)
    assert any(state.startswith("step-") for state in jobs.values())
    assert any("ended by SIGTERM; started again it goes on" in log_of(project, j) for j in jobs)
    again = start(project)
    assert again.wait() == 0, (project.folder / "output.txt").read_text("utf-8")
    assert any(RECOVERED.search(log_of(project, job)) for job in jobs)
    assert outputs(project) == outputs(whole)
    assert manifests(project) == manifests(whole)
