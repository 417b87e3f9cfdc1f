"""Table 3 and Appendix D from metric tables, priors and manifests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from thinkprior.artifacts import RUNS, read_csv, read_json
from thinkprior.errors import InputError
from thinkprior.findings.anchors import anchor_measurements
from thinkprior.findings.backbones import backbone_measurements
from thinkprior.findings.endpoints import Run, event_measurements, run_endpoints
from thinkprior.findings.large_pool import large_pool_measurements
from thinkprior.rendering.appendix_d import appendix_d
from thinkprior.rendering.scale import Scale
from thinkprior.rendering.table import save_table
from thinkprior.rendering.table3 import LargePool, Setting, table3

Paths = Sequence[Path | str]


def render_table3(
    settings: Mapping[str, Any],
    runs: Paths,
    checkpoints: Paths,
    steps: Paths,
    priors: Mapping[str, Path | str],
    csv: Path | str,
    tex: Path | str,
) -> None:
    """Table 3 from the metric tables of its campaigns; those without a finished run are dashes.

    Args:
        settings: as `plans.robustness_settings` gives them.
        runs: metrics of the campaigns of (a), (b) and (d).
        checkpoints: accuracies along the runs of (c).
        steps: counts by step of the campaign of (d).
        priors: prior file of each campaign of (b).
        csv: takes the measurements.
        tex: takes the table.
    """
    metrics = _together(
        runs, ["campaign", "arm", "seed", "math500", "silent_at_10"], "Table 3 (a), (b) and (d)"
    )
    by_step = _together(
        steps,
        [
            *("campaign", "arm", "seed", "step", "generated_groups", "generated_rollouts"),
            *("silent_right", "silent_wrong", "silent_rollouts"),
        ],
        "Table 3 (d)",
    )
    ends = run_endpoints(_together(checkpoints, _CHECKPOINT_COLUMNS, "Table 3 (c)"))
    if metrics.empty and not ends:
        raise InputError(
            "no run of Table 3 is finished. Leave finished_runs_only away, and the runs that are "
            "missing are trained."
        )
    backbones, anchors, horizons = (
        _settings(settings[name]) for name in ("backbones", "anchors", "horizons")
    )
    large_pool = LargePool(**_setting(settings["large_pool"]))
    phi = {
        setting.campaign: (
            read_csv(priors[setting.campaign], ["phi"])["phi"].to_numpy()
            if setting.campaign in priors
            else None
        )
        for setting in anchors
    }
    measurements = [
        *backbone_measurements(metrics, [setting.campaign for setting in backbones]),
        *anchor_measurements(metrics, phi),
        *event_measurements(ends, [setting.campaign for setting in horizons]),
        *large_pool_measurements(metrics, by_step, large_pool.campaign),
    ]
    table = table3(
        measurements,
        Scale(settings["scale"], settings["note"]),
        backbones=backbones,
        anchors=anchors,
        horizons=horizons,
        large_pool=large_pool,
        horizon_steps=settings["horizon_steps"],
    )
    save_table(table, Path(csv), Path(tex))


def render_appendix_d(
    settings: Mapping[str, Any],
    checkpoints: Paths,
    manifests: Paths,
    csv: Path | str,
    tex: Path | str,
) -> None:
    """Appendix D from the accuracies along the long runs, and their manifests for the hosts."""
    ends = run_endpoints(_together(checkpoints, _CHECKPOINT_COLUMNS, "Appendix D"))
    if not ends:
        raise InputError(
            "no run of Appendix D is finished. Leave finished_runs_only away, and the runs that "
            "are missing are trained."
        )
    table = appendix_d(
        ends,
        dict(_host(manifest) for manifest in manifests),
        _settings(settings["horizons"]),
        Scale(settings["scale"], settings["note"]),
    )
    save_table(table, Path(csv), Path(tex))


_CHECKPOINT_COLUMNS = ["campaign", "arm", "seed", "step", "math500"]


def _together(paths: Paths, columns: list[str], what: str) -> pd.DataFrame:
    """The tables one below another, their columns `columns` alone."""
    frames = []
    for path in paths:
        frame = read_csv(path, RUNS)
        missing = [column for column in columns if column not in frame.columns]
        if missing:
            raise InputError(f"{path}: {what} needs its columns {', '.join(missing)}")
        frames.append(frame[columns])
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=columns)


def _setting(values: Mapping[str, Any]) -> dict[str, Any]:
    return {**values, "seeds": tuple(values["seeds"])}


def _settings(rows: Sequence[Mapping[str, Any]]) -> list[Setting]:
    return [Setting(**_setting(row)) for row in rows]


def _host(manifest: Path | str) -> tuple[Run, str]:
    """The run that a manifest is of, and the machine that made it."""
    content = read_json(manifest)
    try:
        plan, machine = content["settings"]["plan"], content["host"]["machine"]
        return (plan["campaign"], plan["arm"], int(plan["seed"])), str(machine)
    except KeyError as error:
        raise InputError(f"{manifest}: no manifest of a run, it lacks {error}") from None
