"""Table 2 against the paper's printed cells, and by hand for few seeds."""

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from thinkprior.benchmarks import Accuracies
from thinkprior.errors import InputError
from thinkprior.rendering.scale import Scale
from thinkprior.rendering.table import Table
from thinkprior.rendering.table2 import table2

SCALE = Scale("miniature", "Miniature scale: not the paper's models.")
MEASURES = ["silent_at_10", "waste_at_30", "math500", "math500_level5"]


def of_mean_and_deviation(mean: float, deviation: float, n: int = 16) -> np.ndarray:
    """Values with exactly that mean and sample standard deviation."""
    shape = np.asarray(stats.norm.ppf((np.arange(n) + 0.5) / n))
    return np.asarray(mean + deviation * (shape - shape.mean()) / shape.std(ddof=1))


def runs(arm: str, values: dict[str, Any]) -> pd.DataFrame:
    frame = pd.DataFrame(values)
    return frame.assign(campaign="reestimate", arm=arm, seed=range(len(frame)), steps=60)


def checkpoints(arm: str, seeds: int, accuracies: dict[str, list[float]]) -> pd.DataFrame:
    """The same accuracies for every seed, at steps 0, 10, 20 and so on."""
    frame = pd.DataFrame(accuracies)
    frame = frame.assign(step=10 * np.arange(len(frame)))
    frame = frame.assign(campaign="reestimate", arm=arm, generated_rollouts=64 * frame["step"])
    return pd.concat([frame.assign(seed=seed) for seed in range(seeds)], ignore_index=True)


def cells(table: Table, name: str) -> list[str]:
    line = next(text for text in table.latex.splitlines() if f"{name} &" in text)
    return [cell.strip() for cell in line.removesuffix(r"\\").split("&")[1:]]


def bold(text: str) -> str:
    return rf"\textbf{{\boldmath {text}}}"


@pytest.fixture(scope="module")
def paper() -> Table:
    """Samples whose rounded means and deviations are the paper's.

    Within the rounding of the printed cells, means and deviations are chosen so that differences,
    intervals and d come out as printed too, which the paper took on unrounded values; silent@10 is
    136 and 304 of 1280 groups.
    """
    ours = {
        "silent_at_10": of_mean_and_deviation(136 / 1280, 0.0364),
        "waste_at_30": of_mean_and_deviation(266, 30.4),
        "math500": of_mean_and_deviation(0.5688, 0.037),
        "math500_level5": of_mean_and_deviation(0.3057, 0.037),
    }
    other = {
        "silent_at_10": of_mean_and_deviation(304 / 1280, 0.0514),
        "waste_at_30": of_mean_and_deviation(329, 77.4),
        "math500": of_mean_and_deviation(0.5620, 0.042),
        "math500_level5": of_mean_and_deviation(0.2931, 0.046),
    }
    points = [
        # Step 0 leads too, and must not count; on Level-5 one checkpoint is a tie.
        checkpoints(
            "thinkprior",
            16,
            {
                "math500": [0.2, 0.3, 0.4, 0.5, 0.6, 0.6, 0.6],
                "math500_level5": [0.2, 0.2, 0.3, 0.3, 0.3, 0.3, 0.3],
            },
        ),
        checkpoints(
            "online_np",
            16,
            {
                "math500": [0.1, 0.2, 0.3, 0.4, 0.5, 0.5, 0.5],
                "math500_level5": [0.1, 0.1, 0.2, 0.2, 0.3, 0.4, 0.4],
            },
        ),
    ]
    metrics = pd.concat([runs("thinkprior", ours), runs("online_np", other)])
    return table2(metrics, pd.concat(points), SCALE, generator=np.random.default_rng(0))


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (
            "ThinkPrior",
            [
                r"$0.106\pm0.036$",
                r"$266\pm30$",
                r"$0.569\pm0.037$",
                r"$0.306\pm0.037$",
            ],
        ),
        (
            "online-NP",
            [
                r"$0.238\pm0.051$",
                r"$329\pm77$",
                r"$0.562\pm0.042$",
                r"$0.293\pm0.046$",
            ],
        ),
        (r"$\Delta$", [bold("$-13.1$ pts"), bold("$-63$"), "$+0.68$ pts", "$+1.26$ pts"]),
        (
            r"95\% CI",
            [bold("$[-16.4, -9.9]$"), bold("$[-106, -20]$"), "$[-2.2, 3.5]$", "$[-1.8, 4.3]$"],
        ),
        ("Cohen's $d$", ["$-2.95$", "$-1.07$", "$0.17$", "$0.30$"]),
        ("Welch $p$", ["$<10^{-4}$", "0.007", "0.63", "0.40"]),
        ("Ckpts led", ["--", "--", "6/6", "3/6"]),
    ],
)
def test_prints_the_papers_cells(paper: Table, row: str, expected: list[str]) -> None:
    assert cells(paper, row) == expected


