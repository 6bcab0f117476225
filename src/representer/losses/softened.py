"""Piecewise linear losses with rounded corners."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit

from representer.losses.base import Loss

OPEN_ENDS = 1e-12
"""Fraction of the domain at each end, where values of f are infinite, that conjugates leave out."""


class Softened(Loss):
    """l(y, f) = width (upper s((f - y - epsilon) / width) - lower s((y - f - epsilon) / width)), s(t) = log(1 + e^t).

    The piecewise linear loss with this box, such as hinge or pinball, with corners rounded over a few widths: it has
    derivatives of all orders, and positive curvature everywhere. As the width goes to zero it tends to that loss.

    Parameters
    ----------
    loss : Loss
        With a box and one output.
    width : float
        In the units of f.
    """

    complete = True

    def __init__(self, loss: Loss, width: float):
        self.loss = loss
        self.width = width

    @property
    def targets(self) -> str:  # type: ignore[override]
        return self.loss.targets

    def _parts(self, y: np.ndarray, f: np.ndarray) -> tuple[Any, Any, np.ndarray, np.ndarray]:
        """Both slopes, and how far f is beyond each corner, in widths."""
        lower, upper, epsilon = self.loss.box(y)  # type: ignore[misc]
        return lower, upper, (f - y - epsilon) / self.width, (y - f - epsilon) / self.width

    def value(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        lower, upper, above, below = self._parts(y, f)
        return self.width * (upper * np.logaddexp(0.0, above) - lower * np.logaddexp(0.0, below))

    def gradient(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        lower, upper, above, below = self._parts(y, f)
        return upper * expit(above) + lower * expit(below)

    def curvature(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        lower, upper, above, below = self._parts(y, f)
        bends = (expit(t) * expit(-t) for t in (above, below))
        return (upper * next(bends) - lower * next(bends)) / self.width

    def third(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        lower, upper, above, below = self._parts(y, f)
        slopes = (expit(t) * expit(-t) * (1.0 - 2.0 * expit(t)) for t in (above, below))
        return (upper * next(slopes) + lower * next(slopes)) / self.width**2

    def conjugate(self, y: np.ndarray, v: np.ndarray) -> np.ndarray:
        """v f - l(y, f) at the f where l has slope v: a quadratic equation in t = e^((f - y) / width)."""
        lower, upper, epsilon = self.loss.box(y)  # type: ignore[misc]
        room = OPEN_ENDS * (upper - lower)
        v, E = np.clip(v, lower + room, upper - room), np.exp(epsilon / self.width)
        a, b, c = E * (upper - v), upper + lower - v * (1.0 + E**2), E * (lower - v)  # a > 0 > c: one root is positive
        root = np.sqrt(b**2 - 4.0 * a * c)
        t = np.where(b > 0.0, -2.0 * c / np.where(b > 0.0, b + root, 1.0), (root - b) / (2.0 * a))
        f = y + self.width * np.log(t)
        return v * f - self.value(y, f)

    def domain(self, y: np.ndarray) -> tuple[Any, Any]:
        return self.loss.domain(y)
