"""Appendix E: the larger pool's seeds, the rule that decides, and the integrity checks."""

import math
from collections.abc import Sequence

from thinkprior.findings.large_pool_checks import (
    ENDPOINTS,
    LATE_STEPS,
    LOW_ACCURACY,
    NO_NEW_DRAW,
    OTHER,
    OTHER_BENCHMARKS,
    OURS,
    PAIR,
    SETTING,
    Endpoint,
)
from thinkprior.measurements import Measurement, measurement_frame
from thinkprior.rendering import latex
from thinkprior.rendering.cells import Measured, number, seed_counts, seed_values
from thinkprior.rendering.scale import Scale
from thinkprior.rendering.table import Table

_LABELS = {
    "silent_at_10": r"silent@10 $\downarrow$",
    "silent_at_30": r"silent@30 $\downarrow$",
    "silent_at_200": r"silent@200 $\downarrow$",
    "wasted_rollouts_200": r"wasted rollouts, 200 steps $\downarrow$",
    "nonsilent_rollouts": r"non-silent rollouts $\uparrow$",
    "math500": r"MATH500 $\uparrow$",
}
_WIDTH = 6


def appendix_e(
    measurements: Sequence[Measurement],
    scale: Scale,
    *,
    labels: tuple[str, str],
    benchmarks: dict[str, str],
    steps: int,
    pool: int,
) -> Table:
    """Renders Appendix E.

    Args:
        measurements: What `thinkprior.findings.large_pool_checks` gives.
        scale: What produced the numbers.
        labels: ThinkPrior and online-NP as printed.
        benchmarks: Names of the benchmarks as printed.
        steps: Steps of a run.
        pool: Prompts of the larger pool.

    Returns:
        The table; its frame has the measurements.
    """
    found = Measured(measurements)
    ours, other = (latex.escape(label) for label in labels)
    body = [
        *(_endpoint(found, endpoint) for endpoint in ENDPOINTS),
        r"\midrule",
        *_worded("Integrity checks", _integrity(found)),
        r"\midrule",
        *_worded("Accuracy and waste", _remarks(found, (ours, other), benchmarks)),
    ]
    tabular = latex.Tabular(
        columns="lcrcrl",
        head=[
            latex.row(
                [
                    "Endpoint",
                    latex.spanning(2, "c", ours),
                    latex.spanning(2, "c", other),
                    "",
                ]
            ),
            r"\cmidrule(lr){2-3} \cmidrule(lr){4-5}",
            latex.row(["", "by seed", "mean", "by seed", "mean", "by the rule"]),
        ],
        body=body,
        caption=_caption(found, (ours, other), steps, pool, scale),
        label="tab:large-pool",
        notes=[_outcome(found)],
        wide=True,
    )
    return Table(measurement_frame(measurements, scale.name), tabular.environment())


def _endpoint(found: Measured, endpoint: Endpoint) -> str:
    digits = 0 if "rollouts" in endpoint.metric else 3
    cells = [_LABELS[endpoint.metric]]
    for arm in (OURS, OTHER):
        measured = found.get(SETTING, arm, endpoint.metric)
        cells += [seed_values(measured, digits), number(measured.value, digits)]
    words = found.get(SETTING, PAIR, f"rule_{endpoint.metric}").note
    if words in ("", "undecided"):
        words = latex.DASH
    elif not endpoint.ruled:
        apart = "disjoint" if words in ("supported", "against, disjoint") else "overlapping"
        words = f"(ranges {apart})"
    return latex.row([*cells, latex.bold(words) if words == "supported" else words])


def _worded(title: str, lines: Sequence[tuple[str, str]]) -> list[str]:
    heading = latex.row([latex.spanning(_WIDTH, "l", rf"\textit{{{title}}}")])
    return [
        heading,
        *(latex.row([name, latex.spanning(_WIDTH - 1, "l", text)]) for name, text in lines),
    ]


