"""Objectives on a given K with a bound on what rounding takes from them.

A value that a point attains bounds the least one from above, whatever found the point; a dual value bounds it from
below. So a reference need not be exact to convict a certificate, and a weak one can only acquit.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from textbook_losses import UNIT
from textbook_solvers import factor


def gamma(n):
    """The relative error of a sum of n products in float64, n / 2^53, and 16 / 2^53 for that of kernel values."""
    return (n + 16) * UNIT


@dataclass(frozen=True)
class Value:
    """An objective, what float64 may have lost of it, and the sum of the absolute values of its terms."""

    value: float
    rounding: float
    scale: float


@dataclass(frozen=True)
class Reference:
    """A point f = sum_i coef_i k(x_i, .) and b, its objective, its duality gap, and a bound on ||f - f*||."""

    coef: np.ndarray
    b: np.ndarray
    primal: Value
    gap: float
    radius: float = np.inf


class OnGram:
    """What problems on a matrix K share."""

    def __init__(self, K):
        self.K = K
        self.size = np.abs(K)
        self.gamma = gamma(len(K))

    @cached_property
    def exact(self):
        return self.K.astype(np.longdouble)

    @cached_property
    def roots(self):
        return factor(self.K)

    def values(self, coef):
        """K coef in long double, and what float64 may lose of it."""
        return self.exact @ coef, self.gamma * (self.size @ np.abs(coef))

    def square(self, coef):
        """||f||^2 and what float64 may lose of it."""
        F, lost = self.values(coef)
        return max(float(np.sum(coef * F)), 0.0), float(np.sum(np.abs(coef) * lost))

    def distance(self, coef, other):
        """At least ||f - g||: by its square where rounding leaves some, and by |f - g|(x_i) / sqrt(k(x_i, x_i))."""
        d = coef - other
        F, lost = self.values(d)
        lost = lost + self.gamma * (self.size @ (np.abs(coef) + np.abs(other)))
        square = float(np.sum(d * F)) - float(np.sum(np.abs(d) * lost))
        roots = np.sqrt(np.maximum(self.K.diagonal(), 1e-300))[:, None]
        return max(np.sqrt(max(square, 0.0)), float(np.max((np.abs(F).astype(float) - lost) / roots)), 0.0)
