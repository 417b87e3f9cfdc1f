"""Table 1 from hand-made runs and against the paper's printed cells."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from thinkprior.errors import InputError
from thinkprior.rendering.arms import ArmRow, Block
from thinkprior.rendering.scale import Scale
from thinkprior.rendering.table import save_table
from thinkprior.rendering.table1 import table1

SCALE = Scale("miniature", "Miniature scale: not the paper's models.")
ACCURACIES = ("math500", "math500_level5", "gsm8k", "minerva_math", "olympiadbench")

ARMS = [
    # ThinkPrior stands first here and must still come after the blocks before its own.
    ArmRow("thinkprior", "ThinkPrior", "verified_prior", True, True),
    ArmRow("bank", "2PL bank", "verified_prior", True, False),
    ArmRow("bank_sharp", "sharp", "verified_prior", True, False),
    ArmRow("random", "random", "no_selection", True, False),
    ArmRow("dapo", "DAPO", "published", False, False),
    ArmRow("online_np", "online-NP", "ablation", True, False),
]


def runs(
    arm: str,
    silent: Sequence[float],
    waste: Sequence[float],
    math500: Sequence[float] | None = None,
    generated: Sequence[float] | None = None,
) -> pd.DataFrame:
    rows: list[dict[str, Any]] = []
    for seed in range(len(silent)):
        row: dict[str, Any] = dict.fromkeys(ACCURACIES, 0.25)
        if math500 is not None:
            row["math500"] = math500[seed]
        rows.append(
            row
            | {
                "campaign": "main",
                "arm": arm,
                "seed": seed,
                "steps": 60,
                "generated_per_step": 64.0 if generated is None else generated[seed],
                "silent_at_10": silent[seed],
                "waste_at_30": waste[seed],
            }
        )
    return pd.DataFrame(rows)


@pytest.fixture
def metrics() -> pd.DataFrame:
    return pd.concat(
        [
            # Best silent@10 of the fixed budgets, range .10 to .14.
            runs("thinkprior", [0.10, 0.12, 0.14], [260, 270, 280], [0.50, 0.52, 0.57]),
            # Touches the best silent range in .14, and has the best waste, range 230 to 265.
            runs("bank", [0.14, 0.16, 0.18], [230, 240, 265]),
            # Clear of the best silent range by .01; its waste holds the best range entirely.
            runs("bank_sharp", [0.15, 0.16, 0.17], [220, 250, 300]),
            runs("random", [0.30, 0.35, 0.40], [700, 710, 720]),
            # Lower than every fixed budget, which must not count.
            runs("dapo", [0.01, 0.02, 0.03], [1, 2, 3], generated=[130, 138, 147]),
            runs("online_np", [0.20, 0.21, 0.22], [300, 310, 320]),
        ],
        ignore_index=True,
    )


def line(table: str, label: str) -> str:
    return next(text for text in table.splitlines() if f"{label} &" in text)


def test_bold_is_the_best_fixed_budget_and_what_overlaps_it(metrics: pd.DataFrame) -> None:
    table = table1(metrics, ARMS, SCALE)
    frame = table.frame.set_index("arm")
    assert set(frame.index[frame["silent_at_10_bold"]]) == {"thinkprior", "bank"}
    assert set(frame.index[frame["waste_at_30_bold"]]) == {"bank", "thinkprior", "bank_sharp"}
    assert r"\textbf{\boldmath 0.120}" in line(table.latex, "ThinkPrior")
    assert line(table.latex, "ThinkPrior").count(r"\textbf") == 2
    assert line(table.latex, "2PL bank").count(r"\textbf") == 2
    assert line(table.latex, "sharp").count(r"\textbf") == 1
    for label in ("random", "DAPO", "online-NP"):
        assert r"\textbf" not in line(table.latex, label)


def test_ranges_changes_and_seeds_stand_in_the_frame(metrics: pd.DataFrame) -> None:
    frame = table1(metrics, ARMS, SCALE).frame
    assert list(frame.columns[:2]) == ["scale", "campaign"]
    assert set(frame["scale"]) == {"miniature"}
    assert frame["arm"].tolist() == [
        "random",
        "dapo",
        "online_np",
        "thinkprior",
        "bank",
        "bank_sharp",
    ]
    row = frame.set_index("arm").loc["thinkprior"]
    assert row["silent_at_10"] == pytest.approx(0.12)
    assert (row["silent_at_10_min"], row["silent_at_10_max"]) == (0.10, 0.14)
    assert (row["waste_at_30_min"], row["waste_at_30_max"]) == (260, 280)
    assert row["silent_at_10_minus_online_np_points"] == pytest.approx(-9.0)
    assert row["waste_at_30_minus_online_np"] == pytest.approx(-40)
    assert row["math500"] == pytest.approx(0.53)
    assert (row["math500_min"], row["math500_max"], row["n"]) == (0.50, 0.57, 3)
    reference = frame[frame["arm"] == "online_np"]
    assert reference["silent_at_10_minus_online_np_points"].isna().all()


def test_cells_as_printed(metrics: pd.DataFrame) -> None:
    table = table1(metrics, ARMS, SCALE).latex
    ours, reference = line(table, "ThinkPrior"), line(table, "online-NP")
    assert "{-9.0}" in ours
    assert "{-40}" in ours
    assert "& 0.530 &" in ours
    assert r"ThinkPrior & 64 &" in ours
    assert "textcolor" not in reference
    assert r"& $\sim$138 &" in line(table, "DAPO")
    assert "{+14.0}" in line(table, "random")
    assert ours.endswith(r"& 3 \\")


def test_shading_marks_verified_priors_ours_darkest(metrics: pd.DataFrame) -> None:
    table = table1(metrics, ARMS, SCALE).latex

    def brightness(label: str) -> int:
        colour = line(table, label).split(r"\rowcolor[HTML]{")[1][:6]
        return sum(int(colour[i : i + 2], 16) for i in (0, 2, 4))

    assert brightness("ThinkPrior") < brightness("2PL bank") == brightness("sharp")
    for label in ("random", "DAPO", "online-NP"):
        assert "rowcolor" not in line(table, label)


def test_caption_says_scale_seeds_budget_and_spread(metrics: pd.DataFrame) -> None:
    table = table1(metrics, ARMS, SCALE).latex
    caption = table[table.index(r"\caption") :]
    assert "Miniature scale: not the paper's models." in caption
    assert "18 finished runs of 60 steps" in caption
    assert "3 seeds per arm" in caption
    assert "fixed-64 arms" in caption
    assert "reaches 7.0 points (ThinkPrior)" in caption


def test_half_finished_campaign(metrics: pd.DataFrame) -> None:
    done = metrics[
        (metrics["arm"] != "random") & ((metrics["arm"] != "bank") | (metrics["seed"] == 0))
    ]
    table = table1(done, ARMS, SCALE)
    assert "random" not in set(table.frame["arm"])
    assert "no run has finished: random." in table.latex
    assert "No selection" not in table.latex
    assert "(3 for DAPO, online-NP, ThinkPrior, sharp; 1 for 2PL bank)" in table.latex
    assert line(table.latex, "2PL bank").endswith(r"& 1 \\")
    # A single seed is a range of one point: .14 still lies within the best range.
    assert r"\textbf{\boldmath 0.140}" in line(table.latex, "2PL bank")


def test_without_the_reference_no_change_is_given(metrics: pd.DataFrame) -> None:
    table = table1(metrics[metrics["arm"] != "online_np"], ARMS, SCALE)
    assert "textcolor" not in table.latex
    assert r"no run of online\_np has finished" in table.latex
    assert "Subscripts" not in table.latex


def test_runs_too_short_for_a_measure_show_a_dash(metrics: pd.DataFrame) -> None:
    short = metrics.assign(steps=8, silent_at_10=float("nan"), waste_at_30=float("nan"))
    table = table1(short, ARMS, SCALE)
    assert line(table.latex, "ThinkPrior").count("& --") == 2
    assert not table.frame["silent_at_10_bold"].any()
    partly = metrics.copy()
    partly.loc[(partly["arm"] == "bank") & (partly["seed"] == 2), ["gsm8k", "silent_at_10"]] = (
        float("nan")
    )
    table = table1(partly, ARMS, SCALE)
    assert "silent@10 of 2PL bank is over 2 of 3 seeds." in table.latex
    assert "GSM8K of 2PL bank is over 2 of 3 seeds." in table.latex
    assert table.frame.set_index("arm").loc["bank", "silent_at_10_n"] == 2


def test_block_headings_can_be_replaced(metrics: pd.DataFrame) -> None:
    headings: dict[Block, str] = {
        "no_selection": "A",
        "published": "B",
        "ablation": "C",
        "verified_prior": "self-profile of the policy",
        "composition": "E",
    }
    table = table1(metrics, ARMS, SCALE, headings=headings).latex
    assert r"\textit{self-profile of the policy}" in table
    assert "none reads a rollout" not in table


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda m: m.drop(columns="gsm8k"), "gsm8k"),
        (lambda m: m.iloc[:0], "empty"),
        (lambda m: pd.concat([m, m.iloc[[0]]]), "seed 0 more than once"),
        (lambda m: m.assign(campaign=["other", *m["campaign"][1:]]), "main, other"),
        (lambda m: m.assign(steps=[300, *m["steps"][1:]]), r"\[60, 300\]"),
    ],
)
def test_unusable_metrics_are_refused(metrics: pd.DataFrame, spoil: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        table1(spoil(metrics), ARMS, SCALE)


def test_none_of_the_arms_finished(metrics: pd.DataFrame) -> None:
    with pytest.raises(InputError, match="prior_only"):
        table1(metrics, [ArmRow("prior_only", "prior-only", "ablation", True, False)], SCALE)


def test_saved_csv_begins_with_its_header(metrics: pd.DataFrame, tmp_path: Path) -> None:
    table = table1(metrics, ARMS, SCALE)
    save_table(table, tmp_path / "new" / "table1.csv", tmp_path / "new" / "table1.tex")
    text = (tmp_path / "new" / "table1.csv").read_text()
    assert text.startswith("scale,campaign,block,arm,")
    read = pd.read_csv(tmp_path / "new" / "table1.csv")
    assert read["waste_at_30"].tolist() == table.frame["waste_at_30"].tolist()
    assert (tmp_path / "new" / "table1.tex").read_text() == table.latex


def test_tables_do_without_matplotlib() -> None:
    program = (
        "import sys, thinkprior.rendering.table1, thinkprior.rendering.table2;"
        "sys.exit('matplotlib' in sys.modules)"
    )
    result = subprocess.run([sys.executable, "-c", program], check=False)
    assert result.returncode == 0


# Silent groups of 240 behind the paper's three-seed means: the only counts that print as they do.
PAPER_SILENT_GROUPS = {
    "random": 91,
    "mopps": 102,
    "greso": 99,
    "online_np": 49,
    "prior_only": 59,
    "length_prior": 52,
    "thinkprior": 33,
    "bank": 30,
    "bank_sharp": 40,
}
PAPER_ARMS = [
    ArmRow("random", "random", "no_selection", True, False),
    ArmRow("mopps", "MoPPS", "published", True, False),
    ArmRow("greso", "GRESO", "published", True, False),
    ArmRow("dapo", "DAPO", "published", False, False),
    ArmRow("online_np", "online-NP", "ablation", True, False),
    ArmRow("prior_only", "prior-only", "ablation", True, False),
    ArmRow("length_prior", "length prior", "ablation", True, False),
    ArmRow("thinkprior", "ThinkPrior", "verified_prior", True, True),
    ArmRow("bank", "2PL bank", "verified_prior", True, False),
    ArmRow("bank_sharp", "2PL bank + sharpening", "verified_prior", True, False),
    ArmRow("thinkprior_dapo", "ThinkPrior + DAPO", "composition", False, True),
]


def test_prints_the_papers_economy_cells() -> None:
    path = Path(__file__).resolve().parents[2].parent / "shared" / "paper" / "published.csv"
    if not path.exists():
        pytest.skip(f"the paper's numbers are not at {path}")
    published = pd.read_csv(path, dtype=str)
    published = published[published["table"] == "table1"]
    cells = published.set_index(["arm", "metric"])["printed"]
    parts = []
    for arm in PAPER_ARMS:
        budget = float(cells[arm.name, "generated_rollouts_per_step"].lstrip("~"))
        if arm.name in PAPER_SILENT_GROUPS:
            count = PAPER_SILENT_GROUPS[arm.name]
            silent = [(count + offset) / 240 for offset in (-6, 1, 5)]
        else:
            silent = [float(cells[arm.name, "silent_at_10"])] * 3
        waste = [float(cells[arm.name, "waste_at_30"])] * 3
        math500 = [float(cells[arm.name, "math500"])] * 3
        # A mean of 138 or 123 that is no constant of the runs.
        generated = [budget - 2, budget, budget + 2] if not arm.fixed_budget else None
        parts.append(runs(arm.name, silent, waste, math500, generated))
    table = table1(pd.concat(parts), PAPER_ARMS, SCALE).latex
    for arm in PAPER_ARMS:
        printed = line(table, arm.label).replace(r"\textbf{\boldmath ", "").replace("$", "")
        budget_cell = cells[arm.name, "generated_rollouts_per_step"].replace("~", r"\sim")
        assert f"& {budget_cell} &" in printed
        for measure, change in (
            ("silent_at_10", "silent_at_10_minus_online_np_points"),
            ("waste_at_30", "waste_at_30_minus_online_np"),
        ):
            assert f"& {cells[arm.name, measure]}" in printed
            if arm.name != "online_np":
                value = cells[arm.name, change]
                assert f"{{{value if value.startswith('-') else '+' + value}}}" in printed
    assert r"65.4\% lower waste@30 than DAPO, MATH500 0.605 against 0.605" in table
