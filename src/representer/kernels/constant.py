"""The constant kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from representer.kernels import checks, separated
from representer.kernels.base import Gradients, Kernel
from representer.kernels.prepared import Prepared


@dataclass
class Count(Prepared):
    """Inputs of which only the number matters."""

    rows: np.ndarray
    dtype: Any
    n_columns: int | None
    per_row: ClassVar[tuple[str, ...]] = ("rows",)


class Constant(Kernel):
    """k(x, y) = value, on inputs of any type; ``k + 1.0`` is ``k + Constant(1.0)``."""

    takes_missing = True
    separated = separated.of_constant

    def __init__(self, value: float = 1.0):
        self.value = value

    @property
    def definite(self) -> bool:  # type: ignore[override]
        return self.value >= 0

    def prepare(self, X: Any, like: Count | None = None) -> Count:
        checks.real(self.value, "value")
        shape: tuple = getattr(X, "shape", ())
        dtype = np.float32 if getattr(X, "dtype", None) == np.float32 else np.float64
        return Count(np.empty(checks.number_of(X), bool), np.dtype(dtype), shape[1] if len(shape) == 2 else None)

    def fill(self, A: Count, B: Count, tile: np.ndarray) -> None:
        tile[...] = self.value

    def diagonal(self, A: Count) -> np.ndarray:
        return np.full(len(A), self.value, A.dtype)

    def vjp(self, A: Count, B: Count, W: np.ndarray) -> Gradients:
        return {"value": W.sum()}

    def input_vjp(self, A: Count, B: Count, W: np.ndarray) -> np.ndarray:
        if A.n_columns is None:
            return super().input_vjp(A, B, W)
        return np.zeros((len(A), A.n_columns), A.dtype)
