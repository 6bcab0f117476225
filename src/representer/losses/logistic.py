"""The logistic loss."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit, xlog1py, xlogy

from representer.losses.base import Loss


class Logistic(Loss):
    """l(y, f) = log(1 + exp(-y f)) for y = -1 or +1: -log P(y) where P(+1) = 1 / (1 + exp(-f))."""

    targets = "signs"
    complete = True

    def value(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        return np.logaddexp(0.0, -y * f)

    def gradient(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        return -y * expit(-y * f)

    def curvature(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        return expit(f) * expit(-f)

    def conjugate(self, y: np.ndarray, v: np.ndarray) -> np.ndarray:
        p = np.abs(v)
        return xlogy(p, p) + xlog1py(1.0 - p, -p)

    def domain(self, y: np.ndarray) -> tuple[Any, Any]:
        return np.minimum(-y, 0.0), np.maximum(-y, 0.0)
