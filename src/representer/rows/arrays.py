"""Rows that can be indexed: arrays, memory maps, sparse matrices, data frames, lists, and anything that slices rows."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from hashlib import blake2b
from typing import Any

import numpy as np
from joblib import hash as content_hash
from scipy import sparse

from representer.kernels import checks
from representer.rows import tables
from representer.rows.base import Block, Rows, least_hashes
from representer.rows.layout import Layout
from representer.rows.reader import ahead

FINGERPRINT_ROWS = 4096
"""Tables with more rows are fingerprinted by this many sampled rows."""


class ArrayRows(Rows):
    """Rows in memory or in a memory map.

    Parameters
    ----------
    X : inputs, an array, memory map, sparse matrix, data frame or list
    y : targets, optional
    w : weights, optional

    Examples
    --------
    >>> import numpy as np
    >>> from representer.rows import ArrayRows
    >>> rows = ArrayRows(np.ones((100_000, 2)), np.arange(100_000.0))
    >>> rows.total(lambda X, y, w: (X.T @ X, y.sum()))
    (array([[100000., 100000.],
           [100000., 100000.]]), np.float64(4999950000.0))
    """

    sample_passes = 0

    def __init__(self, X: Any, y: Any = None, w: Any = None):
        n = checks.number_of(X)
        self.X, self.y, self.w = tables.sliceable(X), _column(y, n, "y"), _column(w, n, "w")
        self.n_columns, self.dtype, self.names = tables.number_of_columns(X), tables.dtype_of(X), tables.names_of(X)

    @property
    def n_rows(self) -> int:
        return tables.number_of_rows(self.X)

    def blocks(self, first: int = 0) -> Iterator[Block]:
        read = any(is_elsewhere(values) for values in (self.X, self.y, self.w))
        return ahead(lambda: self._cut(first)) if read else self._cut(first)

    def _cut(self, first: int) -> Iterator[Block]:
        n, size = self.n_rows, self.block_rows
        for start in range(first * size, n, size):
            stop = min(start + size, n)
            yield self._picked(lambda values, a=start, b=stop: tables.part(values, a, b), f"from row {start} on")

    def sample(self, k: int, seed: int = 0) -> Block:
        index = least_hashes(self.n_rows, k, seed)
        order = np.argsort(index)  # memory maps and files are read front to back
        back = np.argsort(order)
        return self._picked(lambda values: tables.at(tables.at(values, index[order]), back))

    def beginning(self) -> Block:
        return self._picked(lambda values: tables.part(values, 0, FINGERPRINT_ROWS))

    def _picked(self, pick: Any, which: str = "in some rows") -> Block:
        """Rows in memory; ``which`` of them, for errors."""
        X, y, w = (None if values is None else _in_memory(pick(values)) for values in (self.X, self.y, self.w))
        return X, y, w

    @cached_property
    def fingerprint(self) -> str:
        some = self.sample(FINGERPRINT_ROWS)
        text = f"{self.n_rows} {self.n_columns} {self.dtype} {self.names} {content_hash(some)}"
        return blake2b(text.encode(), digest_size=16).hexdigest()


class TableRows(ArrayRows):
    """Rows of a memory map, or of anything that slices like one, with columns of targets: they are split in memory.

    Parameters
    ----------
    table : array-like of shape (n, n_columns)
    layout : Layout
    """

    def __init__(self, table: Any, layout: Layout):
        super().__init__(table)
        self._layout = layout
        X, _, _ = self.beginning()
        self.n_columns, self.dtype = tables.number_of_columns(X), tables.dtype_of(X)

    def _picked(self, pick: Any, which: str = "in some rows") -> Block:
        X, y, w = self._layout.split(_in_memory(pick(self.X)), f"The table, {which},")
        return tables.contiguous(X), tables.contiguous(y), tables.contiguous(w)


def inputs_of(rows: Rows) -> Any:
    """All inputs as a fitted model may keep them: in memory or in a memory map; None where they are elsewhere."""
    if type(rows) is not ArrayRows:
        return None
    return rows.X if isinstance(rows.X, np.memmap) or not is_elsewhere(rows.X) else None


def _in_memory(values: Any) -> Any:
    """Rows of a memory map, or of anything that slices like one, as a plain array."""
    return np.array(values, order="C") if is_elsewhere(values) else tables.contiguous(values)


def is_elsewhere(values: Any) -> bool:
    """Whether these are a memory map, or an h5py or zarr array, whose rows are read on access."""
    if isinstance(values, np.memmap):
        return True
    array = isinstance(getattr(values, "dtype", None), np.dtype) and bool(getattr(values, "shape", ()))
    return array and not isinstance(values, np.ndarray) and not sparse.issparse(values) and not hasattr(values, "iloc")


def _column(values: Any, n: int, name: str) -> Any:
    """Targets or weights as an array with a row for each of n inputs, or a memory map of them."""
    if values is None:
        return None
    if hasattr(values, "iloc") or not isinstance(getattr(values, "dtype", None), np.dtype):
        values = np.asarray(values)
    if tables.number_of_rows(values) != n:
        raise ValueError(f"X has {n} rows and {name} has {tables.number_of_rows(values)}; give one for each row of X.")
    return values
