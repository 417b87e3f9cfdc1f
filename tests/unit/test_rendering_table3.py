"""Table 3 and Appendix D as printed: the paper's cells, bold, captions, and missing runs."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from thinkprior import plans
from thinkprior.configuration import load, parse
from thinkprior.errors import InputError
from thinkprior.findings.endpoints import Endpoint, Run
from thinkprior.measurements import Measurement, over_seeds, read_measurements
from thinkprior.rendering.appendix_d import appendix_d
from thinkprior.rendering.scale import Scale
from thinkprior.rendering.table import Table
from thinkprior.rendering.table3 import LargePool, Setting, fisher_p, table3
from thinkprior.stages.robustness import render_appendix_d, render_table3

MICRO = Path(__file__).resolve().parents[1] / "workflow" / "micro.yaml"
SCALE = Scale("miniature", "Miniature scale: not the paper's models.")
SEEDS = (0, 1, 2)
BACKBONES = [
    Setting("backbone_main", "main policy", SEEDS),
    Setting("backbone_small", "small & new", SEEDS),
]
ANCHORS = [Setting("anchor_small", "small", (0, 1))]
HORIZONS = [
    Setting("horizon", "no KL", tuple(range(6))),
    Setting("horizon_kl", "β = 0.04", tuple(range(4))),
]
LARGE_POOL = LargePool("large_pool", "pool of 1200", SEEDS, prompts=1200, times_larger=4.8)


def seeds(table: str, setting: str, arm: str, metric: str, *values: float) -> Measurement:
    return over_seeds(table, setting, arm, metric, values)


def events(setting: str, arm: str, metric: str, value: float, of: int | None) -> Measurement:
    return Measurement("table3c", setting, arm, metric, value, of=of, n=of or 0)


def paper() -> list[Measurement]:
    """The paper's main row, 1.5B anchor, counts and larger pool; seeds where it gives them."""
    a, b, d = "table3a", "table3b", "table3d"
    counts = {
        ("horizon", "thinkprior"): (0, 0, 6),
        ("horizon", "online_np"): (2, 4, 6),
        ("horizon_kl", "thinkprior"): (0, 0, 4),
        ("horizon_kl", "online_np"): (0, 2, 4),
    }
    return [
        seeds(a, "backbone_main", "thinkprior", "math500", 0.567, 0.577, 0.587),
        seeds(a, "backbone_main", "online_np", "math500", 0.467, 0.527, 0.587),
        seeds(a, "backbone_main", "thinkprior", "silent_at_10", 0.1, 0.1125, 0.125),
        seeds(a, "backbone_main", "online_np", "silent_at_10", 0.25, 0.275, 0.2875),
        seeds(a, "backbone_small", "thinkprior", "math500", 0.28, 0.29, 0.297),
        seeds(a, "backbone_small", "online_np", "math500"),
        seeds(a, "backbone_small", "thinkprior", "silent_at_10"),
        seeds(a, "backbone_small", "online_np", "silent_at_10"),
        Measurement(b, "anchor_small", "thinkprior", "mean_anchor_pass_rate", 0.172, n=250),
        seeds(b, "anchor_small", "thinkprior", "math500", 0.580, 0.594),
        seeds(b, "anchor_small", "thinkprior", "silent_at_10", 0.1, 0.1125),
        *(
            events(*run, metric, value, of)
            for run, (absolute, relative, of) in counts.items()
            for metric, value in (
                ("absolute_collapse_events", absolute),
                ("relative_drop_events", relative),
            )
        ),
        seeds(d, "large_pool", "thinkprior", "wasted_rollouts_200", 5824, 4960, 4472),
        seeds(d, "large_pool", "online_np", "wasted_rollouts_200", 6488, 6112, 5696),
        seeds(d, "large_pool", "thinkprior", "generated_rollouts_200", 12800, 12800, 12800),
        seeds(d, "large_pool", "online_np", "generated_rollouts_200", 12800, 12800, 12800),
        seeds(d, "large_pool", "thinkprior", "silent_at_10", 0.15, 0.1125, 0.1),
        seeds(d, "large_pool", "online_np", "silent_at_10", 0.2875, 0.175, 0.2625),
        seeds(d, "large_pool", "thinkprior", "silent_at_200", 0.455, 0.3875, 0.349375),
        seeds(d, "large_pool", "online_np", "silent_at_200", 0.506875, 0.4775, 0.445),
        seeds(d, "large_pool", "thinkprior", "math500", 0.59, 0.596, 0.602),
        seeds(d, "large_pool", "online_np", "math500", 0.588, 0.620, 0.024),
    ]


