"""What every workflow script does: call one function, and end with its exit status."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from thinkprior.forkserver import call, run_here
from thinkprior.records import write_record


def light(
    function: str, log: str, record: Mapping[str, Any] | None = None, **arguments: Any
) -> None:
    """Call a quick function in this process; its errors also go into the job's log.

    Args:
        function: as `module:name`.
        log: the job's log.
        record: how the artifact was made, for `thinkprior.records.write_record`: `path`, `rule`,
            `inputs`, `outputs` and `params`.
        arguments: of the function.
    """
    start = time.perf_counter()
    status = run_here(function, arguments)
    if record is not None and status == 0:
        write_record(**record, function=function, seconds=time.perf_counter() - start)
    _finish(status, log)


def heavy(function: str, log: str, **arguments: Any) -> None:
    """Call a function that needs torch, in a warm child process where that works."""
    _finish(call(function, {**arguments, "log": log}), log)


def _finish(status: int, log: str) -> None:
    path = Path(log)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as handle:
        handle.write("done\n" if status == 0 else f"failed with exit status {status}\n")
    sys.exit(status)
