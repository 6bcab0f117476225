"""Inputs as prepared by kernels.

Validated once, scaled, with norms, and sliced without further checks.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse

from representer import _parallel
from representer._loops import coordinates, products, squared_distances
from representer._loops import sparse as sparse_loops
from representer._loops.simd import registers
from representer.kernels.column_lists import NO_KEYS, ColumnLists, frequent_keys
from representer.kernels.read_only import readable

FEW_COLUMNS = 8
"""Columns up to which distances from differences are as fast as from a matrix product (0.6 ns per pair at 8), and
exact."""
SOME_COLUMNS = 32
"""Columns up to which distances within some hundred points, each pair once, are faster than by a matrix product."""
MANY_COLUMNS, MANY_ROWS = 64, 128
"""Sizes from which dropping all-zero columns pays."""
FEWER = 1 / 8
"""Fraction of all-zero columns from which copying the others pays."""
A_FEW_ROWS = 8
"""Sparse rows up to which scanning the other side is faster than building inverted lists of it."""

FLOAT64 = np.dtype(np.float64)
"""The precision of inputs that are not numbers."""


class Prepared:
    """n inputs of a kernel. A slice, or the rows at an array of indices, is a Prepared again."""

    per_row: ClassVar[tuple[str, ...]]
    dtype: Any

    def __len__(self) -> int:
        return getattr(self, self.per_row[0]).shape[0]

    def __getitem__(self, index: Any) -> Self:
        part = object.__new__(type(self))
        part.__dict__.update(self.__dict__)
        for cached in ("columns", "raw_columns", "names", "_lists", "used"):
            part.__dict__.pop(cached, None)
        for name in self.per_row:
            rows = getattr(self, name)
            part.__dict__[name] = None if rows is None else rows_at(rows, index)
        return part


def rows_at(rows: Any, index: Any) -> Any:
    """rows[index] of an array or a sparse matrix."""
    places = isinstance(rows, np.ndarray) and isinstance(index, np.ndarray) and index.dtype.kind == "i"
    # up to three times as fast, but take() of a memory map returns a memmap in memory
    return rows.take(index, 0) if places and not isinstance(rows, np.memmap) else rows[index]


@dataclass
class Vectors(Prepared):
    """Rows of numbers, already divided by the length scale, and their squared norms.

    Where the rows are unit vectors, ``norms`` are their original norms. Where a ``shift`` was subtracted, ``raw`` are
    the rows before that and before scaling, and ``inverse`` is one over the squared length scale of each column:
    differences of raw rows are exact, those of shifted and scaled rows are not. ``plain`` means that the kernel uses
    only their inner products and squared distances.
    """

    values: np.ndarray
    squared_norms: np.ndarray
    norms: np.ndarray | None = None
    raw: np.ndarray | None = None
    shift: np.ndarray | None = None
    inverse: np.ndarray | None = None
    plain: bool = False
    per_row: ClassVar[tuple[str, ...]] = ("values", "squared_norms", "norms", "raw")

    @classmethod
    def of(cls, values: np.ndarray, **more: Any) -> Self:
        """The rows of ``values`` with their squared norms."""
        values = readable(np.ascontiguousarray(values))
        return cls(values, np.einsum("ij,ij->i", values, values), **more)

    @property
    def dtype(self) -> np.dtype:
        return self.values.dtype

    @property
    def each_pair_once(self) -> bool:
        """Whether distances within these rows are computed faster once per pair than by a matrix product."""
        return self.plain and self.shift is not None and len(self) > 1 and self.values.shape[1] <= SOME_COLUMNS

    @cached_property
    def columns(self) -> np.ndarray:
        """The transposed values, C-contiguous."""
        return readable(np.ascontiguousarray(self.values.T))

    @cached_property
    def raw_columns(self) -> np.ndarray:
        """The transposed rows before shifting and scaling, C-contiguous."""
        return self.columns if self.raw is None else readable(np.ascontiguousarray(self.raw.T))

    @property
    def differences(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows whose differences are exact, and weights of their squares."""
        if self.raw is None or self.inverse is None:
            return self.values, np.ones(self.values.shape[1], self.dtype)
        return self.raw, self.inverse

    @cached_property
    def used(self) -> np.ndarray:
        """Whether each column has a nonzero entry."""
        used = np.empty(self.values.shape[1], bool)
        squared_distances.used_columns(self.values, used)
        return used

    def meeting(self, other: Vectors) -> tuple[Vectors, Vectors]:
        """Both sides without columns that are all zero on one side, if there are many: these add nothing to products.

        The result is valid only for products and squared distances between the two sides.
        """
        width = self.values.shape[1]
        if width < MANY_COLUMNS or min(len(self), len(other)) < MANY_ROWS:
            return self, other
        both = np.flatnonzero(self.used & other.used)
        if len(both) > (1.0 - FEWER) * width:
            return self, other
        if not len(both):
            both = np.zeros(1, int)  # BLAS needs a column
        mine = self._at(both)
        return mine, mine if other is self else other._at(both)

    def _at(self, columns: np.ndarray) -> Vectors:
        rows, weights = self.differences
        return replace(self, values=self.values.take(columns, 1), raw=rows, inverse=weights)

    def products(self, other: Vectors, tile: np.ndarray) -> None:
        """tile_ij <- <x_i, y_j>; for one-hot columns in sorted rows most columns are left out."""
        mine, others = self.meeting(other)
        products.inner_products(mine.values, others.values, tile)

    def squared_distances(self, other: Vectors, tile: np.ndarray) -> None:
        """tile_ij <- |x_i - y_j|^2."""
        rows, weights = self.differences
        if rows.shape[1] <= FEW_COLUMNS:
            squared_distances.from_differences(rows, other.raw_columns, weights, tile)
        else:
            others, _ = other.differences
            squared_distances.from_products(
                self.values, other.values, self.squared_norms, other.squared_norms, rows, others, weights, tile
            )

    def distances_within(self, packed: np.ndarray) -> None:
        """packed <- |x_i - x_j|^2 for j < i, row by row of the lower triangle."""
        rows, weights = self.differences
        if rows.shape[1] <= FEW_COLUMNS or len(self) < registers.ROWS:
            squared_distances.differences_within(rows, self.raw_columns, weights, packed)
        else:
            squared_distances.products_within(self.values, self.squared_norms, rows, weights, packed)

    def absolute_differences(self, other: Vectors, tile: np.ndarray) -> None:
        """tile_ij <- |x_i - y_j|_1."""
        rows, weights = self.differences
        coordinates.absolute_differences(rows, other.raw_columns, np.sqrt(weights), tile)

    def minima(self, other: Vectors, tile: np.ndarray) -> None:
        """tile_ij <- sum_f min(x_if, y_jf)."""
        coordinates.minima(self.values, other.columns, tile)

    def chi_squares(self, other: Vectors, tile: np.ndarray) -> None:
        """tile_ij <- sum_f (x_if - y_jf)^2 / (x_if + y_jf)."""
        coordinates.chi_squares(self.values, other.columns, tile)

    def dense(self) -> Vectors:
        """These rows as an array."""
        return self

    def negated(self) -> Vectors:
        """These rows with the opposite sign."""
        return Vectors(-self.values, self.squared_norms)

    def variances(self, weights: np.ndarray | None) -> np.ndarray:
        """The variance of each column."""
        return standard_deviations(self.values, weights) ** 2

    def combine(self, W: np.ndarray) -> np.ndarray:
        """sum_j W_ij x_j, a row for each row of W."""
        return W @ self.values

    def weigh(self, w: np.ndarray) -> np.ndarray:
        """w_i x_i as rows."""
        return w[:, None] * self.values

    def second_moments(self, w: np.ndarray) -> np.ndarray:
        """sum_i w_i x_if^2 for each column f."""
        return w @ (self.values * self.values)

    def cross_moments(self, other: Vectors, W: np.ndarray) -> np.ndarray:
        """sum_ij W_ij x_if y_jf for each column f."""
        return np.einsum("if,if->f", self.values, other.combine(W))


