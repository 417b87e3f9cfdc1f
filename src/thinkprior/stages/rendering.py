"""Rendering tables and figures from metric tables."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from thinkprior.artifacts import RUNS, read_csv
from thinkprior.benchmarks import Accuracies
from thinkprior.randomness import stream
from thinkprior.rendering.arms import ArmRow
from thinkprior.rendering.scale import Scale
from thinkprior.rendering.table import save_table
from thinkprior.rendering.table1 import table1
from thinkprior.rendering.table2 import table2


def _arms(settings: Mapping[str, Any]) -> list[ArmRow]:
    return [ArmRow(**arm) for arm in settings["arms"]]


def _accuracies(settings: Mapping[str, Any]) -> Accuracies:
    return Accuracies(**settings.get("accuracies", {}))


def _scale(settings: Mapping[str, Any]) -> Scale:
    return Scale(settings["scale"], settings["note"])


def render_table1(
    settings: Mapping[str, Any], metrics: Path | str, csv: Path | str, tex: Path | str
) -> None:
    """Table 1 from the main campaign's metrics; `settings` as `plans.table_settings` gives them."""
    table = table1(
        read_csv(metrics, RUNS),
        _arms(settings),
        _scale(settings),
        accuracies=_accuracies(settings),
    )
    save_table(table, Path(csv), Path(tex))


def render_table2(
    settings: Mapping[str, Any],
    statistics: Mapping[str, Any],
    metrics: Path | str,
    checkpoints: Path | str,
    csv: Path | str,
    tex: Path | str,
) -> None:
    """Table 2 from the campaign of the pair; `statistics` is that section of the configuration."""
    table = table2(
        read_csv(metrics, RUNS),
        read_csv(checkpoints, RUNS),
        _scale(settings),
        confidence=statistics["confidence"],
        resamples=statistics["resamples"],
        generator=stream("permutation", "table2", statistics["seed"]),
        accuracies=_accuracies(settings),
    )
    save_table(table, Path(csv), Path(tex))


def render_figure2(
    settings: Mapping[str, Any],
    metrics: Path | str,
    checkpoints: Path | str,
    pdf: Path | str,
    png: Path | str,
    csv: Path | str,
) -> None:
    """Figure 2 from the campaign of the pair."""
    from thinkprior.rendering.figure import save_figure
    from thinkprior.rendering.figure2 import figure2

    figure = figure2(
        read_csv(metrics, RUNS),
        read_csv(checkpoints, RUNS),
        _scale(settings),
        accuracies=_accuracies(settings),
    )
    save_figure(figure, Path(pdf), Path(png), Path(csv))


def render_figure3(
    settings: Mapping[str, Any],
    main: Path | str,
    reestimate: Path | str,
    pdf: Path | str,
    png: Path | str,
    csv: Path | str,
) -> None:
    """Figure 3 from the steps of the main campaign and of that of the pair."""
    from thinkprior.rendering.figure import save_figure
    from thinkprior.rendering.figure3 import LINES, figure3

    arms = _arms(settings)
    declared = {arm.name for arm in arms}
    figure = figure3(
        read_csv(main, RUNS),
        read_csv(reestimate, RUNS),
        arms,
        _scale(settings),
        absent=[name for name in LINES if name not in declared],
    )
    save_figure(figure, Path(pdf), Path(png), Path(csv))
