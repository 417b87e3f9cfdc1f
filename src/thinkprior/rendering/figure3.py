"""Figure 3: silent groups and discarded rollouts over training."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from thinkprior.errors import InputError
from thinkprior.rendering.arms import ArmRow
from thinkprior.rendering.figure import Figure
from thinkprior.rendering.scale import Scale
from thinkprior.rendering.seeds import checked_series
from thinkprior.rendering.style import (
    BAND_OPACITY,
    BANK,
    LENGTH_PRIOR,
    NO_PRIOR,
    RULES,
    SMALLEST_TEXT,
    THINKPRIOR,
    Mark,
    canvas,
    plain,
    styled,
)

RULE_BLOCKS = ("no_selection", "published")
"""Blocks whose arms make up the range of rules without a verified prior or our posterior."""

LINES = ("bank", "length_prior", "online_np", "thinkprior")
"""Arms that have a line of their own."""

_HEIGHT = 3.1
_COLUMNS = ["generated_groups", "silent_right", "silent_wrong", "cumulative_waste"]
_PLACE = ["first_step", "last_step", "step"]
_POINTS = [*_PLACE, "value", "low", "high"]


@dataclass(frozen=True)
class _Line:
    """One arm's mean in both panels, with the range over its seeds."""

    name: str
    label: str
    mark: Mark
    n: int
    silent: pd.DataFrame
    waste: pd.DataFrame
    band: bool


def figure3(
    main_steps: pd.DataFrame,
    reestimate_steps: pd.DataFrame,
    arms: Sequence[ArmRow],
    scale: Scale,
    *,
    window: int = 5,
    first: str = "thinkprior",
    second: str = "online_np",
    bank: str = "bank",
    length_prior: str = "length_prior",
    absent: Collection[str] = (),
) -> Figure:
    """Draws Figure 3.

    Panel (a) shows the silent fraction of the candidate groups within consecutive windows of steps,
    drawn at the middle of each window; panel (b) the cumulative number of rollouts in silent
    groups, a seed's mean. The range of the rules lies between the lowest and the highest of their
    arm means. The two arms of the re-estimate have bands over their seeds. A line whose arm has no
    finished run is left out, and the caption says so.

    Args:
        main_steps: One row per finished run and step of the main campaign: campaign, arm, seed,
            step (from 1), generated_groups, silent_right and silent_wrong (groups),
            cumulative_waste (rollouts).
        reestimate_steps: The same of the campaign of many seeds, for `first` and `second`.
        arms: The arms; those of the blocks no_selection and published are the rules of the range.
        scale: What produced the numbers.
        window: Steps that a point of panel (a) averages.
        first: Our arm.
        second: The arm without a prior.
        bank: Arm of the 2PL bank.
        length_prior: Arm of the length prior.
        absent: Arms that this scale does not have, rather than has not finished.

    Returns:
        The figure; its frame has a row per series and point, the means of the single rules
        included.

    Raises:
        InputError: For tables of several campaigns, repeated rows, missing columns, a window below
            1, or an arm whose runs have different steps.
    """
    if window < 1:
        raise InputError(f"the window of Figure 3 must be at least 1 step, not {window}")
    main = checked_series(main_steps, _COLUMNS, "main steps of Figure 3")
    reestimate = checked_series(reestimate_steps, _COLUMNS, "re-estimate steps of Figure 3")
    # The figure's own names: those of the table tell more than a legend has room for.
    wanted = [
        (main, bank, "bank (2PL)", BANK, False),
        (main, length_prior, "length prior", LENGTH_PRIOR, False),
        (reestimate, second, "no prior", NO_PRIOR, True),
        (reestimate, first, "ThinkPrior", THINKPRIOR, True),
    ]
    rules = [
        _line(main, arm.name, arm.label, RULES, window, band=False)
        for arm in arms
        if arm.block in RULE_BLOCKS
    ]
    lines = [
        _line(steps, name, label, mark, window, band=band)
        for steps, name, label, mark, band in wanted
    ]
    shown_rules = [line for line in rules if line.n]
    shown = [line for line in lines if line.n]
    missing = [line.label for line in (*rules, *lines) if not line.n and line.name not in absent]
    elsewhere = [line.label for line in lines if not line.n and line.name in absent]
    silent_range, waste_range = (
        _range([line.silent for line in shown_rules]),
        _range([line.waste for line in shown_rules]),
    )
    with styled():
        figure = canvas(_HEIGHT, scale.note)
        left, right = figure.subplots(1, 2)
        _draw(left, silent_range, shown_rules, [(line, line.silent) for line in shown])
        handles, names = _draw(
            right, waste_range, shown_rules, [(line, line.waste) for line in shown]
        )
        left.set_title("(a) Silent groups")
        left.set_ylabel(f"silent fraction (windows of {window} steps)")
        right.set_title("(b) Rollouts discarded")
        right.set_ylabel("wasted rollouts (cumulative)")
        figure.legend(
            handles,
            names,
            loc="outside upper center",
            ncols=max(1, len(names)),
            fontsize=SMALLEST_TEXT,
            columnspacing=1.0,
            handlelength=2.4,
        )
    frame = _frame(shown_rules, shown, silent_range, waste_range, scale)
    caption = _caption(shown_rules, shown, missing, elsewhere, window, scale)
    return Figure(figure, frame, caption)


