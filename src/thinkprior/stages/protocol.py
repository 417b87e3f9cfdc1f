"""The table of the evaluation protocol."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from thinkprior.artifacts import read_csv
from thinkprior.errors import InputError
from thinkprior.findings.protocol import COLUMNS, protocol_measurements
from thinkprior.protocol import Protocol
from thinkprior.rendering.arms import ArmRow
from thinkprior.rendering.protocol import protocol_table
from thinkprior.rendering.scale import Scale
from thinkprior.rendering.table import save_table


def render_protocol(
    settings: Mapping[str, Any],
    runs: Mapping[str, Sequence[tuple[str, int]]],
    scores: Mapping[str, Sequence[Path | str]],
    csv: Path | str,
    tex: Path | str,
) -> None:
    """Accuracies at step 0 and at the end, with the protocol.

    Args:
        settings: as `plans.protocol_settings` gives them.
        runs: (arm, seed) of the finished runs by campaign.
        scores: their score files, in the same order.
        csv: takes the measurements of all campaigns.
        tex: takes the table of the campaign that is shown.
    """
    if not any(runs.values()):
        raise InputError(
            "no run is finished. Leave finished_runs_only away, and the runs are trained."
        )
    measurements = [
        one
        for campaign, of in runs.items()
        for one in protocol_measurements(
            campaign,
            {
                (arm, seed): read_csv(path, COLUMNS)
                for (arm, seed), path in zip(of, scores[campaign], strict=True)
            },
            settings["confidence"],
        )
    ]
    protocol = settings["protocol"]
    table = protocol_table(
        measurements,
        [ArmRow(**arm) for arm in settings["arms"]],
        settings["benchmarks"],
        settings["campaign"],
        Protocol(**{**protocol, "stop": tuple(protocol.get("stop", ()))}),
        settings["confidence"],
        Scale(settings["scale"], settings["note"]),
    )
    save_table(table, Path(csv), Path(tex))
