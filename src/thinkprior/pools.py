"""Spread-sampled pools: equal counts over the level x subject cells."""

from __future__ import annotations

from collections.abc import Sequence

from thinkprior.errors import InputError
from thinkprior.problems import Problem
from thinkprior.randomness import stream


def spread_sample(source: Sequence[Problem], size: int, seed: int) -> list[Problem]:
    """Draw a pool that spans all levels and subjects evenly (Section "Models and data").

    Each cell is shuffled once by the seed and gives its first problems, one a round, until the pool
    is full; cells that run out drop out. A larger pool of the same seed therefore contains a
    smaller one. The order of the pool, which breaks ties, is drawn by the seed too. Rows without a
    level or a subject are left out.

    Args:
        source: problems to draw from.
        size: problems in the pool.
        seed: the pool's seed.

    Raises:
        InputError: when the source holds fewer problems with level and subject than asked for.
    """
    cells: dict[tuple[int, str], list[Problem]] = {}
    for problem in source:
        if problem.level is not None and problem.subject is not None:
            cells.setdefault((problem.level, problem.subject), []).append(problem)
    available = sum(map(len, cells.values()))
    if available < size:
        raise InputError(
            f"a pool of {size} problems was asked for, but the source holds {available} with a "
            "level and a subject. Lower data.pools.<name>.size."
        )
    queues = []
    for key in sorted(cells):
        members = sorted(cells[key], key=lambda problem: problem.id)
        order = stream("pool", seed, key[0], key[1]).permutation(len(members))
        queues.append([members[i] for i in order])
    queues = [queues[i] for i in stream("pool", seed, "cells").permutation(len(queues))]
    chosen: list[Problem] = []
    depth = 0
    while len(chosen) < size:
        for queue in queues:
            if depth < len(queue) and len(chosen) < size:
                chosen.append(queue[depth])
        depth += 1
    return [chosen[i] for i in stream("pool", seed, "order").permutation(size)]