def rendered(measurements: list[Measurement]) -> Table:
    return table3(
        measurements,
        SCALE,
        backbones=BACKBONES,
        anchors=ANCHORS,
        horizons=HORIZONS,
        large_pool=LARGE_POOL,
        horizon_steps=300,
    )


@pytest.fixture(scope="module")
def table() -> Table:
    return rendered(paper())


def rows(table: Table, name: str) -> list[list[str]]:
    """Cells of the rows that begin with a name, without their colour."""
    found = []
    for line in table.latex.splitlines():
        text = line.removeprefix(r"\rowcolor[HTML]{F4B6CE} ")
        if text.startswith(f"{name} &"):
            found.append([cell.strip() for cell in text.removesuffix(r"\\").split(" & ")[1:]])
    return found


def row(table: Table, name: str) -> list[str]:
    (cells,) = rows(table, name)
    return cells


def caption(table: Table) -> str:
    return next(line for line in table.latex.splitlines() if line.startswith(r"\caption{"))


def bold(text: str) -> str:
    return rf"\textbf{{\boldmath {text}}}"


def test_separable_gaps_are_bold_and_ranges_stand_below(table: Table) -> None:
    # MATH500's ranges touch at .587; those of silent@10 are disjoint.
    assert row(table, "main policy") == ["0.577", "0.527", bold("0.113"), "0.271", "3"]
    assert rows(table, r"\quad seed range")[0] == [
        "$[0.567, 0.587]$",
        "$[0.467, 0.587]$",
        "$[0.100, 0.125]$",
        "$[0.250, 0.288]$",
        "",
    ]


def test_missing_runs_are_dashes_with_their_n(table: Table) -> None:
    assert row(table, r"small \& new") == ["0.289", "--", "--", "--", "3, 0"]
    assert r"(a) small \& new, online-NP: 0 of 3 seeds finished." in table.latex
    assert "A dash is a value that no finished run has" in table.latex
    full = [m if m.n else replace(m, value=0.3, n=3, values=(0.3,) * 3) for m in paper()]
    assert "A dash" not in rendered(full).latex


def test_the_anchor_row(table: Table) -> None:
    assert row(table, "small") == ["0.172", "0.587", "0.106", "", "2"]


def test_counts_and_the_larger_pool_are_the_papers(table: Table) -> None:
    ours, other = rows(table, "ThinkPrior"), rows(table, "online-NP")
    # Relative drop without and with KL, then the absolute endpoint.
    assert ours[0] == [*map(bold, ("0/6", "0/4", "0/6", "0/4")), ""]
    assert other[0] == ["4/6", "2/4", "2/6", bold("0/4"), ""]
    assert ours[1] == ["5085", bold("0.121"), "0.397", "0.596", "3"]
    assert other[1] == ["6099", "0.242", "0.476", "0.411", "3"]


def test_the_caption_says_how_to_read_it(table: Table) -> None:
    text = caption(table)
    assert "of the planned 3 in (a), 2 in (b), 3 in (d)" in text
    assert "20 runs of 300 steps" in text
    assert "post hoc and exploratory" in text
    assert "step 0 included" in text
    assert "gives online-NP 2/6 against ThinkPrior 0/6 (Fisher two-sided $p$ 0.455)" in text
    assert "gives online-NP 4/6 against ThinkPrior 0/6 (Fisher two-sided $p$ 0.061)" in text
    assert r"4.8$\times$ larger" in text
    assert "out of the 12800 that each run spends" in text
    assert "Only silent@10 has disjoint seed ranges" in text
    assert "No significance test is made of two or three seeds." in text
    assert "Miniature scale: not the paper's models." in text


def test_the_caption_follows_the_numbers() -> None:
    def with_values(metric: str, change: Callable[[Measurement], Measurement]) -> str:
        changed = [change(m) if (m.table, m.metric) == ("table3d", metric) else m for m in paper()]
        return caption(rendered(changed))

    def same(one: Measurement) -> Measurement:
        return replace(one, values=(0.1, 0.2, 0.3))

    def single(one: Measurement) -> Measurement:
        return replace(one, values=one.values[:1], n=1)

    assert "No column has disjoint seed ranges" in with_values("silent_at_10", same)
    assert "No column has disjoint seed ranges" in with_values("silent_at_10", single)
    alone = [single(m) if m.table == "table3d" else m for m in paper()]
    assert "With fewer than two seeds of an arm no column is called separable" in caption(
        rendered(alone)
    )
    without = [
        replace(m, value=math.nan, of=None, n=0)
        if m.key[:3] == ("table3c", "horizon", "online_np")
        else m
        for m in paper()
    ]
    table = rendered(without)
    assert "no finished run of one arm" in caption(table)
    assert rows(table, "online-NP")[0][:2] == ["--", "2/4"]


