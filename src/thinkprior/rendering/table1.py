"""Table 1: every arm of the main comparison, rollout economy beside accuracy."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pandas as pd

from thinkprior.benchmarks import Accuracies
from thinkprior.errors import InputError
from thinkprior.metrics import WASTE_STEPS
from thinkprior.rendering import latex
from thinkprior.rendering.arms import BLOCK_HEADINGS, BLOCKS, ArmRow, Block
from thinkprior.rendering.rounding import printed
from thinkprior.rendering.scale import Scale
from thinkprior.rendering.seeds import SeedSummary, checked_runs, summarise
from thinkprior.rendering.table import Table
from thinkprior.statistics import disjoint

Economy = Literal["silent_at_10", "waste_at_30"]

ECONOMY: tuple[Economy, ...] = ("silent_at_10", "waste_at_30")
COMPOSED_RULE = "dapo"
"""The arm that the composition block refills like, and is measured against in its heading."""

_SUBSCRIPT_WIDTH = "2.6em"


@dataclass(frozen=True)
class _Arm:
    """An arm with finished runs and what they measure."""

    row: ArmRow
    n: int
    generated: SeedSummary
    economy: Mapping[Economy, SeedSummary]
    accuracy: Mapping[str, SeedSummary]

    @property
    def constant_budget(self) -> bool:
        """Whether all runs generate the same whole number of rollouts a step."""
        return self.generated.low == self.generated.high and self.generated.low.is_integer()


def table1(
    metrics: pd.DataFrame,
    arms: Sequence[ArmRow],
    scale: Scale,
    *,
    reference: str = "online_np",
    headings: Mapping[Block, str] = BLOCK_HEADINGS,
    accuracies: Accuracies | None = None,
) -> Table:
    """Renders Table 1.

    An arm without a finished run is left out and named under the table. A cell is the mean over the
    seeds that have the value; a run too short for silent@10 or waste@30 has none. Among the arms of
    fixed budget, the lowest mean of an economy column is bold, and so is every arm whose seed range
    shares a point with the range of that one. No accuracy is ever bold.

    Args:
        metrics: One row per finished run of one campaign: campaign, arm, seed, steps,
            generated_per_step, silent_at_10 (fraction), waste_at_30 (rollouts), and the final
            accuracies by benchmark, with `<benchmark>_level5` for the one along the run where it
            has levels (fractions).
        arms: The rows to show, in order within their blocks; other arms of the metrics are ignored.
        scale: What produced the numbers.
        reference: Arm against which the subscripts give the change.
        headings: Heading of each block; another prior than the paper's may need another claim.
        accuracies: The benchmarks; by default the paper's.

    Returns:
        The table; its frame has a row per arm, each measure as mean, _min, _max and _n (seeds),
        the changes (`..._minus_<reference>`) and whether an economy cell is bold.

    Raises:
        InputError: For metrics that are not of one campaign, one length and one row a run, or of
            none of the arms.
    """
    accuracies = accuracies or Accuracies()
    columns = accuracies.columns(metrics.columns)
    runs = checked_runs(metrics, ["generated_per_step", *ECONOMY, *columns], "metrics of Table 1")
    campaign = str(runs["campaign"].iloc[0])
    ordered = sorted(arms, key=lambda arm: BLOCKS.index(arm.block))
    finished = [_measure(arm, runs[runs["arm"] == arm.name], columns) for arm in ordered]
    shown = [arm for arm in finished if arm.n]
    missing = [arm.row for arm in finished if not arm.n]
    if not shown:
        names = ", ".join(arm.name for arm in missing)
        raise InputError(f"the metrics of Table 1 hold no run of its arms ({names})")
    bold = {measure: _best_and_overlapping(shown, measure) for measure in ECONOMY}
    base = next((arm for arm in shown if arm.row.name == reference), None)
    frame = pd.DataFrame([_frame_row(arm, base, reference, bold, campaign, scale) for arm in shown])
    tabular = latex.Tabular(
        columns="lr" + "r" * (len(ECONOMY) + len(columns)) + "r",
        head=_head(columns),
        body=_body(shown, base, bold, headings, accuracies),
        caption=_caption(shown, base, campaign, int(runs["steps"].iloc[0]), scale, accuracies),
        label="tab:main-comparison",
        notes=_notes(shown, missing, base, reference, columns, accuracies),
        wide=True,
    )
    return Table(frame, tabular.environment())


def _measure(arm: ArmRow, runs: pd.DataFrame, accuracy: Iterable[str]) -> _Arm:
    return _Arm(
        row=arm,
        n=len(runs),
        generated=summarise(runs["generated_per_step"]),
        economy={measure: summarise(runs[measure]) for measure in ECONOMY},
        accuracy={measure: summarise(runs[measure]) for measure in accuracy},
    )


def _best_and_overlapping(arms: Sequence[_Arm], measure: Economy) -> set[str]:
    """Names of the fixed-budget arm of lowest mean and of those whose range meets its range."""
    fixed = [arm for arm in arms if arm.row.fixed_budget and arm.economy[measure].n]
    if not fixed:
        return set()
    best = min(fixed, key=lambda arm: arm.economy[measure].mean).economy[measure].values
    return {arm.row.name for arm in fixed if not disjoint(arm.economy[measure].values, best)}


def _change(arm: _Arm, base: _Arm | None, measure: Economy) -> float | None:
    """Change of the mean against the reference: points for a fraction, else rollouts."""
    if base is None or base is arm or not (arm.economy[measure].n and base.economy[measure].n):
        return None
    change = arm.economy[measure].mean - base.economy[measure].mean
    return 100 * change if measure == "silent_at_10" else change


def _frame_row(
    arm: _Arm,
    base: _Arm | None,
    reference: str,
    bold: Mapping[Economy, set[str]],
    campaign: str,
    scale: Scale,
) -> dict[str, Any]:
    cells: dict[str, Any] = {
        "scale": scale.name,
        "campaign": campaign,
        "block": arm.row.block,
        "arm": arm.row.name,
        "method": arm.row.label,
        "fixed_budget": arm.row.fixed_budget,
        "ours": arm.row.ours,
        "n": arm.n,
        **_summary_cells("generated_per_step", arm.generated),
    }
    for measure, summary in arm.economy.items():
        unit = "_points" if measure == "silent_at_10" else ""
        cells |= _summary_cells(measure, summary)
        cells[f"{measure}_minus_{reference}{unit}"] = _change(arm, base, measure)
        cells[f"{measure}_bold"] = arm.row.name in bold[measure]
    for name, summary in arm.accuracy.items():
        cells |= _summary_cells(name, summary)
    return cells


def _summary_cells(name: str, summary: SeedSummary) -> dict[str, float]:
    return {
        name: summary.mean,
        f"{name}_min": summary.low,
        f"{name}_max": summary.high,
        f"{name}_n": summary.n,
    }


def _head(accuracy: Mapping[str, str]) -> list[str]:
    economy_last = 2 + len(ECONOMY)
    accuracy_last = economy_last + len(accuracy)
    return [
        latex.row(
            [
                "",
                "Generated",
                latex.spanning(len(ECONOMY), "c", r"Rollout economy $\downarrow$"),
                latex.spanning(len(accuracy), "c", r"Accuracy $\uparrow$"),
                "",
            ]
        ),
        rf"\cmidrule(lr){{3-{economy_last}}} \cmidrule(lr){{{economy_last + 1}-{accuracy_last}}}",
        latex.row(
            [
                "Method",
                "R/step",
                *(latex.spanning(1, "c", name) for name in ("silent@10", "waste@30")),
                *map(latex.escape, accuracy.values()),
                "$n$",
            ]
        ),
    ]


def _body(
    arms: Sequence[_Arm],
    base: _Arm | None,
    bold: Mapping[Economy, set[str]],
    headings: Mapping[Block, str],
    accuracies: Accuracies,
) -> list[str]:
    width = 3 + len(ECONOMY) + len(arms[0].accuracy)
    lines: list[str] = []
    for block in BLOCKS:
        members = [arm for arm in arms if arm.row.block == block]
        if not members:
            continue
        if lines:
            lines.append(r"\midrule")
        heading = latex.escape(headings[block])
        if block == "composition":
            heading += _composition_claim(members, arms, accuracies)
        lines.append(latex.row([latex.spanning(width, "l", rf"\textit{{{heading}}}")]))
        lines += [_line(arm, base, bold) for arm in members]
    return lines


def _composition_claim(
    members: Sequence[_Arm], arms: Sequence[_Arm], accuracies: Accuracies
) -> str:
    """What the composition changes against the rule that it composes with."""
    rule = next((arm for arm in arms if arm.row.name == COMPOSED_RULE), None)
    if rule is None or len(members) != 1:
        return ""
    waste = members[0].economy["waste_at_30"].mean, rule.economy["waste_at_30"].mean
    reached = members[0].accuracy[accuracies.first], rule.accuracy[accuracies.first]
    if not (waste[0] >= 0 and waste[1] > 0 and all(summary.n for summary in reached)):
        return ""
    change = printed(100 * (waste[0] / waste[1] - 1), 1)
    direction = "lower" if change.startswith("-") else "higher"
    composed, alone = (printed(summary.mean, 3) for summary in reached)
    return (
        rf": {change.lstrip('-')}\% {direction} waste@30 than {latex.escape(rule.row.label)}, "
        f"{latex.escape(accuracies.first_label)} {composed} against {alone}"
    )


def _line(arm: _Arm, base: _Arm | None, bold: Mapping[Economy, set[str]]) -> str:
    colour = None
    if arm.row.block in ("verified_prior", "composition"):
        colour = latex.OURS if arm.row.ours else latex.VERIFIED_PRIOR
    return latex.row(
        [
            latex.escape(arm.row.label),
            _generated(arm),
            *(
                _economy_cell(arm, base, measure, arm.row.name in bold[measure])
                for measure in ECONOMY
            ),
            *(
                printed(summary.mean, 3) if summary.n else latex.DASH
                for summary in arm.accuracy.values()
            ),
            str(arm.n),
        ],
        colour,
    )


def _generated(arm: _Arm) -> str:
    if not arm.generated.n:
        return latex.DASH
    mean = printed(arm.generated.mean, 0)
    return mean if arm.constant_budget else rf"$\sim${mean}"


def _economy_cell(arm: _Arm, base: _Arm | None, measure: Economy, bold: bool) -> str:
    """A mean with its change; the change stands in a box so that the means align."""
    summary = arm.economy[measure]
    if not summary.n:
        return latex.DASH + _boxed("")
    value = printed(summary.mean, 3 if measure == "silent_at_10" else 0)
    change = _change(arm, base, measure)
    digits = 1 if measure == "silent_at_10" else 0
    subscript = "" if change is None else latex.change_subscript(change, digits)
    return (latex.bold(value) if bold else value) + _boxed(subscript)


def _boxed(subscript: str) -> str:
    return rf"\makebox[{_SUBSCRIPT_WIDTH}][l]{{{subscript}}}"


def _caption(
    arms: Sequence[_Arm],
    base: _Arm | None,
    campaign: str,
    steps: int,
    scale: Scale,
    accuracies: Accuracies,
) -> str:
    runs = sum(arm.n for arm in arms)
    sentences = [
        f"Main comparison: {runs} finished run{'s' if runs != 1 else ''} of {steps} steps of the "
        f"campaign {latex.escape(campaign)}, differing only in the selection rule; "
        f"{_seed_counts(arms)}.",
        "silent@10 is silent candidate groups divided by all candidate groups generated in steps "
        "1--10 (one number for every seed of a fixed-budget arm, variable under refill); waste@30 "
        "is rollouts in silent candidate groups through step 30.",
    ]
    if base is not None:
        sentences.append(
            f"Subscripts give the change against {latex.escape(base.row.label)}, that of silent@10 "
            "in points: negative and green better, positive and red worse."
        )
    sentences += [
        "Generated R/step is the mean candidate-rollout count, not the update budget or a cap.",
        "Pink rows carry a verifier-scored zero-rollout difficulty prior, ours darkest; among "
        f"{_fixed_budget_name(arms)} arms bold marks the best economy value and every arm whose "
        "seed range overlaps the range of the best.",
        _accuracy_sentence(arms, accuracies),
        latex.escape(scale.note),
    ]
    return " ".join(sentences)


def _seed_counts(arms: Sequence[_Arm]) -> str:
    counts = sorted({arm.n for arm in arms}, reverse=True)
    if len(counts) == 1:
        return f"{counts[0]} seed{'s' if counts[0] != 1 else ''} per arm"
    shares = []
    for count in counts:
        labels = ", ".join(latex.escape(arm.row.label) for arm in arms if arm.n == count)
        shares.append(f"{count} for {labels}")
    return f"seeds per arm differ ({'; '.join(shares)})"


def _fixed_budget_name(arms: Sequence[_Arm]) -> str:
    fixed = [arm for arm in arms if arm.row.fixed_budget]
    budgets = {printed(arm.generated.mean, 0) for arm in fixed if arm.constant_budget}
    if len(budgets) == 1 and all(arm.constant_budget for arm in fixed):
        return f"fixed-{budgets.pop()}"
    return "fixed-budget"


def _accuracy_sentence(arms: Sequence[_Arm], accuracies: Accuracies) -> str:
    first = accuracies.first
    repeated = [arm for arm in arms if arm.accuracy[first].n > 1]
    if not repeated:
        return "No accuracy value is bolded."

    def spread(arm: _Arm) -> float:
        return arm.accuracy[first].high - arm.accuracy[first].low

    widest = max(repeated, key=spread)
    return (
        "No accuracy value is bolded: within-arm spread on "
        f"{latex.escape(accuracies.first_label)} reaches "
        f"{printed(100 * spread(widest), 1)} points ({latex.escape(widest.row.label)})."
    )


def _notes(
    arms: Sequence[_Arm],
    missing: Sequence[ArmRow],
    base: _Arm | None,
    reference: str,
    columns: Mapping[str, str],
    accuracies: Accuracies,
) -> list[str]:
    notes = []
    if not any(arm.economy["waste_at_30"].n for arm in arms):
        notes.append(f"waste@30 needs runs of {WASTE_STEPS} steps.")
    if accuracies.left_out:
        notes.append(
            f"Not evaluated at this scale: {', '.join(map(latex.escape, accuracies.left_out))}."
        )
    if missing:
        labels = ", ".join(latex.escape(arm.label) for arm in missing)
        notes.append(f"Left out, since no run has finished: {labels}.")
    if base is None:
        notes.append(f"No change is given, since no run of {latex.escape(reference)} has finished.")
    headings = {"silent_at_10": "silent@10", "waste_at_30": "waste@30"}
    headings |= {name: latex.escape(label) for name, label in columns.items()}
    for arm in arms:
        for measure, summary in [*arm.economy.items(), *arm.accuracy.items()]:
            if 0 < summary.n < arm.n:
                notes.append(
                    f"{headings[measure]} of {latex.escape(arm.row.label)} is over {summary.n} "
                    f"of {arm.n} seeds."
                )
    return notes
