"""Table 5, Appendix B and Figure 1 as they are printed, drawn and saved."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from thinkprior.errors import InputError
from thinkprior.findings.length_signal import length_signal
from thinkprior.findings.prior_quality import prior_quality
from thinkprior.findings.starting_low import pool_composition, starting_low
from thinkprior.measurements import Measurement
from thinkprior.plans import first_batch_run
from thinkprior.problems import Problem
from thinkprior.rendering.appendix_b import appendix_b, underestimated
from thinkprior.rendering.scale import Scale
from thinkprior.rendering.table import Table
from thinkprior.rendering.table5 import table5

SCALE = Scale("miniature", "Miniature scale: 100% not the paper's models.")
NOTE = r"Miniature scale: 100\% not the paper's models."

REFERENCE = np.array([0.5, 0.25, 0.75, 0.5, 0.0, 1.0])
ANCHOR = np.array([0.0, 0.0, 1.0, 0.5, 0.0, 1.0])
IDS = [f"p{index}" for index in range(6)]
PROBLEMS = [Problem(name, "text", "1", 1, "Algebra_%") for name in IDS]


def line(table: Table, name: str) -> list[str]:
    found = [text for text in table.latex.splitlines() if text.startswith(name)]
    assert len(found) == 1, (name, table.latex)
    return [cell.strip() for cell in found[0].removesuffix(r"\\").split("&")[1:]]


# --- Table 5 ------------------------------------------------------------------------------------


def published() -> list[Measurement]:
    values = {
        "anchor": (0.62, 0.38, 0.18),
        "bank": (0.76, 0.45, 0.13),
        "length": (0.27, 0.25, 0.12),
    }
    found = []
    for prior, (whole, band, error) in values.items():
        rank = "spearman_with_reference"
        found += [
            Measurement("table5", "all", prior, rank, whole, n=250),
            Measurement("table5", "band", prior, rank, band, n=76),
            Measurement("text", "main", prior, "mae_with_reference", error, n=250),
            Measurement("text", "band", prior, "mae_with_reference", math.nan, n=76),
        ]
    return found


def test_table5_of_the_published_numbers() -> None:
    table = table5(published(), "main", 32, SCALE)
    body = [text for text in table.latex.splitlines() if text.startswith(r"\quad")]
    assert body == [
        r"\quad whole pool ($n=250$) & $0.62$ & $0.76$ & $0.27$ \\",
        r"\quad band $U(p)>0.8$ ($n=76$) & $0.38$ & $0.45$ & $0.25$ \\",
        r"\quad whole pool ($n=250$) & $0.18$ & $0.13$ & $0.12$ \\",
        r"\quad band $U(p)>0.8$ ($n=76$) & -- & -- & -- \\",
    ]
    assert NOTE in table.latex
    assert list(table.frame.columns[:2]) == ["scale", "table"]


def test_table5_says_what_a_prior_was_fitted_on() -> None:
    measurements = prior_quality(
        REFERENCE,
        {"length": np.array([0.5, 0.25, 0.75, 0.25, 0.0, 0.75])},
        8,
        "main",
        {"length": np.array([True, False, False, False, False, False])},
    )
    table = table5(measurements, "main", 32, SCALE)
    # Over the five others: errors 0, 0, .25, 0, .25.
    assert "fitted on the reference of 1 of these prompts; over the other 5" in table.latex
    assert "its error $0.10$" in table.latex
    assert r"\quad whole pool ($n=6$) & -- & -- &" in table.latex


# --- Appendix B ---------------------------------------------------------------------------------


def appendix(logs: dict[int, pd.DataFrame], **changes: Any) -> Table:
    signal: dict[str, Any] = {
        "reference": REFERENCE,
        "lengths": np.array([3, 9, 9, 5, 9, 4]),
        "capped": np.array([False, True, True, False, True, False]),
        "answer_truncated": np.array([False, True, True, False, True, False]),
        "anchor": ANCHOR,
        "campaign": "main",
        "confidence": 0.95,
        **changes,
    }
    measurements = [
        *length_signal(**signal),
        *pool_composition(IDS, REFERENCE, ANCHOR, 8, "main", logs),
    ]
    return appendix_b(
        measurements, SCALE, anchor_samples=16, reference_samples=32, cap=9, confidence=0.95
    )


def run(*groups: tuple[int, str]) -> pd.DataFrame:
    return pd.DataFrame(groups, columns=["step", "problem_id"])


def test_appendix_b() -> None:
    table = appendix({0: run((1, "p3"), (60, "p0")), 1: run((1, "p3"), (2, "p1"), (60, "p4"))})
    assert line(table, "thinking cut off at the cap of 9 tokens") == ["3 of 6", ""]
    assert line(table, r"anchor $\varphi=0$") == ["3 of 6", ""]
    assert line(table, r"at the floor of $U_{\beta}$: scored 0 or 16 of 16") == ["5 of 6", ""]
    assert line(table, "band prompts by step 30") == ["1.5 of 4", "$[1, 2]$"]
    assert line(table, r"\quad of those that start at the floor") == ["1.0 of 3", "$[1, 1]$"]
    assert "mean over 2 finished runs" in table.latex
    assert "the paper does not state its own" in table.latex
    assert NOTE in table.latex
    assert set(table.frame["table"]) == {"appendixB"}
    assert set(table.frame["setting"]) == {"main"}


def test_appendix_b_says_when_length_is_at_chance() -> None:
    # Length falls and rises alike over the solvable and the others: AUC 1/2.
    table = appendix(
        {},
        reference=np.array([0.5, 0.5, 0.0, 0.0, 0.5, 0.0]),
        lengths=np.array([1, 4, 2, 3, 9, 9]),
        capped=np.array([False, False, False, False, True, True]),
        answer_truncated=np.array([False, True, False, False, True, True]),
    )
    assert line(table, "reciprocal length among the 4 finished")[0] == "0.500"
    assert "Of the 4 finished prompts 2 have a reference above 0" in table.latex
    assert "includes chance, 0.5 (two-sided Mann--Whitney $p$ = 1.00)" in table.latex
    assert "3 of 6 are (mean reference 0.333, of the others 0.167" in table.latex
    assert line(table, "band prompts by step 30") == ["--", ""]
    assert "mean over 0 finished runs" in table.latex


def test_underestimated() -> None:
    logs = {0: run((4, "p2")), 1: run((2, "p3"))}
    table = underestimated(
        starting_low(PROBLEMS, REFERENCE, ANCHOR, 8, logs), SCALE, anchor_samples=16
    )
    assert line(table, "p0") == [
        "1",
        r"Algebra\_\%",
        "0.500",
        "0 of 2",
        "--",
    ]
    assert line(table, "p2")[-2:] == ["1 of 2", "4"]
    assert "Anchor scored 0 of 16: 2 prompts" in table.latex
    assert "Anchor scored 16 of 16: 1 prompts" in table.latex
    assert "Over 2 finished ThinkPrior runs, 1 of these 3 prompts were ever" in table.latex
    assert table.frame.columns[0] == "scale"


def test_underestimated_without_prompts_or_runs() -> None:
    table = underestimated(
        starting_low(PROBLEMS, REFERENCE, REFERENCE, 2, {}), SCALE, anchor_samples=16
    )
    assert "Anchor scored 0 of 16: 0 prompts" in table.latex
    # Without prompts nothing tells whether a run is finished.
    assert "ThinkPrior run" not in table.latex


# --- Figure 1 -----------------------------------------------------------------------------------


def test_first_batch_run() -> None:
    both = [("online_np", 1), ("thinkprior", 1), ("thinkprior", 0)]
    assert first_batch_run({"reestimate": both, "main": []}) == (
        "reestimate",
        1,
        ["online_np", "thinkprior"],
    )
    assert first_batch_run({"reestimate": [("thinkprior", 0)], "main": both})[0] == "main"
    assert first_batch_run({"reestimate": [], "main": [("thinkprior", 3), ("dapo", 0)]}) == (
        "main",
        3,
        ["thinkprior"],
    )
    assert first_batch_run({"reestimate": [], "main": []}) == ("reestimate", 0, [])


def drawn(ours: list[tuple[str, int]], other: list[tuple[str, int]]) -> Any:
    pytest.importorskip("matplotlib", reason="the figures need matplotlib")
    from thinkprior.rendering.figure1 import FirstBatch, figure1

    def batch(arm: str, groups: list[tuple[str, int]]) -> FirstBatch:
        rows = [(name, 4, correct) for name, correct in groups]
        return FirstBatch(arm, pd.DataFrame(rows, columns=["problem_id", "rollouts", "correct"]))

    return figure1(
        IDS,
        ANCHOR,
        np.array([0.01, 0.01, 0.01, 0.9, 0.01, 0.01]),
        [batch("online_np", other), batch("thinkprior", ours)],
        SCALE,
        campaign="reestimate",
        seed=0,
        anchor_samples=16,
        kappa=4,
        epsilon=0.001,
    )


def test_figure1_says_what_was_measured() -> None:
    figure = drawn([("p3", 2), ("p0", 1), ("p1", 4)], [("p0", 0), ("p1", 4), ("p2", 0)])
    assert "5 prompts sit at its floor, scored 0/16 or 16/16" in figure.caption
    assert "online-NP: 3 of 3 silent (2 at C = 0, 1 at C = G)" in figure.caption
    assert "ThinkPrior: 1 of 3 silent (0 at C = 0, 1 at C = G)" in figure.caption
    assert "seed 0 of the campaign reestimate" in figure.caption
    assert "first 3 prompts" in figure.caption
    assert "no net-generation or accuracy claim" in figure.caption
    frame = figure.frame
    cells = frame[frame["panel"] == "a"]
    assert cells["problem_id"].tolist() == IDS
    assert cells["at_floor"].tolist() == [True, True, True, False, True, True]
    assert cells["in_first_batch_of_thinkprior"].tolist() == [True, True, False, True, False, False]
    groups = frame[frame["panel"] == "b"]
    assert groups["arm"].tolist() == ["online_np"] * 3 + ["thinkprior"] * 3
    assert groups["kind"].tolist() == [
        "silent_wrong",
        "silent_right",
        "silent_wrong",
        "learnable",
        "learnable",
        "silent_right",
    ]
    assert groups["problem_id"].tolist()[3:] == ["p3", "p0", "p1"]


def test_figure1_tiles_differ_without_colour() -> None:
    figure = drawn([("p3", 2), ("p0", 0), ("p1", 4)], [("p0", 0)])
    tiles = figure.canvas.subfigs[1].axes[1].patches
    assert [tile.get_hatch() or "" for tile in tiles] == ["", "////", "xxxx"]
    dots = figure.canvas.subfigs[1].axes[1].lines[:4]
    assert [dot.get_markerfacecolor() for dot in dots] == ["black", "black", "white", "white"]


def test_figure1_marks_of_one_cell_stand_side_by_side() -> None:
    figure = drawn([("p3", 2), ("p0", 1)], [("p0", 0)])
    other, ours = figure.canvas.subfigs[0].axes[0].lines
    places = [float(x) for line in (other, ours) for x in line.get_xdata()]
    # Four columns: p3 alone in the middle of the last, p0 left and right of the first's middle.
    assert places == pytest.approx([0.3, 3.5, 0.7])


def test_figure1_text_is_not_too_small() -> None:
    figure = drawn([("p3", 2)], [("p0", 0)])
    from matplotlib.text import Text

    sizes = [text.get_fontsize() for text in figure.canvas.findobj(Text) if text.get_text().strip()]
    assert min(sizes) >= 7


def test_figure1_without_runs() -> None:
    figure = drawn([("p3", 2)], [])
    assert "online-NP has no finished run" in figure.caption
    assert len(figure.frame) == 7
    assert len(drawn([], []).frame) == 6


def test_figure1_refuses_another_pool() -> None:
    with pytest.raises(InputError, match=r"thinkprior .*'q'.*another pool"):
        drawn([("q", 1)], [])


# --- From files ---------------------------------------------------------------------------------


@pytest.fixture
def artifacts(tmp_path: Path) -> dict[str, Path]:
    """A pool of four, its priors and answers, and one run of each arm."""
    ids = ["a", "b", "c", "d"]
    paths = {
        name: tmp_path / name
        for name in ("pool", "reference", "thinking", "anchor", "bank", "length", "lengths", "log")
    }
    rows = [
        {"id": name, "problem": name, "answer": "1", "level": 2, "subject": "Algebra"}
        for name in ids
    ]
    paths["pool"].write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    correct = {"a": 0, "b": 2, "c": 2, "d": 1}
    answers = [
        {"problem_id": name, "correct": sample < correct[name], "truncated": False}
        for name in ids
        for sample in range(4)
    ]
    pd.DataFrame(answers).to_parquet(paths["reference"])
    pd.DataFrame(
        {"problem_id": ids, "correct": False, "truncated": [True, False, False, False]}
    ).to_parquet(paths["thinking"])
    for name in ("anchor", "bank", "length"):
        phi = [0.0, 0.0, 1.0, 0.5]
        pd.DataFrame({"problem_id": ids, "phi": phi}).to_csv(paths[name], index=False)
    pd.DataFrame(
        {
            "problem_id": ids,
            "length": [9, 3, 4, 5],
            "truncated": [True, False, False, False],
            "fitted_on": [True, False, False, False],
        }
    ).to_csv(paths["lengths"], index=False)
    pd.DataFrame(
        {
            "step": [1, 1, 2],
            "round": 0,
            "position": [1, 0, 0],
            "problem_id": ["b", "d", "a"],
            "rollouts": 4,
            "correct": [0, 3, 4],
        }
    ).to_parquet(paths["log"])
    return paths


SETTINGS = {
    "scale": "miniature",
    "note": "Miniature scale.",
    "campaign": "main",
    "group_size": 8,
    "kappa": 4,
    "epsilon": 0.001,
    "reference_samples": 4,
    "anchor_samples": 16,
    "thinking_cap": 9,
    "confidence": 0.95,
    "first_batch_arms": ["online_np", "thinkprior"],
}


def test_stages_from_files(artifacts: dict[str, Path], tmp_path: Path) -> None:
    from thinkprior.stages import pool_figures

    out = tmp_path / "out"
    pool_figures.render_table5(
        SETTINGS,
        artifacts["pool"],
        artifacts["reference"],
        {name: artifacts[name] for name in ("anchor", "bank", "length")},
        artifacts["lengths"],
        out / "table5.csv",
        out / "table5.tex",
    )
    pool_figures.render_appendix_b(
        SETTINGS,
        artifacts["pool"],
        artifacts["reference"],
        artifacts["anchor"],
        artifacts["thinking"],
        artifacts["lengths"],
        [0],
        [artifacts["log"]],
        out / "appendixB.csv",
        out / "appendixB.tex",
        out / "underestimated.csv",
        out / "underestimated.tex",
    )
    # Reference 0, .5, .5, .25: three in the band, of which b at phi = 0 and c at phi = 1.
    rows = pd.read_csv(out / "appendixB.csv").set_index("metric")["value"]
    assert rows["length_truncated"] == 1
    assert rows["band_starting_low"] == 2
    assert rows["band_touched"] == 2
    prompts = pd.read_csv(out / "underestimated.csv")
    assert prompts["problem_id"].tolist() == ["b", "c"]
    assert prompts["seeds_touching"].tolist() == [1, 0]
    ranks = pd.read_csv(out / "table5.csv")
    assert set(ranks["arm"]) == {"anchor", "bank", "length"}


def test_figure1_from_files(artifacts: dict[str, Path], tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="the figures need matplotlib")
    from thinkprior.stages import pool_figures

    names = [tmp_path / f"figure1.{ending}" for ending in ("pdf", "png", "csv")]
    pool_figures.render_figure1(
        SETTINGS,
        artifacts["pool"],
        artifacts["anchor"],
        "main",
        2,
        {"thinkprior": artifacts["log"]},
        *names,
    )
    frame = pd.read_csv(names[2])
    cells = frame[frame["panel"] == "a"]["expected_learnability"]
    # phi = 1/2, kappa = 4: Beta(2, 2), under which 8 rollouts are all right with probability
    # 2*3*...*9 / (4*5*...*11) = 6/(10*11); epsilon moves that by less than its own size.
    assert cells.iloc[3] == pytest.approx(1 - 2 * 6 / 110, abs=1e-3)
    groups = frame[frame["panel"] == "b"]
    assert groups["problem_id"].tolist() == ["d", "b"]
    assert set(groups["seed"]) == {2}


def test_lengths_of_another_pool(artifacts: dict[str, Path], tmp_path: Path) -> None:
    from thinkprior.stages import pool_figures

    pd.read_csv(artifacts["lengths"]).iloc[:3].to_csv(artifacts["lengths"], index=False)
    with pytest.raises(InputError, match="lengths: its prompts are not those of the pool"):
        pool_figures.render_table5(
            SETTINGS,
            artifacts["pool"],
            artifacts["reference"],
            {},
            artifacts["lengths"],
            tmp_path / "x.csv",
            tmp_path / "x.tex",
        )
