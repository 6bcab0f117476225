"""Sparse rows by columns: inverted lists, and a dense array of the frequent columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from representer._loops import inverted_lists, products

FREQUENT = 3 / 8
"""Fraction of rows with an entry in a column from which a dense product is faster than lists."""
ARRAY_SHARE, ARRAY_BYTES = 2, 2**26
"""Size of the dense array: at most this multiple of the sparse rows, but at least this many bytes are allowed."""
NO_KEYS = np.empty(0, np.uint64)


@dataclass(frozen=True)
class ColumnLists:
    """Some sparse rows: for each column key the rows that have it, and a dense array of the frequent columns."""

    lists: tuple[np.ndarray, ...]
    """Keys, where their lists begin, rows, values."""
    array: np.ndarray
    """A column for each frequent key."""

    @classmethod
    def of(cls, values: Any, keys: np.ndarray | None, frequent: np.ndarray) -> ColumnLists:
        """The lists of a CSR matrix with column keys, which default to column numbers."""
        names = NO_KEYS if keys is None else keys
        *lists, array = inverted_lists.invert(values.data, values.indices, values.indptr, names, frequent)
        return cls(tuple(lists), array)

    def products(self, other: ColumnLists, tile: np.ndarray) -> None:
        """tile_ij <- <x_i, y_j>."""
        if self.array.shape[1]:
            products.inner_products(self.array, other.array, tile)
        else:
            tile[...] = 0.0
        inverted_lists.add_products(*self.lists, *other.lists, tile)

    def minima(self, other: ColumnLists, tile: np.ndarray) -> None:
        """tile_ij <- sum_f min(x_if, y_jf), for lists of all columns."""
        tile[...] = 0.0
        inverted_lists.add_minima(*self.lists, *other.lists, tile)


def frequent_keys(values: Any, keys: np.ndarray | None) -> np.ndarray:
    """The keys of the frequent columns of a CSR matrix, in ascending order."""
    n, width = values.shape
    rows = np.bincount(values.indices, minlength=width)
    size, row = values.data.itemsize, max(n * values.data.itemsize, 1)
    most = max(ARRAY_SHARE * values.nnz * (size + values.indices.itemsize), ARRAY_BYTES) // row
    columns = np.flatnonzero(rows > max(FREQUENT * n, 1.0))
    if len(columns) > most:
        columns = np.sort(columns[np.argsort(-rows[columns], kind="stable")[:most]])
    return columns.astype(np.uint64) if keys is None else keys[columns]