@dataclass
class SparseVectors(Prepared):
    """The same for rows of a CSR matrix, which is never made dense.

    Its columns may be identified by ``keys``, unsigned 64-bit numbers in ascending order: two sets of rows need not
    have the same columns. Columns with ``frequent`` keys are multiplied as dense arrays, all others by inverted lists,
    so that the work is the number of pairs with a column in common.
    """

    values: Any
    squared_norms: np.ndarray
    norms: np.ndarray | None = None
    keys: np.ndarray | None = None
    frequent: np.ndarray = field(default_factory=lambda: NO_KEYS)
    per_row: ClassVar[tuple[str, ...]] = ("values", "squared_norms", "norms")

    @classmethod
    def of(cls, values: Any, *, keys: np.ndarray | None = None, **more: Any) -> Self:
        """The rows of a CSR matrix with their squared norms."""
        values = sparse.csr_array(values)
        if not values.has_canonical_format:
            values = values.copy()  # leave the user's matrix unchanged
            values.sum_duplicates()
        squares = np.asarray(values.multiply(values).sum(axis=1)).ravel()
        return cls(values, squares, keys=keys, frequent=frequent_keys(values, keys), **more)

    @property
    def dtype(self) -> np.dtype:
        return self.values.dtype

    @property
    def _arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self.values.data, self.values.indices, self.values.indptr

    @cached_property
    def names(self) -> np.ndarray:
        """The key, or the number, of each entry's column."""
        return self.values.indices if self.keys is None else self.keys[self.values.indices]

    def _lists_with(self, frequent: np.ndarray) -> ColumnLists:
        """The inverted lists of all columns but the frequent ones; cached, as a slice is used by many tiles."""
        known = self.__dict__.get("_lists")
        if known is None or known[0] is not frequent:
            known = self.__dict__["_lists"] = frequent, ColumnLists.of(self.values, self.keys, frequent)
        return known[1]

    def in_columns_of(self, other: SparseVectors) -> SparseVectors:
        """These rows in the column numbering of the others, without entries in columns that those do not have."""
        if self.keys is other.keys or self.keys is None or other.keys is None:
            return self
        columns = np.minimum(np.searchsorted(other.keys, self.names), max(len(other.keys) - 1, 0))
        kept = other.keys[columns] == self.names if len(other.keys) else np.zeros(len(columns), bool)
        starts = np.concatenate([[0], np.cumsum(kept)])[self.values.indptr].astype(self.values.indptr.dtype)
        data, columns = self.values.data[kept], columns[kept].astype(self.values.indices.dtype)
        values = sparse.csr_array((data, columns, starts), shape=(len(self), other.values.shape[1]))
        return SparseVectors(values, self.squared_norms, self.norms, other.keys, self.frequent)

    def _walk(self, loop: Any, other: SparseVectors, tile: np.ndarray) -> None:
        """Run a loop that expands each row of one side, and scans all entries of the other."""
        self._same_columns(other)
        if len(self) <= len(other):
            self = self.in_columns_of(other)
        else:
            other = other.in_columns_of(self)
        loop(*self._arrays, *other._arrays, np.zeros(self.values.shape[1], tile.dtype), tile)

    def _same_columns(self, other: SparseVectors) -> None:
        if (self.keys is None) != (other.keys is None) or (
            self.keys is None and self.values.shape[1] != other.values.shape[1]
        ):  # the loop would read beyond its memory
            raise ValueError("Two sets of sparse inputs have different columns; prepare one with like= the other.")

    def products(self, other: SparseVectors, tile: np.ndarray) -> None:
        if min(len(self), len(other)) <= A_FEW_ROWS:
            self._walk(sparse_loops.products, other, tile)
            return
        self._same_columns(other)
        self._lists_with(other.frequent).products(other._lists_with(other.frequent), tile)

    def minima(self, other: SparseVectors, tile: np.ndarray) -> None:
        if min(len(self), len(other)) <= A_FEW_ROWS:
            self._walk(sparse_loops.minima, other, tile)
            return
        self._same_columns(other)
        self._lists_with(NO_KEYS).minima(other._lists_with(NO_KEYS), tile)

    def absolute_differences(self, other: SparseVectors, tile: np.ndarray) -> None:
        self._walk(sparse_loops.absolute_differences, other, tile)

    def chi_squares(self, other: SparseVectors, tile: np.ndarray) -> None:
        self._walk(sparse_loops.chi_squares, other, tile)

    def dense(self) -> Vectors:
        """These rows as a dense array, which a gradient with respect to each column needs anyway."""
        return Vectors.of(self.values.toarray())

    def negated(self) -> SparseVectors:
        return replace(self, values=-self.values)

    def squared_distances(self, other: SparseVectors, tile: np.ndarray) -> None:
        self.products(other, tile)
        sparse_loops.squared_distances(
            self.values.data,
            self.names,
            self.values.indptr,
            other.values.data,
            other.names,
            other.values.indptr,
            self.squared_norms,
            other.squared_norms,
            tile,
        )

    def variances(self, weights: np.ndarray | None) -> np.ndarray:
        return standard_deviations(self.values, weights) ** 2

    def combine(self, W: np.ndarray) -> np.ndarray:
        return W @ self.values

    def weigh(self, w: np.ndarray) -> np.ndarray:
        return self.values.multiply(w[:, None]).toarray()

    def second_moments(self, w: np.ndarray) -> np.ndarray:
        return w @ self.values.multiply(self.values)

    def cross_moments(self, other: SparseVectors, W: np.ndarray) -> np.ndarray:
        return np.asarray(self.values.multiply(other.combine(W)).sum(axis=0)).ravel()


