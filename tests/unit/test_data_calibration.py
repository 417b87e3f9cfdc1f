"""Prompt calibration: cutting answers, reading them by a rule, the grid and its table."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest

from thinkprior import plans
from thinkprior.calibration import Answered, BoxRule, calibrate, cut, read_by
from thinkprior.configuration import load, parse
from thinkprior.errors import InputError
from thinkprior.rollouts import Completion
from thinkprior.stages.calibration import render_calibration
from thinkprior.verification import Verifier

SMALL = load(Path(__file__).parent / "small.yaml")


def decode(tokens: Sequence[int]) -> str:
    """A token is a character; 0 is the end token."""
    return "".join(chr(token) for token in tokens if token)


def completion(text: str, *, ended: bool = True) -> Completion:
    tokens = [*map(ord, text), *([0] if ended else [])]
    return Completion(np.array(tokens, dtype=np.int64), text, truncated=not ended)


@pytest.mark.parametrize(
    ("cap", "stops", "text", "truncated"),
    [
        # "ab#cd" and the end token are six tokens.
        (6, [], "ab#cd", False),
        (7, [], "ab#cd", False),
        (5, [], "ab#cd", True),
        (2, [], "ab", True),
        # A stop text ends the answer if it came before the cap.
        (6, ["#"], "ab", False),
        (3, ["#"], "ab", False),
        (2, ["#"], "ab", True),
        (6, ["d", "#c"], "ab", False),
    ],
)
def test_an_answer_is_cut_as_a_lower_cap_and_stop_texts_would_have(
    cap: int, stops: list[str], text: str, truncated: bool
) -> None:
    assert cut(completion("ab#cd"), cap, stops, decode) == (text, truncated)


def test_an_answer_that_the_highest_cap_ended_stays_cut_off() -> None:
    assert cut(completion("abcd", ended=False), 4, [], decode) == ("abcd", True)
    assert cut(completion("ab#d", ended=False), 4, ["#"], decode) == ("ab", False)


@pytest.mark.parametrize(
    ("text", "rule", "reply"),
    [
        (r"\boxed{1} then \boxed{2", "last_box", r"\boxed{1} then \boxed{2"),
        (r"\boxed{1} then \boxed{2}", "first_box", r"\boxed{1}"),
        (r"\boxed{1} then \boxed{2", "first_box", r"\boxed{1}"),
        ("it is 1,234", "any_answer", r"\boxed{1,234}"),
        (r"\boxed{7} of 9", "any_answer", r"\boxed{7} of 9"),
        ("3 or -1/2.", "any_answer", r"\boxed{-1/2}"),
        ("no number", "any_answer", "no number"),
        ("it is 5", "first_box", "it is 5"),
    ],
)
def test_a_rule_takes_the_answer(text: str, rule: BoxRule, reply: str) -> None:
    assert read_by(text, rule) == reply


def test_the_grid_counts_right_cut_off_and_boxless_answers() -> None:
    answered = Answered(
        ["5", "7"],
        [
            [completion(r"\boxed{5}"), completion("so 5")],
            [completion(r"\boxed{7}#\boxed{8}"), completion("hm", ended=False)],
        ],
    )
    with Verifier(time_limit=5) as verifier:
        table = calibrate(
            answered,
            {"none": [], "hash": ["#"]},
            [30, 5],
            ["last_box", "first_box", "any_answer"],
            decode,
            verifier,
        )
    assert set(table["answers"]) == {4}
    counts = {
        (row["stop"], row["cap"], row["box_rule"]): [
            row["correct"],
            row["truncated"],
            row["no_box"],
        ]
        for row in table.to_dict("records")
    }
    # By hand. In full: 5 is right, "so 5" is right for any_answer, 8 is wrong but 7 comes first.
    assert counts["none", 30, "last_box"] == [1, 1, 2]
    assert counts["none", 30, "first_box"] == [2, 1, 2]
    assert counts["none", 30, "any_answer"] == [2, 1, 1]
    assert counts["hash", 30, "last_box"] == [2, 1, 2]
    # Five tokens leave no box; "so 5" and its end token just fit.
    assert counts["none", 5, "last_box"] == [0, 3, 4]
    assert counts["none", 5, "any_answer"] == [1, 3, 3]


CALIBRATION = {
    "templates": {"plain": "{problem}\n", "asked": "Q: {problem}\nA:"},
    "caps": [10, 5],
    "problems": 20,
}


def test_each_template_is_given_its_own_text_only() -> None:
    values = {**copy.deepcopy(SMALL), "calibration": CALIBRATION}
    config = parse(values, "small.yaml")
    plain, asked = (plans.calibration_settings(config, name) for name in ("plain", "asked"))
    assert (plain.pop("template"), asked.pop("template")) == ("{problem}\n", "Q: {problem}\nA:")
    assert plain == asked
    assert (plain["caps"], plain["problems"], plain["box_rules"]) == ([10, 5], 20, ["last_box"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"templates": {"plain": "no place"}}, "calibration.templates.plain: {problem} is missing"),
        ({"caps": []}, "calibration.caps: at least one is needed"),
        ({"benchmark": "gsm8k"}, "calibration.benchmark: 'gsm8k' is not defined"),
        ({"stop": {}}, "calibration.stop: unknown key; did you mean 'stops'?"),
    ],
)
def test_a_fault_in_the_grid_is_one_clear_message(change: dict[str, object], message: str) -> None:
    values = {**copy.deepcopy(SMALL), "calibration": {**CALIBRATION, **change}}
    with pytest.raises(InputError) as caught:
        parse(values, "small.yaml")
    assert message in str(caught.value)


def test_the_table_has_a_row_a_cell_and_the_papers_fingerprints(tmp_path: Path) -> None:
    cells = pd.DataFrame(
        [
            ("benchmark", "none", 512, "last_box", 500, 63, 400, 420),
            ("pool", "none", 512, "last_box", 1000, 147, 800, 850),
        ],
        columns=["set", "stop", "cap", "box_rule", "answers", "correct", "truncated", "no_box"],
    )
    cells.to_csv(tmp_path / "plain.csv", index=False)
    render_calibration(
        {
            "scale": "small",
            "note": "A small scale.",
            "benchmark": "MATH500",
            "pool": "pool20",
            "confidence": 0.95,
        },
        {"plain_one": tmp_path / "plain.csv"},
        tmp_path / "c.csv",
        tmp_path / "c.tex",
    )
    lines = (tmp_path / "c.tex").read_text().splitlines()
    interval = binomtest(63, 500).proportion_ci(method="wilson")
    bounds = f"$[{interval.low:.3f}, {interval.high:.3f}]$"
    row = rf"plain\_one & none & 512 & last\_box & 0.126 & {bounds} & 0.800 & 0.840 & 0.147 \\"
    assert row in lines
    assert r"the paper &  &  &  & 0.126 &  &  &  & 0.147 \\" in lines
    assert list(pd.read_csv(tmp_path / "c.csv")["metric"]) == [
        "accuracy",
        "truncated",
        "no_box",
        "pass_rate",
    ]
