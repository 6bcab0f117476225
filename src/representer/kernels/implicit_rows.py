"""Rows of counts that are never formed, as their inner products are faster to compute without them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from representer import _parallel
from representer.kernels.prepared import FLOAT64, Prepared

Multiply = Callable[[Any, Any, np.ndarray], None]


@dataclass
class ImplicitRows(Prepared):
    """phi(x_1), ..., phi(x_n), given by their inner products alone, as a kernel on rows would prepare them.

    Such a kernel may divide rows by a length scale or by their norms, and what it does depends on their norms only: it
    is given rows of a single column, the norms |phi(x_i)|.
    """

    values: Any
    """That column, as the kernel has prepared it (CSR)."""
    squared_norms: np.ndarray
    norms: np.ndarray | None
    own: np.ndarray
    """<phi(x_i), phi(x_i)>."""
    factors: np.ndarray
    """The factors by which each phi(x_i) was multiplied."""
    inputs: Any
    multiply: Multiply
    """tile_ij <- <phi(a_i), phi(b_j)> from such inputs."""
    dtype: Any = FLOAT64
    per_row: ClassVar[tuple[str, ...]] = ("values", "squared_norms", "norms", "own", "factors", "inputs")

    @classmethod
    def of(cls, inputs: Any, own: np.ndarray, multiply: Multiply, compare: Any = None) -> ImplicitRows:
        """From inputs as a kernel has prepared them, for a comparison by another kernel, or by products."""
        lengths = np.sqrt(own)
        column = sparse.csr_array(lengths[:, None])
        if compare is None:
            return cls(column, own, None, own, np.ones(len(own)), inputs, multiply)
        rows = compare.prepare(column)
        found = np.sqrt(rows.squared_norms)
        factors = np.divide(found, lengths, out=np.zeros_like(lengths), where=lengths > 0.0)
        return cls(rows.values, rows.squared_norms, rows.norms, own, factors, inputs, multiply)

    def products(self, other: ImplicitRows, tile: np.ndarray) -> None:
        """tile_ij <- <x_i, y_j>."""
        self.multiply(self.inputs, other.inputs, tile)
        tile *= self.factors[:, None]
        tile *= other.factors

    def squared_distances(self, other: ImplicitRows, tile: np.ndarray) -> None:
        """tile_ij <- |x_i - y_j|^2, for rows that were divided by one length scale; exact for integer counts."""
        self.multiply(self.inputs, other.inputs, tile)
        tile *= -2.0
        tile += self.own[:, None]
        tile += other.own
        np.maximum(tile, 0.0, out=tile)
        tile *= self.factors[:, None]
        tile *= other.factors

    def spread(self, weights: np.ndarray | None) -> float:
        """The root mean squared distance from the mean, before the comparison prepared the rows."""
        share = np.ones(len(self)) if weights is None else np.asarray(weights, np.float64)
        share = share / share.sum()
        part = _parallel.parts(self.inputs)

        def visit(run: list[_parallel.Tile]) -> float:
            tile_of, total = _parallel.buffer(self.dtype), 0.0
            for rows, columns in run:
                tile = tile_of((rows, columns))
                self.multiply(part(rows), part(columns), tile)
                total += (1.0 if rows == columns else 2.0) * float(share[rows] @ tile @ share[columns])
            return total

        tiles = _parallel.pairs(len(self), len(self), _parallel.tile_shape(self.dtype), True)
        return float(np.sqrt(max(share @ self.own - sum(_parallel.map_tiles(tiles, visit)), 0.0)))
