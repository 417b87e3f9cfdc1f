"""The cost table: seconds and memory by stage, throughput, and what each arm spends."""

import math
from collections.abc import Mapping, Sequence

from thinkprior.benchmarks import Accuracies
from thinkprior.findings.cost import ALL, ARM_METRICS, PARTS, REST, TRAINING
from thinkprior.measurements import Measurement, measurement_frame
from thinkprior.rendering import latex
from thinkprior.rendering.arms import ArmRow
from thinkprior.rendering.rounding import printed
from thinkprior.rendering.scale import Scale
from thinkprior.rendering.table import Table

STAGES: Mapping[str, str] = {
    "model": "Training the models",
    "probe": "Passes over the pools",
    "item_bank": "Fitting the 2PL bank",
    TRAINING: "GRPO training",
    "evaluate": "Evaluation",
    ALL: "All of these",
}
"""Stages as printed, in order."""

PASSES: Mapping[str, str] = {
    "anchor": "anchor pass",
    "reference": "reference pass of the policy",
    "thinking": "thinking pass",
    "respondent": "passes of the respondents",
}
"""Kinds of passes as printed, in order."""

_WIDTH = 8


class _Cells:
    """Looks measurements up; what is absent or not a number prints as a dash."""

    def __init__(self, measurements: Sequence[Measurement]) -> None:
        self._by_key = {(m.setting, m.arm, m.metric): m for m in measurements}

    def of(self, setting: str, arm: str, metric: str) -> Measurement | None:
        found = self._by_key.get((setting, arm, metric))
        return None if found is None or math.isnan(found.value) else found

    def has(self, setting: str, arm: str) -> bool:
        return any(key[:2] == (setting, arm) for key in self._by_key)

    def number(self, setting: str, arm: str, metric: str, digits: int = 0) -> str:
        found = self.of(setting, arm, metric)
        return latex.DASH if found is None else printed(found.value, digits)


def cost_table(
    measurements: Sequence[Measurement],
    arms: Sequence[ArmRow],
    campaign: str,
    hosts: Mapping[str, int],
    scale: Scale,
    *,
    accuracies: Accuracies | None = None,
) -> Table:
    """Renders the cost table.

    Args:
        measurements: What `thinkprior.findings.cost` measures: stage_costs, throughput, arm_costs
            and pass_costs.
        arms: The arms of the campaign, in order.
        campaign: The campaign whose arms the last panel shows.
        hosts: Machine as printed, to the training runs made on it.
        scale: What produced the numbers.
        accuracies: The benchmarks; by default the paper's.

    Returns:
        The table; its frame is the measurements'.
    """
    accuracies = accuracies or Accuracies()
    label = latex.escape(accuracies.first_label)
    cells = _Cells(measurements)
    tabular = latex.Tabular(
        columns="l" + "r" * (_WIDTH - 1),
        head=_panel(
            "(a) By stage, all campaigns",
            ["Stage", "jobs", "seconds", "s / job", "CPU s", "peak MiB"],
        ),
        body=[
            *_stages(cells),
            r"\midrule",
            *_panel(
                "(b) Throughput",
                ["Rollouts of", "rollouts", "tokens", "seconds", "rollouts / s", "tokens / s"],
            ),
            r"\midrule",
            *_throughput(cells, measurements),
            r"\midrule",
            *_panel(
                f"(c) A run of the campaign {latex.escape(campaign)}",
                ["Method", label, "rollouts", "tokens", "gen. s", "update s", "run s", "$n$"],
            ),
            r"\midrule",
            *(_arm(cells, campaign, arm, accuracies.first) for arm in arms),
            r"\midrule",
            *_passes(cells, campaign),
        ],
        caption=_caption(cells, campaign, label, hosts, scale),
        label="tab:cost",
        notes=_notes(cells, campaign, arms),
        wide=True,
    )
    return Table(measurement_frame(measurements, scale.name), tabular.environment())


def _panel(title: str, headings: Sequence[str]) -> list[str]:
    return [
        latex.row([latex.spanning(_WIDTH, "l", rf"\textit{{{title}}}")]),
        _row(headings),
    ]


def _row(cells: Sequence[str], colour: str | None = None) -> str:
    return latex.row([*cells, *[""] * (_WIDTH - len(cells))], colour)


def _stages(cells: _Cells) -> list[str]:
    lines = []
    for stage, label in STAGES.items():
        if not cells.has(ALL, stage):
            continue
        lines.append(
            _row(
                [
                    label,
                    cells.number(ALL, stage, "jobs"),
                    cells.number(ALL, stage, "seconds"),
                    cells.number(ALL, stage, "seconds_per_job", 2),
                    cells.number(ALL, stage, "cpu_seconds"),
                    cells.number(ALL, stage, "peak_memory_mib"),
                ]
            )
        )
        for part in (*PARTS, REST) if stage == TRAINING else ():
            name = f"{TRAINING}: {part}"
            lines.append(
                _row(
                    [
                        rf"\quad {part}",
                        "",
                        cells.number(ALL, name, "seconds"),
                        cells.number(ALL, name, "seconds_per_job", 2),
                    ]
                )
            )
    return lines


