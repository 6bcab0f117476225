"""The hinge loss of support vector machines."""

from __future__ import annotations

from typing import Any

import numpy as np

from representer.losses.piecewise_linear import BoxLoss


class Hinge(BoxLoss):
    """l(y, f) = max(0, 1 - y f) for y = -1 or +1."""

    targets = "signs"

    def box(self, y: np.ndarray) -> tuple[Any, Any, float]:
        return np.minimum(-y, 0.0), np.maximum(-y, 0.0), 0.0
