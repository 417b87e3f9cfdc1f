"""A micro campaign on a real SLURM of one node, and what is left of a job that SLURM ends."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml
from tests.slurm.cluster import Cluster, processes_of
from tests.workflow.test_micro import Project

pytestmark = pytest.mark.slurm

RUN, FINISHED = "anchor_medium", "anchor_large"  # campaigns of one run each, from the same models
STEPS = 200
LIMIT = 1800  # seconds for anything that Snakemake does here; minutes on an idle machine


class SlurmProject(Project):
    """A project that a cluster works on."""

    def __init__(self, folder: Path, finished: Path | None = None) -> None:
        super().__init__(folder)
        if finished:
            for name in ("results", ".snakemake"):
                shutil.copytree(finished / name, folder / name)
        self.values["engine"]["gpus"] = 1
        for campaign in (RUN, FINISHED):
            self.values["campaigns"][campaign]["steps"] = STEPS
            self.values["campaigns"][campaign]["seeds"] = [0]
        # What a run goes on from was then written when SLURM told it to end.
        self.values["training"].update(checkpoint_every=50, state_every=STEPS)
        (folder / "micro.yaml").write_text(yaml.safe_dump(self.values), encoding="utf-8")

    def start(self, *arguments: str, **environment: str) -> subprocess.Popen[str]:
        """Snakemake with the profile of the project, which only looks more often."""
        return subprocess.Popen(
            [
                *(sys.executable, "-m", "snakemake", "--workflow-profile", "profiles/slurm"),
                *("--slurm-init-seconds-before-status-checks", "2", "--latency-wait", "10"),
                *(*arguments, "--configfile", "micro.yaml"),
            ],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": str(self.folder / "src"), **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def train(self, *arguments: str) -> subprocess.Popen[str]:
        return self.start(metrics(RUN), metrics(FINISHED), *arguments)

    def run_file(self, name: str, campaign: str = RUN) -> Path:
        return self.folder / f"results/micro/runs/{campaign}/thinkprior/seed0/{name}"

    @property
    def log(self) -> str:
        path = self.folder / f"results/micro/logs/train/{RUN}.thinkprior.0.log"
        return path.read_text(encoding="utf-8") if path.exists() else ""

    def results(self, *campaigns: str) -> dict[str, bytes]:
        """Content of what a campaign gives, but for what tells of time and place."""
        files = {
            path
            for campaign in campaigns
            for pattern in (f"runs/{campaign}/**/*", f"metrics/{campaign}*")
            for path in (self.folder / "results/micro").glob(pattern)
            if path.is_file() and path.name not in ("timings.parquet", "manifest.json")
        }
        return {str(path.relative_to(self.folder)): path.read_bytes() for path in files}

    def untouched(self, campaign: str) -> dict[str, tuple[int, int]]:
        """Inode and time of every file of a campaign's run."""
        folder = self.folder / f"results/micro/runs/{campaign}"
        return {
            str(path): (path.stat().st_ino, path.stat().st_mtime_ns) for path in folder.rglob("*")
        }


def metrics(campaign: str) -> str:
    return f"results/micro/metrics/{campaign}.csv"


def finish(process: subprocess.Popen[str]) -> tuple[int, str]:
    try:
        out, _ = process.communicate(timeout=LIMIT)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, _ = process.communicate()
        pytest.fail(f"Snakemake did not end:\n{out}")
    return process.returncode, out


def succeed(process: subprocess.Popen[str]) -> str:
    status, out = finish(process)
    assert status == 0, out
    return out


def wait_for(what: str, look: Callable[[], bool], seconds: float = LIMIT) -> None:
    deadline = time.monotonic() + seconds
    while not look():
        assert time.monotonic() < deadline, f"{what} never came"
        time.sleep(0.2)


def steps_done(project: SlurmProject) -> int:
    return max((int(step) for step in re.findall(r" step (\d+)/", project.log)), default=0)


