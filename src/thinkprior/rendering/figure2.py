"""Figure 2: cold-start waste of two arms, and what they learn."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from thinkprior.benchmarks import Accuracies
from thinkprior.errors import InputError
from thinkprior.rendering.checkpoints import course
from thinkprior.rendering.figure import Figure
from thinkprior.rendering.rounding import printed
from thinkprior.rendering.scale import Scale
from thinkprior.rendering.seeds import SeedSummary, checked_runs, checked_series, summarise
from thinkprior.rendering.style import (
    BAND_OPACITY,
    NO_PRIOR,
    THINKPRIOR,
    Mark,
    canvas,
    minus,
    plain,
    styled,
)

_HEIGHT = 2.9
_BAR_WIDTH = 0.55


@dataclass(frozen=True)
class _Arm:
    """One arm: its finished runs and its course over the checkpoints."""

    name: str
    label: str
    mark: Mark
    hatch: str
    silent: pd.Series
    summary: SeedSummary
    course: pd.DataFrame

    @property
    def n(self) -> int:
        """Number of finished runs."""
        return len(self.silent)


def figure2(
    metrics: pd.DataFrame,
    checkpoints: pd.DataFrame,
    scale: Scale,
    *,
    first: str = "thinkprior",
    second: str = "online_np",
    first_label: str = "ThinkPrior",
    second_label: str = "no prior",
    accuracies: Accuracies | None = None,
) -> Figure:
    """Draws Figure 2.

    Panel (a) shows mean silent@10 of both arms as bars, each seed as a dot, and the difference of
    the means in points; panel (b) the mean accuracy along the run against the policy rollouts
    generated so far, step 0 included, with the range over the seeds as a band.

    Args:
        metrics: One row per finished run of one campaign: campaign, arm, seed, steps, silent_at_10
            (fraction; nan for a run of fewer than 10 steps).
        checkpoints: One row per run and checkpoint: campaign, arm, seed, step, generated_rollouts
            (cumulative), and the accuracy of the benchmark along the run (fraction).
        scale: What produced the numbers.
        first: Our arm; differences are first minus second.
        second: The arm without a prior.
        first_label: The first arm as printed.
        second_label: The second arm as printed.
        accuracies: The benchmarks; by default the paper's.

    Returns:
        The figure; its frame has a row per seed and per mean of panel (a), and a row per arm and
        checkpoint of panel (b).

    Raises:
        InputError: For metrics or checkpoints of several campaigns, repeated rows, missing columns,
            an arm without a finished run, or a finished run without checkpoints.
    """
    accuracies = accuracies or Accuracies()
    along = accuracies.along
    runs = checked_runs(metrics, ["silent_at_10"], "metrics of Figure 2")
    points = checked_series(checkpoints, ["generated_rollouts", along], "checkpoints of Figure 2")
    ours = _arm(runs, points, first, first_label, THINKPRIOR, "", along)
    other = _arm(runs, points, second, second_label, NO_PRIOR, "////", along)
    with styled():
        figure = canvas(_HEIGHT, scale.note)
        left, right = figure.subplots(1, 2, width_ratios=[1, 1.6])
        _draw_silent(left, (other, ours))
        _draw_accuracy(right, (other, ours), accuracies.along_label)
    frame = _frame((other, ours), along, scale)
    return Figure(figure, frame, _caption(ours, other, accuracies.along_label, scale))


def _arm(
    runs: pd.DataFrame,
    points: pd.DataFrame,
    name: str,
    label: str,
    mark: Mark,
    hatch: str,
    along: str,
) -> _Arm:
    of_arm = runs[runs["arm"] == name].sort_values("seed").set_index("seed")
    if of_arm.empty:
        raise InputError(f"Figure 2 needs a finished run of arm {name}")
    return _Arm(
        name=name,
        label=label,
        mark=mark,
        hatch=hatch,
        silent=of_arm["silent_at_10"],
        summary=summarise(of_arm["silent_at_10"]),
        course=course(points, name, of_arm.index, along),
    )


def _draw_silent(axes: Any, arms: tuple[_Arm, _Arm]) -> None:
    axes.set_title("(a) Cold-start waste")
    axes.set_ylabel("silent@10 (fraction of groups)")
    axes.set_xticks([0, 1], [plain(f"{arm.label}\n(n = {arm.n})") for arm in arms])
    axes.set_xlim(-0.5, 1.95)
    axes.grid(visible=False, axis="x")
    for position, arm in enumerate(arms):
        if not arm.summary.n:
            axes.text(position, 0.02, "no run has\n10 steps", ha="center", va="bottom")
            continue
        axes.bar(
            position,
            arm.summary.mean,
            _BAR_WIDTH,
            facecolor=arm.mark.colour,
            alpha=0.45,
            edgecolor="black",
            linewidth=0.6,
            hatch=arm.hatch,
        )
        axes.plot(
            position + _offsets(arm.summary.n),
            arm.summary.values,
            linestyle="none",
            marker=arm.mark.marker,
            color=arm.mark.colour,
            markeredgecolor="black",
            markeredgewidth=0.5,
            clip_on=False,
        )
    highest = max((arm.summary.high for arm in arms if arm.summary.n), default=0.0)
    axes.set_ylim(0, 1.08 * highest or 1.0)
    other, ours = arms
    if ours.summary.n and other.summary.n:
        x = 1 + _BAR_WIDTH / 2 + 0.1
        low, high = sorted((ours.summary.mean, other.summary.mean))
        axes.hlines(other.summary.mean, _BAR_WIDTH / 2, x + 0.06, color="black", lw=0.7, ls=":")
        axes.hlines([low, high], x - 0.06, x + 0.06, color="black", lw=0.9)
        axes.vlines(x, low, high, color="black", lw=0.9)
        axes.text(x + 0.06, (low + high) / 2, _points(ours, other) + "\npoints", va="center")


def _offsets(n: int) -> np.ndarray:
    """Places of the dots beside the middle of a bar, spread evenly in the order of the seeds."""
    if n == 1:
        return np.zeros(1)
    return np.linspace(-0.36, 0.36, n) * _BAR_WIDTH


def _points(ours: _Arm, other: _Arm) -> str:
    return minus(printed(100 * (ours.summary.mean - other.summary.mean), 1, signed=True))


def _draw_accuracy(axes: Any, arms: tuple[_Arm, _Arm], benchmark: str) -> None:
    axes.set_title("(b) What is learned")
    axes.set_xlabel("policy rollouts (thousands)")
    axes.set_ylabel(plain(f"{benchmark} accuracy"))
    for arm in arms:
        x = arm.course["generated_rollouts"] / 1000
        if arm.n > 1:
            axes.fill_between(
                x,
                arm.course["low"],
                arm.course["high"],
                facecolor=arm.mark.colour,
                alpha=BAND_OPACITY,
                edgecolor=arm.mark.colour,
                linewidth=0.4,
            )
        label = plain(f"{arm.label} (n = {arm.n})")
        axes.plot(x, arm.course["value"], label=label, **arm.mark.line_arguments())
    axes.set_ylim(bottom=0)
    axes.margins(x=0.02)
    title = "mean, band: seed range" if any(arm.n > 1 for arm in arms) else "one seed"
    axes.legend(loc="lower right", title=title, title_fontsize=7.5)


def _frame(arms: Sequence[_Arm], along: str, scale: Scale) -> pd.DataFrame:
    rows: list[dict[str, Any]] = []
    for arm in arms:
        common = {"scale": scale.name, "arm": arm.name, "label": arm.label}
        silent = common | {"panel": "a", "measure": "silent_at_10"}
        rows += [
            silent | {"role": "seed", "seed": seed, "n": 1, "value": value}
            for seed, value in arm.silent.items()
            if not math.isnan(value)
        ]
        if arm.summary.n:
            rows.append(
                silent
                | {
                    "role": "mean",
                    "n": arm.summary.n,
                    "value": arm.summary.mean,
                    "low": arm.summary.low,
                    "high": arm.summary.high,
                }
            )
    means = [
        arm.course.assign(
            scale=scale.name,
            panel="b",
            measure=along,
            arm=arm.name,
            label=arm.label,
            role="mean",
        )
        for arm in arms
    ]
    columns = ["scale", "panel", "measure", "arm", "label", "role", "seed", "n", "step"]
    columns += ["generated_rollouts", "value", "low", "high"]
    frame = pd.concat([pd.DataFrame(rows), *means], ignore_index=True).reindex(columns=columns)
    return frame.astype({"seed": "Int64", "n": "Int64", "step": "Int64"})


def _caption(ours: _Arm, other: _Arm, benchmark: str, scale: Scale) -> str:
    sentences = [
        f"{ours.label} (n = {ours.n}) against {other.label} (n = {other.n}).",
        "(a) silent@10 is the silent fraction among the candidate groups generated per seed in "
        "steps 1–10; bars show arm means, dots seeds.",
    ]
    if ours.summary.n and other.summary.n:
        worse = sum(value > ours.summary.high for value in other.summary.values)
        sentences.append(
            f"The difference of the means is {_points(ours, other)} points, and {worse} of "
            f"{other.summary.n} {other.label} seeds are worse than the worst of {ours.label}."
        )
    sentences += [
        f"(b) {benchmark} accuracy of the same runs against the rollouts generated so far: mean "
        "and, as a band, the seed range.",
        scale.note,
    ]
    return " ".join(sentences)