def test_permutation_p_is_one_sided_towards_improvement(paper: Table) -> None:
    p = paper.frame["permutation_p"].to_numpy()
    assert cells(paper, "Perm. $p$")[0] == "$<10^{-4}$"
    # The paper's 0.002, 0.32 and 0.21 belong to its own samples; half of Welch's two-sided p is
    # what samples near the normal give.
    assert p[1:] == pytest.approx([0.0034, 0.315, 0.2], abs=0.02)
    assert paper.frame["permutation_alternative"].tolist() == [
        "less",
        "less",
        "greater",
        "greater",
    ]


def test_heads_and_caption(paper: Table) -> None:
    head = next(text for text in paper.latex.splitlines() if "silent@10 $" in text)
    assert bold(r"silent@10 $\downarrow$") in head
    assert bold(r"waste@30 $\downarrow$") in head
    assert r"& MATH500 $\uparrow$ & Level-5 $\uparrow$" in head
    assert "16 seeds per arm" in paper.latex
    assert r"400\,000 resamples" in paper.latex
    assert "Miniature scale: not the paper's models." in paper.latex
    assert r"\rowcolor[HTML]" in next(x for x in paper.latex.splitlines() if "ThinkPrior &" in x)


def test_frame_holds_unrounded_values_and_ranges(paper: Table) -> None:
    assert paper.frame["scale"].tolist() == ["miniature"] * 4
    row = paper.frame.set_index("measure").loc["silent_at_10"]
    assert row["difference"] == pytest.approx(-168 / 1280)
    assert row["n_first"] == row["n_second"] == 16
    assert row["min_first"] < row["mean_first"] < row["max_first"]
    assert (row["unit"], row["confidence"]) == ("fraction", 0.95)
    assert ",400000,6,6\n" in paper.frame.to_csv(index=False)


def few(first: dict[str, Any], second: dict[str, Any]) -> Table:
    metrics = pd.concat([runs("thinkprior", first), runs("online_np", second)])
    course = {"math500": [0.1, 0.5], "math500_level5": [0.1, 0.2]}
    points = [
        checkpoints("thinkprior", len(metrics), course),
        checkpoints("online_np", len(metrics), course),
    ]
    return table2(
        metrics, pd.concat(points), SCALE, generator=np.random.default_rng(0), resamples=1000
    )


# Appendix E: silent@10 and wasted rollouts of the three seeds an arm.
APPENDIX_E_OURS = {
    "silent_at_10": [0.150, 0.113, 0.100],
    "waste_at_30": [5824.0, 4960.0, 4472.0],
    "math500": [0.59, 0.60, 0.61],
    "math500_level5": [0.3, 0.3, 0.3],
}
APPENDIX_E_OTHER = {
    "silent_at_10": [0.287, 0.175, 0.263],
    "waste_at_30": [6488.0, 6112.0, 5696.0],
    "math500": [0.588, 0.620, 0.024],
    "math500_level5": [0.2, 0.2, 0.2],
}