def test_a_measurement_that_is_not_there_is_named() -> None:
    with pytest.raises(InputError, match="table3d / large_pool / online_np / math500"):
        rendered(paper()[:-1])


@pytest.mark.parametrize(
    ("p", "text"),
    [(0.4545, "0.455"), (1.0, "1.000"), (0.0004, "0.0004"), (1e-5, "$<10^{-4}$"), (math.nan, "--")],
)
def test_p_values(p: float, text: str) -> None:
    assert fisher_p(p) == text


# --- Appendix D ---------------------------------------------------------------------------------


def ends() -> list[Endpoint]:
    found = []
    for setting in HORIZONS:
        for arm in ("thinkprior", "online_np"):
            for seed in setting.seeds:
                found.append(Endpoint(setting.campaign, arm, seed, 300, 0.58, 0.6, 60))
    for place, end in enumerate(found):
        if end.run == ("horizon", "online_np", 2):
            found[place] = replace(end, final=0.098, peak=0.618)
        if end.run == ("horizon", "online_np", 4):
            found[place] = replace(end, final=0.290, peak=0.64)
        if end.run in (("horizon", "online_np", 0), ("horizon", "online_np", 1)):
            found[place] = replace(end, final=0.012)
    return found


HOSTS: dict[Run, str] = {
    end.run: r"node_1&\x" if end.seed in (0, 3) else "node 2" for end in ends()
}


def test_appendix_d_lists_every_run_and_the_tests() -> None:
    table = appendix_d(ends(), HOSTS, HORIZONS, SCALE)
    runs = [cells for name in ("no KL", r"$\beta$ = 0.04") for cells in rows(table, name)]
    assert len(runs) == 20
    assert ["online-NP", "2", "0.098", "0.618", "60", "52.0", "no", bold("yes")] in runs
    assert ["online-NP", "0", "0.012", "0.600", "60", "58.8", bold("yes"), bold("yes")] in runs
    lines = [line for line in table.latex.splitlines() if line.startswith(r"\multicolumn{3}")]
    assert [line.split(" & ")[-2:] for line in lines[1:]] == [
        ["0.455", r"primary \\"],
        ["0.061", r"exploratory \\"],
        ["0.087", r"post hoc \\"],
        ["0.076", r"exploratory \\"],
    ]
    assert "0.098 after a drop of 52.0 points; 0.290 after a drop of 35.0 points" in table.latex
    assert r"node 2: 3/4; node\_1\&\textbackslash{}x: 1/2" in table.latex
    assert "alike in every arm and campaign" in table.latex
    assert "step 0 included" in caption(table)
    assert SCALE.note in caption(table)


def test_appendix_d_shows_a_run_that_is_not_finished() -> None:
    some = [end for end in ends() if end.run != ("horizon", "thinkprior", 5)]
    table = appendix_d(some, HOSTS, HORIZONS, SCALE)
    assert ["ThinkPrior", "5", *["--"] * 6] in rows(table, "no KL")
    assert "online-NP 4/6} & \\multicolumn{2}{c}{ThinkPrior 0/5}" in table.latex
    assert caption(table).startswith(r"\caption{Endpoints of 19 finished runs of 300 steps.")


def test_machines_that_are_not_balanced_are_told() -> None:
    hosts: dict[Run, str] = {**HOSTS, ("horizon", "thinkprior", 0): "node 3"}
    assert "The machines are not balanced" in appendix_d(ends(), hosts, HORIZONS, SCALE).latex
    assert "on one machine" in appendix_d(ends(), {}, HORIZONS, SCALE).latex


# --- From files ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def settings() -> dict[str, Any]:
    return plans.robustness_settings(parse(load(MICRO), "micro.yaml"))


def test_settings_are_the_configurations(settings: dict[str, Any]) -> None:
    assert [one["label"] for one in settings["backbones"]] == ["main", "general", "small", "rerun"]
    assert [one["label"] for one in settings["horizons"]] == ["no KL", "β = 0.04"]
    assert settings["anchors"][0] == {"campaign": "anchor_small", "label": "small", "seeds": [0]}
    assert settings["horizon_steps"] == 15
    pool = settings["large_pool"]
    assert (pool["prompts"], pool["times_larger"], pool["seeds"]) == (70, 1.75, [0, 1])


