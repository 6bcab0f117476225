"""Kernels of fingerprints: rows of bits or counts, such as those of substructures of molecules."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from representer._loops import bits
from representer.kernels import checks
from representer.kernels.base import CountSlopes, Gradients, Kernel
from representer.kernels.histogram import HistogramIntersection, histograms
from representer.kernels.prepared import Prepared, SparseVectors, Vectors, lay_out

COMMON_SHARE = 1 / 512
"""Fraction of columns with a one in both of two rows below which lists of ones are faster than packed bits."""


@dataclass
class BitRows(Prepared):
    """Rows of zeros and ones, packed 64 to a word."""

    words: np.ndarray
    squared_norms: np.ndarray
    """The number of ones in each row."""
    n_columns: int
    dtype: Any
    per_row: ClassVar[tuple[str, ...]] = ("words", "squared_norms")

    @classmethod
    def of(cls, packed: np.ndarray, n_columns: int, dtype: Any) -> BitRows:
        """From rows of bytes as numpy.packbits makes them."""
        words = np.zeros((len(packed), -(-packed.shape[1] // 16) * 16), np.uint8)  # an even number of words
        words[:, : packed.shape[1]] = packed
        words = words.view(np.uint64)
        return cls(words, np.bitwise_count(words).sum(axis=1).astype(dtype), n_columns, np.dtype(dtype))

    @property
    def sums(self) -> np.ndarray:
        """The sum of each row."""
        return self.squared_norms

    @cached_property
    def columns(self) -> np.ndarray:
        """The transposed words."""
        return np.ascontiguousarray(self.words.T)

    def products(self, other: BitRows, tile: np.ndarray) -> None:
        """tile_ij <- the number of ones in common, which is the sum of minima as well."""
        bits.common(self.words, other.columns, tile)

    minima = products

    def dense(self) -> Vectors:
        """These rows as an array."""
        rows = np.unpackbits(self.words.view(np.uint8), axis=1, count=self.n_columns)
        return Vectors.of(rows.astype(self.dtype))


class _Ratio(Kernel):
    """s / (a + b - s): the intersection of two rows over their union; 1 where both are empty."""

    def __init__(self, packed: bool = False):
        self.packed = packed

    @property
    def on_vectors(self) -> bool:  # type: ignore[override]
        return not self.packed

    def _rows(self, X: Any, like: Any) -> Any:
        """X as rows of numbers, checked."""
        raise NotImplementedError

    def _common(self, A: Any, B: Any, tile: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """tile <- s, and the sizes a and b."""
        raise NotImplementedError

    def prepare(self, X: Any, like: Any = None) -> BitRows | Vectors | SparseVectors:
        checks.boolean(self.packed, "packed")
        if self.packed:
            return self._from_bytes(X, like)
        rows = self._rows(X, None if like is None else _width(like))
        if isinstance(rows, np.ndarray) and np.all((rows == 0.0) | (rows == 1.0)):
            if not (_few_in_common(rows) if like is None else isinstance(like, SparseVectors)):
                return BitRows.of(np.packbits(rows != 0.0, axis=1), rows.shape[1], rows.dtype)
            rows = sparse.csr_array(rows)
        A = lay_out(rows)
        checks.no_overflow(A.squared_norms, self)
        return A

    def _from_bytes(self, X: Any, like: Any) -> BitRows:
        checks.number_of(X)
        X = np.asarray(X)
        if X.dtype != np.uint8 or X.ndim != 2:
            raise TypeError(
                f"X is {X.dtype} of {X.ndim} dimensions; packed=True takes rows of bytes, as "
                "numpy.packbits(rows, axis=1) makes them."
            )
        if like is not None and like.n_columns != 8 * X.shape[1]:
            raise ValueError(f"X has {X.shape[1]} bytes a row, and the other inputs {like.n_columns // 8}.")
        return BitRows.of(X, 8 * X.shape[1], np.float64)

    def fill(self, A: Any, B: Any, tile: np.ndarray) -> None:
        A, B = _alike(A, B)
        a, b = self._common(A, B, tile)
        bits.ratios(a.astype(tile.dtype, copy=False), b.astype(tile.dtype, copy=False), tile)

    def diagonal(self, A: Any) -> np.ndarray:
        return np.ones(len(A), A.dtype)

    def vjp(self, A: Any, B: Any, W: np.ndarray) -> Gradients:
        return {}

    def count_slopes(self, A: Any, B: Any, W: np.ndarray) -> CountSlopes:
        by_common, by_size = self._slopes(A, B, W)
        return by_common, by_size.sum(axis=1), by_size.sum(axis=0)

    def _slopes(self, A: Any, B: Any, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """W dk / ds and W dk / da, which are (a + b) / (a + b - s)^2 and -s / (a + b - s)^2."""
        s = np.empty(W.shape, A.dtype)
        a, b = self._common(A, B, s)
        both = a[:, None] + b
        inverse = np.divide(1.0, both - s, out=np.zeros_like(s), where=both - s > 0.0) ** 2 * W
        return both * inverse, -s * inverse


class Tanimoto(_Ratio):
    """k(x, y) = <x, y> / (|x|^2 + |y|^2 - <x, y>), and 1 for two rows of zeros.

    For rows of zeros and ones it is the number of common ones over the number of columns in which either has a one;
    such rows are packed into 64-bit words, or kept as lists of their ones where two rows share few of them. It is
    positive semidefinite on rows of any real numbers.

    Parameters
    ----------
    packed : bool
        Whether X holds bytes of eight bits each, as ``numpy.packbits(rows, axis=1)`` makes them.

    References
    ----------
    Ralaivola et al., Graph kernels for chemical informatics, Neural Networks 2005. Tripp et al., Tanimoto random
    features for scalable molecular machine learning, NeurIPS 2023.

    Examples
    --------
    >>> from representer.kernels import Tanimoto
    >>> Tanimoto()([[1, 1, 0, 1], [0, 1, 0, 1]])[0, 1].round(4)
    np.float64(0.6667)
    """

    compares_by = "products"

    def _rows(self, X: Any, like: Any) -> Any:
        return checks.vectors(X, self, like)

    def _common(self, A: Any, B: Any, tile: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        A.products(B, tile)
        return A.squared_norms, B.squared_norms

    def input_vjp(self, A: Any, B: Any, W: np.ndarray) -> np.ndarray:
        A, B = A.dense(), B.dense()
        by_product, by_size = self._slopes(A, B, W)
        return B.combine(by_product) + A.weigh(2.0 * by_size.sum(axis=1))


class MinMax(_Ratio):
    """k(x, y) = sum_f min(x_f, y_f) / sum_f max(x_f, y_f) for entries >= 0, and 1 for two rows of zeros.

    For rows of zeros and ones it equals Tanimoto(). It is positive semidefinite on all such entries.

    Parameters
    ----------
    packed : bool
        Whether X holds bytes of eight bits each, as ``numpy.packbits(rows, axis=1)`` makes them.
    """

    compares_by = "minima"

    def _rows(self, X: Any, like: Any) -> Any:
        return histograms(X, self, like)

    def _common(self, A: Any, B: Any, tile: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        A.minima(B, tile)
        return _sums(A), _sums(B)

    def input_vjp(self, A: Any, B: Any, W: np.ndarray) -> np.ndarray:
        A, B = A.dense(), B.dense()
        by_common, by_size = self._slopes(A, B, W)
        return HistogramIntersection().input_vjp(A, B, by_common) + by_size.sum(axis=1)[:, None]


def _few_in_common(rows: np.ndarray) -> bool:
    """Whether binary rows have so few ones in common that lists of ones are faster than packed bits."""
    often = np.count_nonzero(rows, axis=0) / len(rows)
    return bool(often @ often < rows.shape[1] * COMMON_SHARE)


def _sums(A: Any) -> np.ndarray:
    return A.sums if isinstance(A, BitRows) else np.asarray(A.values.sum(axis=1)).ravel()


def _width(like: Any) -> Any:
    """Rows with the columns and the precision of prepared ones."""
    if isinstance(like, BitRows):
        return np.empty((0, like.n_columns), like.dtype)
    return like.values


def _alike(A: Any, B: Any) -> tuple[Any, Any]:
    """Both sides in the same form; as dense arrays where only one of them is binary."""
    if type(A) is type(B):
        return A, B
    return A.dense(), B.dense()