def test_three_seeds_get_ranges_and_no_test() -> None:
    table = few(APPENDIX_E_OURS, APPENDIX_E_OTHER)
    assert cells(table, "ThinkPrior")[:2] == ["0.121", "5085"]
    assert cells(table, "online-NP")[:2] == ["0.242", "6099"]
    ranges = [text for text in table.latex.splitlines() if "seed range &" in text]
    assert "$[0.100, 0.150]$ & $[4472, 5824]$" in ranges[0]
    assert "$[0.175, 0.287]$ & $[5696, 6488]$" in ranges[1]
    # The paper: disjoint at step 10, overlapping in waste at step 200.
    assert cells(table, "Ranges disjoint") == [bold("yes"), "no", "no", bold("yes")]
    for absent in ("CI", "Cohen", "Welch", "Perm", r"\pm", "resamples"):
        assert absent not in table.latex
    statistics = ["interval_low", "cohens_d", "welch_p", "permutation_p", "sd_first"]
    assert table.frame[statistics].isna().all(axis=None)
    assert table.frame["ranges_disjoint"].tolist() == [True, False, False, True]


def test_few_seeds_in_one_arm_suffice_for_ranges() -> None:
    ours = {name: np.linspace(0.1, 0.2, 16) for name in MEASURES}
    other = {name: [0.3, 0.4] for name in MEASURES}
    table = few(ours, other)
    assert "16 seeds of ThinkPrior and 2 seeds of online-NP" in table.latex
    assert "Welch" not in table.latex
    assert cells(table, "Ranges disjoint") == [bold("yes")] * 4


def test_one_seed_makes_no_range() -> None:
    ours = {name: np.linspace(0.1, 0.2, 16) for name in MEASURES}
    table = few(ours, {name: [0.3] for name in MEASURES})
    assert "16 seeds of ThinkPrior and 1 seed of online-NP" in table.latex
    assert cells(table, "Ranges disjoint") == ["--"] * 4
    assert table.frame["ranges_disjoint"].isna().all()


def test_unequal_seeds_are_both_said() -> None:
    ours = {name: np.linspace(0.1, 0.2, 16) for name in MEASURES}
    other = {name: np.linspace(0.1, 0.3, 9) for name in MEASURES}
    table = few(ours, other)
    assert "16 seeds of ThinkPrior and 9 seeds of online-NP" in table.latex
    assert "Welch" in table.latex


def test_values_that_are_not_there_show_dashes() -> None:
    ours = {name: np.linspace(0.1, 0.2, 5) for name in MEASURES} | {"silent_at_10": [math.nan] * 5}
    other = {name: np.linspace(0.1, 0.2, 5) for name in MEASURES}
    table = few(ours, other)
    for row in ("ThinkPrior", r"$\Delta$", r"95\% CI", "Cohen's $d$", "Welch $p$", "Perm. $p$"):
        assert cells(table, row)[0] == "--"
    equal = {name: [0.5] * 5 for name in MEASURES}
    table = few(equal, equal)
    for row in (r"95\% CI", "Cohen's $d$", "Welch $p$"):
        assert cells(table, row)[0] == "--"


def test_only_checkpoints_of_finished_runs_count() -> None:
    metrics = pd.concat(
        [
            runs("thinkprior", {name: [0.1] for name in MEASURES}),
            runs("online_np", {name: [0.1] for name in MEASURES}),
        ]
    )
    high, low = (
        {"math500": [0, 0.9], "math500_level5": [0, 0.9]},
        {
            "math500": [0, 0.5],
            "math500_level5": [0, 0.5],
        },
    )
    # Seed 0 of ours lies below; seed 1, not finished, would lift the mean above.
    ours = checkpoints("thinkprior", 1, low).assign(math500=[0, 0.4])
    unfinished = checkpoints("thinkprior", 2, high)
    points = pd.concat(
        [ours, unfinished[unfinished["seed"] == 1], checkpoints("online_np", 1, low)]
    )
    table = table2(metrics, points, SCALE, generator=np.random.default_rng(0))
    assert cells(table, "Ckpts led") == ["--", "--", "0/1", "0/1"]
    with pytest.raises(InputError, match="arm online_np, seed 0"):
        table2(metrics, ours, SCALE, generator=np.random.default_rng(0))


