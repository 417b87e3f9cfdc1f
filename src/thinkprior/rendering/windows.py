"""Window rates and coverage of the text, as one table."""

from collections.abc import Collection, Sequence

from thinkprior.findings.windows import MAIN, REESTIMATE, WINDOW, window_metric
from thinkprior.measurements import Measurement, measurement_frame
from thinkprior.rendering import latex
from thinkprior.rendering.arms import ArmRow
from thinkprior.rendering.cells import Measured, number, seeds
from thinkprior.rendering.scale import Scale
from thinkprior.rendering.table import Table

_COVERAGE = (
    ("unique_prompts_at_30", 0),
    ("unique_prompts", 0),
    ("revisits", 0),
    ("late_silent_share", 1),
    ("late_all_correct_of_silent", 0),
    ("late_all_wrong_of_silent", 0),
)
_COVERAGE_HEADS = (
    "unique@30",
    "unique",
    "revisits",
    r"late silent \%",
    r"all-correct \%",
    r"all-wrong \%",
)


def windows_table(
    measurements: Sequence[Measurement],
    arms: Sequence[ArmRow],
    scale: Scale,
    *,
    reestimate_arms: Sequence[str],
    steps: int,
    pool: int,
    pair: str = REESTIMATE,
) -> Table:
    """Renders the window rates and the coverage.

    Args:
        measurements: What `thinkprior.findings.windows` gives of both campaigns.
        arms: The arms of the main campaign, in order.
        scale: What produced the numbers.
        reestimate_arms: Names of those that the sixteen-seed campaign has too.
        steps: Steps of a run.
        pool: Prompts of the pool.
        pair: The campaign that the figures of ThinkPrior and online-NP are of.

    Returns:
        The table; its frame has the measurements.
    """
    found = Measured(measurements)
    spans = [(first, min(first + WINDOW - 1, steps)) for first in range(1, steps + 1, WINDOW)]
    width = max(len(spans), len(_COVERAGE))
    rows = [(MAIN, arm) for arm in arms]
    again = [(REESTIMATE, arm) for arm in arms if arm.name in reestimate_arms]

    def panel(title: str, heads: Sequence[str], cells: Sequence[Sequence[str]]) -> list[str]:
        blanks = [""] * (width - len(heads))
        lines = [
            latex.row([latex.spanning(width + 2, "l", rf"\textit{{{title}}}")]),
            latex.row(["Method", *heads, *blanks, "$n$"]),
            r"\midrule",
        ]
        for place, ((setting, arm), of_arm) in enumerate(zip([*rows, *again], cells, strict=True)):
            if place == len(rows):
                lines.append(r"\midrule")
            label = latex.escape(arm.label) + (", re-estimate" if setting == REESTIMATE else "")
            count = found.get(setting, arm.name, window_metric("silent_share", *spans[0])).n
            colour = latex.OURS if arm.ours else None
            lines.append(latex.row([label, *of_arm, *blanks, str(count)], colour))
        return lines

    def rates(setting: str, arm: ArmRow) -> list[str]:
        cells = []
        for span in spans:
            silent, right = (
                found.get(setting, arm.name, window_metric(rate, *span)).value
                for rate in ("silent_share", "all_correct_share")
            )
            both = f"{number(silent, 1)} ({number(right, 1)})"
            cells.append(both if silent == silent else latex.DASH)
        return cells

    def pass_rates(setting: str, arm: ArmRow) -> list[str]:
        metrics = [window_metric("train_pass_rate", *span) for span in spans]
        return [number(found.get(setting, arm.name, metric).value, 3) for metric in metrics]

    def coverage(setting: str, arm: ArmRow) -> list[str]:
        return [
            number(found.get(setting, arm.name, metric).value, digits)
            for metric, digits in _COVERAGE
        ]

    heads = [f"{first}--{last}" for first, last in spans]
    every = [*rows, *again]
    silent = panel(
        r"(a) Silent groups by window of steps, \% (of the groups; in brackets all-correct)",
        heads,
        [rates(*row) for row in every],
    )
    body = [
        *silent[3:],
        r"\midrule",
        *panel(
            "(b) Train pass rate by window of steps", heads, [pass_rates(*row) for row in every]
        ),
        r"\midrule",
        *panel(
            f"(c) Coverage of the {pool} prompts, and silent groups in the second half of the run",
            _COVERAGE_HEADS,
            [coverage(*row) for row in every],
        ),
    ]
    tabular = latex.Tabular(
        columns="l" + "r" * width + "r",
        head=silent[:2],
        body=body,
        caption=_caption(pool, scale),
        label="tab:windows",
        notes=_text(found, {arm.name for arm in arms}.union(reestimate_arms), pair),
        wide=True,
    )
    return Table(measurement_frame(measurements, scale.name), tabular.environment())


