"""Pre-images of objects that are not vectors: local search over small changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from representer import _parallel
from representer.kernels.graph_inputs import Graphs
from representer.preimage.edits import Neighbours, edits_for
from representer.preimage.target import Target

Progress = Callable[[int, float, int], Any]

ENUMERATED = 4096
"""Objects per batch where all of them are enumerated."""


def search(
    target: Target,
    *,
    neighbours: Neighbours | None = None,
    n_starts: int = 5,
    max_iter: int = 100,
    progress: Progress | None = None,
) -> Any:
    """Beam search from the nearest training objects: all small edits of the best objects so far, keeping the best.

    It ends when no edit lowers ||f - k(x, .)|| below the best so far. Where there are few objects, such as the rankings
    of up to eight items, all of them are tried instead, so that the best one is found.

    Parameters
    ----------
    target : Target
    neighbours : callable, optional
        From one object to a list of objects that differ little from it. Known for strings (substitute, insert, delete
        or swap letters of the training strings), sets (add, remove or exchange items), rankings (move an item),
        categories (change one) and graphs (add or remove an edge or a leaf, or change a label).
    n_starts : int
        How many objects are kept at a time.
    max_iter : int
        Rounds of edits.
    progress : callable, optional
        Called after each round, or each batch where all objects are tried, with its number, the distance reached and
        the number of objects tried so far; the search ends when it returns True.
    """
    known = target.candidates if neighbours is None else None
    if known is not None and known.every is not None:
        return _as_inputs(target, _best(target, known.every, progress))
    if known is None and not isinstance(target.X, list | np.ndarray):
        raise TypeError(f"Inputs of type {type(target.X).__name__} cannot be searched; use method='nearest'.")
    change = known.neighbours if known is not None else edits_for(target.X) if neighbours is None else neighbours
    objects = target.X if known is None else known.objects
    if change is None:
        raise TypeError(
            "Small changes are known for lists of strings and of sets, rankings, categories and graphs; for others "
            "pass neighbours=, a function from one object to a list of similar ones, or use method='nearest'."
        )
    index = target.nearest(n_starts)
    found = [
        _improve(target, f, [objects[i] for i in index[f]], change, max_iter, progress) for f in range(len(target))
    ]
    return _as_inputs(target, found)


def _best(target: Target, every: list, progress: Progress | None) -> list:
    """For each function, the nearest of all objects, or of those that were tried before the search was stopped."""
    found = []
    for f in range(len(target)):
        values = np.empty(0)
        for number, rows in enumerate(_parallel.split(len(every), ENUMERATED), 1):
            values = np.append(values, _distances(target, every[rows], f))
            if progress is not None and progress(number, float(np.sqrt(values.min())), len(values)):
                break
        found.append(every[int(values.argmin())])
    return found


def _improve(
    target: Target, function: int, found: list, change: Neighbours, max_iter: int, progress: Progress | None
) -> Any:
    width, seen = len(found), {_key(x) for x in found}
    values = _distances(target, found, function)
    for number in range(1, max_iter + 1):
        new: list = []
        squares = []
        for x in found:
            fresh = {key: y for y in _changed(change, x) if (key := _key(y)) not in seen}
            seen |= fresh.keys()
            new += fresh.values()
            if fresh:
                squares.append(_edited_distances(target, x, list(fresh.values()), function))
        if not new:
            break
        best = values.min()
        both, all_values = [*found, *new], np.concatenate([values, *squares])
        order = np.argsort(all_values, kind="stable")[:width]
        found, values = [both[i] for i in order], all_values[order]
        stopped = progress is not None and progress(number, float(np.sqrt(values[0])), len(seen))
        if stopped or not values[0] < best - 1e-12 * target.squares[function]:
            break
    return found[int(values.argmin())]


def _changed(change: Neighbours, x: Any) -> Iterable[Any]:
    objects = change(x)
    if isinstance(objects, str) or not np.iterable(objects):
        raise TypeError(f"neighbours returned {objects!r} for {x!r}; it must return a list of objects.")
    return objects


def _distances(target: Target, objects: list, function: int) -> np.ndarray:
    return target.squared_distances(_as_inputs(target, objects), np.full(len(objects), function))


def _edited_distances(target: Target, x: Any, edited: list, function: int) -> np.ndarray:
    """Distances of edits of x; for strings, from the differing parts alone where the kernel allows that."""
    if target.window is not None and isinstance(x, str) and all(isinstance(y, str) for y in edited):
        return target.edited_distances(x, edited, function)
    return _distances(target, edited, function)


def _as_inputs(target: Target, objects: list) -> Any:
    """Rows of numbers as an array, anything else as a list."""
    return np.stack(objects) if isinstance(target.X, np.ndarray) else objects


def _key(x: Any) -> Any:
    """A hashable key that distinguishes objects: the object itself, or its contents where it is mutable."""
    if isinstance(x, set):
        return frozenset(x)
    if isinstance(x, list | np.ndarray):
        return tuple(x)
    if isinstance(x, Graphs):
        return tuple(part.tobytes() for part in (x.node_labels, x.indptr, x.indices, x.edge_labels))
    try:
        hash(x)
    except TypeError:
        return repr(x)
    return x
