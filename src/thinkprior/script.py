"""What every workflow script does: call one function, and end with its exit status."""

from __future__ import annotations

import contextlib
import signal
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from thinkprior.forkserver import call, run_here, say


def light(function: str, job: Any, *, derived: bool = True, **arguments: Any) -> None:
    """Call a quick function in this process; its errors also go into the job's log.

    Args:
        function: as `module:name`.
        job: the script's `snakemake`.
        derived: whether calling it again gives the same bytes at little cost.
        arguments: of the function.
    """
    start = time.perf_counter()
    status = run_here(function, arguments, log=job.log[0])
    if status == 0:
        status = _record(function, job, arguments, derived, time.perf_counter() - start)
    _finish(status, job.log[0])


def heavy(function: str, job: Any, **arguments: Any) -> None:
    """Call a function that needs torch, in a warm child process where that works.

    Args:
        function: as `module:name`.
        job: the script's `snakemake`; its output `usage` takes what the call used.
        arguments: of the function, which is given the job's log too.
    """
    start = time.perf_counter()
    arguments["log"] = job.log[0]
    status = _check_gpu(job, arguments) or call(function, arguments, job.output.usage)
    if status == 0:
        status = _record(function, job, arguments, False, time.perf_counter() - start)
    _finish(status, job.log[0])


def _check_gpu(job: Any, arguments: Mapping[str, Any]) -> int:
    """Ask the machine that a job came to for what it needs; returns the exit status.

    Jobs without a GPU are asked for once, when Snakemake starts.
    """
    settings = arguments.get("settings", {})
    if settings.get("engine", {}).get("device", "cpu") == "cpu":
        return 0
    about = {
        "what": f"this job ({job.rule})",
        "settings": settings,
        "model": arguments.get("policy") or arguments.get("model"),
    }
    return run_here("thinkprior.machine:check_job", about, log=job.log[0])


def _record(
    function: str, job: Any, arguments: Mapping[str, Any], derived: bool, seconds: float
) -> int:
    """Write the record of a job that declares one; returns the exit status."""
    path = job.output.get("record")
    if path is None:
        return 0
    about = {
        "path": path,
        "rule": job.rule,
        "function": function,
        "arguments": arguments,
        "inputs": list(job.input),
        "outputs": list(job.output),
        "code": job.params.get("code", ""),
        "derived": derived,
        "usage": {"seconds": round(seconds, 3)},
    }
    return run_here("thinkprior.records:write_record", about, log=job.log[0])


def state_folder(job: Any, rule: str = "") -> str:
    """Where a job keeps its state, or the job of another rule with the same wildcards.

    It is no declared output, since Snakemake deletes those of a job that fails.
    """
    scale = job.config["scale"]
    return "/".join(["results", scale, "state", rule or job.rule, *job.wildcards])


OUTCOMES = {
    0: "done",
    128 + signal.SIGTERM: "ended by SIGTERM; started again it goes on from its state",
    128 + signal.SIGINT: "ended by Ctrl-C; started again it goes on from its state",
    128 + signal.SIGKILL: "the process of the job was killed, by hand or for want of memory; "
    "started again it goes on from its state. If memory ran out, lower engine.batch_rows or "
    "training.groups_per_batch, or ask the scheduler for more",
}


def _finish(status: int, log: str) -> None:
    outcome = OUTCOMES.get(status, f"failed with exit status {status}")
    if status == 128 + signal.SIGKILL:
        say(f"error: {outcome}", log)
        sys.exit(status)
    # A log that cannot be written must not hide what happened.
    with contextlib.suppress(OSError):
        Path(log).parent.mkdir(parents=True, exist_ok=True)
        with Path(log).open("a", encoding="utf-8") as handle:
            handle.write(outcome + "\n")
    sys.exit(status)
