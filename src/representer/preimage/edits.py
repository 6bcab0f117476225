"""Neighbours of strings, sets and rankings: the objects one small edit away."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import combinations
from typing import Any

import numpy as np

Neighbours = Callable[[Any], Iterable[Any]]


def edits_for(X: Any) -> Neighbours | None:
    """The edits for inputs of this type, with the letters or items that occur in them; None if none are known."""
    if not isinstance(X, list | np.ndarray):
        return None
    items = list(X)
    if all(isinstance(x, str) for x in items):
        return string_edits(sorted(set("".join(items))))
    if all(isinstance(x, set | frozenset) for x in items):
        return set_edits(list(dict.fromkeys(item for x in items for item in x)))
    if all(isinstance(x, tuple | list) or (isinstance(x, np.ndarray) and x.ndim == 1) for x in items):
        rankings = [sorted(x, key=repr) for x in items]
        if all(ranking == rankings[0] for ranking in rankings):
            return swaps
    return None


def string_edits(alphabet: list[str]) -> Neighbours:
    """Substitute, insert or delete one letter, or swap two adjacent ones."""

    def neighbours(x: str) -> list[str]:
        substituted = [x[:i] + letter + x[i + 1 :] for i in range(len(x)) for letter in alphabet]
        inserted = [x[:i] + letter + x[i:] for i in range(len(x) + 1) for letter in alphabet]
        deleted = [x[:i] + x[i + 1 :] for i in range(len(x))]
        swapped = [x[:i] + x[i + 1] + x[i] + x[i + 2 :] for i in range(len(x) - 1)]
        return [y for y in dict.fromkeys([*substituted, *inserted, *deleted, *swapped]) if y != x]

    return neighbours


def set_edits(items: list) -> Neighbours:
    """Add or remove one item, or exchange one for another; the result has the type of the set."""

    def neighbours(x: set | frozenset) -> list:
        inside, outside = [i for i in items if i in x], [i for i in items if i not in x]
        added, removed = [x | {i} for i in outside], [x - {i} for i in inside]
        return [*added, *removed, *((x - {i}) | {j} for i in inside for j in outside)]

    return neighbours


def swaps(x: Any) -> list:
    """Exchange two entries of a ranking.

    Whether it lists items by rank or ranks by item does not matter, because all pairs of entries are tried.
    """
    kind = np.array if isinstance(x, np.ndarray) else type(x)
    found = []
    for i, j in combinations(range(len(x)), 2):
        places = list(x)
        places[i], places[j] = places[j], places[i]
        found.append(kind(places))
    return found
