"""The distinct rows of a table, so that a weight of two is a repeated row by construction."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from representer.kernels import checks


@dataclass(frozen=True)
class DistinctRows:
    """Groups of rows with equal inputs and targets, in an order that does not depend on that of the rows.

    A row is left out together with all its copies; otherwise they would predict it. Rows of weight zero are in no
    group.

    Parameters
    ----------
    first : array of ints of shape (m,)
        One row of each group.
    weights : array of shape (m,) or None
        Total weight of each group; None where all are one.
    groups : array of ints of shape (n,)
        The group of each row; arbitrary for rows of weight zero.
    shares : array of shape (n,)
        The fraction of its group's weight that each row has.
    """

    first: np.ndarray
    weights: np.ndarray | None
    groups: np.ndarray
    shares: np.ndarray

    @classmethod
    def of(cls, X: Any, targets: np.ndarray, weights: np.ndarray | None) -> DistinctRows:
        """The groups of inputs of any type; those that cannot be compared count as different."""
        n = len(targets)
        weight = np.ones(n) if weights is None else weights
        kept = np.flatnonzero(weight)
        keys = [*_keys(X), *targets.T]
        order = kept[np.lexsort([key[kept] for key in reversed(keys)])]
        changes = [key[order[1:]] != key[order[:-1]] for key in keys]
        starts = np.append(True, np.any(changes, axis=0))[: len(order)]
        groups = np.zeros(n, int)
        groups[order] = np.cumsum(starts) - 1
        sums = np.bincount(groups, weight)
        return cls(order[starts], None if np.all(sums == 1.0) else sums, groups, weight / sums[groups])

    def spread(self, coef: np.ndarray) -> np.ndarray:
        """Coefficients of all rows from those of groups: equal rows have equal residuals, so shares by weight."""
        return self.shares[:, None] * coef[self.groups]


def _keys(X: Any) -> list[np.ndarray]:
    """Sort keys of n entries each, which are all equal only for equal rows."""
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "biuf":
        return list(X.T)
    if sparse.issparse(X):
        return [_codes([X.indices[a:b].tobytes() + X.data[a:b].tobytes() for a, b in pairwise(X.indptr)])]
    if hasattr(X, "columns"):
        return [key for name in X.columns for key in _column_keys(X[name])]
    return _column_keys(X)


def _column_keys(column: Any) -> list[np.ndarray]:
    """Numbers as they are, codes of strings, and positions in the column for everything else."""
    values = np.asarray(column) if hasattr(column, "dtype") else None
    if values is not None and values.ndim == 1 and values.dtype.kind in "biufM":
        return [values]
    if all(isinstance(value, str) for value in column):
        return [_codes(list(column))]
    return [np.arange(checks.number_of(column))]


def _codes(values: list[Any]) -> np.ndarray:
    """The rank of each value among the distinct ones."""
    places = {value: i for i, value in enumerate(sorted(set(values)))}
    return np.array([places[value] for value in values], int)
