"""The periodic kernel: the RBF kernel of points on circles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from representer.kernels import checks, separated
from representer.kernels.base import Gradients
from representer.kernels.prepared import Vectors
from representer.kernels.stationary import RBF, Stationary


@dataclass
class Angles(Vectors):
    """Columns wrapped around circles: the points (cos, sin) / length_scale, and the angles themselves."""

    angles: Any = None
    per_row: ClassVar[tuple[str, ...]] = (*Vectors.per_row, "angles")


class Periodic(Stationary):
    r"""k(x, y) = exp(-2 sum_f sin^2(pi (x_f - y_f) / period_f) / length_scale_f^2).

    It is the RBF kernel of the points (cos, sin) 2 pi x / period, so it is positive definite for any number of columns.

    Parameters
    ----------
    length_scale : float, array of shape (n_columns,) or None
    period : float or array of shape (n_columns,)
    """

    decreasing = True
    separated = separated.of_periodic

    def __init__(self, length_scale: Any = None, period: Any = 1.0):
        self.length_scale = length_scale
        self.period = period

    phi = RBF.phi
    dphi = RBF.dphi
    squared_distance_in_H = RBF.squared_distance_in_H
    log_phi = RBF.log_phi

    def prepare(self, X: Any, like: Any = None) -> Angles:
        X = checks.vectors(X, self, None if like is None else like.angles)
        scale = np.full(X.shape[1], checks.length_scale(self.length_scale, X.shape[1]))
        points = (self._rows(X) / np.tile(scale, 2)).astype(X.dtype)
        turns = (2.0 * np.pi * X / checks.length_scale(self.period, X.shape[1], "period")).astype(X.dtype)
        return Angles.of(points, angles=turns)

    def _rows(self, X: Any) -> np.ndarray:
        """Points (cos, sin) on circles."""
        X = checks.vectors(X, self)
        if sparse.issparse(X):
            raise TypeError("Periodic does not take sparse input, because zeros do not stay zero; pass X.toarray().")
        period = checks.length_scale(self.period, X.shape[1], "period")
        # full turns are removed in float64, so that no digits are lost many periods away from zero
        angles = (2.0 * np.pi * np.remainder(X.astype(np.float64) / period, 1.0)).astype(X.dtype)
        return np.concatenate([np.cos(angles), np.sin(angles)], axis=1)

    def _by_angles(self, A: Angles, gradient: np.ndarray) -> np.ndarray:
        """A gradient with respect to points (cos, sin), converted to one with respect to angles."""
        cosines, sines = np.split(A.values, 2, axis=1)
        by_cosine, by_sine = np.split(gradient, 2, axis=1)
        return by_sine * cosines - by_cosine * sines

    def vjp(self, A: Angles, B: Angles, W: np.ndarray) -> Gradients:
        G = self._weighted_dphi(A, B, W)[0]
        scale = checks.length_scale(self.length_scale, A.angles.shape[1])
        period = checks.length_scale(self.period, A.angles.shape[1], "period")
        r, c = G.sum(axis=1), G.sum(axis=0)
        total = A.second_moments(r) + B.second_moments(c) - 2.0 * A.cross_moments(B, G)
        by_scale = -2.0 * (total[: len(total) // 2] + total[len(total) // 2 :]) / scale
        by_a = np.einsum("if,if->f", self._by_angles(A, 2.0 * (A.weigh(r) - B.combine(G))), A.angles)
        by_b = np.einsum("if,if->f", self._by_angles(B, 2.0 * (B.weigh(c) - A.combine(G.T))), B.angles)
        by_period = -(by_a + by_b) / period
        return {
            "length_scale": by_scale if scale.ndim else by_scale.sum(),
            "period": by_period if period.ndim else by_period.sum(),
        }

    def input_vjp(self, A: Angles, B: Angles, W: np.ndarray) -> np.ndarray:
        G = self._weighted_dphi(A, B, W)[0]
        period = checks.length_scale(self.period, A.angles.shape[1], "period").astype(A.dtype)
        return self._by_angles(A, 2.0 * (A.weigh(G.sum(axis=1)) - B.combine(G))) * (2.0 * np.pi) / period
