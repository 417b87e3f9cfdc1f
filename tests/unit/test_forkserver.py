"""Warm child processes: exit status, output, and what happens when either side is killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from thinkprior.usage import read_usage

pytestmark = pytest.mark.skipif(
    not hasattr(os, "pidfd_open"),
    reason="warm processes need Linux; elsewhere jobs run as they are",
)

JOBS = """
import os, sys, time
from pathlib import Path

from thinkprior.errors import InputError


def note(path, text):
    print("said on standard output")
    Path(path).write_text(f"{text} {os.getcwd()} {'torch' in sys.modules}", encoding="utf-8")


def refuse(**_):
    raise InputError("file.csv: no such column")


def fall(**_):
    raise RuntimeError("a fault of the code")


def die(**_):
    os.kill(os.getpid(), 9)


def work(mebibytes, seconds):
    block = bytearray(mebibytes << 20)
    start = time.process_time()
    while time.process_time() - start < seconds:
        pass


def wait(path):
    Path(path).write_text(str(os.getpid()), encoding="utf-8")
    try:
        time.sleep(60)
    finally:
        Path(path + ".saved").write_text("saved", encoding="utf-8")
"""

CLIENT = """
import json, sys
from thinkprior.forkserver import call
sys.exit(call(sys.argv[1], json.loads(sys.argv[2]), *sys.argv[3:]))
"""


@pytest.fixture(autouse=True)
def warm(monkeypatch: pytest.MonkeyPatch) -> None:
    """Warm processes are used, whatever the environment says."""
    monkeypatch.delenv("THINKPRIOR_NO_FORKSERVER", raising=False)
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with a module of jobs, and a server of this test's own."""
    folder = tmp_path_factory.mktemp("jobs")
    (folder / "jobs.py").write_text(JOBS, encoding="utf-8")
    (folder / "sockets").mkdir()
    yield folder
    subprocess.run(["pkill", "-f", str(folder / "sockets")], check=False)


def start(home: Path, function: str, arguments: str, *usage: str) -> subprocess.Popen[str]:
    path = os.pathsep.join([str(home), *filter(None, sys.path)])
    environment = {**os.environ, "PYTHONPATH": path, "TMPDIR": str(home / "sockets")}
    return subprocess.Popen(
        [sys.executable, "-c", CLIENT, f"jobs:{function}", arguments, *usage],
        cwd=home,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, error = process.communicate(timeout=120)
    return process.returncode, out, error


def test_a_job_runs_warm_in_the_callers_folder_and_speaks_to_its_output(home: Path) -> None:
    target = home / "note.txt"
    status, out, _ = finish(start(home, "note", f'{{"path": "{target}", "text": "hello"}}'))
    assert status == 0
    assert out == "said on standard output\n"
    assert target.read_text("utf-8") == f"hello {home} True"


def test_bad_input_is_one_line_and_a_fault_a_traceback(home: Path) -> None:
    status, _, error = finish(start(home, "refuse", "{}"))
    assert (status, error) == (1, "error: file.csv: no such column\n")
    status, _, error = finish(start(home, "fall", "{}"))
    assert status == 1
    assert "Traceback" in error
    assert "a fault of the code" in error


def test_a_killed_child_is_told_by_its_signal(home: Path) -> None:
    assert finish(start(home, "die", "{}"))[0] == 128 + signal.SIGKILL


@pytest.mark.parametrize("warm", [True, False])
def test_the_process_that_does_the_work_measures_it(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, warm: bool
) -> None:
    if not warm:
        monkeypatch.setenv("THINKPRIOR_NO_FORKSERVER", "1")
    used = []
    for mebibytes in (0, 200):
        path = tmp_path / f"{mebibytes}.json"
        arguments = json.dumps({"mebibytes": mebibytes, "seconds": 0.5})
        assert finish(start(home, "work", arguments, str(path)))[0] == 0
        used.append(read_usage(path))
    idle, loaded = used
    assert 199 <= loaded.peak_memory_mib - idle.peak_memory_mib <= 215
    # A warm process has torch in memory; one that never imported it stays small.
    assert (idle.peak_memory_mib > 150) is warm
    assert 0.5 <= idle.cpu_seconds < 0.8


@pytest.mark.parametrize("variable", ["THINKPRIOR_NO_FORKSERVER", "SLURM_JOB_ID"])
def test_a_job_stays_in_its_own_process_where_asked_and_within_an_allocation(
    home: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, "1")
    target = home / f"{variable}.txt"
    assert finish(start(home, "note", f'{{"path": "{target}", "text": "cold"}}'))[0] == 0
    assert target.read_text("utf-8") == f"cold {home} False"


def test_a_failed_job_leaves_no_usage(home: Path, tmp_path: Path) -> None:
    assert finish(start(home, "refuse", "{}", str(tmp_path / "usage.json")))[0] == 1
    assert not (tmp_path / "usage.json").exists()


def waiting_job(home: Path, name: str) -> tuple[subprocess.Popen[str], int, Path]:
    """A job whose child waits, the child, and the file that it writes when it is told to end."""
    target = home / name
    job = start(home, "wait", f'{{"path": "{target}"}}')
    deadline = time.monotonic() + 60
    while not (target.exists() and target.read_text("utf-8")):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return job, int(target.read_text("utf-8")), home / f"{name}.saved"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_to_the_job_reaches_the_child_and_its_status_comes_back(
    home: Path, number: signal.Signals
) -> None:
    job, child, saved = waiting_job(home, f"told-{number}")
    before = time.monotonic()
    job.send_signal(number)
    assert finish(job)[0] == 128 + signal.SIGTERM
    assert time.monotonic() - before < 10
    assert saved.read_text("utf-8") == "saved"
    assert not Path(f"/proc/{child}").exists()


def test_a_server_that_is_told_to_end_tells_its_children_and_waits_for_them(home: Path) -> None:
    job, child, saved = waiting_job(home, "ended")
    status = Path(f"/proc/{child}/status").read_text("utf-8")
    server = next(int(x.split()[1]) for x in status.splitlines() if x.startswith("PPid:"))
    os.kill(server, signal.SIGTERM)
    assert finish(job)[0] == 128 + signal.SIGTERM
    assert saved.read_text("utf-8") == "saved"
    # The next job starts a server of its own.
    assert finish(start(home, "note", f'{{"path": "{home / "next"}", "text": "x"}}'))[0] == 0


def test_the_child_ends_with_its_job(home: Path) -> None:
    job, child, saved = waiting_job(home, "pid.txt")
    deadline = time.monotonic() + 60
    job.kill()
    job.communicate()
    while Path(f"/proc/{child}").exists():
        assert time.monotonic() < deadline, "the child outlived its job"
        time.sleep(0.05)
    assert saved.read_text("utf-8") == "saved"
    # The server is still there for the next job.
    assert finish(start(home, "note", f'{{"path": "{home / "again"}", "text": "x"}}'))[0] == 0
