"""Rankings and categories near given ones: candidates for pre-images."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import permutations, product
from math import prod
from typing import Any

import numpy as np

MOST_ITEMS = 8
"""Number of items up to which all rankings, at most 40,320, are tried."""
MOST_CANDIDATES = 50_000
"""Number of combinations of categories up to which all are tried."""


@dataclass(frozen=True)
class Candidates:
    """Candidates for pre-images."""

    objects: list
    """The given inputs, one by one."""
    neighbours: Callable[[Any], list]
    """Maps an input to others that differ little from it."""
    every: list | None
    """All possible inputs, where there are few."""


def rankings(table: np.ndarray, whole: bool) -> Candidates:
    """Complete rankings of as many items as the table has columns, as ranks from 1 on in the order of the entries."""
    kind = np.int64 if whole else np.float64
    p = table.shape[1]
    every = [np.array(ranks, kind) for ranks in permutations(range(1, p + 1))] if p <= MOST_ITEMS else None

    def neighbours(x: np.ndarray) -> list:
        """Move one item to another place; a ranking with ties or gaps is completed first."""
        order = _completed(x)
        moved = [order] if len(np.unique(x[~np.isnan(x)])) < p else []
        for i in range(p):
            rest = np.delete(order, i)
            moved += [np.insert(rest, j, order[i]) for j in range(p) if j not in (i, i - 1)]
        return [_ranks(places, kind) for places in moved]

    return Candidates(list(table), neighbours, every)


def _completed(x: np.ndarray) -> np.ndarray:
    """Items in their order; unranked ones are placed in the middle, and ties in the order of the columns."""
    filled = np.where(np.isnan(x), np.nanmedian(x) if not np.isnan(x).all() else 0.0, x)
    return np.argsort(filled, kind="stable")


def _ranks(order: np.ndarray, kind: type) -> np.ndarray:
    ranks: np.ndarray = np.empty(len(order), kind)
    ranks[order] = np.arange(1, len(order) + 1)
    return ranks


def categories(rows: list) -> Candidates:
    """Combinations of the levels that occur in each column; for a single column, the levels themselves."""
    single = not isinstance(rows[0], list | tuple | np.ndarray)
    table = [[x] for x in rows] if single else rows
    levels = [list(dict.fromkeys(x[f] for x in table)) for f in range(len(table[0]))]
    few = prod(map(len, levels)) <= MOST_CANDIDATES

    def like(x: Any, values: list) -> Any:
        if single:
            return values[0]
        return np.array(values, x.dtype) if isinstance(x, np.ndarray) else type(x)(values)

    def neighbours(x: Any) -> list:
        """Change one column to another level."""
        values = [x] if single else list(x)
        return [
            like(x, [*values[:f], level, *values[f + 1 :]])
            for f in range(len(levels))
            for level in levels[f]
            if level != values[f]
        ]

    every = [like(rows[0], list(values)) for values in product(*levels)] if few else None
    return Candidates(list(rows), neighbours, every)
