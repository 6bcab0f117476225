"""The asymmetric squared loss of expectile regression."""

from __future__ import annotations

from typing import Any

import numpy as np

from representer.kernels import checks
from representer.losses.base import Loss


class Expectile(Loss):
    """l(y, f) = level * (y - f)^2 for f < y and (1 - level) * (y - f)^2 beyond; level 1/2 is the squared loss.

    Parameters
    ----------
    level : float
        Between 0 and 1.
    """

    complete = True

    def __init__(self, level: float = 0.5):
        self.level = level

    def check(self) -> None:
        if not 0 < checks.real(self.level, "level") < 1:
            raise ValueError(f"level is {self.level!r}; it must lie between 0 and 1.")

    def value(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        return 0.5 * self.curvature(y, f) * (y - f) ** 2

    def gradient(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        return self.curvature(y, f) * (f - y)

    def curvature(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        return np.where(f < y, 2.0 * self.level, 2.0 * (1.0 - self.level))

    def conjugate(self, y: np.ndarray, v: np.ndarray) -> np.ndarray:
        return v * y + 0.5 * v**2 / np.where(v < 0, 2.0 * self.level, 2.0 * (1.0 - self.level))

    def domain(self, y: np.ndarray) -> tuple[Any, Any]:
        return -np.inf, np.inf