def overrides_nothing(kernel: Any, family: type) -> bool:
    """Whether a kernel uses its prepared inputs only as its family does."""
    return type(kernel).fill is family.fill and type(kernel).diagonal is family.diagonal  # type: ignore[attr-defined]


def lay_out(values: Any, **more: Any) -> Vectors | SparseVectors:
    """Dense or sparse rows with their norms."""
    return SparseVectors.of(values, **more) if sparse.issparse(values) else Vectors.of(values, **more)


def scale_columns(X: Any, scale: np.ndarray) -> Any:
    """X / scale in X's own dtype; sparse stays sparse."""
    if sparse.issparse(X):
        return sparse.csr_array(X.multiply(1.0 / scale), dtype=X.dtype)
    return X / scale.astype(X.dtype)


def standard_deviations(X: Any, weights: np.ndarray | None = None) -> np.ndarray:
    """sqrt(sum_i w_i (x_if - mean_f)^2 / sum_i w_i) for each column f, in float64, of an array or a CSR matrix."""
    share = np.ones(X.shape[0]) if weights is None else np.asarray(weights, np.float64)
    share = share / share.sum()
    entries = X.data if sparse.issparse(X) else X
    largest = max(entries.max(initial=0.0), -entries.min(initial=0.0))
    unit = 2.0 ** np.clip(np.frexp(np.float64(largest))[1], -1000, 1000)  # so that squares stay in range
    if sparse.issparse(X):
        return unit * np.sqrt(_sparse_variances(X, share, unit))
    parts = _parallel.split(len(X), 4096)  # so that not all rows are copied
    origin = X[0] / unit  # so that a constant column has deviation zero, without rounding
    mean = np.sum([share[i] @ (X[i] / unit - origin) for i in parts], axis=0)
    return unit * np.sqrt(np.sum([share[i] @ (X[i] / unit - origin - mean) ** 2 for i in parts], axis=0))


