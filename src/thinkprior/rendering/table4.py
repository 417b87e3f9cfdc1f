"""Table 4: the composition of ThinkPrior's selection with DAPO's refilling."""

from collections.abc import Mapping, Sequence

from thinkprior.benchmarks import Accuracies
from thinkprior.findings.composition import ALONE, CHANGE, COMPOSED, SETTING, Row, rows_for
from thinkprior.measurements import Measurement, measurement_frame
from thinkprior.rendering import latex
from thinkprior.rendering.cells import (
    Measured,
    number,
    seed_counts,
    seed_range,
    seed_values,
    significant_decimals,
)
from thinkprior.rendering.scale import Scale
from thinkprior.rendering.table import Table
from thinkprior.statistics import disjoint

_LABELS = {
    "generated_rollouts": r"Generated rollouts $\downarrow$",
    "silent_generated_rollouts": r"Silent generated rollouts $\downarrow$",
    "nonsilent_generated_rollouts": r"Non-silent generated rollouts $\uparrow$",
    "update_rollouts": "Rollouts used for updates",
    "estimated_generation_gpu_hours": r"Estimated generation hours $\downarrow$",
    "silent_at_10": r"silent@10 $\downarrow$",
    "waste_at_30": r"waste@30 $\downarrow$",
}
_HOURS = "estimated_generation_gpu_hours"


def table4(
    measurements: Sequence[Measurement],
    scale: Scale,
    *,
    labels: tuple[str, str],
    steps: int,
    batch_prompts: int,
    most_rounds: int,
    accuracies: Accuracies | None = None,
) -> Table:
    """Renders Table 4.

    Args:
        measurements: What `thinkprior.findings.composition.composition` gives.
        scale: What produced the numbers.
        labels: DAPO and its composition as printed.
        steps: Steps of a run.
        batch_prompts: B, groups of an update.
        most_rounds: Cap on the rounds of a step.
        accuracies: The benchmarks; by default the paper's.

    Returns:
        The table; its frame has the measurements.
    """
    accuracies = accuracies or Accuracies()
    found = Measured(measurements)
    rows = rows_for(accuracies.first)
    label = latex.escape(accuracies.first_label)
    heads = {accuracies.first: rf"{label} $\uparrow$", **_LABELS}
    names = [latex.escape(label) for label in labels]
    tabular = latex.Tabular(
        columns="lrcrcr",
        head=[
            latex.row(
                [
                    "Measure",
                    *(cell for name in names for cell in (name, "seed range")),
                    "change",
                ]
            )
        ],
        body=[_line(found, row, heads[row.metric]) for row in rows],
        caption=" ".join(
            _caption(found, names, scale, steps, batch_prompts, most_rounds, rows[0].metric, label)
        ),
        label="tab:composition",
        notes=_notes(found, names, {row.metric: heads[row.metric] for row in rows}),
        wide=True,
    )
    return Table(measurement_frame(measurements, scale.name), tabular.environment())


def _digits(found: Measured, row: Row) -> int:
    metric = row.metric
    if row.change == "points":
        return 3
    if metric != _HOURS:
        return 0
    return significant_decimals(
        [found.get(SETTING, arm, metric).value for arm in (ALONE, COMPOSED)]
    )


def _line(found: Measured, row: Row, head: str) -> str:
    digits = _digits(found, row)
    cells = [head]
    for arm in (ALONE, COMPOSED):
        measured = found.get(SETTING, arm, row.metric)
        cells += [number(measured.value, digits), seed_range(measured, digits)]
    change = found.get(SETTING, CHANGE, row.metric).value
    if row.change == "difference":
        return latex.row([*cells, number(change, digits, signed=True)])
    unit = " pts" if row.change == "points" else r"\%"
    return latex.row([*cells, number(change, 1, signed=True, unit=unit)])


def _caption(
    found: Measured,
    names: Sequence[str],
    scale: Scale,
    steps: int,
    batch_prompts: int,
    most_rounds: int,
    benchmark: str,
    label: str,
) -> list[str]:
    accuracy, rollouts = (
        [found.get(SETTING, arm, metric) for arm in (ALONE, COMPOSED)]
        for metric in (benchmark, "generated_rollouts")
    )
    counts = [(name, one.n) for name, one in zip(names, rollouts, strict=True)]
    sentences = [
        f"{names[1]} beside {names[0]}, {seed_counts(counts)}.",
        f"Counts are those of a run of {steps} steps; silent@10 divides silent candidate groups by "
        "all candidate groups generated in steps 1--10, and waste@30 counts rollouts in silent "
        "candidate groups through step 30.",
    ]
    if all(one.n for one in rollouts):
        sentences.append(
            f"By seed, {label} is {seed_values(accuracy[0], 3)} against "
            f"{seed_values(accuracy[1], 3)}, and rollouts are {seed_values(rollouts[0], 0)} "
            f"against {seed_values(rollouts[1], 0)}{_falls(found)}."
        )
    return [
        *sentences,
        "Changes are taken on unrounded means, and means are rounded independently; so few seeds "
        "carry no test, and nothing is bold.",
        f"A step generates up to {most_rounds} rounds of {batch_prompts} groups and updates on at "
        f"most {batch_prompts} non-silent ones: a last round can generate more than are needed, "
        f"and after {most_rounds} rounds fewer may be there. Rollouts used for updates are as "
        "counted, not the nominal number.",
        "The composition changes the candidate pool, so this shows compatibility, not isolation.",
        latex.escape(scale.note),
    ]


def _falls(found: Measured) -> str:
    """In how many of the seeds that both arms have the rollouts fall."""
    fewer = found.get(SETTING, CHANGE, "seeds_with_fewer_rollouts")
    return f" (they fall in {fewer.value:.0f} of {fewer.of} seeds)" if fewer.of else ""


def _notes(found: Measured, names: Sequence[str], heads: Mapping[str, str]) -> list[str]:
    notes = []
    for name, arm in zip(names, (ALONE, COMPOSED), strict=True):
        updates = found.get(SETTING, arm, "update_rollouts")
        if updates.n:
            notes.append(f"Updates of {name}: {latex.escape(updates.note)}.")
        else:
            notes.append(f"No run of {name} has finished.")
    hours = found.get(SETTING, COMPOSED, _HOURS)
    if hours.n:
        notes.append(f"Hours: {latex.escape(hours.note)}.")
    apart = []
    for metric, head in heads.items():
        if metric == _HOURS:  # a multiple of the rollouts
            continue
        first, second = (found.get(SETTING, arm, metric).values for arm in (ALONE, COMPOSED))
        # One seed makes no range.
        if min(len(first), len(second)) > 1 and disjoint(first, second):
            apart.append(head.partition(" $")[0])
    if apart:
        notes.append(f"Seed ranges are disjoint for: {', '.join(apart)}.")
    return notes
