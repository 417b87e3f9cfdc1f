"""The cheap path: the rule with exact arithmetic, no math-verify, some microseconds an answer.

It decides what needs only arithmetic and structure, and says None to everything else, which then
goes to a worker. It runs the same rule as the workers do; only the equality of two expressions is
decided in another way, and that agrees with theirs (``tests/unit/test_verification_agreement.py``).
"""

from thinkprior.verification.comparison import judge
from thinkprior.verification.values import Expression, Status, same_value


def _equal(
    _gold: str, _answer: str, gold: Expression | None, answer: Expression | None
) -> bool | None:
    if gold is None or answer is None:
        return None
    if gold.status is not Status.exact or answer.status is not Status.exact:
        return None
    return same_value(gold, answer)


def decide(gold: str, answer: str) -> bool | None:
    """Judge an answer without math-verify.

    Args:
        gold: The right answer.
        answer: What stood in the box.

    Returns:
        Whether the answer is right, or None if that takes math-verify.
    """
    return judge(gold, answer, _equal)
