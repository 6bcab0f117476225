"""Kernels of categories: words or numbers for which only equality matters."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from representer._loops import category_mismatches
from representer.kernels import candidates, checks, separated
from representer.kernels.base import Gradients, Kernel
from representer.kernels.candidates import Candidates
from representer.kernels.labels import keys_of
from representer.kernels.missing import missing_entries
from representer.kernels.prepared import FLOAT64, Prepared


@dataclass
class Codes(Prepared):
    """A 64-bit key for each category; levels of the same name have the same key in all tables."""

    codes: np.ndarray
    dtype: Any = FLOAT64
    per_row: ClassVar[tuple[str, ...]] = ("codes",)

    @cached_property
    def columns(self) -> np.ndarray:
        """The transposed keys, C-contiguous."""
        return np.ascontiguousarray(self.codes.T)


class Categorical(Kernel):
    """k(x, y) = prod_f exp(-[x_f != y_f] / length_scale_f) over columns f of categories.

    A level that does not occur in the training data differs from all of theirs. Levels are compared by name, so the
    order of levels and the codes of a categorical column do not matter. The kernel is positive definite on distinct
    inputs for all length scales.

    Parameters
    ----------
    length_scale : float, array of shape (n_columns,) or None
        Large for columns that matter little. Where None is given, estimators choose the expected number of columns in
        which two inputs differ.

    Examples
    --------
    >>> from representer.kernels import Categorical
    >>> Categorical(1.0)([["red", "small"], ["red", "large"], ["blue", "large"]]).round(3)
    array([[1.   , 0.368, 0.135],
           [0.368, 1.   , 0.368],
           [0.135, 0.368, 1.   ]])
    """

    on_vectors = False
    separated = separated.of_categories

    def __init__(self, length_scale: Any = None):
        self.length_scale = length_scale

    def candidates(self, X: Any) -> Candidates | None:
        return None if hasattr(X, "columns") else candidates.categories(list(X))

    def with_default_scales(self, X: Any, weights: np.ndarray | None = None) -> Kernel:
        scale = self.length_scale
        if scale is None:
            codes = self.prepare(X).codes
            share = np.full(len(codes), 1.0 / len(codes)) if weights is None else weights / np.sum(weights)
            levels = [np.unique(column, return_inverse=True)[1] for column in codes.T]
            scale = checks.default_scale(sum(max(1.0 - np.sum(np.bincount(f, share) ** 2), 0.0) for f in levels))
            scale = scale if scale > 1e-12 else 1.0
        return Categorical(scale)

    def prepare(self, X: Any, like: Codes | None = None) -> Codes:
        codes = _codes(X)
        checks.length_scale(self.length_scale, codes.shape[1])
        if like is not None and codes.shape[1] != like.codes.shape[1]:
            raise ValueError(
                f"X has {codes.shape[1]} columns where the other inputs of Categorical have {like.codes.shape[1]}; "
                "pass the same columns to both."
            )
        return Codes(codes)

    def _scales(self, A: Codes) -> np.ndarray:
        return np.broadcast_to(checks.length_scale(self.length_scale, A.codes.shape[1]), A.codes.shape[1])

    def fill(self, A: Codes, B: Codes, tile: np.ndarray) -> None:
        category_mismatches.mismatches(A.codes, B.columns, -1.0 / self._scales(A), tile)
        np.exp(tile, out=tile)

    def diagonal(self, A: Codes) -> np.ndarray:
        return np.ones(len(A))

    def vjp(self, A: Codes, B: Codes, W: np.ndarray) -> Gradients:
        weighted, sums = np.empty((len(A), len(B))), np.zeros(A.codes.shape[1])
        self.fill(A, B, weighted)
        weighted *= W
        category_mismatches.sums_of_mismatches(A.codes, B.columns, weighted, sums)
        sums /= self._scales(A) ** 2
        return {"length_scale": sums if np.ndim(self.length_scale) else sums.sum()}


def _codes(X: Any) -> np.ndarray:
    """Keys of a table of categories, or of a single column."""
    checks.number_of(X)
    if hasattr(X, "columns"):
        return np.stack([_column(X[name], repr(str(name))) for name in X.columns], axis=1)
    if hasattr(X, "cat") or hasattr(X, "to_numpy"):
        return _column(X, repr(str(X.name)) if getattr(X, "name", None) is not None else "X")[:, None]
    table = X if isinstance(X, np.ndarray) else _objects(list(X))
    if table.ndim == 1:
        return _column(table, "X")[:, None]
    if table.ndim != 2:
        raise ValueError(f"X has {table.ndim} dimensions; Categorical takes one column or a table of them.")
    return np.stack([_column(table[:, f], f"column {f}") for f in range(table.shape[1])], axis=1)


def _objects(items: list) -> np.ndarray:
    """A table from lists of categories of equal length, else a column of categories."""
    if not all(isinstance(x, list | tuple | np.ndarray) for x in items):
        column = np.empty(len(items), object)
        column[:] = items
        return column
    if len({len(x) for x in items}) != 1:
        raise ValueError("The rows of X have unequal lengths; Categorical needs one category per column in each row.")
    table = np.empty((len(items), len(items[0])), object)
    for i, x in enumerate(items):
        table[i] = list(x)
    return table


def _column(column: Any, name: str) -> np.ndarray:
    """Keys of one column; for a pandas categorical column they are computed once per level."""
    gone = missing_entries(column)
    if gone.any():
        raise ValueError(
            f"Row {int(np.flatnonzero(gone)[0])} of {name} is missing; use Missing(Categorical()), fill it with a "
            "level of its own, or drop it."
        )
    what = f"categories of {name}"
    if hasattr(column, "cat") and hasattr(column.cat, "codes"):
        return keys_of(list(column.cat.categories), what)[0][np.asarray(column.cat.codes)]
    values = column.to_numpy() if hasattr(column, "to_numpy") else column
    return keys_of(values if values.dtype.kind in "iu" else values.tolist(), what)[0]
