"""The exponential loss of boosting."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import xlogy

from representer.losses.base import Loss


class Exponential(Loss):
    """l(y, f) = exp(-y f) for y = -1 or +1."""

    targets = "signs"
    complete = True

    def value(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore"):  # a line search that goes too far backtracks
            return np.exp(-y * f)

    def gradient(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        return -y * self.value(y, f)

    def curvature(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        return np.exp(-y * f)

    def conjugate(self, y: np.ndarray, v: np.ndarray) -> np.ndarray:
        p = np.abs(v)
        return xlogy(p, p) - p

    def domain(self, y: np.ndarray) -> tuple[Any, Any]:
        return np.where(y > 0, -np.inf, 0.0), np.where(y > 0, 0.0, np.inf)
