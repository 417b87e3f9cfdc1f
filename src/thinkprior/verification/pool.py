"""Worker processes that compare answers and die at a time limit.

A limit by a signal handler works only in the main thread and does not stop a computation in C; a
hung worker of an ordinary pool is never given back. Here a comparison that takes too much processor
time ends its process (``worker``), one that takes far too much time by the clock gets it killed,
and another is started in its place.
"""

import contextlib
import logging
import os
import selectors
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from thinkprior.errors import InstallationError
from thinkprior.verification.messages import receive, send
from thinkprior.verification.verdicts import CanaryError, Verdict

START_LIMIT = 120.0
"""Seconds that a worker may take to import math-verify, on a busy machine."""
EXIT_LIMIT = 10.0
"""Seconds for a process that has ended its output to exit."""
MOST_KILLS = 3
"""Workers that may be killed from outside during a batch before that counts as an error."""
PATIENCE = 12.0
"""A worker is killed after this many times its time limit by the clock, whatever it is doing."""

# In a worker math-verify multiplies them out.
_CANARIES = (
    ("x^2+x-2", r"(x-1)(x+2)", Verdict.correct),
    ("x^2+x-2", r"(x-1)(x+3)", Verdict.wrong),
)

logger = logging.getLogger(__name__)

_WORKER_MODULE = "thinkprior.verification.worker"
_PACKAGE_ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Comparison:
    """The outcome of one comparison, and what went wrong if something did."""

    verdict: Verdict
    problem: str = ""


class _Worker:
    """One process, and what it is doing."""

    def __init__(self, time_limit: float) -> None:
        paths = [str(_PACKAGE_ROOT), os.environ.get("PYTHONPATH", "")]
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(filter(None, paths)),
            "OMP_NUM_THREADS": "1",
            # What sympy tries first depends on the order of sets.
            "PYTHONHASHSEED": "0",
        }
        # -P: a file in the working directory must not stand in for a module.
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", _WORKER_MODULE, str(time_limit)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
        )
        self.input = cast(BinaryIO, self.process.stdin)
        self.output = cast(BinaryIO, self.process.stdout)
        self.time_limit = time_limit
        self.deadline = time.monotonic() + START_LIMIT
        self.ready = False
        self.task: int | None = None
        self.canaries: deque[tuple[str, str, Verdict]] = deque()
        self.canary: tuple[str, str, Verdict] | None = None

    @property
    def idle(self) -> bool:
        return self.ready and self.task is None and self.canary is None

    def ask(self, gold: str, answer: str) -> None:
        send(self.input, [gold, answer])
        self.deadline = time.monotonic() + PATIENCE * self.time_limit

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        # What it was not there to read is still in the buffer, and closing tries to send it.
        with contextlib.suppress(BrokenPipeError):
            self.input.close()
        self.output.close()


