"""Warm child processes: exit status, output, and what happens when either side is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

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


def wait(path):
    Path(path).write_text(str(os.getpid()), encoding="utf-8")
    time.sleep(60)
"""

CLIENT = """
import json, sys
from thinkprior.forkserver import call
sys.exit(call(sys.argv[1], json.loads(sys.argv[2])))
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with a module of jobs, and a server of this test's own."""
    folder = tmp_path_factory.mktemp("jobs")
    (folder / "jobs.py").write_text(JOBS, encoding="utf-8")
    (folder / "sockets").mkdir()
    yield folder
    subprocess.run(["pkill", "-f", str(folder / "sockets")], check=False)


def start(home: Path, function: str, arguments: str) -> subprocess.Popen[str]:
    path = os.pathsep.join([str(home), *filter(None, sys.path)])
    environment = {**os.environ, "PYTHONPATH": path, "TMPDIR": str(home / "sockets")}
    environment.pop("THINKPRIOR_NO_FORKSERVER", None)
    return subprocess.Popen(
        [sys.executable, "-c", CLIENT, f"jobs:{function}", arguments],
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


def test_the_child_ends_with_its_job(home: Path) -> None:
    target = home / "pid.txt"
    job = start(home, "wait", f'{{"path": "{target}"}}')
    deadline = time.monotonic() + 60
    while not (target.exists() and target.read_text("utf-8")):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    child = int(target.read_text("utf-8"))
    job.kill()
    job.communicate()
    while Path(f"/proc/{child}").exists():
        assert time.monotonic() < deadline, "the child outlived its job"
        time.sleep(0.05)
    # The server is still there for the next job.
    assert finish(start(home, "note", f'{{"path": "{home / "again"}", "text": "x"}}'))[0] == 0
