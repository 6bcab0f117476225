"""The epsilon-insensitive loss of support vector regression."""

from __future__ import annotations

from typing import Any

import numpy as np

from representer.kernels import checks
from representer.losses.piecewise_linear import BoxLoss


class EpsilonInsensitive(BoxLoss):
    """l(y, f) = max(0, |y - f| - epsilon): errors up to epsilon cost nothing.

    Parameters
    ----------
    epsilon : float
    """

    def __init__(self, epsilon: float = 0.1):
        self.epsilon = epsilon

    def check(self) -> None:
        if checks.real(self.epsilon, "epsilon") < 0:
            raise ValueError(f"epsilon is {self.epsilon!r}; it must be zero or positive.")

    def box(self, y: np.ndarray) -> tuple[Any, Any, float]:
        return -1.0, 1.0, self.epsilon