def _caption(pool: int, scale: Scale) -> str:
    return " ".join(
        [
            "When groups are silent, and on how many prompts; means over $n$ seeds, whose ranges "
            "are in the CSV.",
            "A silent group is all-correct or all-wrong; in (a) what the bracket leaves is "
            "all-wrong.",
            "In (c) unique counts the distinct prompts that training generated for, through step "
            f"30 and in the whole run, of {pool}; revisits are candidate groups of a prompt that "
            "had one before; late silent is per cent of the groups of the second half, all-correct "
            "and all-wrong are per cent of its silent groups.",
            "Unique prompts do not tell exhaustion from persistent exclusion. Nothing is bold.",
            latex.escape(scale.note),
        ]
    )


def _text(found: Measured, arms: Collection[str], pair: str) -> list[str]:
    """The figures that the paper's text prints, as sentences; without those of absent arms."""

    def share(setting: str, arm: str, metric: str) -> str:
        return number(found.get(setting, arm, metric).value, 1, unit=r"\%")

    def rate(arm: str) -> str:
        return number(found.get(pair, arm, "late_train_pass_rate").value, 3)

    def waste(arm: str) -> str:
        return number(found.get(pair, arm, "full_run_wasted_rollouts").value, 0)

    online = found.get(pair, "online_np", "window_rate_first")
    ours = found.get(pair, "thinkprior", "window_rate_first")
    ratio = found.get(MAIN, "dapo", "waste_ratio_to_thinkprior")
    place = "the re-estimate" if pair == REESTIMATE else f"the campaign {pair}"
    sentences = {
        ("random",): "Figures of the text, uniform sampling in the campaign main "
        f"({seeds(found.get(MAIN, 'random', 'silent_full_run').n)}): silent in "
        f"{share(MAIN, 'random', 'silent_early')} of the groups of steps 1--{WINDOW} and "
        f"{share(MAIN, 'random', 'silent_full_run')} of all; by window from "
        f"{share(MAIN, 'random', 'window_rate_min')} to "
        f"{share(MAIN, 'random', 'window_rate_max')}.",
        (
            "thinkprior",
            "online_np",
        ): f"In {place} ({seeds(online.n)} of online-NP, {seeds(ours.n)} of ThinkPrior): "
        f"online-NP goes from {share(pair, 'online_np', 'window_rate_first')} in the first "
        "window to "
        f"{share(pair, 'online_np', 'window_rate_after_20_to_30_steps')} in steps "
        f"{2 * WINDOW + 1}--{3 * WINDOW}; ThinkPrior starts at "
        f"{share(pair, 'thinkprior', 'window_rate_first')}; the train pass rate of the last "
        f"window is {rate('thinkprior')} (ThinkPrior) against {rate('online_np')} (online-NP), and "
        f"the waste of the whole run {waste('thinkprior')} against {waste('online_np')} rollouts.",
        ("dapo", "thinkprior"): (
            f"DAPO's waste@30 is {number(ratio.value, 1)} times that of ThinkPrior in main."
        ),
    }
    return [said for needed, said in sentences.items() if set(needed) <= set(arms)]
