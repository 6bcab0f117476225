"""The squared hinge loss."""

from __future__ import annotations

from typing import Any

import numpy as np

from representer.losses.base import Loss


class SquaredHinge(Loss):
    """l(y, f) = max(0, 1 - y f)^2 / 2 for y = -1 or +1."""

    targets = "signs"
    complete = True

    def value(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        return 0.5 * np.maximum(1.0 - y * f, 0.0) ** 2

    def gradient(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        return -y * np.maximum(1.0 - y * f, 0.0)

    def curvature(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        return (y * f < 1.0).astype(np.float64)

    def conjugate(self, y: np.ndarray, v: np.ndarray) -> np.ndarray:
        return 0.5 * v**2 + v * y

    def domain(self, y: np.ndarray) -> tuple[Any, Any]:
        return np.where(y > 0, -np.inf, 0.0), np.where(y > 0, 0.0, np.inf)