class WorkerPool:
    """Up to a number of worker processes, started when first needed.

    Args:
        workers: The most processes at a time.
        time_limit: Seconds of processor time for one comparison.
    """

    def __init__(self, workers: int, time_limit: float) -> None:
        self._most = workers
        self._time_limit = time_limit
        self._workers: list[_Worker] = []
        self._pid = os.getpid()
        self._kills = 0

    def compare(self, pairs: Sequence[tuple[str, str]]) -> list[Comparison]:
        """Compare golds and answers with math-verify.

        Every process that takes part grades a known right and a known wrong answer first.

        Args:
            pairs: Gold and answer.

        Returns:
            One outcome a pair, in their order.

        Raises:
            CanaryError: A known answer was graded wrong.
            InstallationError: A worker cannot be started.
        """
        self._kills = 0
        if self._pid != os.getpid():
            # A forked child shares its parent's pipes; their messages would mix.
            self._workers, self._pid = [], os.getpid()
        for worker in self._workers:
            worker.canaries = deque(_CANARIES)
        outcomes: list[Comparison | None] = [None] * len(pairs)
        waiting = deque(range(len(pairs)))
        try:
            while waiting or any(w.task is not None for w in self._workers):
                self._assign(pairs, waiting, outcomes)
                self._collect(waiting, outcomes)
        except BaseException:
            self.close()
            raise
        return [outcome for outcome in outcomes if outcome is not None]

    def _assign(
        self,
        pairs: Sequence[tuple[str, str]],
        waiting: deque[int],
        outcomes: list[Comparison | None],
    ) -> None:
        while len(self._workers) < min(self._most, len(waiting)):
            worker = _Worker(self._time_limit)
            worker.canaries = deque(_CANARIES)
            self._workers.append(worker)
        for worker in [w for w in self._workers if w.idle]:
            if not waiting:
                return
            try:
                if worker.canaries:
                    worker.canary = worker.canaries.popleft()
                    worker.ask(*worker.canary[:2])
                else:
                    worker.task = waiting.popleft()
                    worker.ask(*pairs[worker.task])
            except BrokenPipeError:
                self._lose(worker, waiting, outcomes)

    def _collect(self, waiting: deque[int], outcomes: list[Comparison | None]) -> None:
        """Wait for a message or a deadline, whichever comes first."""
        busy = [worker for worker in self._workers if not worker.idle]
        if not busy:
            return
        with selectors.DefaultSelector() as selector:
            for worker in busy:
                selector.register(worker.output, selectors.EVENT_READ, worker)
            patience = min(worker.deadline for worker in busy) - time.monotonic()
            answered = [key.data for key, _ in selector.select(max(0.0, patience))]
        for worker in answered:
            try:
                message = cast(dict[str, object], receive(worker.output))
            except EOFError:
                self._lose(worker, waiting, outcomes)
            else:
                self._take(worker, message, outcomes)
        now = time.monotonic()
        for worker in busy:
            if worker not in answered and worker.deadline <= now:
                self._lose(worker, waiting, outcomes, late=True)

    def _take(
        self, worker: _Worker, message: dict[str, object], outcomes: list[Comparison | None]
    ) -> None:
        if not worker.ready:
            worker.ready = True
            return
        if "error" in message:
            outcome = Comparison(Verdict.error, str(message["error"]))
        else:
            outcome = Comparison(Verdict.correct if message["correct"] else Verdict.wrong)
        if worker.canary is not None:
            self._check(worker.canary, outcome)
            worker.canary = None
        elif worker.task is not None:
            outcomes[worker.task] = outcome
            worker.task = None

    def _lose(
        self,
        worker: _Worker,
        waiting: deque[int],
        outcomes: list[Comparison | None],
        *,
        late: bool = False,
    ) -> None:
        """Clear away a worker that is late or has died, and record what it was doing."""
        if not late:
            # Its output has ended, so it is about to: let it keep its own exit status.
            with contextlib.suppress(subprocess.TimeoutExpired):
                worker.process.wait(EXIT_LIMIT)
        worker.kill()
        self._workers.remove(worker)
        status = worker.process.returncode
        if worker.ready and not late and status == -signal.SIGKILL and self._kills < MOST_KILLS:
            # By someone else, such as a machine short of memory. It says nothing of the answer, and
            # a verdict of error would make a run depend on it.
            self._kills += 1
            logger.warning("A worker was killed from outside; another takes its place.")
            if worker.task is not None:
                waiting.appendleft(worker.task)
            return
        if late or status == -signal.SIGPROF:
            outcome = Comparison(Verdict.timeout, f"no answer in {self._time_limit:g} s")
        else:
            outcome = Comparison(Verdict.error, f"the worker died, exit status {status}")
        if not worker.ready:
            raise InstallationError(
                f"A verifier's worker did not start ({outcome.problem}); what it printed says why. "
                "Is math-verify installed?"
            )
        if worker.canary is not None:
            self._check(worker.canary, outcome)
        elif worker.task is not None:
            outcomes[worker.task] = outcome

    @staticmethod
    def _check(canary: tuple[str, str, Verdict], outcome: Comparison) -> None:
        gold, answer, expected = canary
        if outcome.verdict is not expected:
            raise CanaryError(
                f"A worker graded the known answer {answer} to {gold} {outcome.verdict}, not "
                f"{expected}. {outcome.problem}"
            )

    def close(self) -> None:
        """Kill the worker processes."""
        if self._pid == os.getpid():
            for worker in self._workers:
                worker.kill()
        self._workers = []
