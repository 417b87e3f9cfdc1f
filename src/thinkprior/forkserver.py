"""A process that has imported the heavy libraries and forks a child for each job.

Importing torch, transformers and peft takes some seconds. A campaign of hundreds of jobs of a few
seconds each would spend most of its time on it. The first job starts a server (`python -m
thinkprior.forkserver`), which imports those libraries once and then forks a child for every call;
the child has them in memory at once and imports this package from disk as it then is. The server
ends itself when it has had nothing to do for a while. Where forking servers do not work (no Linux),
`call` runs the function in its own process, with the same outcome.
"""

from __future__ import annotations

import array
import contextlib
import fcntl
import hashlib
import importlib
import os
import pickle
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from thinkprior.errors import InputError

PRELOADED = (
    "torch",
    "transformers.models.qwen2.modeling_qwen2",
    "peft",
    "pandas",
    "pyarrow.parquet",
)
IDLE_SECONDS = 60.0
START_SECONDS = 120.0
OFF = "THINKPRIOR_NO_FORKSERVER"
"""Environment variable that, set to anything, makes every call run in its own process."""


def call(function: str, arguments: dict[str, Any]) -> int:
    """Call a function by name in a warm child process.

    Args:
        function: `module:name` of a function that takes keyword arguments and returns nothing.
        arguments: its keyword arguments; they must pickle.

    Returns:
        Exit status for this process: 0, 1 after an error (already printed), or 128 + n when the
        child was ended by signal n.
    """
    if not hasattr(os, "pidfd_open") or os.environ.get(OFF):
        return run_here(function, arguments)
    request = {
        "function": function,
        "arguments": arguments,
        "directory": str(Path.cwd()),
        "environment": dict(os.environ),
        "path": sys.path,
    }
    with _connect() as connection:
        payload = pickle.dumps(request)
        descriptors = array.array("i", [1, 2])
        connection.sendmsg(
            [struct.pack("!Q", len(payload))],
            [(socket.SOL_SOCKET, socket.SCM_RIGHTS, descriptors)],
        )
        connection.sendall(payload)
        # When this process is ended, the connection closes and the server ends the child.
        answer = _receive(connection, 4)
    if len(answer) < 4:
        print("the process that ran this job died with its server", file=sys.stderr)
        return 1
    return int(struct.unpack("!i", answer)[0])


def run_here(function: str, arguments: dict[str, Any]) -> int:
    """Call a function by name in this process; returns the exit status, errors are printed."""
    module, _, name = function.partition(":")
    try:
        getattr(importlib.import_module(module), name)(**arguments)
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    except Exception:
        traceback.print_exc()
        return 1
    return 0


def _socket_path() -> Path:
    """Socket of this project, user and interpreter; short, since socket paths have a limit."""
    folder = Path(tempfile.gettempdir()) / f"thinkprior-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.stat().st_uid != os.getuid():
        raise InputError(f"{folder} belongs to another user. Set TMPDIR to a folder of your own.")
    code = Path(__file__).read_text(encoding="utf-8")
    key = f"{sys.executable}\n{os.environ.get('PYTHONPATH', '')}\n{code}"
    return folder / f"{hashlib.sha256(key.encode()).hexdigest()[:16]}.socket"


def _connect() -> socket.socket:
    path = _socket_path()
    deadline = time.monotonic() + START_SECONDS
    with path.with_suffix(".lock").open("w") as lock:
        # One job at a time looks for the server, so that only one is started.
        fcntl.flock(lock, fcntl.LOCK_EX)
        started = False
        while True:
            connection = socket.socket(socket.AF_UNIX)
            try:
                connection.connect(str(path))
                return connection
            except OSError:
                connection.close()
            if not started:
                path.unlink(missing_ok=True)
                _start(path)
                started = True
            if time.monotonic() > deadline:
                raise InputError(
                    f"the server of warm processes did not start; see {path.with_suffix('.log')}, "
                    f"or set {OFF}=1 to do without it."
                )
            time.sleep(0.05)