def in_the_middle(cluster: Cluster, project: SlurmProject, after: int) -> str:
    """The job that trains, stopped after a part of its steps until a signal makes it go on."""
    wait_for("step 20", lambda: steps_done(project) >= 20)
    (job,) = cluster.jobs_of("train", after)
    workers = [pid for pid, call in processes_of(job).items() if call.endswith(".train.py")]
    assert len(workers) == 1, processes_of(job)
    os.kill(workers[0], signal.SIGSTOP)
    assert steps_done(project) < STEPS
    return job


def goes_on(project: SlurmProject, stopped: int) -> bool:
    """Whether the run went on where it had come to, with the step after the last one done.

    SLURM lets a stopped job run before it tells it to end, so some steps more may have been done.
    """
    found = re.search(r"goes on after step (\d+),.*\n.* step (\d+)/", project.log)
    return found is not None and stopped <= int(found[1]) == int(found[2]) - 1 < STEPS


def note(record_property: Callable[[str, object], None], cluster: Cluster, after: int) -> list[str]:
    """The states in which the training jobs ended, in order; kept in the report of the tests."""
    rows = cluster.jobs_of("train", after).items()
    states = [row["JobState"] for _, row in sorted(rows, key=lambda item: int(item[0]))]
    record_property("training jobs", states)
    return states


