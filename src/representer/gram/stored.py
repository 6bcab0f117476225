"""A symmetric Gram matrix whose values are kept: dense, or the float32 tiles of its lower triangle."""

from __future__ import annotations

from typing import Any

import numpy as np

from representer import _parallel
from representer._loops import products, symmetric
from representer.gram import through_features
from representer.gram.operator import Operator, require_columns
from representer.gram.tiled import Gram
from representer.kernels import tiles

PACKED_RUNS = 8
"""Partial sums of a product with packed tiles, each as large as the result."""


COPIED_ROWS = 256
"""Rows of a subset that are copied at a time for a product."""


class Stored(Operator):
    """K as an array, all of it or the rows and columns at ``index``, with the `Gram` that its values came from.

    Parameters
    ----------
    gram : Gram
        The matrix of the same inputs, which recomputes values in other precisions.
    values : array of shape (m, m)
        The kernel matrix of these and possibly other inputs.
    index : array of ints of shape (n,), optional
        Row and column of ``values`` for each input; the first n when not given.
    """

    def __init__(self, gram: Gram, values: np.ndarray, index: np.ndarray | None = None):
        self.gram, self.values, self.index = gram, values, index
        self.meter, self.threads = gram.meter, gram.threads

    @classmethod
    def of(cls, gram: Gram, dtype: Any = None) -> Stored:
        """All values of a symmetric matrix, computed in the precision of its inputs and kept in ``dtype``."""
        n, dtype = len(gram), np.dtype(gram.dtype if dtype is None else dtype)
        return cls(gram, gram.into(np.empty((n, n), dtype)))

    @property
    def shape(self) -> tuple[int, int]:
        return self.gram.shape

    @property
    def dtype(self) -> np.dtype:
        return self.values.dtype

    @property
    def nbytes(self) -> int:
        return self.gram.nbytes + self.values.nbytes

    @property
    def stored(self) -> np.ndarray:
        return self.values

    @property
    def definite(self) -> bool:
        return self.gram.definite

    def float32_error(self) -> float:
        """See `Gram.float32_error`."""
        return self.gram.float32_error()

    @property
    def has_float32_error(self) -> bool:
        return self.gram.has_float32_error

    @property
    def places(self) -> np.ndarray:
        """The row and column of each input."""
        return np.arange(len(self)) if self.index is None else self.index

    def __matmul__(self, V: Any) -> np.ndarray:
        V = require_columns(V, self.shape).astype(self.dtype, copy=False)
        n, index = len(self), self.index
        if index is None:
            return (self.values[:n, :n] @ V).astype(np.float64, copy=False)
        strips = [self.values[np.ix_(index[rows], index)] @ V for rows in _parallel.split(n, COPIED_ROWS)]
        return np.concatenate(strips).astype(np.float64, copy=False)

    def diag(self) -> np.ndarray:
        return self.values.diagonal()[self.places]

    def block(self, rows: Any, columns: Any) -> np.ndarray:
        places = self.places
        return self.values[np.ix_(places[rows], places[columns])]

    def take(self, rows: Any, columns: Any = None) -> Any:
        """The matrix of some of the inputs; with ``columns``, values are recomputed."""
        if columns is not None:
            return self.gram.take(rows, columns)
        return Stored(self.gram.take(rows), self.values, self.places[rows])

    def copied(self) -> Stored:
        """The same matrix with its own copy of the values, which products need not gather from a larger one."""
        return Stored(self.gram, self.block(slice(None), slice(None)))

    def astype(self, dtype: Any) -> Operator:
        return self if self.dtype == dtype else self.gram.astype(dtype)


