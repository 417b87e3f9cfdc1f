"""Figure 1: the pool as the anchor prior scores it, and the first batch of two arms."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LinearSegmentedColormap, Normalize
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle
from numpy.typing import NDArray

from thinkprior.errors import InputError
from thinkprior.rendering.figure import Figure
from thinkprior.rendering.scale import Scale
from thinkprior.rendering.style import (
    NO_PRIOR,
    SMALLEST_TEXT,
    THINKPRIOR,
    Mark,
    canvas,
    plain,
    styled,
)

_HEIGHT = 3.75
_GRID_ASPECT = 1.6  # width of the grid of cells over its height
_SHADES = LinearSegmentedColormap.from_list(
    "learnability", colormaps["Greys"](np.linspace(0.05, 0.8, 256))
)


@dataclass(frozen=True)
class _Kind:
    """One kind of group: colour and hatch."""

    name: str
    label: str
    colour: str
    hatch: str


_LEARNABLE = _Kind("learnable", "learnable (0 < C < G)", "#A6CDE8", "")
_ALL_WRONG = _Kind("silent_wrong", "silent at C = 0", "#DCC7A0", "////")
_ALL_RIGHT = _Kind("silent_right", "silent at C = G", "#F4A08F", "xxxx")


@dataclass(frozen=True)
class FirstBatch:
    """The groups that an arm generated at step 1 of one run.

    Attributes:
        arm: Name of the arm.
        groups: One row a group in the order of selection: problem_id, rollouts, correct. No rows
            where the arm has no finished run of that seed.
    """

    arm: str
    groups: pd.DataFrame


@dataclass(frozen=True)
class _Arm:
    name: str
    label: str
    start: str
    mark: Mark


_ARMS: Mapping[str, _Arm] = {
    arm.name: arm
    for arm in (
        _Arm("online_np", "online-NP", "uniform prior", NO_PRIOR),
        _Arm("thinkprior", "ThinkPrior", "anchor prior", THINKPRIOR),
    )
}


def figure1(
    ids: Sequence[str],
    phi: NDArray[np.float64],
    expected: NDArray[np.float64],
    batches: Sequence[FirstBatch],
    scale: Scale,
    *,
    campaign: str,
    seed: int,
    anchor_samples: int,
    kappa: float,
    epsilon: float,
) -> Figure:
    """Draws Figure 1 from measured values.

    Panel (a) is the pool, a cell a prompt in pool order, shaded by U_beta under the anchor prior
    before any rollout; prompts at its floor, phi = 0 or 1, are hatched, and the first batches of
    the two arms marked. Panel (b) shows those batches: a tile a group, with its G rollouts.

    Args:
        ids: The pool's ids in order.
        phi: The anchor's pass rates.
        expected: U_beta of each prompt under the anchor prior.
        batches: First batches of `online_np` and `thinkprior`, of one campaign and seed.
        scale: What produced the numbers.
        campaign: Campaign of the batches.
        seed: Their seed.
        anchor_samples: k.
        kappa: Pseudo-counts of the prior.
        epsilon: epsilon_0 of the prior.

    Returns:
        The figure; its frame has a row per prompt (panel a) and per group (panel b).

    Raises:
        InputError: For a group on a prompt that the pool does not hold.
    """
    position = {problem_id: index for index, problem_id in enumerate(ids)}
    for batch in batches:
        unknown = [name for name in batch.groups["problem_id"] if name not in position]
        if unknown:
            raise InputError(
                f"Figure 1: arm {batch.arm} of campaign {campaign} generated a group on "
                f"{unknown[0]!r}, which the pool does not hold: the runs are of another pool"
            )
    at_floor = (phi == 0) | (phi == 1)
    picked = {
        batch.arm: [position[name] for name in batch.groups["problem_id"]] for batch in batches
    }
    with styled():
        figure = canvas(_HEIGHT, scale.note)
        parts: Any = figure.subfigures(1, 2, width_ratios=[1.25, 1])
        left, right = parts
        pool: Any = left.subplots()
        _draw_pool(pool, expected, at_floor, picked)
        _title(left, f"(a) Pool of {len(ids)} before the first rollout")
        bar: Any = left.colorbar(
            ScalarMappable(Normalize(0, 1), _SHADES),
            ax=pool,
            orientation="horizontal",
            fraction=0.05,
            pad=0.02,
            aspect=40,
        )
        bar.outline.set_linewidth(0.6)
        bar.set_label(rf"$U_\beta$ of the anchor prior ($\kappa$ = {kappa:g})")
        handles = _pool_handles(picked, int(at_floor.sum()), len(ids), anchor_samples)
        _legend(left, handles, columns=1)
        tiles: Any = right.subplots(len(batches), 1, squeeze=False)[:, 0]
        for axes, batch in zip(tiles, batches, strict=True):
            _draw_batch(axes, batch)
        _title(right, f"(b) First batch, seed {seed} of {campaign}")
        _legend(right, _group_handles(), columns=2)
    frame = _frame(ids, phi, expected, at_floor, picked, batches, campaign, seed, scale)
    caption = _caption(
        ids, at_floor, batches, campaign, seed, anchor_samples, kappa, epsilon, picked, scale
    )
    return Figure(figure, frame, caption)


def _draw_pool(
    axes: Any,
    expected: NDArray[np.float64],
    at_floor: NDArray[np.bool_],
    picked: Mapping[str, Sequence[int]],
) -> None:
    columns = math.ceil(math.sqrt(_GRID_ASPECT * len(expected)))
    rows = math.ceil(len(expected) / columns)
    for index, (value, low) in enumerate(zip(expected, at_floor, strict=True)):
        axes.add_patch(
            Rectangle(
                (index % columns, index // columns),
                1,
                1,
                facecolor=_SHADES(value),
                edgecolor="#BBBBBB",
                linewidth=0.4,
                hatch="////" if low else "",
            )
        )
    chosen = [cell for cells in picked.values() for cell in cells]
    for name, cells in picked.items():
        # Two marks in one cell stand side by side.
        aside = -0.2 if name == "online_np" else 0.2
        axes.plot(
            [cell % columns + 0.5 + aside * (chosen.count(cell) > 1) for cell in cells],
            [cell // columns + 0.5 for cell in cells],
            linestyle="none",
            marker=_ARMS[name].mark.marker,
            markersize=5.0 if name == "online_np" else 4.5,
            color=_ARMS[name].mark.colour,
            markeredgecolor="white",
            markeredgewidth=0.8,
        )
    axes.set_xlim(0, columns)
    axes.set_ylim(rows, 0)
    axes.set_aspect("equal")
    _bare(axes)


def _pool_handles(
    picked: Mapping[str, Sequence[int]], floor: int, size: int, samples: int
) -> list[Any]:
    handles: list[Any] = [
        Patch(
            facecolor=_SHADES(0.0),
            edgecolor="#BBBBBB",
            hatch="////",
            label=f"at the floor, scored 0/{samples} or {samples}/{samples}: {floor} of {size}",
        )
    ]
    handles += [
        Line2D(
            [],
            [],
            linestyle="none",
            marker=_ARMS[name].mark.marker,
            markersize=5.0,
            color=_ARMS[name].mark.colour,
            label=f"first batch of {_ARMS[name].label}",
        )
        for name, cells in picked.items()
        if cells
    ]
    return handles


def _draw_batch(axes: Any, batch: FirstBatch) -> None:
    arm = _ARMS[batch.arm]
    kinds = [_kind(row) for row in _rows(batch)]
    silent = sum(kind is not _LEARNABLE for kind in kinds)
    if not kinds:
        axes.set_title(f"{arm.label}: no finished run", fontweight="normal")
        _bare(axes)
        return
    axes.set_title(
        f"{arm.label} ({arm.start}): {silent} of {len(kinds)} groups silent", fontweight="normal"
    )
    tallest = max(int(row["rollouts"]) for row in _rows(batch))
    for column, (row, kind) in enumerate(zip(_rows(batch), kinds, strict=True)):
        rollouts, correct = int(row["rollouts"]), int(row["correct"])
        axes.add_patch(
            Rectangle(
                (column + 0.06, -0.7),
                0.88,
                tallest + 0.4,
                facecolor=kind.colour,
                edgecolor="#666666",
                linewidth=0.5,
                hatch=kind.hatch,
            )
        )
        for rollout in range(rollouts):
            axes.plot(
                column + 0.5,
                rollout,
                marker="o",
                markersize=4.2,
                markerfacecolor="black" if rollout < correct else "white",
                markeredgecolor="black",
                markeredgewidth=0.6,
            )
        axes.text(
            column + 0.5,
            -0.95,
            f"{correct}/{rollouts}",
            ha="center",
            va="top",
            fontsize=SMALLEST_TEXT,
        )
    axes.set_xlim(0, len(kinds))
    axes.set_ylim(-2.2, tallest - 0.2)
    _bare(axes)


def _rows(batch: FirstBatch) -> list[dict[str, Any]]:
    return [
        {str(key): value for key, value in row.items()} for row in batch.groups.to_dict("records")
    ]


def _kind(row: Mapping[str, Any]) -> _Kind:
    if row["correct"] == 0:
        return _ALL_WRONG
    return _ALL_RIGHT if row["correct"] == row["rollouts"] else _LEARNABLE


def _group_handles() -> list[Any]:
    return [
        *(
            Patch(
                facecolor=kind.colour,
                edgecolor="#666666",
                linewidth=0.5,
                hatch=kind.hatch,
                label=kind.label,
            )
            for kind in (_LEARNABLE, _ALL_WRONG, _ALL_RIGHT)
        ),
        *(
            Line2D(
                [],
                [],
                linestyle="none",
                marker="o",
                markersize=4.2,
                markerfacecolor=face,
                markeredgecolor="black",
                markeredgewidth=0.6,
                label=label,
            )
            for face, label in (("black", "correct rollout"), ("white", "wrong rollout"))
        ),
    ]


def _title(part: Any, text: str) -> None:
    part.suptitle(plain(text), x=0.02, ha="left", fontsize=8.5, fontweight="bold")


def _legend(part: Any, handles: list[Any], columns: int) -> None:
    part.legend(
        handles=handles,
        loc="outside lower center",
        fontsize=SMALLEST_TEXT,
        ncols=columns,
        columnspacing=1.5,
        handlelength=1.6,
        borderpad=0.2,
    )


def _bare(axes: Any) -> None:
    axes.set_xticks([])
    axes.set_yticks([])
    axes.grid(visible=False)
    for spine in axes.spines.values():
        spine.set_visible(False)


def _frame(
    ids: Sequence[str],
    phi: NDArray[np.float64],
    expected: NDArray[np.float64],
    at_floor: NDArray[np.bool_],
    picked: Mapping[str, Sequence[int]],
    batches: Sequence[FirstBatch],
    campaign: str,
    seed: int,
    scale: Scale,
) -> pd.DataFrame:
    cells = pd.DataFrame(
        {
            "panel": "a",
            "position": np.arange(1, len(ids) + 1),
            "problem_id": list(ids),
            "phi": phi,
            "expected_learnability": expected,
            "at_floor": at_floor,
        }
    )
    for name, chosen in picked.items():
        cells[f"in_first_batch_of_{name}"] = cells.index.isin(chosen)
    parts = [cells]
    for batch in batches:
        rows = _rows(batch)
        parts.append(
            pd.DataFrame(
                {
                    "panel": "b",
                    "campaign": campaign,
                    "arm": batch.arm,
                    "seed": seed,
                    "step": 1,
                    "position": np.arange(1, len(rows) + 1),
                    "problem_id": [row["problem_id"] for row in rows],
                    "rollouts": [row["rollouts"] for row in rows],
                    "correct": [row["correct"] for row in rows],
                    "kind": [_kind(row).name for row in rows],
                }
            )
        )
    columns = ["scale", "panel", "campaign", "arm", "seed", "step", "position", "problem_id"]
    columns += ["phi", "expected_learnability", "at_floor"]
    columns += [f"in_first_batch_of_{name}" for name in picked]
    columns += ["rollouts", "correct", "kind"]
    frame = pd.concat([part for part in parts if len(part)], ignore_index=True)
    frame = frame.assign(scale=scale.name).reindex(columns=columns)
    whole = ["seed", "step", "position", "rollouts", "correct"]
    return frame.astype(dict.fromkeys(whole, "Int64"))


def _caption(
    ids: Sequence[str],
    at_floor: NDArray[np.bool_],
    batches: Sequence[FirstBatch],
    campaign: str,
    seed: int,
    samples: int,
    kappa: float,
    epsilon: float,
    picked: Mapping[str, Sequence[int]],
    scale: Scale,
) -> str:
    sentences = [
        f"(a) The pool of {len(ids)} prompts in pool order, row by row, shaded by the measured "
        f"U_β of the anchor prior before any rollout (κ = {kappa:g}, ε0 = {epsilon:g}), the same "
        f"for every run and seed; {int(at_floor.sum())} prompts sit at its floor, scored "
        f"0/{samples} or {samples}/{samples}.",
        f"(b) The groups of step 1 as measured in one run an arm, seed {seed} of the campaign "
        f"{campaign}: blue groups are learnable, tan (striped) ones silent at C = 0, salmon "
        "(crossed) ones at C = G; correct rollouts are drawn at the bottom.",
    ]
    for batch in batches:
        kinds = [_kind(row) for row in _rows(batch)]
        if not kinds:
            sentences.append(f"{_ARMS[batch.arm].label} has no finished run.")
            continue
        wrong, right = kinds.count(_ALL_WRONG), kinds.count(_ALL_RIGHT)
        sentences.append(
            f"{_ARMS[batch.arm].label}: {wrong + right} of {len(kinds)} silent ({wrong} at C = 0, "
            f"{right} at C = G)."
        )
    chosen = picked.get("online_np", [])
    if chosen:
        order = (
            f", which leaves pool order: its batch is the first {len(chosen)} prompts"
            if list(chosen) == list(range(len(chosen)))
            else ""
        )
        sentences.append(
            "A uniform prior makes U_β the same for all prompts (Prop. 2), so top-B has nothing to "
            f"rank on{order}."
        )
    sentences += [
        "One batch of one seed shows how the arms start and measures no rate: Tables 1 and 2 "
        "carry those. It makes no net-generation or accuracy claim.",
        scale.note,
    ]
    return " ".join(sentences)
