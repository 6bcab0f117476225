"""Piecewise linear losses, two lines and a flat piece, whose duals are box-constrained."""

from __future__ import annotations

from typing import Any

import numpy as np

from representer.losses.base import Loss


class BoxLoss(Loss):
    """l(y, f) = max over lower <= v <= upper of v (f - y) - epsilon |v|.

    So l rises with slope ``upper`` to the right of y + epsilon, with slope ``-lower`` to the left of y - epsilon, and
    is zero between. Its conjugate is v y + epsilon |v| on the box. A subclass defines only the box.
    """

    smooth = False
    complete = True

    def box(self, y: np.ndarray) -> tuple[Any, Any, float]:
        """Lower and upper ends of the box, lower <= 0 <= upper, and epsilon."""
        raise NotImplementedError

    def value(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        lower, upper, epsilon = self.box(y)
        return upper * np.maximum(f - y - epsilon, 0.0) - lower * np.maximum(y - f - epsilon, 0.0)

    def gradient(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        lower, upper, epsilon = self.box(y)
        return upper * (f - y > epsilon) + lower * (y - f > epsilon)

    def curvature(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        return np.zeros_like(f)

    def conjugate(self, y: np.ndarray, v: np.ndarray) -> np.ndarray:
        return v * y + self.box(y)[2] * np.abs(v)

    def domain(self, y: np.ndarray) -> tuple[Any, Any]:
        return self.box(y)[:2]

    def envelope(self, y: np.ndarray, f: np.ndarray, mu: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        lower, upper, epsilon = self.box(y)
        r = f - y
        free = np.sign(r) * np.maximum(np.abs(r) - epsilon, 0.0) / mu
        v = np.clip(free, lower, upper)
        return v * r - epsilon * np.abs(v) - 0.5 * mu * v**2, v, ((v == free) & (v != 0.0)) / mu
