"""Table 4 from the published counts, and the amortisation that it gives."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd
import pytest

from thinkprior.errors import InputError
from thinkprior.findings.amortisation import AnchorPass, amortisation
from thinkprior.findings.composition import change_of, composition
from thinkprior.findings.generation_time import generation_times, pooled_seconds_per_rollout
from thinkprior.measurements import Measurement
from thinkprior.rendering.amortisation import amortisation_table
from thinkprior.rendering.rounding import printed
from thinkprior.rendering.scale import Scale
from thinkprior.rendering.table4 import table4

SCALE = Scale("miniature", "Not the paper's models.")

# Means of Table 4: generated, silent, non-silent rollouts, silent@10, waste@30.
PUBLISHED = {
    "dapo": (8256, 3325, 4931, 0.362, 1565),
    "thinkprior_dapo": (7381, 2131, 5251, 0.158, 541),
}
# The caption's seeds.
MATH500 = {"dapo": (0.602, 0.622, 0.590), "thinkprior_dapo": (0.620, 0.608, 0.586)}
ROLLOUTS = {"dapo": (8192, 8128, 8448), "thinkprior_dapo": (7040, 7872, 7232)}


def published_runs() -> pd.DataFrame:
    """Three seeds an arm with the caption's accuracies and rollouts, else the printed means."""
    rows: list[dict[str, Any]] = []
    for arm, (_, silent, nonsilent, early, waste) in PUBLISHED.items():
        for seed in range(3):
            rows.append(
                {
                    "campaign": "main",
                    "arm": arm,
                    "seed": seed,
                    "steps": 60,
                    "math500": MATH500[arm][seed],
                    "generated_rollouts": ROLLOUTS[arm][seed],
                    "generated_tokens": 100 * ROLLOUTS[arm][seed],
                    "waste_full": silent,
                    "nonsilent_rollouts": nonsilent,
                    "update_rollouts": 3840,
                    "shortfall_steps": 0,
                    "silent_at_10": early,
                    "waste_at_30": waste,
                }
            )
    return pd.DataFrame(rows)


def by_name(measurements: list[Measurement]) -> dict[tuple[str, str, str], Measurement]:
    return {(one.setting, one.arm, one.metric): one for one in measurements}


@pytest.mark.parametrize(
    ("place", "change"), [(0, "-10.6"), (1, "-35.9"), (2, "+6.5"), (4, "-65.4")]
)
def test_published_counts_give_the_published_changes(place: int, change: str) -> None:
    alone, composed = PUBLISHED["dapo"][place], PUBLISHED["thinkprior_dapo"][place]
    assert printed(change_of(alone, composed, "per cent"), 1, signed=True) == change


def test_silence_changes_in_points_and_hours_by_their_difference() -> None:
    assert printed(change_of(0.362, 0.158, "points"), 1, signed=True) == "-20.4"
    # 0.817 s a rollout is the paper's pooled time; its hours are 1.87 and 1.68, printed as -0.20.
    alone, composed = (rollouts * 0.817 / 3600 for rollouts in (8256, 7381))
    assert (printed(alone, 2), printed(composed, 2)) == ("1.87", "1.68")
    assert printed(change_of(alone, composed, "difference"), 2, signed=True) == "-0.20"


def test_nothing_to_take_per_cent_of_has_no_change() -> None:
    assert math.isnan(change_of(0, 5, "per cent"))
    assert math.isnan(change_of(math.nan, 5, "per cent"))


def test_the_captions_seeds_give_the_tables_means_and_change() -> None:
    found = by_name(composition(published_runs(), 0.817, "a card"))
    for arm, mean, rollouts in (("dapo", "0.605", "8256"), ("thinkprior_dapo", "0.605", "7381")):
        assert printed(found["main", arm, "math500"].value, 3) == mean
        assert printed(found["main", arm, "generated_rollouts"].value, 0) == rollouts
    assert printed(found["main", "change", "math500"].value, 1) == "0.0"
    assert printed(found["main", "change", "generated_rollouts"].value, 1) == "-10.6"
    assert found["seed 1", "dapo", "generated_rollouts"].value == 8128
    assert found["seed 2", "thinkprior_dapo", "math500"].value == 0.586
    fewer = found["main", "change", "seeds_with_fewer_rollouts"]
    assert (fewer.value, fewer.of) == (3, 3)


def test_update_rollouts_are_as_counted() -> None:
    runs = published_runs()
    short = (runs["arm"] == "thinkprior_dapo") & (runs["seed"] == 2)
    runs.loc[short, ["update_rollouts", "shortfall_steps"]] = [3816, 2]
    found = by_name(composition(runs, 0.817, "a card"))
    updates = found["main", "thinkprior_dapo", "update_rollouts"]
    assert updates.value == 3832  # (2 x 3840 + 3816) / 3
    assert updates.note.startswith("as counted; 2 of 180 steps")
    assert found["main", "change", "update_rollouts"].value == -8


def test_a_missing_arm_is_a_dash_with_its_reason() -> None:
    runs = published_runs()
    measurements = composition(runs[runs["arm"] == "dapo"], 0.817, "a card")
    found = by_name(measurements)
    assert found["main", "thinkprior_dapo", "math500"].n == 0
    assert math.isnan(found["main", "change", "generated_rollouts"].value)
    latex = rendered(measurements)
    assert r"Generated rollouts $\downarrow$ & 8256 & $[8128, 8448]$ & -- & -- & -- \\" in latex
    assert r"No run of DAPO \& prior has finished." in latex
    assert "seeds per arm differ: DAPO 3, " in latex


