"""The kernel matrix of a problem with any loss in the form that memory allows, and its factors, each computed once."""

from __future__ import annotations

from typing import Any

import numpy as np

from representer import _parallel
from representer.features.pivoted_cholesky import pivoted_cholesky
from representer.gram.low_rank import LowRank
from representer.gram.operator import Operator
from representer.gram.stored import Packed, Stored
from representer.solvers.memory import stores_tiles

NEWTON_RANK = 500
"""The largest rank of a preconditioner: its set-up at each Newton step takes rank^2 n operations."""


def stored_bytes(n: int, memory: int) -> int:
    """Bytes of an n x n matrix in the form that the memory allows: float64, float32 tiles of one triangle, or none."""
    if 8 * n * n <= memory // 8:
        return 8 * n * n
    return 2 * n * n if stores_tiles(n, memory) else 0


def preconditioner_rank(n: int) -> int:
    """The rank of the factor near K that preconditions conjugate gradients."""
    return min(n, NEWTON_RANK, max(100, n // 12))


class Workspace:
    """``workspace @ V`` is K V in float64, from stored or recomputed values.

    Parameters
    ----------
    gram : Gram
    memory : int
        Bytes, of which an eighth may hold K in float64, or a quarter half of it in float32.
    """

    def __init__(self, gram: Any, memory: int):
        self.gram, self.held = gram, stored_bytes(len(gram), memory)
        self.exact = self.held == 8 * len(gram) ** 2
        self._K: Operator | None = None
        self._low_rank: LowRank | None = None
        self._factor: LowRank | None = None

    @property
    def K(self) -> Operator:
        """The matrix in the form that the memory allows, once it is needed."""
        if self._K is None:
            gram = self.gram.astype(np.float64 if self.exact else np.float32)
            self._K = Stored.of(gram, np.float64) if self.exact else Packed(gram) if self.held else gram
        return self._K

    @property
    def kept(self) -> Stored | Packed | None:
        """The matrix, if its values are already stored."""
        return self._K if isinstance(self._K, Stored | Packed) else None

    @property
    def precision(self) -> str:
        """The precision of the products so far."""
        return "float64" if self.exact or self._K is None else "float32 products"

    def __matmul__(self, V: np.ndarray) -> np.ndarray:
        return (self.K @ V).astype(np.float64, copy=False)

    def refine(self) -> None:
        """From now on recompute values in float64: slow, but solves what float32 cannot."""
        self._K, self.exact = self.gram.astype(np.float64), True

    def take(self, rows: np.ndarray, memory: int) -> Workspace:
        """A workspace of some of the inputs, in the same precision."""
        return Workspace(self.gram.take(rows) if self.exact else self.gram.astype(np.float32).take(rows), memory)

    def block(self, rows: np.ndarray) -> np.ndarray:
        """The values between some of the inputs, in float64, as a new array."""
        if self.exact and isinstance(self.K, Stored):
            return self.K.values.copy() if len(rows) == len(self.gram) else self.K.block(rows, rows)
        return self.gram.astype(np.float64).take(rows).dense()

    def low_rank(self, strength: float) -> LowRank:
        """A low-rank factor near K, for preconditioners; computed once."""
        if self._low_rank is None:
            with _parallel.one_blas_thread():
                K = self.gram.astype(np.float64 if self.exact else np.float32)
                self._low_rank = pivoted_cholesky(K, preconditioner_rank(len(K)), stop=strength)
        return self._low_rank

    def factor(self) -> LowRank:
        """A factor of K in float64 that is complete up to rounding; computed once."""
        if self._factor is None:
            K = self.gram.astype(np.float64)
            self._factor = pivoted_cholesky(K, len(K), stop=1e-13 * float(K.diag().sum()))
        return self._factor
