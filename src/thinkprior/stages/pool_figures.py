"""What the pool is to its priors: Table 5, Appendix B and Figure 1 from artifacts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from thinkprior.artifacts import read_csv, read_parquet
from thinkprior.errors import InputError
from thinkprior.findings.length_signal import length_signal
from thinkprior.findings.prior_quality import prior_quality
from thinkprior.findings.starting_low import pool_composition, starting_low
from thinkprior.posterior import BetaPosterior
from thinkprior.priors import read_prior
from thinkprior.probing import pass_rates, read_responses
from thinkprior.problems import read_problems
from thinkprior.rendering.appendix_b import appendix_b, underestimated
from thinkprior.rendering.scale import Scale
from thinkprior.rendering.table import save_table
from thinkprior.rendering.table5 import table5


def render_table5(
    settings: Mapping[str, Any],
    pool: Path | str,
    reference: Path | str,
    priors: Mapping[str, Path | str],
    lengths: Path | str,
    csv: Path | str,
    tex: Path | str,
) -> None:
    """Table 5.

    Args:
        settings: what `thinkprior.plans.pool_settings` gives.
        pool: the main pool.
        reference: the policy's reference answers on it.
        priors: the priors' files: `anchor`, `bank`, `length`.
        lengths: the thinking lengths, which say what the length map was fitted on.
        csv: takes the numbers.
        tex: takes the table.
    """
    ids = [problem.id for problem in read_problems(pool)]
    p = pass_rates(read_responses(reference, ids), ids)
    measurements = prior_quality(
        p,
        {name: read_prior(path, ids) for name, path in priors.items()},
        settings["group_size"],
        settings["campaign"],
        {"length": _lengths(lengths, ids)["fitted_on"].to_numpy(dtype=bool)},
    )
    table = table5(
        measurements, settings["campaign"], settings["reference_samples"], _scale(settings)
    )
    save_table(table, Path(csv), Path(tex))


def render_appendix_b(
    settings: Mapping[str, Any],
    pool: Path | str,
    reference: Path | str,
    anchor: Path | str,
    thinking: Path | str,
    lengths: Path | str,
    seeds: Sequence[int],
    groups: Sequence[Path | str],
    csv: Path | str,
    tex: Path | str,
    underestimated_csv: Path | str,
    underestimated_tex: Path | str,
) -> None:
    """The numbers of Appendix B, and the learnable prompts that start low.

    Args:
        settings: what `thinkprior.plans.pool_settings` gives.
        pool: the main pool.
        reference: the policy's reference answers on it.
        anchor: the anchor prior.
        thinking: greedy answers of the thinking model.
        lengths: the thinking lengths.
        seeds: seeds of the finished runs of ThinkPrior.
        groups: their groups logs, in that order.
        csv: takes the numbers.
        tex: takes the table.
        underestimated_csv: takes the prompts.
        underestimated_tex: takes their table.
    """
    problems = read_problems(pool)
    ids = [problem.id for problem in problems]
    p = pass_rates(read_responses(reference, ids), ids)
    phi = read_prior(anchor, ids)
    table = _lengths(lengths, ids)
    capped = table["truncated"].to_numpy(dtype=bool)
    answers = read_responses(thinking, ids, ["truncated"]).set_index("problem_id").loc[ids]
    logs = {
        seed: read_parquet(path, ["step", "problem_id"])
        for seed, path in zip(seeds, groups, strict=True)
    }
    measurements = [
        *length_signal(
            p,
            table["length"].to_numpy(dtype=np.int64),
            capped,
            capped | answers["truncated"].to_numpy(dtype=bool),
            phi,
            settings["campaign"],
            settings["confidence"],
        ),
        *pool_composition(ids, p, phi, settings["group_size"], settings["campaign"], logs),
    ]
    rendered = appendix_b(
        measurements,
        _scale(settings),
        anchor_samples=settings["anchor_samples"],
        reference_samples=settings["reference_samples"],
        cap=settings["thinking_cap"],
        confidence=settings["confidence"],
    )
    save_table(rendered, Path(csv), Path(tex))
    rows = starting_low(problems, p, phi, settings["group_size"], logs)
    prompts = underestimated(rows, _scale(settings), anchor_samples=settings["anchor_samples"])
    save_table(prompts, Path(underestimated_csv), Path(underestimated_tex))


def render_figure1(
    settings: Mapping[str, Any],
    pool: Path | str,
    anchor: Path | str,
    campaign: str,
    seed: int,
    groups: Mapping[str, Path | str],
    pdf: Path | str,
    png: Path | str,
    csv: Path | str,
) -> None:
    """Figure 1.

    Args:
        settings: what `thinkprior.plans.pool_settings` gives.
        pool: the pool.
        anchor: the anchor prior.
        campaign: campaign of the two runs.
        seed: their seed.
        groups: groups log of each arm's run; an arm without a finished run is left out.
        pdf: takes the figure.
        png: takes it too.
        csv: takes what was drawn.
    """
    from thinkprior.rendering.figure import save_figure
    from thinkprior.rendering.figure1 import FirstBatch, figure1

    ids = [problem.id for problem in read_problems(pool)]
    phi = read_prior(anchor, ids)
    prior = BetaPosterior.from_prior(phi, settings["kappa"], settings["epsilon"])
    figure = figure1(
        ids,
        phi,
        prior.expected_learnability(settings["group_size"]),
        [FirstBatch(arm, _first_batch(groups.get(arm))) for arm in settings["first_batch_arms"]],
        _scale(settings),
        campaign=campaign,
        seed=seed,
        anchor_samples=settings["anchor_samples"],
        kappa=settings["kappa"],
        epsilon=settings["epsilon"],
    )
    save_figure(figure, Path(pdf), Path(png), Path(csv))


def _first_batch(path: Path | str | None) -> pd.DataFrame:
    columns = ["problem_id", "rollouts", "correct"]
    if path is None:
        return pd.DataFrame(columns=columns)
    log = read_parquet(path, ["step", "round", "position", *columns])
    return log[log["step"] == 1].sort_values(["round", "position"])[columns]


def _lengths(path: Path | str, ids: Sequence[str]) -> pd.DataFrame:
    table = read_csv(
        path,
        ("problem_id", "length", "truncated", "fitted_on"),
        dtype={"problem_id": str},
        keep_default_na=False,
    )
    table = table.set_index("problem_id")
    if set(table.index) != set(ids):
        raise InputError(
            f"{path}: its prompts are not those of the pool. Make the length prior from this pool "
            "again."
        )
    return table.loc[list(ids)]


def _scale(settings: Mapping[str, Any]) -> Scale:
    return Scale(settings["scale"], settings["note"])