@pytest.fixture(scope="module")
def reference(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> SlurmProject:
    """Both runs, done without SLURM."""
    project = SlurmProject(tmp_path_factory.mktemp("reference") / "project")
    run = project.snakemake(metrics(RUN), metrics(FINISHED))
    assert run.returncode == 0, run.stdout + run.stderr
    return project


@pytest.fixture
def project(reference: SlurmProject, tmp_path: Path) -> Iterator[SlurmProject]:
    """A project of which one run is finished, and the other is not begun."""
    one = SlurmProject(tmp_path / "project", reference.folder)
    shutil.rmtree(one.folder / f"results/micro/runs/{RUN}")
    (one.folder / f"results/micro/logs/train/{RUN}.thinkprior.0.log").unlink()
    for path in (one.folder / "results/micro/metrics").glob(f"{RUN}*"):
        path.unlink()
    before = one.untouched(FINISHED)
    yield one
    # What was finished is not touched, and both are what they are without SLURM.
    assert one.untouched(FINISHED) == before
    assert one.results(RUN, FINISHED) == reference.results(RUN, FINISHED)
    assert succeed(one.train("--dry-run")).count("Nothing to be done") == 1


def test_a_campaign_from_nothing(cluster: Cluster, reference: SlurmProject, tmp_path: Path) -> None:
    project = SlurmProject(tmp_path / "project")
    # A cluster without accounting knows no accounts, and the executor asks for them.
    (tmp_path / "sacctmgr").write_text("#!/bin/sh\necho all-of-us\n", encoding="utf-8")
    (tmp_path / "sacctmgr").chmod(0o755)
    succeed(
        project.start(
            metrics(FINISHED),
            SBATCH_ACCOUNT="all-of-us",
            SBATCH_PARTITION="all",
            PATH=f"{tmp_path}:{os.environ['PATH']}",
        )
    )
    assert project.results(FINISHED) == reference.results(FINISHED)
    jobs = {
        row["Comment"].split("_wildcards_")[0].removeprefix("rule_"): row
        for row in cluster.jobs().values()
    }
    # What needs no torch is done where Snakemake runs.
    assert set(jobs) == {"policy", "model", "probe", "train", "evaluate"}
    for rule, row in jobs.items():
        assert row["JobState"] == "COMPLETED"
        assert (row["Account"], row["Partition"]) == ("all-of-us", "all")
        on_gpu = rule in ("probe", "train", "evaluate")
        assert row.get("TresPerJob", "").endswith("gpu:1") == on_gpu
    assert (jobs["train"]["MinMemoryNode"], jobs["train"]["TimeLimit"]) == ("32000M", "08:00:00")
    assert (jobs["model"]["MinMemoryNode"], jobs["model"]["TimeLimit"]) == ("4000M", "01:00:00")
    # Neither profile finds anything to do in what the other made.
    assert "Nothing to be done" in succeed(project.start(metrics(FINISHED), "--dry-run"))
    assert project.planned(metrics(FINISHED)) == []


def test_a_job_over_its_time_goes_on_in_the_next_attempt(
    cluster: Cluster, project: SlurmProject, record_property: Callable[[str, object], None]
) -> None:
    after = cluster.newest()
    snakemake = project.train("--set-resources", "train:runtime=attempt")
    in_the_middle(cluster, project, after)
    stopped = steps_done(project)
    succeed(snakemake)
    assert note(record_property, cluster, after) == ["TIMEOUT", "COMPLETED"]
    assert goes_on(project, stopped)
    limits = [row["TimeLimit"] for row in cluster.jobs_of("train", after).values()]
    assert sorted(limits) == ["00:01:00", "00:02:00"]


def test_a_cancelled_job_goes_on_when_started_again(
    cluster: Cluster, project: SlurmProject, record_property: Callable[[str, object], None]
) -> None:
    after = cluster.newest()
    snakemake = project.train("--retries", "0")
    job = in_the_middle(cluster, project, after)
    stopped = steps_done(project)
    assert not any("forkserver" in call for call in processes_of(job).values())
    subprocess.run(["scancel", job], check=True)
    status, _ = finish(snakemake)
    assert status != 0
    assert not processes_of(job), "processes outlived their job"
    assert not project.run_file("groups.parquet").exists()
    succeed(project.train())
    assert note(record_property, cluster, after) == ["CANCELLED", "COMPLETED"]
    assert goes_on(project, stopped)


def test_a_job_killed_for_memory_gets_more_in_the_next_attempt(
    cluster: Cluster, project: SlurmProject, record_property: Callable[[str, object], None]
) -> None:
    after = cluster.newest()
    # Torch alone needs more than that, and is counted: no warm process has it instead.
    succeed(project.train("--set-resources", "train:mem_mb=250 if attempt == 1 else 4000"))
    states = note(record_property, cluster, after)
    # The first is that of clusters whose memory is watched, the other that of those with cgroups.
    assert states in (["FAILED", "COMPLETED"], ["OUT_OF_MEMORY", "COMPLETED"])
    logs = (project.folder / "results/slurm_logs/rule_train").rglob("*.log")
    assert "memory limit" in "".join(path.read_text("utf-8") for path in logs)


def test_a_job_that_slurm_puts_back_into_the_queue_goes_on_as_the_same_job(
    cluster: Cluster, project: SlurmProject, record_property: Callable[[str, object], None]
) -> None:
    after = cluster.newest()
    snakemake = project.train("--retries", "0")
    job = in_the_middle(cluster, project, after)
    stopped = steps_done(project)
    # As preemption does it.
    subprocess.run(["scontrol", "requeue", job], check=True)
    succeed(snakemake)
    assert note(record_property, cluster, after) == ["COMPLETED"]
    assert cluster.jobs()[job]["Restarts"] == "1"
    assert goes_on(project, stopped)


def test_after_a_crash_of_snakemake_itself(
    cluster: Cluster, project: SlurmProject, record_property: Callable[[str, object], None]
) -> None:
    after = cluster.newest()
    snakemake = project.train()
    job = in_the_middle(cluster, project, after)
    stopped = steps_done(project)
    os.killpg(snakemake.pid, signal.SIGKILL)
    snakemake.communicate()
    # As docs/slurm.md has it: end what is left, unlock, start again.
    assert cluster.running() == [job]
    subprocess.run(["scancel", job], check=True)
    wait_for("the job's end", lambda: not cluster.running())
    status, out = finish(project.train())
    assert status != 0
    assert "--unlock" in out
    succeed(project.train("--unlock"))
    succeed(project.train())
    assert note(record_property, cluster, after) == ["CANCELLED", "COMPLETED"]
    assert goes_on(project, stopped)
