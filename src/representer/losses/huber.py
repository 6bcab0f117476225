"""The Huber loss."""

from __future__ import annotations

from typing import Any

import numpy as np

from representer.kernels import checks
from representer.losses.base import Loss


class Huber(Loss):
    """l(y, f) = r^2 / 2 for |r| <= delta and delta (|r| - delta / 2) beyond, r = y - f: gradients are at most delta.

    Parameters
    ----------
    delta : float
    """

    complete = True

    def __init__(self, delta: float = 1.0):
        self.delta = delta

    def check(self) -> None:
        checks.positive(self.delta, "delta")

    def value(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        v = self.gradient(y, f)
        return v * (f - y) - 0.5 * v**2

    def gradient(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        return np.clip(f - y, -self.delta, self.delta)

    def curvature(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        return (np.abs(f - y) <= self.delta).astype(np.float64)

    def conjugate(self, y: np.ndarray, v: np.ndarray) -> np.ndarray:
        return 0.5 * v**2 + v * y

    def domain(self, y: np.ndarray) -> tuple[Any, Any]:
        return -self.delta, self.delta
