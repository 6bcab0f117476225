"""Pre-images by a fixed point: the weighted mean that a pre-image must be."""

from __future__ import annotations

import numpy as np

from representer.preimage.gradient import lower
from representer.preimage.starts import best, starts
from representer.preimage.target import Target, strips

SHORTEST = 1e-3
"""Step length below which halving gives way to gradient descent."""


def fixed_point(target: Target, *, n_starts: int = 2, max_iter: int = 200, tol: float = 1e-5) -> np.ndarray:
    """z <- sum_i coef_i phi'(s_i) x_i / sum_i coef_i phi'(s_i), s_i = |z - x_i|^2, for kernels phi(|x - y|^2).

    At a stationary point of the distance z is this mean. Its weights may be negative, and then a plain iteration can
    diverge. Here a step that would increase the distance is halved; where that does not help, or where the sum of the
    weights has the wrong sign, so that the step points uphill, gradient descent takes over.

    Parameters
    ----------
    target : Target
    n_starts : int
        The nearest training input, the mean of the ten nearest, the second nearest, ...; the best result is returned.
    max_iter : int
        Evaluations for each start.
    tol : float
        A start has converged when its step is below tol length scales.

    References
    ----------
    Mika, Schoelkopf, Smola, Mueller, Scholz and Raetsch, Kernel PCA and de-noising in feature spaces, NeurIPS 1998.
    """
    if not target.radial:
        raise ValueError(
            f"{target.kernel!r} is not a function of the distance alone, so the fixed point is not known; "
            "use method='gradient'."
        )
    Z, functions = starts(target, n_starts)
    values, means, good = _evaluate(target, Z, functions)
    length, rounding = np.ones(len(Z)), float(np.finfo(target.dtype).eps)
    active = np.flatnonzero(good)
    for _ in range(max_iter):
        active = active[np.linalg.norm((means[active] - Z[active]) / target.length_scale, axis=1) > tol]
        if not len(active):
            break
        trial = Z[active] + length[active, None] * (means[active] - Z[active])
        found, next_means, next_good = _evaluate(target, trial, functions[active])
        down = found <= values[active] + rounding * np.abs(values[active])
        rows = active[down]
        Z[rows], values[rows], means[rows], good[rows] = trial[down], found[down], next_means[down], next_good[down]
        length[rows] = np.minimum(1.0, 2.0 * length[rows])
        length[active[~down]] /= 2.0
        good[active] &= length[active] > SHORTEST
        active = active[good[active]]
    stuck = np.union1d(np.flatnonzero(~good), active)
    if len(stuck):
        Z[stuck], values[stuck] = lower(target, Z[stuck], functions[stuck], max_iter=max_iter, tol=1e-9)
    return best(values, Z, len(target))


def _evaluate(target: Target, Z: np.ndarray, functions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Squared distances, the weighted means, and whether the step to them is a descent direction."""
    kernel, factor = target.plain
    A, B = kernel.prepare(Z, like=target.inputs), target.inputs

    def visit(rows: slice) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        coef = target.coef[functions[rows]]
        s = np.empty(coef.shape, target.dtype)
        A[rows].squared_distances(B, s)
        weights = s.copy()
        kernel.phi(s)
        squares = target.squares[functions[rows]] + factor * (1.0 - 2.0 * np.einsum("ij,ij->i", s, coef))
        kernel.dphi(weights)
        weights *= -coef
        total = weights.sum(axis=1, dtype=np.float64)
        good = total > 1e-8 * np.abs(weights).sum(axis=1, dtype=np.float64)
        return squares, B.combine(weights) / np.where(good, total, 1.0)[:, None], good

    squares, means, good = zip(*strips(len(A), visit, target.threads), strict=True)
    return np.concatenate(squares), target.from_scaled(np.concatenate(means)), np.concatenate(good)
