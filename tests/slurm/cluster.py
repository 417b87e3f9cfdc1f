"""A SLURM cluster of one node on this machine, without systemd, cgroups or accounting."""

from __future__ import annotations

import contextlib
import getpass
import os
import re
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd")
# The executor's inner srun finds its configuration nowhere else: the variable that would name
# another place does not reach it.
CONFIGURATION = Path("/etc/slurm/slurm.conf")
OWNER = "owner"
KILL_SECONDS = 10
START_SECONDS = 60

CONF = """\
ClusterName=test
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={controller_port}
SlurmdPort={daemon_port}
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
# The second value is how long a job that is put back into the queue waits before it starts again.
AuthInfo=socket={folder}/munge/munge.sock,cred_expire=5
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
# Memory is watched by looking every second, since containers seldom lend a cgroup.
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
JobAcctGatherParams=OverMemoryKill
SchedulerType=sched/builtin
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
# The node has what is written below, whatever the machine has.
SlurmdParameters=config_overrides
ReturnToService=2
OverTimeLimit=0
KillWait={kill_seconds}
# Ended jobs stay visible for the whole of the tests.
MinJobAge=86400
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
GresTypes=gpu
NodeName=localhost NodeAddr=127.0.0.1 CPUs=4 RealMemory=500000 Gres=gpu:1 State=UNKNOWN
PartitionName=main Nodes=localhost Default=YES MaxTime=INFINITE State=UP
PartitionName=all Nodes=localhost MaxTime=INFINITE State=UP
"""


def missing() -> str:
    """Why no cluster can be started here; empty where one can."""
    absent = [name for name in PROGRAMS if not shutil.which(name, path=_path())]
    if absent:
        return f"SLURM is not installed, no {', '.join(absent)} (tests/install_optional.sh)"
    if os.getuid() != 0:
        return "only root can start the daemons of SLURM"
    _end_left_over()
    if CONFIGURATION.exists():
        return f"there is a SLURM on this machine already ({CONFIGURATION})"
    return ""


class Cluster:
    """The daemons of one cluster, and what it says of its jobs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def start(self) -> None:
        """Start the daemons, and wait until the node takes jobs.

        Raises:
            RuntimeError: when it does not come up; what the daemons wrote is in the message.
        """
        for name in ("munge", "state", "spool"):
            (self.folder / name).mkdir()
        (self.folder / OWNER).write_text(str(os.getpid()), encoding="utf-8")
        munge = self.folder / "munge"
        munge.chmod(0o711)
        key = munge / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o600)
        controller_port, daemon_port = _free_ports(2)
        conf = self.folder / "slurm.conf"
        conf.write_text(
            CONF.format(
                folder=self.folder,
                controller_port=controller_port,
                daemon_port=daemon_port,
                kill_seconds=KILL_SECONDS,
            ),
            encoding="utf-8",
        )
        # A GPU that needs none.
        (self.folder / "gres.conf").write_text("Name=gpu File=/dev/null\n", encoding="utf-8")
        CONFIGURATION.parent.mkdir(parents=True, exist_ok=True)
        CONFIGURATION.unlink(missing_ok=True)  # it points nowhere, or `missing` had told of it
        CONFIGURATION.symlink_to(conf)
        _run(
            "munged",
            *(f"--key-file={key}", f"--socket={munge}/munge.sock"),
            *(f"--pid-file={self.folder}/munged.pid", f"--log-file={munge}/munged.log"),
            *(f"--seed-file={munge}/munged.seed", "--num-threads=2"),
        )
        _run("slurmctld", "-f", str(conf))
        _run("slurmd", "-f", str(conf))
        deadline = time.monotonic() + START_SECONDS
        while self._node_state() != "idle":
            if time.monotonic() > deadline:
                logs = [path.read_text("utf-8")[-2000:] for path in self.folder.glob("*.log")]
                raise RuntimeError("the cluster did not come up\n" + "\n".join(logs))
            time.sleep(0.2)

    def stop(self) -> None:
        """End all jobs and the daemons."""
        subprocess.run(
            ["scancel", "--user", getpass.getuser()], capture_output=True, check=False, timeout=30
        )
        deadline = time.monotonic() + KILL_SECONDS + 20
        while self.running() and time.monotonic() < deadline:
            time.sleep(0.2)
        for name in reversed(PROGRAMS):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError, ValueError):
                pid = int((self.folder / f"{name}.pid").read_text("utf-8"))
                os.kill(pid, signal.SIGTERM)
                _wait_for_end(pid)
        if CONFIGURATION.is_symlink():
            CONFIGURATION.unlink()

    def jobs(self) -> dict[str, dict[str, str]]:
        """What `scontrol show job` says of every job: its identifier, then key to value."""
        shown = subprocess.run(
            ["scontrol", "--oneliner", "show", "job"],
            capture_output=True,
            text=True,
            check=False,
            timeout=30,
        ).stdout
        rows = [dict(re.findall(r"(\S+?)=(\S*)", line)) for line in shown.splitlines()]
        return {row["JobId"]: row for row in rows if "JobId" in row}

    def jobs_of(self, rule: str, after: int = 0) -> dict[str, dict[str, str]]:
        """Jobs that Snakemake submitted for a rule, of those with a higher identifier."""
        return {
            name: row
            for name, row in self.jobs().items()
            if int(name) > after and row.get("Comment", "").startswith(f"rule_{rule}")
        }

    def newest(self) -> int:
        """The highest job identifier so far."""
        return max((int(name) for name in self.jobs()), default=0)

    def running(self) -> list[str]:
        """Identifiers of the jobs that have not ended."""
        return subprocess.run(
            ["squeue", "--noheader", "--format=%i"],
            capture_output=True,
            text=True,
            check=False,
            timeout=30,
        ).stdout.split()

    def _node_state(self) -> str:
        return subprocess.run(
            ["sinfo", "--noheader", "--partition=main", "--format=%T"],
            capture_output=True,
            text=True,
            check=False,
            timeout=30,
        ).stdout.strip()


def processes_of(job: str) -> dict[int, str]:
    """Processes that carry a job in their environment, and what was called."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if f"SLURM_JOB_ID={job}".encode() in (folder / "environ").read_bytes().split(b"\0"):
                call = (folder / "cmdline").read_bytes().replace(b"\0", b" ")
                found[int(folder.name)] = call.decode(errors="replace").strip()
    return found


def _end_left_over() -> None:
    """End the cluster of tests that were themselves killed."""
    if not CONFIGURATION.is_symlink():
        return
    folder = CONFIGURATION.readlink().parent
    with contextlib.suppress(OSError, ValueError):
        owner = int((folder / OWNER).read_text("utf-8"))
        if not Path(f"/proc/{owner}").exists():
            Cluster(folder).stop()
            shutil.rmtree(folder, ignore_errors=True)


def _path() -> str:
    # Debian puts the daemons where not every root looks.
    return os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])


def _run(program: str, *arguments: str) -> None:
    path = shutil.which(program, path=_path())
    run = subprocess.run(
        [str(path), *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=60,
    )
    if run.returncode:
        raise RuntimeError(f"{program} did not start: {run.stdout}")


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def _wait_for_end(pid: int) -> None:
    deadline = time.monotonic() + 30
    while Path(f"/proc/{pid}").exists() and time.monotonic() < deadline:
        time.sleep(0.1)
