"""The design matrix psi_j(x_i) of a basis: computed strip by strip, used, and discarded."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from representer import _parallel
from representer._loops import thin_products
from representer.kernels.basis import Basis
from representer.rows import tables

LONGEST_STRIP, SHORTEST_STRIP = 128, 16
"""Bounds on the rows of a strip, which a thread fills at a time; in between, a strip takes no more than a tile."""
FEW_VECTORS = 4
"""Largest number of vectors for which products with a strip are computed row by row instead of by BLAS."""
RUN_VALUES = 2**19
"""Values that a thread computes within one call, some tenths of a millisecond, where a basis has a loop for them."""
SLAB_ROWS = 4096
"""Rows of a slab: products of columns are summed within a slab in the precision of the basis, across slabs in
float64."""
PANEL, LEAST_PANEL = 512, 64
"""Largest and smallest side of a square panel of the second-moment matrix, the part that one thread computes; panels on
the diagonal are symmetric updates and take half the work."""


@dataclass(frozen=True)
class Design:
    """psi on blocks of rows, in the precision of the basis; sums over rows are float64.

    With ``orthonormal``, sums are those of phi = R' psi, computed row by row: twice the work, but it keeps the digits
    that R' G R loses where M is ill-conditioned.
    """

    basis: Basis
    threads: int | None = None
    orthonormal: bool = False

    @property
    def size(self) -> int:
        """Number of columns of the sums."""
        return self.basis.rank if self.orthonormal else self.basis.size

    @property
    def _strip_rows(self) -> int:
        """Rows of a strip: a power of two, so that slabs are cut into whole strips."""
        fitting = _parallel.TILE_BYTES // (self.basis.size * np.dtype(self.basis.dtype).itemsize)
        return 2 ** int(np.log2(min(max(fitting, SHORTEST_STRIP), LONGEST_STRIP)))

    @cached_property
    def _root(self) -> np.ndarray | None:
        R = self.basis.root
        return None if R is None or not self.orthonormal else R.astype(self.basis.dtype)

    def to_features(self, w: np.ndarray) -> np.ndarray:
        """Coefficients of the columns from those of the orthonormal functions."""
        return w if self.orthonormal or self.basis.root is None else self.basis.root @ w

    @property
    def columns(self) -> Design:
        """The columns alone, all that products need, without the m x m root, which is slow to send."""
        return self if self.orthonormal else replace(self, basis=self.basis.bare())

    def at(self, w: np.ndarray) -> tuple[Design, np.ndarray]:
        """The columns, and their coefficients from those of the orthonormal functions."""
        return self.columns, self.to_features(np.asarray(w, np.float64))

    def from_sums(self, s: np.ndarray) -> np.ndarray:
        """Sums of phi from those of the columns."""
        return s if self.orthonormal or self.basis.root is None else self.basis.root.T @ s

    def from_moments(self, G: np.ndarray) -> np.ndarray:
        """Sums of phi phi' from those of the columns."""
        R = self.basis.root
        return G if self.orthonormal or R is None else R.T @ (G @ R)

    # ---- rows in strips ----

    def strips(self, X: Any, visit: Callable[[slice, np.ndarray], Any]) -> Iterator[Any]:
        """Yield visit(rows, values) for strips of rows, computed on all threads, in row order.

        One buffer is reused for all strips of a run.
        """
        return self._strips(self.basis.prepare(X), visit)

    def _strips(self, A: Any, visit: Callable[[slice, np.ndarray], Any]) -> Iterator[Any]:
        root, size = self._root, self._strip_rows
        shape = min(size, len(A)), self.basis.size

        def run(strips: Any) -> list[Any]:
            memory, out = np.empty(shape, self.basis.dtype), []
            for rows in strips:
                values = memory[: rows.stop - rows.start]
                self.basis.fill(A[rows], values)
                out.append(visit(rows, values if root is None else values @ root))
            return out

        for part in _parallel.map_tiles(_parallel.split(len(A), size), run, threads=self.threads):
            yield from part

    def _in_runs(self, n: int, add: Callable[[slice, np.ndarray, np.ndarray], None], vectors: int) -> np.ndarray:
        """The sums that add(rows, tile, out) adds to ``out``, from RUN_VALUES values at a time on all threads."""
        size = self._strip_rows
        longer = max(size, RUN_VALUES // self.basis.size // size * size)

        def run(parts: Any) -> np.ndarray:
            tile, out = np.empty((size, self.basis.size), self.basis.dtype), np.zeros((vectors, self.basis.size))
            for rows in parts:
                add(rows, tile, out)
            return out

        return sum(_parallel.map_tiles(_parallel.split(n, longer), run, threads=self.threads)).T

    def features(self, X: Any) -> np.ndarray:
        """phi(x) for each row."""
        R = self.basis.root
        R = None if R is None else R.astype(self.basis.dtype)
        strips = Design(self.basis, self.threads).strips(X, lambda _, V: V.copy() if R is None else V @ R)
        return np.concatenate(list(strips))

    def values(self, X: Any, coef: np.ndarray) -> np.ndarray:
        """<coef, psi(x)> for each row in float64, for several columns of coefficients."""
        small = np.asfortranarray(coef, self.basis.dtype)
        return np.concatenate(list(self.strips(X, lambda _, psi: _times(psi, small))))

    def backwards(self, X: Any, coef: np.ndarray, slopes: Callable[[slice, np.ndarray], tuple]) -> tuple:
        """sum_i psi(x_i) v_i with (v, more) = slopes(rows, values), values = <coef, psi(x)>, and sums of more.

        ``slopes`` gets the rows of a strip within this block and float64 values, and returns v and any other arrays or
        numbers to sum; values and v have a column for each column of ``coef``.
        """
        small = np.asfortranarray(coef, self.basis.dtype)

        def visit(rows: slice, psi: np.ndarray) -> tuple:
            v, *more = slopes(rows, _times(psi, small))
            return _times_transposed(psi, v), *more

        total: Any = None
        for part in self.strips(X, visit):
            total = (
                [np.asarray(p, np.float64) for p in part]
                if total is None
                else [a + b for a, b in zip(total, part, strict=True)]
            )
        return tuple(total)

    def residuals(self, X: Any, coef: np.ndarray, R: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """sum_i psi(x_i) r_i' in float64 with r = weights (R - <coef, psi(x)>), which overwrites R.

        This is `backwards` for the squared loss, in one compiled loop per strip, or per run of strips if the basis has
        one.
        """
        small = np.asfortranarray(coef, self.basis.dtype)
        if small.shape[1] > FEW_VECTORS:

            def slopes(rows: slice, F: np.ndarray) -> tuple:
                R[rows] = weights[rows, None] * (R[rows] - F)
                return (R[rows],)

            return self.backwards(X, coef, slopes)[0]

        A = self.basis.prepare(X)
        of_rows = self.basis.residuals(A) if self._root is None else None
        if of_rows is not None:

            def add(rows: slice, tile: np.ndarray, out: np.ndarray) -> None:
                of_rows(rows, small.T, R[rows], weights[rows], tile, out)

            return self._in_runs(len(A), add, len(small.T))

        def visit(rows: slice, psi: np.ndarray) -> np.ndarray:
            out, sums = np.zeros((len(small.T), psi.shape[1])), np.empty(psi.shape[1], psi.dtype)
            thin_products.residuals(psi, small.T, R[rows], weights[rows], sums, out)
            return out

        return sum(self._strips(A, visit)).T

    # ---- second moments ----

    def second_moments(self, X: Any, weights: np.ndarray | None = None) -> np.ndarray:
        """sum_i w_i psi(x_i) psi(x_i)' in float64, over rows of this block; weights are not negative."""
        return self.moments(X, np.zeros((tables.number_of_rows(X), 0)), weights)[0]

    def moments(self, X: Any, sides: np.ndarray, weights: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """sum_i w_i psi(x_i) psi(x_i)' and sum_i w_i psi(x_i) sides_i' in float64, over rows of this block.

        Slabs of rows are multiplied in the precision of the basis and added in float64, panel by panel, so that no
        thread has sums of its own and results do not depend, to the bit, on the number of threads.
        """
        n = tables.number_of_rows(X)
        G, sums = np.zeros((self.size, self.size)), np.zeros((self.size, sides.shape[1]))
        roots = None if weights is None else np.sqrt(weights)[:, None]
        sides = sides if roots is None else roots * sides
        scales = None if roots is None else roots.astype(self.basis.dtype)
        memory = np.empty((min(n, SLAB_ROWS), self.size), self.basis.dtype)
        panels = _parallel.pairs(self.size, self.size, (self._panel, self._panel), True)
        for start in range(0, n, SLAB_ROWS):
            rows = slice(start, min(start + SLAB_ROWS, n))
            slab = memory[: rows.stop - start]
            part = tables.part(X, start, rows.stop)
            for found in self._fill(part, None if scales is None else scales[rows], sides[rows], slab):
                sums += found
            self._add(slab, panels, G)
        for rows, columns in panels:
            if rows != columns:
                G[columns, rows] = G[rows, columns].T
        return G, sums

    @property
    def _panel(self) -> int:
        """Side of a panel, a multiple of LEAST_PANEL; at least three panels a side, so that all threads have work."""
        return min(PANEL, LEAST_PANEL * -(-self.size // (3 * LEAST_PANEL)))

    def _fill(self, X: Any, scales: np.ndarray | None, sides: np.ndarray, slab: np.ndarray) -> Iterator[np.ndarray]:
        """Write psi(x_i), or phi(x_i), times scales to a slab; yield its products with sides by strips, in order."""
        A, root = self.basis.prepare(X), self._root

        def run(strips: Any) -> list[np.ndarray]:
            out = []
            for rows in strips:
                values = slab[rows] if root is None else np.empty((rows.stop - rows.start, len(root)), slab.dtype)
                self.basis.fill(A[rows], values)
                if root is not None:
                    np.matmul(values, root, out=slab[rows])
                if scales is not None:
                    slab[rows] *= scales[rows]
                out.append(_times_transposed(slab[rows], sides[rows]))
            return out

        for part in _parallel.map_tiles(_parallel.split(len(A), self._strip_rows), run, threads=self.threads):
            yield from part

    def _add(self, slab: np.ndarray, panels: list, G: np.ndarray) -> None:
        """Add products of a slab's columns to the panels of G on and below the diagonal."""

        def run(tiles: Any) -> None:
            for rows, columns in tiles:
                G[rows, columns] += slab[:, rows].T @ slab[:, columns]

        for _ in _parallel.map_tiles(panels, run, threads=self.threads):
            pass


def _times(psi: np.ndarray, small: np.ndarray) -> np.ndarray:
    """psi @ small in float64, where the columns of small are contiguous."""
    if small.shape[1] > FEW_VECTORS:
        return (psi @ small).astype(np.float64)
    out = np.empty((len(psi), small.shape[1]))
    thin_products.forwards(psi, small.T, out)
    return out


def _times_transposed(psi: np.ndarray, v: np.ndarray) -> np.ndarray:
    """psi' v in float64, summed over a strip in the precision of psi."""
    if v.shape[1] > FEW_VECTORS:
        return (psi.T @ np.ascontiguousarray(v, psi.dtype)).astype(np.float64)
    out = np.zeros((v.shape[1], psi.shape[1]))
    thin_products.backwards(psi, np.ascontiguousarray(v), np.empty(psi.shape[1], psi.dtype), out)
    return out.T