def lower_triangle(gram: Gram) -> tuple[np.ndarray, np.ndarray]:
    """The float64 values of a symmetric matrix below its diagonal, row by row, and the diagonal."""
    gram = gram.astype(np.float64)
    if gram.inputs is None:
        K = gram.dense()
        values, diagonal = symmetric.half(K, np.arange(len(K))), K.diagonal().copy()
    else:
        gram.meter.add(len(gram) * (len(gram) + 1) // 2)
        values, diagonal = tiles.lower_triangle(gram.kernel, gram.inputs, gram.threads)
    return values.astype(np.float64, copy=False), diagonal.astype(np.float64, copy=False)


def stored_if_small(gram: Gram) -> Operator:
    """The matrix with all values stored, if they fit a quarter of the memory and features would not take less."""
    small = len(gram) ** 2 * gram.dtype.itemsize <= gram.memory // 4
    return Stored.of(gram) if small and not through_features.are_fewer(gram) else gram


class Packed(Operator):
    """K V for a symmetric K whose float32 tiles of the lower triangle are computed once and kept.

    Each tile off the diagonal is used twice, once transposed, and products are accumulated over tiles in float64.
    """

    def __init__(self, gram: Gram):
        self.gram, self.meter, self.threads = gram, gram.meter, gram.threads
        n, kernel = len(gram), gram.kernel
        inputs = gram.row_inputs.chunk(slice(0, n))
        self.tiles = _parallel.pairs(n, n, _parallel.tile_shape(self.dtype), True)
        sizes = [(i.stop - i.start) * (j.stop - j.start) for i, j in self.tiles]
        # one allocation, which the system backs with large pages: products are a third faster
        pieces = np.split(np.empty(sum(sizes), self.dtype), np.cumsum(sizes[:-1]))
        self.values: dict[tuple[int, int], np.ndarray] = {
            (i.start, j.start): piece.reshape(i.stop - i.start, -1)
            for (i, j), piece in zip(self.tiles, pieces, strict=True)
        }
        part = _parallel.parts(inputs)

        def visit(run: Any) -> None:
            for i, j in run:
                kept = self.values[i.start, j.start]
                tile = kept if inputs.dtype == self.dtype else np.empty(kept.shape, inputs.dtype)
                if i == j:
                    tiles.fill_symmetric(kernel, part(i), tile)
                else:
                    kernel.fill(part(i), part(j), tile)
                if tile is not kept:
                    kept[:] = tile

        self.meter.add(n * (n + 1) // 2)
        for _ in _parallel.map_tiles(self.tiles, visit, threads=self.threads):
            pass

    @property
    def shape(self) -> tuple[int, int]:
        return self.gram.shape

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(np.float32)

    @property
    def nbytes(self) -> int:
        return self.gram.nbytes + sum(tile.nbytes for tile in self.values.values())

    @property
    def definite(self) -> bool:
        return self.gram.definite

    def __matmul__(self, V: Any) -> np.ndarray:
        """K V in float64, for a vector or several columns V, which are rounded to float32."""
        V = require_columns(V, self.shape)
        small = np.ascontiguousarray(V, self.dtype)

        def visit(run: Any) -> np.ndarray:
            total = np.zeros(V.shape)
            for i, j in run:
                tile = self.values[i.start, j.start]
                if i == j:
                    products.apply(tile, small[j], total[i])
                else:
                    products.apply_both(tile, small[j], total[i], small[i], total[j])
            return total

        out = np.zeros(V.shape)
        for part in _parallel.map_tiles(self.tiles, visit, threads=self.threads, runs=PACKED_RUNS):
            out += part
        return out

    def diag(self) -> np.ndarray:
        return self.gram.diag().astype(self.dtype, copy=False)

    def block(self, rows: Any, columns: Any) -> np.ndarray:
        """Recomputed: stored tiles serve products only."""
        return self.gram.block(rows, columns).astype(self.dtype, copy=False)

    def take(self, rows: Any, columns: Any = None) -> Gram:
        return self.gram.take(rows, columns)

    def astype(self, dtype: Any) -> Operator:
        return self if self.dtype == dtype else self.gram.astype(dtype)