def rendered(measurements: list[Measurement]) -> str:
    table = table4(
        measurements,
        SCALE,
        labels=("DAPO", "DAPO & prior"),
        steps=60,
        batch_prompts=8,
        most_rounds=4,
    )
    return table.latex


def test_rows_of_table_4_print_as_in_the_paper() -> None:
    latex = rendered(composition(published_runs(), 0.817, "a card"))
    for row in (
        r"& 0.605 & $[0.590, 0.622]$ & 0.605 & $[0.586, 0.620]$ & 0.0 pts \\",
        r"Generated rollouts $\downarrow$ & 8256 & $[8128, 8448]$ & 7381 & $[7040, 7872]$ "
        r"& $-10.6$\% \\",
        r"Rollouts used for updates & 3840 & $[3840, 3840]$ & 3840 & $[3840, 3840]$ & 0 \\",
        r"& 1.87 & $[1.84, 1.92]$ & 1.68 & $[1.60, 1.79]$ & $-0.20$ \\",
    ):
        assert row in latex
    assert "0.602/0.622/0.590 against 0.620/0.608/0.586" in latex
    assert "8192/8128/8448 against 7040/7872/7232 (they fall in 3 of 3 seeds)" in latex
    assert "0 of 180 steps" in latex
    assert "measured on a card" in latex


def test_hours_of_small_models_keep_three_digits() -> None:
    latex = rendered(composition(published_runs(), 0.000598, "a core"))
    # 8256 x 0.000598 / 3600 = 0.001371, 7381.3 x ... = 0.001226
    assert r"& 0.00137 & $[0.00135, 0.00140]$ & 0.00123 &" in latex


def test_seconds_are_pooled_over_all_rollouts() -> None:
    runs = published_runs()
    seconds = {("dapo", 0): 4096.0, ("thinkprior_dapo", 0): 7040.0}
    times = generation_times(runs, seconds)
    assert times["rollouts"].tolist() == [8192, 7040]
    assert pooled_seconds_per_rollout(times) == (4096 + 7040) / (8192 + 7040)
    with pytest.raises(InputError, match="no run dapo/seed7"):
        generation_times(runs, {("dapo", 7): 1.0})


def amortised(saving: bool = True) -> list[Measurement]:
    runs = published_runs()
    # A second a rollout without the prior, 1.25 with it: seconds then save nothing.
    rate = {"dapo": 1.0, "thinkprior_dapo": 1.0 if saving else 1.25}
    seconds = {
        (arm, seed): rate[arm] * ROLLOUTS[arm][seed] for arm in PUBLISHED for seed in range(3)
    }
    times = generation_times(runs, seconds)
    return amortisation(AnchorPass(4000, 200_000, 437.5), 800, times)


def test_five_runs_pay_an_anchor_pass_back() -> None:
    found = {one.metric: one for one in amortised()}
    # The seeds' means differ by 8256 - 7381.33; the paper rounds first: 8256 - 7381 = 875.
    assert printed(found["rollouts_saved_per_run_with_dapo"].value, 0) == "875"
    assert printed(found["runs_per_anchor_pass"].value, 0) == "5"
    assert found["anchor_generations"].value == 4000
    assert found["length_prior_generations"].value == 800
    # 100 tokens a rollout: 87,467 saved, of 200,000; a second a rollout: 874.7, of 437.5.
    assert found["runs_per_anchor_pass_tokens"].value == pytest.approx(200_000 / 87_466.67)
    assert found["runs_per_anchor_pass_seconds"].value == pytest.approx(437.5 / 874.6667)
    assert found["seconds_per_rollout_a"].values == (1.0, 1.0, 1.0)
    assert found["seconds_per_rollout_pooled"].value == 1.0


def test_a_run_that_saves_nothing_never_pays_back() -> None:
    measurements = amortised(saving=False)
    found = {one.metric: one for one in measurements}
    assert math.isnan(found["runs_per_anchor_pass_seconds"].value)
    table = amortisation_table(
        measurements,
        SCALE,
        anchor="medium anchor",
        samples=16,
        pool=250,
        labels=("DAPO", "both"),
        hardware="a core",
    )
    assert r"Runs that pay the pass back & 4.6 & 2.3 & never \\" in table.latex
    assert r"Anchor pass (16 $\times$ 250, medium anchor) & 4000 & 200000 & 438 \\" in table.latex
    assert r"\quad both & 1.25 & $[1.25, 1.25]$ & 3 \\" in table.latex


def test_amortisation_without_runs_prints_dashes() -> None:
    times = generation_times(published_runs(), {})
    measurements = amortisation(AnchorPass(4000, 20_000, 1.5), 800, times)
    table = amortisation_table(
        measurements,
        SCALE,
        anchor="a",
        samples=16,
        pool=250,
        labels=("DAPO", "both"),
        hardware="a core",
    )
    assert r"Runs that pay the pass back & -- & -- & -- \\" in table.latex
    assert r"\quad pooled & -- & -- & 0 \\" in table.latex
