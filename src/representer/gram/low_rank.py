"""K = F'F of low rank."""

from __future__ import annotations

from typing import Any

import numpy as np

from representer.gram.operator import Meter, Operator, require_columns


class LowRank(Operator):
    """F'F + remainder = K, where the remainder is positive semidefinite and zero at the pivots.

    As an operator it is F'F alone.

    Parameters
    ----------
    factor : array of shape (rank, n)
    pivots : array of ints of shape (rank,), optional
        The inputs whose columns of K the factor was built from.
    remainder : array of shape (n,), optional
        The diagonal of the remainder.
    """

    threads = None

    def __init__(self, factor: np.ndarray, pivots: np.ndarray | None = None, remainder: np.ndarray | None = None):
        self.factor, self.meter = factor, Meter()
        self.pivots = np.empty(0, int) if pivots is None else pivots
        self.remainder = np.zeros(factor.shape[1]) if remainder is None else remainder

    @property
    def shape(self) -> tuple[int, int]:
        return self.factor.shape[1], self.factor.shape[1]

    @property
    def rank(self) -> int:
        return len(self.factor)

    @property
    def dtype(self) -> np.dtype:
        return self.factor.dtype

    @property
    def nbytes(self) -> int:
        return self.factor.nbytes + self.remainder.nbytes + self.pivots.nbytes

    def weighted(self, weights: np.ndarray) -> LowRank:
        """The factor and remainder of D K D with D = diag(sqrt weights)."""
        return LowRank(self.factor * np.sqrt(weights), self.pivots, self.remainder * weights)

    def __matmul__(self, V: Any) -> np.ndarray:
        V = require_columns(V, self.shape).astype(self.dtype, copy=False)
        return (self.factor.T @ (self.factor @ V)).astype(np.float64, copy=False)

    def diag(self) -> np.ndarray:
        return np.einsum("ij,ij->j", self.factor, self.factor)

    def block(self, rows: Any, columns: Any) -> np.ndarray:
        return self.factor[:, rows].T @ self.factor[:, columns]

    def take(self, rows: Any, columns: Any = None) -> LowRank:
        if columns is not None:
            raise ValueError("A factor F'F is taken at the same rows and columns; use block() for others.")
        return LowRank(self.factor[:, rows], None, self.remainder[rows])

    def astype(self, dtype: Any) -> LowRank:
        return LowRank(self.factor.astype(dtype, copy=False), self.pivots, self.remainder)
