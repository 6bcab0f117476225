"""Modified Bessel functions as Matern kernels of any smoothness need them."""

from __future__ import annotations

import numpy as np
from scipy import special


def bessel(r: np.ndarray, order: float) -> np.ndarray:
    """2^(1 - order) / Gamma(order) r^order K_order(r) for a positive order, with its limit 1 near zero."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        logarithm = np.log(2.0) * (1.0 - order) - special.gammaln(order) + order * np.log(r) - r
        bessel = special.kve(order, r)
        near = np.ones_like(r)
        if order > 2:  # where K overflows, r is small and two terms of the series are exact to rounding
            near = 1.0 - r**2 / (4.0 * (order - 1.0)) + r**4 / (32.0 * (order - 1.0) * (order - 2.0))
        near = np.where(r < 700.0 + order, near, 0.0)
        return np.where(np.isfinite(bessel) & (r > 0), np.exp(logarithm + np.log(bessel)), near)