def _sparse_variances(X: Any, share: np.ndarray, unit: float) -> np.ndarray:
    """Variances of the columns of X / unit; entries that are not stored count as zeros."""
    X = sparse.csr_array(X, dtype=np.float64, copy=True)
    X.sum_duplicates()
    full = np.bincount(X.indices, minlength=X.shape[1]) == X.shape[0]
    origin = np.zeros(X.shape[1])
    origin[X.indices] = X.data / unit  # one entry of each column, so that a constant column has deviation zero
    origin[~full] = 0.0
    X.data = X.data / unit - origin[X.indices]
    weight, mean = np.repeat(share, np.diff(X.indptr)), share @ X
    stored, squares = (
        np.bincount(X.indices, terms, X.shape[1]) for terms in (weight, weight * (X.data - mean[X.indices]) ** 2)
    )
    return squares + np.where(full, 0.0, np.maximum(1.0 - stored, 0.0)) * mean**2


def directions(X: Any) -> Vectors | SparseVectors:
    """The rows divided by their norms, which are kept as ``norms``; a row of zeros stays zero."""
    wide = X.astype(np.float64)
    largest = abs(wide).max(axis=1)
    exponents = np.frexp(largest.toarray().ravel() if sparse.issparse(X) else largest)[1]
    # an exact power of two for each row keeps squares from overflow and underflow
    units = 2.0 ** np.clip(exponents, -1000, 1000)[:, None]
    wide = wide.multiply(1.0 / units).tocsr() if sparse.issparse(X) else wide / units
    norms = np.sqrt(np.asarray((wide * wide).sum(axis=1)).reshape(-1, 1))
    inverse = np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)
    scaled = sparse.csr_array(wide.multiply(inverse), dtype=X.dtype) if sparse.issparse(X) else wide * inverse
    with np.errstate(over="ignore"):
        return lay_out(scaled.astype(X.dtype), norms=(norms * units).ravel().astype(X.dtype))
