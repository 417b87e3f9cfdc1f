r"""The verifier: grades whole replies against gold answers, batch by batch.

A reply's answer is its last complete box (``boxes``). Whether it is right is decided by the rule in
``comparison``: with exact arithmetic where that suffices (``exact``), else with math-verify in
worker processes (``pool``). Both give the same verdicts; the first takes microseconds.
"""

import logging
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from thinkprior.errors import InputError
from thinkprior.printable import one_line
from thinkprior.verification.boxes import last_box
from thinkprior.verification.exact import decide
from thinkprior.verification.pool import WorkerPool
from thinkprior.verification.reading import LONGEST_ANSWER
from thinkprior.verification.verdicts import BatchReport, CanaryError, Verdict

CACHE_SIZE = 200_000
"""Pairs of gold and answer whose verdict is remembered."""

_CANARIES = (
    (r"\frac{3}{4}", r"First \boxed{1}, but in the end it is \boxed{0.75}.", Verdict.correct),
    (r"\frac{3}{4}", r"First \boxed{\frac{3}{4}}, in the end it is \boxed{0.8}.", Verdict.wrong),
)

logger = logging.getLogger(__name__)


class Verifier:
    """Grades replies; keeps its worker processes and its cache from batch to batch.

    Args:
        time_limit: Seconds of processor time for one comparison by math-verify; then its process
            dies.
        workers: The most worker processes. They are started when the exact path cannot decide.
    """

    def __init__(self, *, time_limit: float = 5.0, workers: int = 1) -> None:
        if time_limit <= 0 or workers < 1:
            raise InputError(
                f"A verifier needs a positive time limit and at least one worker, not {time_limit} "
                f"and {workers}."
            )
        self._pool = WorkerPool(workers, time_limit)
        self._cache: dict[tuple[str, str], Verdict] = {}
        self._report = BatchReport()

    @property
    def report(self) -> BatchReport:
        """The counts of all batches so far."""
        return self._report

    def grade(
        self, golds: Sequence[str], responses: Sequence[str]
    ) -> tuple[list[Verdict], BatchReport]:
        r"""Grade a batch of replies.

        With every batch a known right and a known wrong answer are graded on the same paths.

        Args:
            golds: The gold answer to each reply, as the dataset writes it.
            responses: Whole replies; the answer is their last complete box.

        Returns:
            A verdict for each reply, and the batch's counts. Timeouts and errors are logged as
            well.

        Raises:
            CanaryError: A known answer was graded wrong: nothing that this verifier says holds.
            InputError: The two sequences differ in length, or a gold is empty.
            InstallationError: A worker process cannot be started.
        """
        if len(golds) != len(responses):
            raise InputError(
                f"{len(golds)} golds and {len(responses)} responses: give one gold a response."
            )
        self._check_canaries()
        verdicts: list[Verdict | None] = []
        undecided: dict[tuple[str, str], list[int]] = {}
        exact = cached = no_box = 0
        for place, (gold, response) in enumerate(zip(golds, responses, strict=True)):
            if not gold.strip():
                raise InputError(f"The gold of response {place} is empty: give it an answer.")
            answer = last_box(response)
            if answer is None:
                verdicts.append(Verdict.no_box)
                no_box += 1
                continue
            pair = (gold, answer)
            verdict = self._cache.get(pair)
            if verdict is not None:
                cached += 1
            elif pair in undecided:
                cached += 1
                undecided[pair].append(place)
            else:
                verdict = _exact_verdict(gold, answer)
                if verdict is None:
                    undecided[pair] = [place]
                else:
                    exact += 1
                    self._remember(pair, verdict)
            verdicts.append(verdict)
        self._compare(undecided, verdicts)
        graded = [verdict for verdict in verdicts if verdict is not None]
        report = BatchReport(
            graded=len(graded),
            exact=exact,
            cached=cached,
            compared=len(undecided),
            no_box=no_box,
            timeouts=graded.count(Verdict.timeout),
            errors=graded.count(Verdict.error),
        )
        self._report += report
        return graded, report

    def close(self) -> None:
        """End the worker processes. The verifier can still be used; it starts new ones."""
        self._pool.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _compare(
        self, undecided: dict[tuple[str, str], list[int]], verdicts: list[Verdict | None]
    ) -> None:
        """Have the workers decide, and put their verdicts in their places."""
        if not undecided:
            return
        problems: list[str] = []
        pairs = list(undecided)
        for pair, outcome in zip(pairs, self._pool.compare(pairs), strict=True):
            for place in undecided[pair]:
                verdicts[place] = outcome.verdict
            if outcome.problem:
                gold, answer = pair
                problems.append(
                    f"{outcome.verdict}: gold {gold[:100]!r}, answer {answer[:100]!r}: "
                    f"{one_line(outcome.problem)}"
                )
            else:
                # Time limits and errors are tried again: they may be the machine's.
                self._remember(pair, outcome.verdict)
        for problem in problems:
            logger.warning("Not compared: %s", problem)

    def _remember(self, pair: tuple[str, str], verdict: Verdict) -> None:
        if len(pair[1]) > LONGEST_ANSWER:
            return
        if len(self._cache) >= CACHE_SIZE:
            del self._cache[next(iter(self._cache))]
        self._cache[pair] = verdict

    @staticmethod
    def _check_canaries() -> None:
        for gold, response, expected in _CANARIES:
            answer = last_box(response)
            verdict = Verdict.no_box if answer is None else _exact_verdict(gold, answer)
            if verdict is not expected:
                raise CanaryError(
                    f"The known answer in {response!r} to {gold} was graded {verdict}, "
                    f"not {expected}."
                )


def _exact_verdict(gold: str, answer: str) -> Verdict | None:
    correct = decide(gold, answer)
    if correct is None:
        return None
    return Verdict.correct if correct else Verdict.wrong
