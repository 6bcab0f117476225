"""A smooth approximation of a loss with kinks."""

from __future__ import annotations

from typing import Any

import numpy as np

from representer.losses.base import Loss


class Smoothed(Loss):
    """max over v of v f - l*(y, v) - mu (v - center)^2 / 2, the Moreau envelope of l around a dual point.

    It touches l where v = center is a subgradient of l at f, so with a center near the dual solution mu need not be
    small.
    """

    complete = True
    smoothed = True

    def __init__(self, loss: Loss, mu: float, center: Any = 0.0):
        self.loss = loss
        self.mu = mu
        self.center = center

    def value(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        moved = self.loss.envelope(y, f + self.mu * self.center, self.mu)[0]
        return moved - 0.5 * self.mu * self.center**2

    def gradient(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        return self.loss.envelope(y, f + self.mu * self.center, self.mu)[1]

    def curvature(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        return self.loss.envelope(y, f + self.mu * self.center, self.mu)[2]

    def conjugate(self, y: np.ndarray, v: np.ndarray) -> np.ndarray:
        return self.loss.conjugate(y, v) + 0.5 * self.mu * (v - self.center) ** 2

    def domain(self, y: np.ndarray) -> tuple[Any, Any]:
        return self.loss.domain(y)
