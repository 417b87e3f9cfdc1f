"""What every workflow script does: call one function, and end with its exit status."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from thinkprior.forkserver import call, run_here


def light(function: str, log: str, **arguments: Any) -> None:
    """Call a quick function in this process; its errors also go into the job's log."""
    _finish(run_here(function, arguments), log)


def heavy(function: str, log: str, **arguments: Any) -> None:
    """Call a function that needs torch, in a warm child process where that works."""
    _finish(call(function, {**arguments, "log": log}), log)


def _finish(status: int, log: str) -> None:
    path = Path(log)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as handle:
        handle.write("done\n" if status == 0 else f"failed with exit status {status}\n")
    sys.exit(status)
