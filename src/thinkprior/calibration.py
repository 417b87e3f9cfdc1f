r"""Prompt calibration: what template, stop texts, cap and box rule do to the untrained policy.

A prompt's draws depend on its own seed only, so a lower cap and an earlier stop give a beginning of
the same answer. Each template is therefore answered once, at the highest cap, and every other cell
of its grid is read off by cutting these answers.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import pandas as pd

from thinkprior.golds import boxes
from thinkprior.rollouts import Completion
from thinkprior.stopping import Decode, text_before
from thinkprior.verification import Verdict, Verifier

BoxRule = Literal["last_box", "first_box", "any_answer"]

_NUMBER = re.compile(r"-?\d+(?:,\d{3})*(?:\.\d+)?(?:/\d+)?")


def cut(completion: Completion, cap: int, stops: Sequence[str], decode: Decode) -> tuple[str, bool]:
    """An answer as it would have been under a lower cap and with stop texts.

    Args:
        completion: the answer under a cap that is not lower.
        cap: tokens, the end token included.
        stops: texts that end the answer, and are no part of it.
        decode: text of token ids.

    Returns:
        The text, and whether the cap ended it.
    """
    longer = len(completion.tokens) > cap
    text = decode(completion.tokens[:cap].tolist()) if longer else completion.text
    before = text_before(text, stops)
    return (text, longer or completion.truncated) if before is None else (before, False)


def read_by(text: str, rule: BoxRule) -> str:
    r"""A reply whose last box is the answer that a rule takes from a text.

    `last_box` is the verifier's own rule. `first_box` takes the first complete box, as if the text
    had ended there. `any_answer` takes the last number of a text that has no box.
    """
    found = boxes(text)
    if rule == "first_box" and found:
        return rf"\boxed{{{found[0]}}}"
    if rule == "any_answer" and not found:
        numbers = _NUMBER.findall(text)
        return rf"\boxed{{{numbers[-1]}}}" if numbers else text
    return text


@dataclass(frozen=True)
class Answered:
    """The answers to some problems under one template, at the highest cap.

    Attributes:
        golds: the gold answer of each problem.
        completions: the answers to each problem.
    """

    golds: Sequence[str]
    completions: Sequence[Sequence[Completion]]


def calibrate(
    answered: Answered,
    stops: Mapping[str, Sequence[str]],
    caps: Sequence[int],
    rules: Sequence[BoxRule],
    decode: Decode,
    verifier: Verifier,
) -> pd.DataFrame:
    """The grid of one template.

    Returns:
        One row a cell: stop (its name), cap, box_rule, answers, correct, truncated, no_box.
    """
    pairs = [
        (gold, completion)
        for gold, of_problem in zip(answered.golds, answered.completions, strict=True)
        for completion in of_problem
    ]
    golds = [gold for gold, _ in pairs]
    rows = []
    for (name, texts), cap in itertools.product(stops.items(), caps):
        ended = [cut(completion, cap, texts, decode) for _, completion in pairs]
        for rule in rules:
            verdicts, _ = verifier.grade(golds, [read_by(text, rule) for text, _ in ended])
            rows.append(
                {
                    "stop": name,
                    "cap": cap,
                    "box_rule": rule,
                    "answers": len(pairs),
                    "correct": sum(verdict is Verdict.correct for verdict in verdicts),
                    "truncated": sum(truncated for _, truncated in ended),
                    "no_box": sum(verdict is Verdict.no_box for verdict in verdicts),
                }
            )
    return pd.DataFrame(rows)
