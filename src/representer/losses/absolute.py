"""The absolute loss."""

from __future__ import annotations

from typing import Any

import numpy as np

from representer.losses.piecewise_linear import BoxLoss


class Absolute(BoxLoss):
    """l(y, f) = |y - f|, whose minimiser is the median."""

    def box(self, y: np.ndarray) -> tuple[Any, Any, float]:
        return -1.0, 1.0, 0.0
