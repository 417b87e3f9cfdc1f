"""Signals that ask a job to end: SIGTERM, which a scheduler sends before it kills, and Ctrl-C.

They raise `Interrupted` wherever the job then is, so that a step of minutes need not be waited for;
what must not be torn apart, such as a change of weights together with its row in a log, stands in
`shielded` and is finished first.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGTERM, signal.SIGINT)


class Interrupted(BaseException):
    """The job was asked to end. No `Exception`, so that no handler of faults takes it for one.

    Attributes:
        status: exit status that says so, 128 plus the signal's number.
    """

    def __init__(self, number: int) -> None:
        super().__init__(f"ended by {signal.Signals(number).name}")
        self.status = 128 + number


class _Request:
    """What was asked of this process, and how many shields stand."""

    number: int | None = None
    shields: int = 0


@contextmanager
def interruptible() -> Iterator[None]:
    """Let a signal raise `Interrupted` in the block; the handlers before it come back at its end.

    Only the first signal raises where it arrives: a second one must not break into the clearing up
    after the first. In a thread other than the main one, which gets no signals, nothing changes.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def ask(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
        first = _Request.number is None
        _Request.number = number if first else _Request.number
        if first and not _Request.shields:
            raise Interrupted(number)

    before = {number: signal.signal(number, ask) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        _Request.number = None


@contextmanager
def shielded() -> Iterator[None]:
    """Hold a signal back until the end of the block, and raise it there.

    It is raised, too, when it came before the block and its exception was lost, as one that is
    raised in a finalizer is.
    """
    _Request.shields += 1
    try:
        yield
    finally:
        _Request.shields -= 1
    if _Request.number is not None and not _Request.shields:
        raise Interrupted(_Request.number)