def _integrity(found: Measured) -> list[tuple[str, str]]:
    def of(metric: str) -> Measurement:
        return found.get(SETTING, "-", metric)

    coverage, start = of("prior_coverage"), of("step0_math500_fingerprint")
    difference, error = of("anchor_rerun_mean_difference"), of("anchor_rerun_standard_error")
    identical, expected = of("anchor_rerun_identical"), of("anchor_rerun_expected_identical")
    repeated = NO_NEW_DRAW in difference.note
    agreement = (
        f"{number(difference.value, 3, signed=True)} new minus old on {difference.n} shared "
        f"prompts (standard error under binomial noise {number(error.value, 3)}"
        f"{', ' + latex.escape(difference.note) if difference.note and not repeated else ''})"
    )
    same = (
        f"{number(identical.value, 0)}/{identical.of} "
        f"({number(expected.value, 1)} expected of binomial noise)"
    )
    lines = [
        (
            "prior covers the pool",
            f"{number(coverage.value, 0)}/{coverage.of}, {latex.escape(coverage.note)}",
        ),
        (
            "MATH500 at step 0",
            f"{number(start.value, 3)}, {latex.escape(start.note)}" if start.n else latex.DASH,
        ),
        ("anchor pass run anew: mean", agreement),
        (r"\quad identical counts", same),
    ]
    if repeated:
        lines.append((r"\quad but", latex.escape(difference.note)))
    return lines


def _remarks(
    found: Measured, labels: tuple[str, str], benchmarks: dict[str, str]
) -> list[tuple[str, str]]:
    reduction = found.get(SETTING, "-", "relative_reduction_waste")
    worst = found.get(SETTING, OURS, "worst_seed_nonsilent_rollouts")
    lines = [
        (
            "waste below that of " + labels[1],
            f"{number(reduction.value, 1, unit=chr(92) + '%')} (means)",
        ),
        (
            f"worst seed of {labels[0]}",
            f"{number(worst.value, 0)} non-silent rollouts, below which every seed of {labels[1]} "
            f"has to stay: {_below(found, worst.value)}",
        ),
    ]
    for arm, label in ((OURS, labels[0]), (OTHER, labels[1])):
        low = found.get(SETTING, arm, "low_seeds")
        if not low.value > 0:
            text = "none" if low.n else latex.DASH
        else:
            others = [
                f"{latex.escape(benchmarks.get(name, name))} "
                f"{number(found.get(SETTING, arm, f'low_seed_{name}').value, 3)}"
                for name in OTHER_BENCHMARKS
            ]
            rate = found.get(SETTING, arm, "low_seed_train_pass_rate")
            text = (
                f"{number(low.value, 0)} of {low.of}: {', '.join(others)}; train pass rate "
                f"{number(rate.value, 3)} (last {LATE_STEPS} steps)"
            )
        lines.append((f"{label}: seeds below {LOW_ACCURACY:g}", text))
        if low.value > 0:
            without = found.get(SETTING, arm, "math500_without_low_seed")
            lines.append(
                (r"\quad MATH500 without", f"{number(without.value, 3)} (post hoc)"),
            )
    return lines


def _below(found: Measured, worst: float) -> str:
    values = found.get(SETTING, OTHER, "nonsilent_rollouts").values
    if not values or math.isnan(worst):
        return latex.DASH
    return f"{sum(value < worst for value in values)} of {len(values)} do"


def _outcome(found: Measured) -> str:
    by_words: dict[str, list[str]] = {}
    for endpoint in ENDPOINTS:
        words = found.get(SETTING, PAIR, f"rule_{endpoint.metric}").note
        if endpoint.ruled and words:
            name = _LABELS[endpoint.metric].partition(" $")[0]
            by_words.setdefault(words, []).append(name)
    parts = [f"{words}: {', '.join(names)}" for words, names in by_words.items()]
    total = found.get(SETTING, PAIR, "rule_supported_endpoints")
    count = f"{number(total.value, 0)} of {total.of} endpoints"
    whole = (
        f"supported ({count})"
        if total.value == total.of
        else "undecided, since endpoints are"
        if set(by_words) <= {"supported", "undecided"}
        else f"not supported ({count})"
    )
    return f"The rule gives: {'; '.join(parts)}. As a whole the result is {whole}."


def _caption(found: Measured, labels: tuple[str, str], steps: int, pool: int, scale: Scale) -> str:
    counts = [
        (label, found.get(SETTING, arm, "math500").n)
        for label, arm in zip(labels, (OURS, OTHER), strict=True)
    ]
    return " ".join(
        [
            f"The pool of {pool} prompts, {steps} steps, {seed_counts(counts)}; silent@$N$ is the "
            f"silent share of all candidate groups through step $N$.",
            "The rule, which the paper fixed before its runs finished: an endpoint is supported "
            "only where the seed ranges are disjoint, the result only where all are; otherwise a "
            "better mean is directional only. No seed is added after an outcome was seen, and no "
            "test is run on so few; a single seed decides nothing. Bold marks what is supported.",
            "No accuracy claim is made, and non-silent rollouts are the rest of the same budget, "
            "so the rule does not count those two rows.",
            latex.escape(scale.note),
        ]
    )
