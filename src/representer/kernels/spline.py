"""Kernels whose functions are splines or rough paths that start at the origin."""

from __future__ import annotations

from typing import Any

import numpy as np

from representer.kernels import checks
from representer.kernels.base import Gradients, Kernel
from representer.kernels.prepared import SparseVectors, Vectors, lay_out


class Brownian(Kernel):
    """k(x, y) = (|x|^(2 hurst) + |y|^(2 hurst) - |x - y|^(2 hurst)) / 2, the covariance of fractional Brownian motion.

    With hurst = 1/2 and one column of nonnegative numbers it is min(x, y), whose functions are linear splines.

    Parameters
    ----------
    hurst : float
        Between 0 and 1; larger is smoother.
    """

    def __init__(self, hurst: float = 0.5):
        self.hurst = hurst

    def prepare(self, X: Any, like: Any = None) -> Vectors | SparseVectors:
        if not 0 < checks.real(self.hurst, "hurst") < 1:
            raise ValueError(f"hurst is {self.hurst!r}; it must lie between 0 and 1.")
        A = lay_out(checks.vectors(X, self, None if like is None else like.values))
        with np.errstate(over="ignore"):
            checks.no_overflow(4.0 * A.squared_norms, self)  # bounds squared distances
        return A

    def fill(self, A: Any, B: Any, tile: np.ndarray) -> None:
        A.squared_distances(B, tile)
        np.power(tile, self.hurst, out=tile)
        tile *= -1.0
        tile += (A.squared_norms**self.hurst)[:, None]
        tile += B.squared_norms**self.hurst
        tile *= 0.5

    def diagonal(self, A: Any) -> np.ndarray:
        return A.squared_norms**self.hurst

    def vjp(self, A: Any, B: Any, W: np.ndarray) -> Gradients:
        s = np.empty((len(A), len(B)), A.dtype)
        A.squared_distances(B, s)
        rows, columns = self._by_hurst(A.squared_norms), self._by_hurst(B.squared_norms)
        return {"hurst": 0.5 * (W.sum(axis=1) @ rows + W.sum(axis=0) @ columns - np.vdot(W, self._by_hurst(s)))}

    def _by_hurst(self, s: np.ndarray) -> np.ndarray:
        """d s^hurst / d hurst = s^hurst log s, 0 at zero."""
        return s**self.hurst * np.log(s, out=np.zeros_like(s), where=s > 0)

    def input_vjp(self, A: Any, B: Any, W: np.ndarray) -> np.ndarray:
        s = np.empty((len(A), len(B)), A.dtype)
        A.squared_distances(B, s)
        G = W * self._power(s)
        return self.hurst * (A.weigh(W.sum(axis=1) * self._power(A.squared_norms) - G.sum(axis=1)) + B.combine(G))

    def _power(self, s: np.ndarray) -> np.ndarray:
        """s^(hurst - 1), 0 at zero."""
        return np.power(s, self.hurst - 1.0, out=np.zeros_like(s), where=s > 0)
