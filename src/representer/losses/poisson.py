"""The Poisson loss for counts."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import xlogy

from representer.losses.base import Loss


class Poisson(Loss):
    """l(y, f) = exp(f) - y f for counts y >= 0: -log P(y) for the rate exp(f), up to a constant."""

    targets = "counts"
    complete = True

    def value(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore"):  # a line search that goes too far backtracks
            return np.exp(f) - y * f

    def gradient(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore"):
            return np.exp(f) - y

    def curvature(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        return np.exp(f)

    def response(self, f: np.ndarray) -> np.ndarray:
        """The rate exp(f)."""
        return np.exp(f)

    def conjugate(self, y: np.ndarray, v: np.ndarray) -> np.ndarray:
        rate = np.maximum(v + y, 0.0)
        return xlogy(rate, rate) - rate

    def domain(self, y: np.ndarray) -> tuple[Any, Any]:
        return -y, np.inf