def _throughput(cells: _Cells, measurements: Sequence[Measurement]) -> list[str]:
    names = dict.fromkeys(m.arm for m in measurements if m.setting == "throughput")
    return [
        _row(
            [
                "training, all campaigns" if name.startswith(TRAINING) else latex.escape(name),
                cells.number("throughput", name, "rollouts"),
                cells.number("throughput", name, "tokens"),
                cells.number("throughput", name, "seconds", 1),
                cells.number("throughput", name, "rollouts_per_second"),
                cells.number("throughput", name, "tokens_per_second"),
            ]
        )
        for name in names
    ]


def _arm(cells: _Cells, campaign: str, arm: ArmRow, benchmark: str) -> str:
    accuracy = cells.of(campaign, arm.name, benchmark)
    run = cells.of(campaign, arm.name, ARM_METRICS[0])
    reached = latex.DASH
    if accuracy is not None:
        low, high = printed(accuracy.low, 3), printed(accuracy.high, 3)
        reached = f"{printed(accuracy.value, 3)} $[{low}, {high}]$"
    colour = None
    if arm.block in ("verified_prior", "composition"):
        colour = latex.OURS if arm.ours else latex.VERIFIED_PRIOR
    return _row(
        [
            latex.escape(arm.label),
            reached,
            cells.number(campaign, arm.name, "generated_rollouts"),
            cells.number(campaign, arm.name, "generated_tokens"),
            cells.number(campaign, arm.name, "generation_seconds", 1),
            cells.number(campaign, arm.name, "update_seconds", 1),
            cells.number(campaign, arm.name, "run_seconds", 1),
            str(run.n if run else 0),
        ],
        colour,
    )


def _passes(cells: _Cells, campaign: str) -> list[str]:
    lines = []
    for kind, label in PASSES.items():
        name = f"{kind} pass"
        if cells.has(campaign, name):
            lines.append(
                _row(
                    [
                        f"Once: {label}",
                        "",
                        cells.number(campaign, name, "generated_rollouts"),
                        cells.number(campaign, name, "generated_tokens"),
                        "",
                        "",
                        cells.number(campaign, name, "run_seconds", 1),
                    ]
                )
            )
    return lines


def _caption(
    cells: _Cells, campaign: str, benchmark: str, hosts: Mapping[str, int], scale: Scale
) -> str:
    sentences = [
        "What the reproduction costs.",
        "(a) Jobs by stage over all campaigns: seconds on the clock of the whole job, summed and a "
        "job; processor seconds, and the peak resident memory of the largest job, both measured by "
        "the process that does the work; the verifier's helper processes count in the former only. "
        "Quick jobs (problems, priors, tables, figures) are left out; a job that was interrupted "
        "counts from its last start.",
        "(b) Training over the seconds in which rollouts are drawn, a pass over its whole job with "
        "model loading and grading.",
        f"(c) Means over $n$ seeds of a run, {benchmark} with its seed range; run s is the whole "
        "training job without its evaluation. A pass is made once and serves all runs that start "
        f"from it, so it stands apart{_served(cells, campaign)}.",
        f"Measured on {_machines(hosts)}. Jobs run side by side and share its cores, so seconds on "
        "the clock are contended and their sum exceeds what a reader waits.",
    ]
    gpu = cells.of(ALL, ALL, "gpu_memory_mib")
    if gpu is not None:
        sentences.append(f"torch allocated up to {printed(gpu.value, 0)} MiB on one GPU.")
    return " ".join([*sentences, latex.escape(scale.note)])


def _served(cells: _Cells, campaign: str) -> str:
    """Which priors the passes serve whose names do not say it."""
    served = {
        "thinking": "the reference and the thinking pass serve the length prior",
        "respondent": "the passes of the respondents the 2PL bank",
    }
    there = [words for kind, words in served.items() if cells.has(campaign, f"{kind} pass")]
    if there == [served["respondent"]]:
        there = ["the passes of the respondents serve the 2PL bank"]
    return f": {', '.join(there)}" if there else ""


def _machines(hosts: Mapping[str, int]) -> str:
    if len(hosts) == 1:
        return latex.escape(next(iter(hosts)))
    return "; ".join(
        f"{latex.escape(host)} ({count} run{'s' if count != 1 else ''})"
        for host, count in hosts.items()
    )


def _notes(cells: _Cells, campaign: str, arms: Sequence[ArmRow]) -> list[str]:
    notes = []
    missing = [arm for arm in arms if cells.of(campaign, arm.name, ARM_METRICS[0]) is None]
    if missing:
        labels = ", ".join(latex.escape(arm.label) for arm in missing)
        notes.append(f"No run has finished of: {labels}.")
    unmeasured = [
        label
        for stage, label in STAGES.items()
        if stage != ALL and cells.has(ALL, stage) and cells.of(ALL, stage, "cpu_seconds") is None
    ]
    if unmeasured:
        notes.append(
            "Not every job measured its processor time and memory: " + ", ".join(unmeasured) + "."
        )
    return notes
