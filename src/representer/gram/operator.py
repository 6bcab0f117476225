"""The interface of every Gram matrix K."""

from __future__ import annotations

from abc import ABC, abstractmethod
from threading import Lock
from typing import Any, Self

import numpy as np


class Meter:
    """Kernel evaluations of a matrix and of all matrices taken from it, and the measured error of float32 values."""

    def __init__(self) -> None:
        self.evaluations, self._lock = 0, Lock()
        self.float32_error: float | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _lock=Lock())

    def add(self, count: int) -> None:
        """Count further evaluations; safe to call from several threads."""
        with self._lock:
            self.evaluations += count


class Operator(ABC):
    """K_ij = k(x_i, y_j): products, the diagonal, rows, blocks, subsets and precisions of one matrix.

    Solvers see nothing else of a kernel. `Gram` recomputes values in each product, `Stored` and `Packed` keep them, and
    `LowRank` is F'F. `Submatrix`, which is not an operator, grows and shrinks.
    """

    __array_ufunc__ = None  # NumPy defers `V @ K` to this class
    meter: Meter
    threads: int | None

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""

    @property
    @abstractmethod
    def dtype(self) -> np.dtype:
        """The precision of the values."""

    @abstractmethod
    def __matmul__(self, V: Any) -> np.ndarray:
        """K V, for a vector or several columns; tiled operators accumulate in float64."""

    @abstractmethod
    def diag(self) -> np.ndarray:
        """k(x_i, x_i), for a symmetric matrix."""

    @abstractmethod
    def block(self, rows: Any, columns: Any) -> np.ndarray:
        """The values of some rows and columns, as an array."""

    @abstractmethod
    def take(self, rows: Any, columns: Any = None) -> Operator:
        """The matrix of some of the inputs; with columns, that of some rows and some columns."""

    @abstractmethod
    def astype(self, dtype: Any) -> Operator:
        """The matrix in another precision."""

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Bytes held in memory: prepared inputs and stored values."""

    @property
    def stored(self) -> np.ndarray | None:
        """The array that holds the values at rows and columns `places`, possibly among others; None without one."""
        return None

    @property
    def definite(self) -> bool:
        """Whether K is positive semidefinite by construction."""
        return True

    def dense(self) -> np.ndarray:
        """All values as a new array."""
        return self.block(slice(None), slice(None))

    def alike(self, **changes: Any) -> Self:
        """A shallow copy with some attributes changed, in a tenth of the time that copy.copy takes."""
        other = object.__new__(type(self))
        vars(other).update(vars(self), **changes)
        return other

    @property
    def evaluations(self) -> int:
        """Kernel values computed so far by this matrix and all that was taken from it."""
        return self.meter.evaluations

    def __len__(self) -> int:
        return self.shape[0]

    def __rmatmul__(self, V: Any) -> np.ndarray:
        """V K, for a symmetric matrix."""
        return (self @ np.asarray(V).T).T


def require_columns(V: Any, shape: tuple[int, int]) -> np.ndarray:
    """V as an array with one row for each column of a matrix of this shape."""
    V = np.asarray(V)
    if V.ndim not in (1, 2) or V.shape[0] != shape[1]:
        raise ValueError(f"V has shape {V.shape}, but K has shape {shape}; V needs one row for each column of K.")
    if V.dtype.kind not in "biuf":
        raise TypeError(f"V holds {V.dtype}; a product with K needs real numbers.")
    return V
