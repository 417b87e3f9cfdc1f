"""What a job used of the machine, measured by the process that does its work.

Snakemake's benchmark files watch the process that Snakemake started. A job that a warm process
forks (`thinkprior.forkserver`) is no child of that one: its file tells the seconds on the clock and
nothing about the work. So the working process measures itself, and writes that down at its end.
"""

from __future__ import annotations

import contextlib
import json
import resource
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from thinkprior.errors import InputError

MIB = 2.0**20

_STATUS, _RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


@dataclass(frozen=True)
class Usage:
    """What a function call used.

    Attributes:
        seconds: on the clock, from the call to its end.
        cpu_seconds: user and system time of the process over that time, helpers that it has waited
            for (the verifier's workers) included.
        peak_memory_mib: the most resident memory of the process, in MiB. Pages that it shares with
            the warm process count.
        helper_memory_mib: the same of its largest helper, 0 without one; beside, not within, the
            process's own.
        gpu_memory_mib: the most that torch had allocated on one CUDA device; None where it used
            none.
    """

    seconds: float
    cpu_seconds: float
    peak_memory_mib: float
    helper_memory_mib: float
    gpu_memory_mib: float | None


class Meter:
    """Measures this process from now on."""

    def __init__(self) -> None:
        """Start, with the peak of resident memory set back to what is resident now."""
        # Linux counts a peak over a process's life, and getrusage's even over what ran in it before
        # an exec. A process just forked starts with its own; this one may have done other work.
        self._reset = False
        with contextlib.suppress(OSError):
            _RESET.write_text("5", encoding="ascii")
            self._reset = True
        self._start = time.perf_counter()
        self._cpu = _cpu_seconds()

    def read(self) -> Usage:
        """What was used so far."""
        return Usage(
            seconds=time.perf_counter() - self._start,
            cpu_seconds=_cpu_seconds() - self._cpu,
            peak_memory_mib=_peak_memory(resetable=self._reset) / MIB,
            helper_memory_mib=_rusage_bytes(resource.RUSAGE_CHILDREN) / MIB,
            gpu_memory_mib=_gpu_memory(),
        )


def _cpu_seconds() -> float:
    return sum(
        used.ru_utime + used.ru_stime
        for used in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )


def _peak_memory(*, resetable: bool) -> float:
    """Peak of resident memory in bytes: the kernel's high-water mark where it could be set back."""
    if resetable:
        for line in _STATUS.read_text(encoding="ascii", errors="replace").splitlines():
            name, _, value = line.partition(":")
            if name == "VmHWM":
                return float(value.split()[0]) * 1024
    return _rusage_bytes(resource.RUSAGE_SELF)


def _rusage_bytes(who: int) -> float:
    # KiB, but bytes on macOS.
    return resource.getrusage(who).ru_maxrss * (1.0 if sys.platform == "darwin" else 1024.0)


def _gpu_memory() -> float | None:
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_initialized():
        return None
    devices = range(torch.cuda.device_count())
    return float(max(map(torch.cuda.max_memory_allocated, devices))) / MIB


def write_usage(path: Path | str, usage: Usage) -> None:
    """Write what a job used as JSON."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(json.dumps(asdict(usage), indent=2) + "\n", encoding="utf-8")


def read_usage(path: Path | str) -> Usage:
    """Read what a job used.

    Raises:
        InputError: naming a file that does not hold just that.
    """
    try:
        return Usage(**json.loads(Path(path).read_text(encoding="utf-8")))
    except (TypeError, json.JSONDecodeError) as error:
        raise InputError(
            f"{path}: not the usage of a job ({error}). Delete it and run its job anew."
        ) from error