def _start(path: Path) -> None:
    with path.with_suffix(".log").open("w") as log:
        subprocess.Popen(
            [sys.executable, "-m", "thinkprior.forkserver", str(path)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )


def _receive(connection: socket.socket, count: int) -> bytes:
    parts = b""
    while len(parts) < count:
        try:
            part = connection.recv(count - len(parts))
        except ConnectionResetError:
            break
        if not part:
            break
        parts += part
    return parts


def serve(path: Path) -> None:
    """Import the heavy libraries, then fork a child for each connection until idle."""
    for name in PRELOADED:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    listener = socket.socket(socket.AF_UNIX)
    # Bound under another name first: a job that finds the socket can always connect.
    listener.bind(f"{path}.new")
    listener.listen(64)
    Path(f"{path}.new").rename(path)
    children: dict[int, tuple[int, socket.socket]] = {}  # pidfd: (pid, connection)
    idle_since = time.monotonic()
    while children or time.monotonic() - idle_since < IDLE_SECONDS:
        waiting: list[Any] = [listener, *children, *(c for _, c in children.values())]
        ready, _, _ = select.select(waiting, [], [], 5.0)
        for item in ready:
            if item is listener:
                connection, _ = listener.accept()
                # Read before the fork: from here on a readable connection means that its job has
                # gone.
                request = _request(connection)
                if request is None:
                    connection.close()
                    continue
                pidfd, pid = _fork(*request, listener)
                children[pidfd] = (pid, connection)
            elif isinstance(item, int):
                pid, connection = children.pop(item)
                _finish(item, pid, connection)
                idle_since = time.monotonic()
            else:
                # The job's process is gone: its child must not go on.
                for pid, connection in children.values():
                    if connection is item:
                        with contextlib.suppress(ProcessLookupError):
                            os.kill(pid, signal.SIGTERM)
                        _deafen(children, item)
                        break
    path.unlink(missing_ok=True)


def _deafen(children: dict[int, tuple[int, socket.socket]], gone: socket.socket) -> None:
    """Stop listening to a closed connection; its child is still waited for."""
    for pidfd, (pid, connection) in list(children.items()):
        if connection is gone:
            silent, keep = socket.socketpair()
            children[pidfd] = (pid, silent)
            _KEPT.append(keep)
            connection.close()


_KEPT: list[socket.socket] = []
"""Other ends of the pairs that stand for closed connections: open, so that they stay quiet."""


def _request(connection: socket.socket) -> tuple[bytes, Sequence[int]] | None:
    """A job's request and the descriptors of its standard output and error."""
    header, ancillary, _, _ = connection.recvmsg(8, socket.CMSG_SPACE(8))
    if len(header) < 8 or not ancillary:
        return None
    (size,) = struct.unpack("!Q", header)
    payload = _receive(connection, size)
    return (payload, array.array("i", ancillary[0][2])) if len(payload) == size else None


def _fork(payload: bytes, descriptors: Sequence[int], listener: socket.socket) -> tuple[int, int]:
    pid = os.fork()
    if pid:
        for descriptor in descriptors:
            os.close(descriptor)
        return os.pidfd_open(pid), pid
    status = 1
    try:
        listener.close()
        status = _child(payload, descriptors)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _child(payload: bytes, descriptors: Sequence[int]) -> int:
    os.dup2(descriptors[0], 1)
    os.dup2(descriptors[1], 2)
    request = pickle.loads(payload)
    os.chdir(request["directory"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.path[:] = request["path"]
    return run_here(request["function"], request["arguments"])


def _finish(pidfd: int, pid: int, connection: socket.socket) -> None:
    os.close(pidfd)
    _, status = os.waitpid(pid, 0)
    code = os.waitstatus_to_exitcode(status)
    with contextlib.suppress(OSError):
        connection.sendall(struct.pack("!i", code if code >= 0 else 128 - code))
    connection.close()


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
