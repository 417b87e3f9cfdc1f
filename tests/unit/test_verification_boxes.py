"""The last complete box of a reply."""

import pytest

from thinkprior.verification import last_box


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        (r"It is \boxed{5}.", "5"),
        (r"\boxed{5}, no: \boxed{6}.", "6"),
        (r"\boxed{\frac{3}{4}}", r"\frac{3}{4}"),
        (r"\boxed {5}", "5"),
        (r"\fbox{5}", "5"),
        (r"\boxed{5} then \fbox{6}", "6"),
        (r"\\boxed{5}", "5"),
        (r"\boxed{ 5 }", "5"),
        (r"\boxed{}", ""),
        # Escaped braces are characters.
        (r"\boxed{\{1,2\}}", r"\{1,2\}"),
        (r"\boxed{\left\{ 1 \right.}", r"\left\{ 1 \right."),
        (r"\boxed{1 \\{2}}", r"1 \\{2}"),
        # Nested boxes: the outer one, if it closes.
        (r"\boxed{\boxed{5}}", r"\boxed{5}"),
        (r"\boxed{x=\boxed{5}", "5"),
        # A box that never closes is no answer.
        (r"\boxed{5", None),
        (r"\boxed{5}. Checking once more, it is \boxed{", None),
        (r"\boxed{5}. Checking once more, it is \boxed{\frac{1}{2}", None),
        (r"\boxed{5}. Checking once more, it is \boxed", None),
        (r"\boxed{\{5\}", None),
        # Braces elsewhere do not matter.
        (r"{ \boxed{5} }} {", "5"),
        (r"\boxed{5} and then {", "5"),
        (r"\boxed 5", None),
        (r"\boxed{7}, not \boxed 5", "7"),
        ("no box", None),
        ("", None),
    ],
)
def test_last_box(reply: str, answer: str | None) -> None:
    assert last_box(reply) == answer


@pytest.mark.parametrize("piece", ["{", "}", r"\boxed{", r"\{", "\\", r"\boxed{1}", "1"])
def test_a_long_reply_takes_no_long_time(piece: str) -> None:
    # A quadratic scan of 10^5 braces would take minutes.
    last_box(r"\boxed{" + piece * 100_000)
    assert last_box(r"\boxed{7} " + "x" * 100_000) == "7"
