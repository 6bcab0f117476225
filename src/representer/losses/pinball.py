"""The pinball loss of quantile regression."""

from __future__ import annotations

from typing import Any

import numpy as np

from representer.losses.base import Loss
from representer.losses.piecewise_linear import BoxLoss


class Pinball(BoxLoss):
    """l(y, f) = quantile * max(0, y - f) + (1 - quantile) * max(0, f - y), whose minimiser is the quantile.

    Parameters
    ----------
    quantile : float or list of floats
        Between 0 and 1. With several quantiles, each has its own output, and the losses add up.
    """

    def __init__(self, quantile: Any = 0.5):
        self.quantile = quantile

    @property
    def _levels(self) -> np.ndarray:
        return np.atleast_1d(np.asarray(self.quantile, np.float64))

    def check(self) -> None:
        try:
            levels = self._levels
        except (TypeError, ValueError):
            levels = np.array([np.nan])
        if levels.ndim != 1 or not levels.size or not np.all((levels > 0) & (levels < 1)):
            raise ValueError(f"quantile is {self.quantile!r}; it must be between 0 and 1, or a list of such numbers.")

    def outputs(self, y: np.ndarray) -> int:
        return len(self._levels)

    def parts(self) -> list[Loss]:
        return [self] if np.ndim(self.quantile) == 0 else [Pinball(float(level)) for level in self._levels]

    def box(self, y: np.ndarray) -> tuple[Any, Any, float]:
        return -self._levels, 1.0 - self._levels, 0.0
