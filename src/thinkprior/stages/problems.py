"""Problem files: the generated source, the benchmarks, and the pools drawn from the source."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from thinkprior.errors import InputError
from thinkprior.pools import spread_sample
from thinkprior.problems import (
    Problem,
    check_disjoint,
    normalised_text,
    read_problems,
    write_problems,
)
from thinkprior.world.generator import SOURCES, generate, template_count


def make_problems(
    settings: Mapping[str, Any], source: Path | str, benchmarks: Mapping[str, Path | str]
) -> None:
    """Generate the source of the pools and the benchmarks, all with different problems.

    Args:
        settings: `seed`, `source_per_cell`, `benchmarks` (name to kind and size), and `generator`
            where the source is another than the miniature's world.
        source: file that takes the source.
        benchmarks: benchmark name to its file.
    """
    seed = settings["seed"]
    kind = SOURCES[settings.get("generator", "world")]
    problems = generate(kind, settings["source_per_cell"], "source", seed, set())
    write_problems(source, problems)
    taken = {normalised_text(problem.problem) for problem in problems}
    for name, path in benchmarks.items():
        kind, size = settings["benchmarks"][name]["kind"], settings["benchmarks"][name]["size"]
        per_template = -(-size // template_count(kind))
        drawn = generate(kind, per_template, name, seed, taken)
        taken |= {normalised_text(problem.problem) for problem in drawn}
        write_problems(path, _cut(drawn, size, seed))


def _cut(problems: list[Problem], size: int, seed: int) -> list[Problem]:
    """Exactly `size` problems: evenly over levels and subjects where there are any."""
    if problems[0].level is not None:
        chosen = {problem.id for problem in spread_sample(problems, size, seed)}
        return [problem for problem in problems if problem.id in chosen]
    return problems[:size]


def make_pool(
    settings: Mapping[str, Any],
    source: Path | str,
    benchmarks: Mapping[str, Path | str],
    pool: Path | str,
) -> None:
    """Draw a pool from the source; refuse it when it shares a problem with a benchmark.

    Args:
        settings: `size` and `seed`.
        source: problems to draw from.
        benchmarks: benchmark name to its file.
        pool: file that takes the pool.
    """
    found = read_problems(source)
    try:
        problems = spread_sample(found, settings["size"], settings["seed"])
    except InputError as error:
        raise InputError(f"{source}: {error}") from None
    check_benchmarks(problems, str(pool), benchmarks)
    write_problems(pool, problems)


def check_benchmarks(
    problems: list[Problem], name: str, benchmarks: Mapping[str, Path | str]
) -> None:
    """Refuse a pool that shares a problem text with any of these benchmark files."""
    for path in benchmarks.values():
        check_disjoint(problems, name, read_problems(path), str(path))
