"""The squared loss."""

from __future__ import annotations

from typing import Any

import numpy as np

from representer.losses.base import Loss


class Squared(Loss):
    """l(y, f) = (y - f)^2 / 2, whose minimiser is the mean."""

    complete = True

    def value(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        return 0.5 * (y - f) ** 2

    def gradient(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        return f - y

    def curvature(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        return np.ones_like(f)

    def conjugate(self, y: np.ndarray, v: np.ndarray) -> np.ndarray:
        return 0.5 * v**2 + v * y

    def domain(self, y: np.ndarray) -> tuple[Any, Any]:
        return -np.inf, np.inf
