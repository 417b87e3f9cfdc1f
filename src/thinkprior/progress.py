"""Progress of a job: every line into its log, a line now and then to the person who waits."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from thinkprior.printable import one_line


class Progress:
    """Writes lines to a log file, and at most one every few seconds to standard error."""

    def __init__(self, log: Path | str, name: str, every: float = 15.0) -> None:
        """Start a log anew.

        Args:
            log: the job's log file.
            name: stands before each line on standard error, since jobs run side by side.
            every: seconds between two lines on standard error.
        """
        self.name = name
        self.every = every
        self.start = time.monotonic()
        self.shown = self.start
        Path(log).parent.mkdir(parents=True, exist_ok=True)
        self.file = Path(log).open("w", encoding="utf-8", buffering=1)  # noqa: SIM115

    def line(self, text: str, *, show: bool = False) -> None:
        """Log a line; show it too when asked, or when nothing was shown for a while."""
        text = one_line(text)
        self.file.write(f"{time.monotonic() - self.start:8.1f}s  {text}\n")
        if show or time.monotonic() - self.shown >= self.every:
            self.shown = time.monotonic()
            print(f"{self.name}: {text}", file=sys.stderr, flush=True)

    def seconds_left(self, done: int, of: int) -> float:
        """Estimate of the seconds left after `done` of `of` equal parts."""
        return (time.monotonic() - self.start) / max(done, 1) * (of - done)