def _line(
    steps: pd.DataFrame, name: str, label: str, mark: Mark, window: int, *, band: bool
) -> _Line:
    of_arm = steps[steps["arm"] == name]
    _require_equal_steps(of_arm, name)
    return _Line(
        name=name,
        label=label,
        mark=mark,
        n=int(of_arm["seed"].nunique()),
        silent=_over_seeds(_windows(of_arm, window)),
        waste=_over_seeds(_from_zero(of_arm)),
        band=band,
    )


def _require_equal_steps(of_arm: pd.DataFrame, name: str) -> None:
    counts = of_arm.groupby("step")["seed"].count()
    if counts.nunique() > 1:
        step = int(counts.index[counts < counts.max()][0])
        raise InputError(
            f"the runs of arm {name} have different steps (step {step} is missing in some): "
            "give the steps of finished runs only"
        )


def _windows(of_arm: pd.DataFrame, window: int) -> pd.DataFrame:
    """Silent share of each seed's groups within each window of steps."""
    rows = of_arm.assign(
        silent=of_arm["silent_right"] + of_arm["silent_wrong"],
        window=(of_arm["step"] - 1) // window,
    )
    shares = rows.groupby(["seed", "window"], as_index=False).agg(
        first_step=("step", "min"),
        last_step=("step", "max"),
        silent=("silent", "sum"),
        groups=("generated_groups", "sum"),
    )
    return shares.assign(
        step=(shares["first_step"] + shares["last_step"]) / 2,
        value=shares["silent"] / shares["groups"],
    )


def _from_zero(of_arm: pd.DataFrame) -> pd.DataFrame:
    """Cumulative waste of each seed after each step; before the first it is 0."""
    starts = pd.DataFrame({"seed": of_arm["seed"].unique(), "step": 0, "value": 0.0})
    rows = of_arm[["seed", "step"]].assign(value=of_arm["cumulative_waste"])
    both = pd.concat([starts, rows], ignore_index=True)
    return both.assign(first_step=both["step"], last_step=both["step"])


def _over_seeds(rows: pd.DataFrame) -> pd.DataFrame:
    grouped = rows.groupby(_PLACE, as_index=False)
    points = grouped.agg(value=("value", "mean"), low=("value", "min"), high=("value", "max"))
    return points[_POINTS]


