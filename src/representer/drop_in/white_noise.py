"""Noise as in scikit-learn: a part of the kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from representer.kernels import checks
from representer.kernels.base import Gradients, Kernel
from representer.kernels.prepared import Prepared


@dataclass
class Numbered(Prepared):
    """Inputs of which only the index in their sample matters; -1 for those of another sample."""

    places: np.ndarray
    n_columns: int | None
    dtype: Any
    per_row: ClassVar[tuple[str, ...]] = ("places",)


class White(Kernel):
    """k(x_i, x_j) = variance where i = j and 0 elsewhere, and 0 between two samples, even where inputs agree.

    It is scikit-learn's WhiteKernel. In this library noise is a parameter of Gaussian processes instead.
    """

    rowwise = False
    takes_missing = True

    def __init__(self, variance: float = 1.0):
        self.variance = variance

    def prepare(self, X: Any, like: Numbered | None = None) -> Numbered:
        n, shape = checks.number_of(X), tuple(getattr(X, "shape", ()))
        places = np.arange(n) if like is None else np.full(n, -1)
        return Numbered(places, shape[1] if len(shape) == 2 else None, np.dtype(np.float64))

    def fill(self, A: Numbered, B: Numbered, tile: np.ndarray) -> None:
        tile[...] = 0.0
        tile[self._same(A, B)] = self.variance

    def _same(self, A: Numbered, B: Numbered) -> np.ndarray:
        return (A.places[:, None] == B.places) & (A.places[:, None] >= 0)

    def diagonal(self, A: Numbered) -> np.ndarray:
        return np.full(len(A), self.variance, A.dtype)

    def vjp(self, A: Numbered, B: Numbered, W: np.ndarray) -> Gradients:
        return {"variance": W[self._same(A, B)].sum()}

    def input_vjp(self, A: Numbered, B: Numbered, W: np.ndarray) -> np.ndarray:
        return np.zeros((len(A), A.n_columns or 0))
