"""Many smooth functions minimised at once, each over a row of its own, by L-BFGS."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Objective = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]

MEMORY = 8
"""Steps kept for the curvature estimate."""


def descend(
    objective: Objective,
    Z: np.ndarray,
    *,
    max_iter: int,
    tol: float,
    step: float = 1.0,
    low: float = -np.inf,
) -> tuple[np.ndarray, np.ndarray]:
    """Rows z that lower objective(z) from their starting points, and its values; no row's value ever increases.

    Each row has its own curvature, step length and termination, and all rows share each call of the objective. (Calling
    an optimiser for one function at a time would evaluate the kernel row by row instead of in matrix products.)

    Parameters
    ----------
    objective : callable
        Takes rows Z and their indices and returns a value and a gradient for each.
    Z : array of shape (n, n_columns)
        Starting points.
    max_iter : int
        Calls of the objective.
    tol : float
        A row has converged when a step changes its value by less than tol times its initial value.
    step : float
        Length of the first step.
    low : float
        Entries stay at or above it.
    """
    Z = np.array(Z, np.float64)
    values, gradients = objective(Z, np.arange(len(Z)))
    history = _History(*Z.shape)
    floor, length = tol * np.maximum(values, np.finfo(float).tiny), np.ones(len(Z))
    directions = _first(gradients, step)
    active = np.flatnonzero(_slopes(gradients, directions) < 0)
    for _ in range(max_iter):
        if not len(active):
            break
        trial = np.maximum(Z[active] + length[active, None] * directions[active], low)
        found, slopes = objective(trial, active)
        moved = trial - Z[active]
        lower = found <= values[active] + 1e-4 * np.minimum(_slopes(gradients[active], moved), 0.0)
        lower &= np.isfinite(found)
        rows, change = active[lower], values[active[lower]] - found[lower]
        history.add(rows, moved[lower], slopes[lower] - gradients[rows])
        Z[rows], values[rows], gradients[rows] = trial[lower], found[lower], slopes[lower]
        directions[rows], length[rows] = history.directions(rows, gradients[rows], step), 1.0
        length[active[~lower]] *= 0.3
        ended = np.zeros(len(Z), bool)
        ended[rows] = (change <= floor[rows]) | (_slopes(gradients[rows], directions[rows]) >= 0)
        ended[active] |= length[active] < 1e-8
        active = active[~ended[active]]
    return Z, values


def _slopes(gradients: np.ndarray, directions: np.ndarray) -> np.ndarray:
    return np.einsum("ij,ij->i", gradients, directions)


def _first(gradients: np.ndarray, step: float) -> np.ndarray:
    """Steepest descent, scaled to the length of the first step."""
    size = np.linalg.norm(gradients, axis=1, keepdims=True)
    return -step * np.divide(gradients, size, out=np.zeros_like(gradients), where=size > 0)


class _History:
    """The last steps s and changes of the gradient y of each row, newest first, for the two-loop recursion."""

    def __init__(self, n: int, n_columns: int):
        self.s = np.zeros((MEMORY, n, n_columns))
        self.y = np.zeros((MEMORY, n, n_columns))
        self.inverse = np.zeros((MEMORY, n))  # 1 / <s, y>, and 0 where no step is stored

    def add(self, rows: np.ndarray, s: np.ndarray, y: np.ndarray) -> None:
        """Store a step of some rows where the curvature along it is positive."""
        product = _slopes(s, y)
        good = product > 1e-10 * np.linalg.norm(s, axis=1) * np.linalg.norm(y, axis=1)
        rows = rows[good]
        for kept, new in ((self.s, s[good]), (self.y, y[good]), (self.inverse, 1.0 / product[good])):
            kept[1:, rows] = kept[:-1, rows]
            kept[0, rows] = new

    def directions(self, rows: np.ndarray, gradients: np.ndarray, step: float) -> np.ndarray:
        """-H g, H the L-BFGS approximation of the inverse Hessian."""
        s, y, inverse = self.s[:, rows], self.y[:, rows], self.inverse[:, rows]
        q, a = -gradients, np.zeros((MEMORY, len(rows)))
        for i in range(MEMORY):
            a[i] = inverse[i] * _slopes(s[i], q)
            q -= a[i, :, None] * y[i]
        curvature = inverse[0] * _slopes(y[0], y[0])
        scale = np.divide(1.0, curvature, out=np.zeros(len(rows)), where=curvature > 0)
        q = np.where(scale[:, None] > 0, scale[:, None] * q, _first(gradients, step))
        for i in reversed(range(MEMORY)):
            q += (a[i] - inverse[i] * _slopes(y[i], q))[:, None] * s[i]
        return q