def test_an_arm_without_runs_is_refused() -> None:
    metrics = runs("thinkprior", {name: [0.1] for name in MEASURES})
    points = checkpoints("thinkprior", 1, {"math500": [0.1], "math500_level5": [0.1]})
    with pytest.raises(InputError, match="online_np"):
        table2(metrics, points, SCALE, generator=np.random.default_rng(0))


def short_runs(benchmark: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Three seeds of ten steps, evaluated on one benchmark without levels."""
    nothing = [math.nan] * 3
    metrics = pd.concat(
        runs(arm, {"silent_at_10": silent, "waste_at_30": nothing, "waste_full": waste})
        for arm, silent, waste in (
            ("thinkprior", [0.1, 0.2, 0.3], [80, 160, 240]),
            ("online_np", [0.4, 0.5, 0.6], [320, 400, 160]),
        )
    ).assign(steps=10, **{benchmark: 0.25})
    points = pd.concat(
        checkpoints(arm, 3, {benchmark: course})
        for arm, course in (("thinkprior", [0.1, 0.3]), ("online_np", [0.1, 0.2]))
    )
    return metrics, points


@pytest.fixture(scope="module")
def short() -> Table:
    accuracies = Accuracies("gsm8k", {"gsm8k": "GSM8K", "minerva_math": "Minerva"})
    metrics, points = short_runs("gsm8k")
    generator = np.random.default_rng(0)
    return table2(metrics, points, SCALE, generator=generator, accuracies=accuracies)


def test_ten_steps_allow_silence_the_whole_waste_and_accuracy(short: Table) -> None:
    frame = short.frame.set_index("measure")
    assert list(frame.index) == ["silent_at_10", "waste_at_30", "waste_full", "gsm8k"]
    assert cells(short, "ThinkPrior") == ["0.200", "--", "160", "0.250"]
    assert cells(short, "online-NP") == ["0.500", "--", "293", "0.250"]
    # Ranges [.1, .3] and [.4, .6] are disjoint, [80, 240] and [160, 400] are not.
    assert cells(short, "Ranges disjoint") == [bold("yes"), "--", "no", "no"]
    assert cells(short, "Ckpts led") == ["--", "--", "--", "1/1"]
    assert "waste@30 needs runs of 30 steps, and these are shorter." in short.latex
    assert "3 seeds per arm" in short.latex


def test_three_seeds_carry_no_p_value_under_any_benchmark(short: Table) -> None:
    tests = ["welch_p", "permutation_p", "interval_low", "cohens_d", "sd_first", "sd_second"]
    assert short.frame[tests].isna().all(axis=None)
    assert "MATH500" not in short.latex
    assert "Level-5" not in short.latex


def test_runs_too_short_for_silent_at_10_say_so() -> None:
    metrics, points = short_runs("gsm8k")
    metrics = metrics.assign(steps=2, silent_at_10=math.nan)
    accuracies = Accuracies("gsm8k", {"gsm8k": "GSM8K"})
    generator = np.random.default_rng(0)
    table = table2(metrics, points, SCALE, generator=generator, accuracies=accuracies)
    assert cells(table, "ThinkPrior") == ["--", "--", "160", "0.250"]
    assert "silent@10 needs runs of 10 steps" in table.latex


def test_math500_keeps_its_column_where_another_runs_along() -> None:
    metrics, points = short_runs("gsm8k")
    accuracies = Accuracies("gsm8k", {"gsm8k": "GSM8K", "math500": "MATH500"})
    generator = np.random.default_rng(0)
    table = table2(
        metrics.assign(math500=0.5), points, SCALE, generator=generator, accuracies=accuracies
    )
    assert list(table.frame["measure"])[3:] == ["math500", "gsm8k"]
    # Only the benchmark along the run has checkpoints to lead at.
    assert cells(table, "Ckpts led")[3:] == ["--", "1/1"]
