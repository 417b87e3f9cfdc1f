"""A process that has imported the heavy libraries and forks a child for each job.

Importing torch, transformers and peft takes some seconds. A campaign of hundreds of jobs of a few
seconds each would spend most of its time on it. The first job starts a server (`python -m
thinkprior.forkserver`), which imports those libraries once and then forks a child for every call;
the child has them in memory at once and imports this package from disk as it then is. The server
ends itself when it has had nothing to do for a while. Where forking servers do not work (no Linux)
or would leave what a scheduler has lent (SLURM), `call` runs the function in its own process, with
the same outcome. Either way the process that does the work measures what it uses
(`thinkprior.usage`).
"""

from __future__ import annotations

import array
import contextlib
import fcntl
import gc
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
import threading
import time
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from thinkprior.disk import explained
from thinkprior.errors import InputError
from thinkprior.interruption import SIGNALS, Interrupted, interruptible
from thinkprior.printable import lines
from thinkprior.usage import Meter, write_usage

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
LONGEST_SOCKET = 100
"""Bytes of a socket's path, a little below what systems allow; a temporary folder of a longer name
makes every call run in its own process too."""
ALLOCATION = "SLURM_JOB_ID"
"""Environment variable of a scheduler's job, in which every call does so too: memory and processors
are lent to that job alone, and it is the job's own processes that are told to end. A server would
be shared with jobs of other allocations, and outlive its own."""


def call(function: str, arguments: dict[str, Any], usage: str | None = None) -> int:
    """Call a function by name in a warm child process.

    Args:
        function: `module:name` of a function that takes keyword arguments and returns nothing.
        arguments: its keyword arguments; they must pickle.
        usage: file that takes what the call used, for `thinkprior.usage.read_usage`, once it has
            succeeded.

    A signal that asks this process to end is passed on: the child saves what it has and ends.

    Returns:
        Exit status for this process: 0, 1 after an error (already printed), or 128 + n when the
        child was ended by signal n.
    """
    if not hasattr(os, "pidfd_open") or any(os.environ.get(name) for name in (OFF, ALLOCATION)):
        return run_here(function, arguments, usage)
    request = {
        "function": function,
        "arguments": arguments,
        "usage": usage,
        "directory": str(Path.cwd()),
        "environment": dict(os.environ),
        "path": sys.path,
    }
    try:
        path = _socket_path()
        if len(os.fsencode(path)) > LONGEST_SOCKET:
            return run_here(function, arguments, usage)
        connection = _connect(path)
    except (InputError, OSError) as error:
        say(f"error: {error}", arguments.get("log"))
        return 1
    with connection, _signals_passed_on(connection) as received:
        payload = pickle.dumps(request)
        descriptors = array.array("i", [1, 2])
        with contextlib.suppress(BrokenPipeError):
            connection.sendmsg(
                [struct.pack("!Q", len(payload))],
                [(socket.SOL_SOCKET, socket.SCM_RIGHTS, descriptors)],
            )
            connection.sendall(payload)
        # When this process is ended, the connection closes and the server ends the child.
        answer = _receive(connection, 4)
    if len(answer) < 4 and received:
        return 128 + received[0]
    if len(answer) < 4:
        say(
            "error: the server of warm processes was killed, and the process of this job with it. "
            f"Start again: the job goes on from its state. {OFF}=1 does without the server.",
            arguments.get("log"),
        )
        return 1
    return int(struct.unpack("!i", answer)[0])


