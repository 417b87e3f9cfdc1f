"""Priors from responses: anchor, oracle, length, bank."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from thinkprior.artifacts import read_csv
from thinkprior.errors import InputError
from thinkprior.item_response import (
    fit_two_parameter,
    response_probability,
    sharpen,
    shuffled_control,
)
from thinkprior.priors import fit_length_map, write_prior
from thinkprior.probing import correct_counts, pass_rates, read_responses, thinking_lengths
from thinkprior.problems import read_problems
from thinkprior.randomness import stream


def _ids(pool: Path | str) -> list[str]:
    return [problem.id for problem in read_problems(pool)]


def _read_items(path: Path | str, columns: tuple[str, ...]) -> pd.DataFrame:
    return read_csv(
        path, ("problem_id", *columns), dtype={"problem_id": str}, keep_default_na=False
    )


def make_pass_rate_prior(pool: Path | str, responses: Path | str, prior: Path | str) -> None:
    """The prior that is a model's own pass rate: the anchor's, or the policy's (oracle)."""
    ids = _ids(pool)
    write_prior(prior, ids, pass_rates(read_responses(responses, ids), ids))


def make_length_prior(
    settings: Mapping[str, Any],
    pool: Path | str,
    thinking: Path | str,
    reference: Path | str,
    model: Path | str,
    prior: Path | str,
    lengths: Path | str,
) -> None:
    """The length prior: a logistic map from thinking length, fitted on a share of the pool.

    Args:
        settings: `share`, `cap` and `name`, which names the stream of the random share.
        pool: problem file.
        thinking: greedy answers of the thinking model.
        reference: reference answers of the policy, read for the share only.
        model: the thinking model, whose tokenizer counts.
        prior: CSV that takes the prior.
        lengths: CSV that takes each problem's length, whether it was cut off, and whether the map
            was fitted on it.
    """
    from thinkprior.models import load_tokenizer

    ids = _ids(pool)
    tokenizer = load_tokenizer(model)
    tokens, cut = thinking_lengths(
        read_responses(thinking, ids, ["text"]),
        ids,
        lambda text: len(tokenizer(text)["input_ids"]),
        settings["cap"],
    )
    count = round(settings["share"] * len(ids))
    order = stream("length fit", settings["name"]).permutation(len(ids))
    chosen = np.zeros(len(ids), dtype=bool)
    chosen[order[:count]] = True
    correct, trials = correct_counts(read_responses(reference, ids), ids)
    fit = fit_length_map(tokens[chosen], correct[chosen], int(trials[0]), settings["cap"])
    write_prior(prior, ids, fit.predict(tokens))
    pd.DataFrame(
        {"problem_id": ids, "length": tokens, "truncated": cut, "fitted_on": chosen}
    ).to_csv(lengths, index=False)


def make_response_matrix(
    pool: Path | str, responses: Mapping[str, Path | str], matrix: Path | str
) -> None:
    """The respondent x item matrix as CSV: respondent, problem_id, correct, trials."""
    ids = _ids(pool)
    parts = []
    for name, path in responses.items():
        correct, trials = correct_counts(read_responses(path, ids), ids)
        parts.append(
            pd.DataFrame(
                {"respondent": name, "problem_id": ids, "correct": correct, "trials": trials}
            )
        )
    pd.concat(parts).to_csv(matrix, index=False)


def fit_item_bank(
    pool: Path | str, matrix: Path | str, bank: Path | str, report: Path | str
) -> None:
    """Fit the 2PL bank, and its control on a matrix whose columns are shuffled.

    Args:
        pool: problem file.
        matrix: response matrix.
        bank: CSV that takes each item's discrimination and difficulty with standard errors.
        report: JSON that takes the fit's report and the control's.
    """
    ids = _ids(pool)
    table = _read_items(matrix, ("respondent", "correct", "trials"))
    wide = table.pivot(index="respondent", columns="problem_id", values=["correct", "trials"])
    if set(wide["correct"].columns) != set(ids):
        raise InputError(f"{matrix}: its items are not the problems of {pool}.")
    correct = wide["correct"][ids].to_numpy(dtype=np.int64)
    trials = wide["trials"][ids].to_numpy(dtype=np.int64)
    fit = fit_two_parameter(correct, trials)
    pd.DataFrame(
        {
            "problem_id": ids,
            "discrimination": fit.discrimination,
            "discrimination_error": fit.discrimination_error,
            "difficulty": fit.difficulty,
            "difficulty_error": fit.difficulty_error,
        }
    ).to_csv(bank, index=False)
    control = fit_two_parameter(*shuffled_control(correct, trials, stream("shuffled control")))
    reports = {}
    for name, one in (("bank", fit), ("shuffled_control", control)):
        reports[name] = {
            **one.report.__dict__,
            "respondents": len(correct),
            "items": len(ids),
            "median_discrimination": float(np.median(one.discrimination)),
            "ability_spread": float(one.ability.std()),
            # The scale of abilities and discriminations is one: their product tells a bank with a
            # common ability from one without.
            "signal": float(np.median(one.discrimination) * one.ability.std()),
        }
    Path(report).write_text(json.dumps(reports, indent=2) + "\n", encoding="utf-8")


def make_bank_prior(
    sharpening: float, pool: Path | str, bank: Path | str, prior: Path | str
) -> None:
    """The bank prior: response probability at the mean ability, its logit times `sharpening`."""
    ids = _ids(pool)
    table = _read_items(bank, ("discrimination", "difficulty")).set_index("problem_id")
    if list(table.index) != ids:
        raise InputError(
            f"{bank}: its items are not the problems of {pool} in their order. Delete it and run "
            "Snakemake again."
        )
    phi = response_probability(table["discrimination"].to_numpy(), table["difficulty"].to_numpy())
    write_prior(prior, ids, phi if sharpening == 1 else sharpen(phi, sharpening))