def test_anchors_priors_are_those_of_their_campaigns() -> None:
    assert plans.anchor_priors(parse(load(MICRO), "micro.yaml")) == {
        "anchor_small": "pool250/anchor.respondent",
        "anchor_medium": "pool250/anchor.anchor",
        "anchor_large": "pool250/anchor.anchor",
    }


def write(path: Path, table: pd.DataFrame) -> Path:
    table.to_csv(path, index=False)
    return path


def checkpoints(path: Path) -> Path:
    columns = ["campaign", "arm", "seed", "step", "math500"]
    courses = [
        ("horizon", arm, seed, step, score)
        for arm, end in (("thinkprior", 0.5), ("online_np", 0.04))
        for seed in (0, 1)
        for step, score in ((0, 0.1), (5, 0.6), (15, end))
    ]
    return write(path, pd.DataFrame(courses, columns=columns))


def manifest(path: Path, arm: str, seed: int) -> Path:
    plan = {"campaign": "horizon", "arm": arm, "seed": seed}
    path.write_text(json.dumps({"settings": {"plan": plan}, "host": {"machine": "node"}}))
    return path


def test_from_files_to_files_with_campaigns_missing(
    settings: dict[str, Any], tmp_path: Path
) -> None:
    runs = pd.DataFrame(
        [("backbone_main", "thinkprior", 0, 0.5, 0.1), ("anchor_small", "thinkprior", 0, 0.6, 0.2)],
        columns=["campaign", "arm", "seed", "math500", "silent_at_10"],
    )
    prior = write(tmp_path / "prior.csv", pd.DataFrame({"problem_id": ["a", "b"], "phi": [0.5, 0]}))
    along = checkpoints(tmp_path / "checkpoints.csv")
    render_table3(
        settings,
        [write(tmp_path / "runs.csv", runs)],
        [along],
        [],
        {"anchor_small": prior},
        tmp_path / "table3.csv",
        tmp_path / "table3.tex",
    )
    render_appendix_d(
        settings,
        [along],
        [manifest(tmp_path / f"{arm}.json", arm, 1) for arm in ("thinkprior", "online_np")],
        tmp_path / "d.csv",
        tmp_path / "d.tex",
    )
    table = read_measurements(tmp_path / "table3.csv")
    appendix = read_measurements(tmp_path / "d.csv")
    found = {one.key[1:]: one for one in table}
    assert found["anchor_small", "thinkprior", "mean_anchor_pass_rate"].value == 0.25
    assert found["horizon", "online_np", "absolute_collapse_events"].value == 2
    assert found["horizon_kl", "online_np", "absolute_collapse_events"].n == 0
    assert found["large_pool", "online_np", "silent_at_200"].n == 0
    assert not {one.key for one in table} & {one.key for one in appendix}
    assert {one.table for one in table} == {"table3a", "table3b", "table3c", "table3d"}
    hosts = {one.key[1:]: one.note for one in appendix}
    assert hosts["horizon", "online_np", "events_by_host"] == "node: 1/1; unknown: 1/1"
    text = (tmp_path / "table3.tex").read_text()
    assert "(d) pool of 70, ThinkPrior: 0 of 2 seeds finished." in text


def test_nothing_finished_and_spoiled_files_are_named(
    settings: dict[str, Any], tmp_path: Path
) -> None:
    out = (tmp_path / "out.csv", tmp_path / "out.tex")
    with pytest.raises(InputError, match="no run of Table 3 is finished"):
        render_table3(settings, [], [], [], {}, *out)
    with pytest.raises(InputError, match="no run of Appendix D is finished"):
        render_appendix_d(settings, [], [], *out)
    spoiled = write(tmp_path / "spoiled.csv", pd.DataFrame({"campaign": ["horizon"]}))
    with pytest.raises(InputError, match=r"spoiled\.csv: no column 'arm', 'seed'"):
        render_appendix_d(settings, [spoiled], [], *out)
    broken = tmp_path / "manifest.json"
    broken.write_text('{"settings": {}}')
    along = checkpoints(tmp_path / "checkpoints.csv")
    with pytest.raises(InputError, match=r"manifest\.json: no manifest of a run, it lacks 'plan'"):
        render_appendix_d(settings, [along], [broken], *out)