@contextlib.contextmanager
def _signals_passed_on(connection: socket.socket) -> Iterator[list[int]]:
    """Tell the server of signals that ask this process to end; gives the list of those so far.

    This end of the connection is closed for sending, on which the server ends the child; its exit
    status still arrives.
    """
    received: list[int] = []

    def pass_on(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
        received.append(number)
        with contextlib.suppress(OSError):
            connection.shutdown(socket.SHUT_WR)

    if threading.current_thread() is not threading.main_thread():
        yield received
        return
    before = {number: signal.signal(number, pass_on) for number in SIGNALS}
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def run_here(
    function: str, arguments: dict[str, Any], usage: str | None = None, log: str | None = None
) -> int:
    """Call a function by name in this process.

    Args:
        function: as in `call`.
        arguments: as in `call`.
        usage: as in `call`.
        log: the job's log, which takes errors too; else the argument `log` does.

    Returns:
        The exit status. An error that a user can mend is one message, any other a traceback.
    """
    log = log or arguments.get("log")
    module, _, name = function.partition(":")
    meter = Meter() if usage else None
    try:
        with interruptible():
            getattr(importlib.import_module(module), name)(**arguments)
        if usage and meter:
            write_usage(usage, meter.read())
    except InputError as error:
        say(f"error: {error}", log)
        return 1
    except Interrupted as interruption:
        say(f"{function}: {interruption}", log)
        return interruption.status
    except KeyboardInterrupt:
        return 130
    except MemoryError as error:
        say(f"error: memory ran out in {function}; give the job more. ({error})", log)
        return 1
    except Exception as error:
        message = explained(error, arguments)
        say(traceback.format_exc() if message is None else f"error: {message}", log)
        return 1
    return 0


def say(text: str, log: str | None) -> None:
    """Print to standard error, and into a log where there is one and it can be written."""
    text = lines(text.rstrip())
    print(text, file=sys.stderr, flush=True)
    if log is not None:
        with contextlib.suppress(OSError), Path(log).open("a", encoding="utf-8") as handle:
            handle.write(text + "\n")


def _socket_path() -> Path:
    """Socket of this project, user and interpreter; short, since socket paths have a limit."""
    folder = Path(tempfile.gettempdir()) / f"thinkprior-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.stat().st_uid != os.getuid():
        raise InputError(f"{folder} belongs to another user. Set TMPDIR to a folder of your own.")
    code = Path(__file__).read_text(encoding="utf-8")
    key = f"{sys.executable}\n{os.environ.get('PYTHONPATH', '')}\n{code}"
    return folder / f"{hashlib.sha256(key.encode()).hexdigest()[:16]}.socket"


def _connect(path: Path) -> socket.socket:
    deadline = time.monotonic() + START_SECONDS
    with path.with_suffix(".lock").open("w") as lock:
        # One job at a time looks for the server, so that only one is started.
        fcntl.flock(lock, fcntl.LOCK_EX)
        server: subprocess.Popen[bytes] | None = None
        while True:
            connection = socket.socket(socket.AF_UNIX)
            try:
                connection.connect(str(path))
                return connection
            except OSError:
                connection.close()
            if server is None:
                path.unlink(missing_ok=True)
                server = _start(path)
            if server.poll() is not None or time.monotonic() > deadline:
                raise InputError(
                    f"the server of warm processes did not start; see {path.with_suffix('.log')}, "
                    f"or set {OFF}=1 to do without it."
                )
            time.sleep(0.05)


def _start(path: Path) -> subprocess.Popen[bytes]:
    with path.with_suffix(".log").open("w") as log:
        return subprocess.Popen(
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
    _prepare_loading()
    # What is in memory now stays: a child that collects garbage need not look through it, nor copy
    # the pages that looking would write to.
    gc.collect()
    gc.freeze()
    listener = socket.socket(socket.AF_UNIX)
    # Bound under another name first: a job that finds the socket can always connect.
    listener.bind(f"{path}.new")
    listener.listen(64)
    Path(f"{path}.new").rename(path)
    children: dict[int, tuple[int, socket.socket]] = {}  # pidfd: (pid, connection)
    told: set[socket.socket] = set()  # connections whose child was told to end
    ending = False

    def end(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
        # A scheduler asks all processes of a job to end. Of the server that means its children.
        nonlocal ending
        ending = True
        path.unlink(missing_ok=True)
        for pid, _ in children.values():
            _tell(pid)

    signal.signal(signal.SIGTERM, end)
    idle_since = time.monotonic()
    while children or not (ending or time.monotonic() - idle_since > IDLE_SECONDS):
        connections = [c for _, c in children.values() if c not in told]
        waiting: list[Any] = [*children, *connections, *([] if ending else [listener])]
        ready, _, _ = select.select(waiting, [], [], 1.0)
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
                told.discard(connection)
                _finish(item, pid, connection)
                idle_since = time.monotonic()
            else:
                # The job's process is gone, or was asked to end: its child must not go on.
                told.add(item)
                for pid, connection in children.values():
                    if connection is item:
                        _tell(pid)
    path.unlink(missing_ok=True)


def _prepare_loading() -> None:
    """Have transformers build the table of weight names that it builds for a first model."""
    with contextlib.suppress(ImportError, AttributeError):
        from transformers.conversion_mapping import get_checkpoint_conversion_mapping

        get_checkpoint_conversion_mapping("qwen2")


def _tell(pid: int) -> None:
    """Ask a child to end."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)


def _request(connection: socket.socket) -> tuple[bytes, Sequence[int]] | None:
    """A job's request and the descriptors of its standard output and error."""
    header, ancillary, _, _ = connection.recvmsg(8, socket.CMSG_SPACE(8))
    if len(header) < 8 or not ancillary:
        return None
    (size,) = struct.unpack("!Q", header)
    payload = _receive(connection, size)
    return (payload, array.array("i", ancillary[0][2])) if len(payload) == size else None


def _fork(payload: bytes, descriptors: Sequence[int], listener: socket.socket) -> tuple[int, int]:
    # Held back until the child no longer has the server's handler.
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    pid = os.fork()
    if pid:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
        for descriptor in descriptors:
            os.close(descriptor)
        return os.pidfd_open(pid), pid
    status = 1
    try:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
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
    return run_here(request["function"], request["arguments"], request["usage"])


def _finish(pidfd: int, pid: int, connection: socket.socket) -> None:
    os.close(pidfd)
    _, status = os.waitpid(pid, 0)
    code = os.waitstatus_to_exitcode(status)
    with contextlib.suppress(OSError):
        connection.sendall(struct.pack("!i", code if code >= 0 else 128 - code))
    connection.close()


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
