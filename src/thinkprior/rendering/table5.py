"""Table 5: how well each prior knows the policy's pass rates, over the pool and in the band."""

import math
from collections.abc import Mapping, Sequence

from thinkprior.findings.band import BAND
from thinkprior.measurements import Measurement, measurement_frame
from thinkprior.rendering import latex
from thinkprior.rendering.rounding import printed
from thinkprior.rendering.scale import Scale
from thinkprior.rendering.table import Table

PRIORS: Mapping[str, str] = {"anchor": "anchor (ours)", "bank": "2PL bank", "length": "length"}
"""The priors in the paper's order."""


def table5(
    measurements: Sequence[Measurement], campaign: str, reference_samples: int, scale: Scale
) -> Table:
    """Renders Table 5, and the mean absolute errors of the text under it.

    Args:
        measurements: What `thinkprior.findings.prior_quality` gives.
        campaign: Campaign whose pool it is.
        reference_samples: Samples of the policy a prompt behind the reference pass rates.
        scale: What produced the numbers.

    Returns:
        The table; its frame has the measurements.
    """
    found = {measurement.key: measurement for measurement in measurements}

    def line(table: str, setting: str, metric: str) -> str:
        cells = [found.get((table, setting, prior, metric)) for prior in PRIORS]
        n = next((cell.n for cell in cells if cell is not None), 0)
        name = (
            rf"\quad band $U(p)>{BAND}$ ($n={n}$)"
            if setting == "band"
            else rf"\quad whole pool ($n={n}$)"
        )
        return latex.row([name, *map(_cell, cells)])

    def heading(text: str) -> str:
        return latex.row([latex.spanning(len(PRIORS) + 1, "l", text)])

    tabular = latex.Tabular(
        columns="l" + "c" * len(PRIORS),
        head=[latex.row(["prior:", *map(latex.escape, PRIORS.values())])],
        body=[
            heading(r"Spearman correlation with the reference $\uparrow$"),
            line("table5", "all", "spearman_with_reference"),
            line("table5", "band", "spearman_with_reference"),
            r"\midrule",
            heading(r"Mean absolute error against the reference $\downarrow$"),
            line("text", campaign, "mae_with_reference"),
            line("text", "band", "mae_with_reference"),
        ],
        caption=" ".join(
            [
                "Rank correlation and mean absolute error of the priors with the reference pass "
                f"rate ({reference_samples} samples of the policy a prompt), over the pool of "
                f"campaign {latex.escape(campaign)} and inside the learnable band.",
                "No seed enters: one realisation of each prior serves every run.",
                latex.escape(scale.note),
            ]
        ),
        label="tab:band",
        notes=_notes(found),
    )
    return Table(measurement_frame(measurements, scale.name), tabular.environment())


def _cell(measurement: Measurement | None) -> str:
    if measurement is None or math.isnan(measurement.value):
        return latex.DASH
    return latex.mathematics(printed(measurement.value, 2))


def _notes(found: Mapping[tuple[str, str, str, str], Measurement]) -> list[str]:
    notes = []
    for prior, label in PRIORS.items():
        rank = found.get(("table5", "unfitted", prior, "spearman_with_reference"))
        error = found.get(("text", "unfitted", prior, "mae_with_reference"))
        whole = found.get(("table5", "all", prior, "spearman_with_reference"))
        if rank is None or error is None or whole is None:
            continue
        notes.append(
            f"The {label} prior was fitted on the reference of {whole.n - rank.n} of these "
            f"prompts; over the other {rank.n} its correlation is {_cell(rank)} and its error "
            f"{_cell(error)}."
        )
    return notes
