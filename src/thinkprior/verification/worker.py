"""The worker process: compares answers with math-verify until its input ends.

``pool`` runs it as ``python -m thinkprior.verification.worker SECONDS``. It says ``{"ready":
true}`` when it has imported math-verify; then it answers each ``[gold, answer]`` with ``{"correct":
...}``, or with ``{"error": ...}`` where the comparison raised an exception.

A comparison may take so many seconds of processor time; then the kernel ends the process, in the
middle of C code if need be, whether its parent is still there or not. Processor time, because a
verdict must not hang on how busy the machine is.
"""

import os
import resource
import signal
import sys
from typing import cast

from thinkprior.verification.messages import receive, send

MOST_MEMORY = 4 * 2**30
"""Bytes of address space."""


def main(seconds: float) -> None:
    """Answer comparisons until the input ends.

    Args:
        seconds: Processor time for one comparison.
    """
    # Whatever a library prints must not end up among the messages.
    messages = os.fdopen(os.dup(1), "wb")
    # A scheduler or a terminal sends these to every process of a job. A worker that died of one
    # would count as an error; it ends when its parent closes its input, or kills it.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.dup2(2, 1)
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    from thinkprior.verification.mathverify import compare

    # The first comparison builds the parser's tables, which must not count.
    compare("x^2-1", "(x-1)(x+1)")
    send(messages, {"ready": True})
    while True:
        try:
            pair = cast(list[str], receive(sys.stdin.buffer))
        except EOFError:
            return
        # No handler: the signal's default action is the end of the process.
        signal.setitimer(signal.ITIMER_PROF, seconds)
        try:
            reply: dict[str, object] = {"correct": compare(*pair)}
        except Exception as error:
            reply = {"error": f"{type(error).__name__}: {str(error)[:200]}"}
        signal.setitimer(signal.ITIMER_PROF, 0)
        send(messages, reply)


if __name__ == "__main__":
    main(float(sys.argv[1]))
