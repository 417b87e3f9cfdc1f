"""Figures 2 and 3 from hand-made runs: what is drawn, what the CSV says, equal bytes."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from thinkprior.errors import InputError
from thinkprior.rendering.arms import ArmRow

pytest.importorskip("matplotlib", reason="the figures need matplotlib")

from matplotlib.text import Text

from thinkprior.rendering.figure import Figure, save_figure
from thinkprior.rendering.figure2 import figure2
from thinkprior.rendering.figure3 import figure3
from thinkprior.rendering.scale import Scale
from thinkprior.rendering.style import BANK, LENGTH_PRIOR, NO_PRIOR, RULES, THINKPRIOR, WIDTH

SCALE = Scale("miniature", "Miniature scale: $0.2M$ parameters; not the paper's models.")


def metrics(silent: dict[str, Sequence[float]]) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {"campaign": "c", "arm": arm, "seed": seed, "steps": 60, "silent_at_10": value}
            for arm, values in silent.items()
            for seed, value in enumerate(values)
        ]
    )


def checkpoints(accuracy: dict[str, Sequence[Sequence[float]]]) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {
                "campaign": "c",
                "arm": arm,
                "seed": seed,
                "step": 10 * index,
                "generated_rollouts": 640 * index,
                "math500": value,
            }
            for arm, of_seeds in accuracy.items()
            for seed, values in enumerate(of_seeds)
            for index, value in enumerate(values)
        ]
    )


@pytest.fixture(scope="module")
def second() -> Figure:
    # Means .26 and .13: 13 points. Two of the three no-prior seeds lie above our worst, .20.
    return figure2(
        metrics({"thinkprior": [0.09, 0.10, 0.20], "online_np": [0.30, 0.18, 0.30]}),
        checkpoints(
            {
                "thinkprior": [[0.1, 0.4], [0.1, 0.5], [0.1, 0.6]],
                "online_np": [[0.1, 0.3], [0.1, 0.5], [0.1, 0.4]],
            }
        ),
        SCALE,
    )


def drawn(line: Any) -> list[float]:
    return [float(value) for value in line.get_ydata()]


def texts(figure: Figure) -> list[Text]:
    return [text for text in figure.canvas.findobj(Text) if text.get_text().strip()]


def test_figure2_bars_dots_and_difference(second: Figure) -> None:
    left: Any = second.canvas.axes[0]
    assert [bar.get_height() for bar in left.patches] == pytest.approx([0.26, 0.13])
    assert [drawn(line) for line in left.lines] == [[0.30, 0.18, 0.30], [0.09, 0.10, 0.20]]
    assert any("−13.0" in text.get_text() for text in texts(second))
    assert "2 of 3 no prior seeds are worse than the worst of ThinkPrior" in second.caption


def test_figure2_curves_and_bands(second: Figure) -> None:
    right = second.canvas.axes[1]
    other, ours = right.lines
    assert np.asarray(ours.get_xdata()).tolist() == pytest.approx([0, 0.64])
    assert drawn(ours) == pytest.approx([0.1, 0.5])
    assert drawn(other) == pytest.approx([0.1, 0.4])
    heights = [collection.get_datalim(right.transData).ymax for collection in right.collections]
    assert heights == pytest.approx([0.5, 0.6])


def test_figure2_frame(second: Figure) -> None:
    frame = second.frame
    assert frame.columns[0] == "scale"
    assert set(frame["scale"]) == {"miniature"}
    bars = frame[(frame["panel"] == "a") & (frame["role"] == "mean")]
    assert bars["arm"].tolist() == ["online_np", "thinkprior"]
    assert bars["value"].tolist() == pytest.approx([0.26, 0.13])
    assert bars["low"].tolist() == [0.18, 0.09]
    assert bars["high"].tolist() == [0.30, 0.20]
    assert bars["n"].tolist() == [3, 3]
    curve = frame[(frame["panel"] == "b") & (frame["arm"] == "thinkprior")]
    assert curve["step"].tolist() == [0, 10]
    assert curve["generated_rollouts"].tolist() == [0, 640]
    assert curve["value"].tolist() == pytest.approx([0.1, 0.5])
    assert curve["high"].tolist() == pytest.approx([0.1, 0.6])


def test_figure2_of_single_short_runs() -> None:
    figure = figure2(
        metrics({"thinkprior": [float("nan")], "online_np": [0.2]}),
        checkpoints({"thinkprior": [[0.1, 0.4]], "online_np": [[0.1, 0.3]]}),
        SCALE,
    )
    assert any("no run has" in text.get_text() for text in texts(figure))
    assert len(figure.frame[figure.frame["panel"] == "a"]) == 2
    assert not figure.canvas.axes[1].collections


def test_figure2_needs_both_arms() -> None:
    with pytest.raises(InputError, match="online_np"):
        figure2(metrics({"thinkprior": [0.1]}), checkpoints({"thinkprior": [[0.1, 0.4]]}), SCALE)


ARMS = [
    ArmRow("random", "random", "no_selection", True, False),
    ArmRow("dapo", "DAPO", "published", False, False),
    ArmRow("greso", "GRESO", "published", True, False),
    ArmRow("bank", "2PL bank", "verified_prior", True, False),
]


def steps(arm: str, *seeds: Sequence[tuple[int, int]]) -> pd.DataFrame:
    """Steps of seeds, each given by its silent and generated groups of eight rollouts."""
    rows: list[dict[str, Any]] = []
    for seed, groups in enumerate(seeds):
        wasted = 0
        for step, (silent, generated) in enumerate(groups, start=1):
            wasted += 8 * silent
            rows.append(
                {
                    "campaign": "c",
                    "arm": arm,
                    "seed": seed,
                    "step": step,
                    "generated_groups": generated,
                    "silent_right": silent // 2,
                    "silent_wrong": silent - silent // 2,
                    "cumulative_waste": wasted,
                }
            )
    return pd.DataFrame(rows)


def main_steps() -> pd.DataFrame:
    return pd.concat(
        [
            steps("random", [(4, 8), (4, 8), (2, 8), (2, 8)]),
            # 10 of 24 groups in the first window, not the mean of 1/8 and 9/16.
            steps("dapo", [(1, 8), (9, 16), (3, 8), (3, 8)]),
            steps("bank", [(1, 8), (1, 8), (1, 8), (1, 8)]),
        ]
    )


@pytest.fixture(scope="module")
def third() -> Figure:
    reestimate = pd.concat(
        [
            steps("thinkprior", [(0, 8), (2, 8), (2, 8), (2, 8)], [(2, 8), (2, 8), (2, 8), (2, 8)]),
            steps("online_np", [(4, 8), (4, 8), (1, 8), (1, 8)]),
        ]
    )
    return figure3(main_steps(), reestimate, ARMS, SCALE, window=2)


def series(figure: Figure, panel: str, label: str, column: str = "value") -> list[float]:
    frame = figure.frame
    rows = frame[(frame["panel"] == panel) & (frame["label"] == label)]
    return [float(value) for value in rows[column]]


def test_figure3_windows_pool_groups(third: Figure) -> None:
    assert series(third, "a", "random") == pytest.approx([8 / 16, 4 / 16])
    assert series(third, "a", "DAPO") == pytest.approx([10 / 24, 6 / 16])
    assert series(third, "a", "2-rule range", "low") == pytest.approx([10 / 24, 4 / 16])
    assert series(third, "a", "2-rule range", "high") == pytest.approx([8 / 16, 6 / 16])
    assert series(third, "a", "ThinkPrior") == pytest.approx([3 / 16, 4 / 16])
    assert series(third, "a", "ThinkPrior", "low") == pytest.approx([2 / 16, 4 / 16])
    assert series(third, "a", "ThinkPrior", "high") == pytest.approx([4 / 16, 4 / 16])
    assert series(third, "a", "ThinkPrior", "step") == [1.5, 3.5]
    assert "windows of 2 steps" in third.canvas.axes[0].get_ylabel()


def test_figure3_cumulative_waste_starts_at_zero(third: Figure) -> None:
    assert series(third, "b", "ThinkPrior", "step") == [0, 1, 2, 3, 4]
    assert series(third, "b", "ThinkPrior") == [0, 8, 24, 40, 56]
    assert series(third, "b", "ThinkPrior", "low") == [0, 0, 16, 32, 48]
    assert series(third, "b", "2-rule range", "low") == [0, 8, 64, 80, 96]
    assert series(third, "b", "2-rule range", "high") == [0, 32, 80, 104, 128]


def test_figure3_draws_what_the_frame_says(third: Figure) -> None:
    left, right = third.canvas.axes
    for axes, panel in ((left, "a"), (right, "b")):
        bank, no_prior, ours = axes.lines
        assert drawn(bank) == series(third, panel, "bank (2PL)")
        assert drawn(no_prior) == series(third, panel, "no prior")
        assert drawn(ours) == series(third, panel, "ThinkPrior")
        # The range of the rules and our band; a single seed has none.
        assert len(axes.collections) == 2
    assert "no run has finished: GRESO, length prior." in third.caption
    assert "no prior 1, ThinkPrior 2" in third.caption


def test_figure3_refuses_runs_of_unequal_length() -> None:
    uneven = steps("thinkprior", [(0, 8), (2, 8)], [(2, 8)])
    with pytest.raises(InputError, match="step 2"):
        figure3(main_steps(), uneven, ARMS, SCALE)
    with pytest.raises(InputError, match="window"):
        figure3(main_steps(), uneven, ARMS, SCALE, window=0)


def test_figures_are_readable(second: Figure, third: Figure) -> None:
    for figure in (second, third):
        assert figure.canvas.get_figwidth() == WIDTH == 7
        assert all(float(text.get_fontsize()) >= 7 for text in texts(figure))
        assert any("not the paper's models" in text.get_text() for text in texts(figure))
        assert "not the paper's models" in figure.caption
    marks = [THINKPRIOR, NO_PRIOR, BANK, LENGTH_PRIOR, RULES]
    lines = marks[:-1]
    assert len({mark.colour for mark in marks}) == len(marks)
    assert len({mark.line for mark in lines}) == len({mark.marker for mark in lines}) == len(lines)


def test_nothing_is_drawn_outside_the_figure(second: Figure, third: Figure) -> None:
    for figure in (second, third):
        figure.canvas.draw_without_rendering()
        box = figure.canvas.get_tightbbox()
        width, height = figure.canvas.get_size_inches()
        assert box.x0 >= 0
        assert box.y0 >= 0
        assert box.x1 <= width
        assert box.y1 <= height


def test_saved_files_are_equal_and_undated(tmp_path: Path) -> None:
    def save(folder: Path) -> list[Path]:
        figure = figure2(
            metrics({"thinkprior": [0.1, 0.2], "online_np": [0.3, 0.2]}),
            checkpoints(
                {
                    "thinkprior": [[0.1, 0.4], [0.1, 0.5]],
                    "online_np": [[0.1, 0.3], [0.1, 0.5]],
                }
            ),
            SCALE,
        )
        paths = [folder / f"figure2.{suffix}" for suffix in ("pdf", "png", "csv")]
        save_figure(figure, *paths)
        return [*paths, folder / "figure2.txt"]

    first, again = save(tmp_path / "first"), save(tmp_path / "again")
    for one, other in zip(first, again, strict=True):
        assert one.read_bytes() == other.read_bytes()
    pdf = first[0].read_bytes()
    assert b"CreationDate" not in pdf
    assert b"/CIDFontType2" in pdf
    assert b"/Type3" not in pdf
    assert first[2].read_text().startswith("scale,panel,measure,arm,")
    assert (
        first[3].read_text().startswith("ThinkPrior (n = 2) against no prior (n = 2). (a) silent")
    )