def _range(means: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Lowest and highest of several arms' means, at the points that all have."""
    if not means:
        return pd.DataFrame(columns=_POINTS)
    grouped = pd.concat(means).groupby(_PLACE, as_index=False)
    limits = grouped.agg(arms=("value", "count"), low=("value", "min"), high=("value", "max"))
    shared = limits.loc[limits["arms"] == len(means)]
    return shared.assign(value=float("nan"))[_POINTS]


def _draw(
    axes: Any,
    limits: pd.DataFrame,
    rules: Sequence[_Line],
    lines: Sequence[tuple[_Line, pd.DataFrame]],
) -> tuple[list[Any], list[str]]:
    handles, names = [], []
    if rules:
        handles.append(
            axes.fill_between(
                limits["step"].astype(float),
                limits["low"].astype(float),
                limits["high"].astype(float),
                facecolor=RULES.colour,
                alpha=0.35,
                edgecolor=RULES.colour,
                hatch="....",
                linewidth=0.8,
            )
        )
        names.append(plain(f"{_range_name(rules)} ({_seeds(rules)})"))
    for line, points in lines:
        if line.band and line.n > 1:
            axes.fill_between(
                points["step"],
                points["low"],
                points["high"],
                facecolor=line.mark.colour,
                alpha=BAND_OPACITY,
                edgecolor=line.mark.colour,
                linestyle=line.mark.line,
                linewidth=0.6,
            )
        every = max(1, len(points) // 12)
        (handle,) = axes.plot(
            points["step"], points["value"], markevery=every, **line.mark.line_arguments()
        )
        handles.append(handle)
        names.append(plain(f"{line.label} (n = {line.n})"))
    axes.set_xlabel("GRPO step")
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    return handles, names


def _range_name(rules: Sequence[_Line]) -> str:
    return f"{len(rules)}-rule range" if len(rules) > 1 else rules[0].label


def _seeds(rules: Sequence[_Line]) -> str:
    low, high = min(line.n for line in rules), max(line.n for line in rules)
    return f"n = {low}" if low == high else f"n = {low}–{high}"


def _frame(
    rules: Sequence[_Line],
    lines: Sequence[_Line],
    silent_range: pd.DataFrame,
    waste_range: pd.DataFrame,
    scale: Scale,
) -> pd.DataFrame:
    parts = []
    for panel, measure in (("a", "silent_fraction"), ("b", "cumulative_waste")):
        limits = silent_range if panel == "a" else waste_range
        if rules:
            name = _range_name(rules)
            parts.append(limits.assign(panel=panel, measure=measure, label=name, role="range"))
        for role, members in (("rule", rules), ("line", lines)):
            for line in members:
                points = line.silent if panel == "a" else line.waste
                parts.append(
                    points.assign(
                        panel=panel,
                        measure=measure,
                        arm=line.name,
                        label=line.label,
                        role=role,
                        n=line.n,
                    )
                )
    columns = ["scale", "panel", "measure", "arm", "label", "role", "n", *_POINTS]
    frame = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()
    frame = frame.assign(scale=scale.name).reindex(columns=columns)
    return frame.astype({"n": "Int64", "first_step": "Int64", "last_step": "Int64"})


def _caption(
    rules: Sequence[_Line],
    lines: Sequence[_Line],
    missing: Sequence[str],
    elsewhere: Sequence[str],
    window: int,
    scale: Scale,
) -> str:
    counts = ", ".join(f"{line.label} {line.n}" for line in (*rules, *lines))
    sentences = [
        f"(a) Silent fraction of the candidate groups within consecutive windows of {window} "
        "steps, drawn at the middle of each; (b) cumulative rollouts in silent candidate groups "
        "per seed.",
        f"Lines are means over seeds ({counts}).",
    ]
    banded = " and ".join(line.label for line in lines if line.band and line.n > 1)
    if banded:
        sentences.append(f"The bands of {banded} give the seed range.")
    if len(rules) > 1:
        labels = ", ".join(line.label for line in rules)
        sentences.append(
            f"The {_range_name(rules)} lies between the lowest and the highest arm mean of "
            f"{labels}."
        )
    if missing:
        sentences.append(f"Left out, since no run has finished: {', '.join(missing)}.")
    if elsewhere:
        sentences.append(f"No arm of this scale: {', '.join(elsewhere)}.")
    return " ".join([*sentences, scale.note])
