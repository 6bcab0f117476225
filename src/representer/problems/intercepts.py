"""The intercept that minimises the loss of a given function."""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq

from representer.losses.base import Loss
from representer.problems.points import Point

DOUBLINGS = 100
"""Doublings of the step away from the current intercept, to bracket the best one."""
LARGEST_SLOPE = 1e300
"""Slopes of a sum of losses are clipped to this, as a root beyond cannot be bracketed in float64."""


def best_intercept(loss: Loss, y: np.ndarray, weights: np.ndarray, point: Point) -> np.ndarray:
    """The b that minimises sum_i w_i l(y_i, f_i + b), for each output."""
    parts, w = loss.parts(), weights / weights.max()  # products with the smallest weights do not underflow
    if len(parts) > 1:
        columns = zip(parts, point.columns(), strict=True)
        return np.concatenate([_by_root(part, y, w, column) for part, column in columns])
    return (_by_newton if point.coef.shape[1] > 1 else _by_root)(loss, y, w, point)


def _by_root(loss: Loss, y: np.ndarray, w: np.ndarray, point: Point) -> np.ndarray:
    """The root of sum_i w_i l'(y_i, f_i + b), which is nondecreasing in b for a convex loss.

    The current intercept where there is no root.
    """

    def slope(b: float) -> float:
        total = float(np.sum(w * loss.gradient(y, point.applied + b)))
        return min(max(total, -LARGEST_SLOPE), LARGEST_SLOPE)

    start = float(point.intercept[0])
    total = slope(start)
    if total == 0.0 or np.isnan(total):
        return point.intercept
    step = -np.sign(total) * max(1e-3 * abs(start), 1e-3)
    near, far = start, start + step
    for _ in range(DOUBLINGS):
        end = slope(far)
        if np.sign(end) != np.sign(total):
            break
        near, far, step = far, far + 2 * step, 2 * step
    else:
        return point.intercept
    if end == 0.0 or np.isnan(end):
        return np.array([far]) if end == 0.0 else point.intercept
    # a root at zero needs a tolerance far below the bracket's width
    return np.array([brentq(slope, near, far, xtol=1e-22 * abs(far - near), rtol=1e-15, maxiter=300, disp=False)])


def _by_newton(loss: Loss, y: np.ndarray, w: np.ndarray, point: Point) -> np.ndarray:
    """Newton's method for the intercepts of several outputs that depend on each other."""

    def losses(F: np.ndarray) -> float:
        return float(np.sum(w * loss.value(y, F)))

    b, value = point.intercept, losses(point.values)
    for _ in range(50):
        F = point.applied + b
        slope = np.sum(w * loss.gradient(y, F), axis=0)
        if np.abs(slope).max() <= 1e-14 * w.sum():
            break
        H = np.sum(w[:, :, None] * loss.curvature(y, F), axis=0)
        step = np.linalg.lstsq(H, -slope, rcond=1e-12)[0]
        size = 1.0
        while size > 1e-10 and not losses(F + size * step) < value + 1e-4 * size * float(slope @ step):
            size /= 2
        if size <= 1e-10:
            # so near the optimum that only the slope can tell: try one full step
            shorter = np.abs(np.sum(w * loss.gradient(y, F + step), axis=0)).max() < np.abs(slope).max()
            b = b + step if shorter else b
            break
        b = b + size * step
        value = losses(point.applied + b)
    return b
