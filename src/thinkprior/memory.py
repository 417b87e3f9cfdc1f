"""What to do when memory runs out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from thinkprior.errors import InputError


@contextmanager
def memory_advice(doing: str, setting: str) -> Iterator[None]:
    """Turn an out-of-memory error in the block into one message that says what to lower.

    Args:
        doing: what the block does.
        setting: the setting that its memory grows with, and its value.

    Raises:
        InputError: in place of torch's and Python's own errors, on any device.
    """
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if not _out_of_memory(error):
            raise
        first = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(f"memory ran out while {doing}: lower {setting}. ({first})") from error


def _out_of_memory(error: Exception) -> bool:
    # torch.OutOfMemoryError by name: this module does without torch. The processor's allocator
    # raises a plain RuntimeError.
    return (
        isinstance(error, MemoryError)
        or type(error).__name__ == "OutOfMemoryError"
        or "can't allocate memory" in str(error)
    )
