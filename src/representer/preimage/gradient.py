"""Pre-images by descent along the gradient of the distance, from several starts."""

from __future__ import annotations

import numpy as np

from representer import _parallel
from representer.preimage.descent import descend
from representer.preimage.starts import best, starts
from representer.preimage.target import Target, dense_rows


def gradient(target: Target, *, n_starts: int = 4, max_iter: int = 200, tol: float = 1e-9) -> np.ndarray:
    """argmin_z k(z, z) - 2 f(z) by L-BFGS, for any kernel with a gradient with respect to its inputs.

    Parameters
    ----------
    target : Target
    n_starts : int
        The nearest training input, the mean of the ten nearest, the second nearest, ...; the best result is returned.
    max_iter : int
        Evaluations of the distance for each start.
    tol : float
        Relative change of the squared distance at which a start has converged.
    """
    if not target.has_gradient:
        raise TypeError(
            f"{target.kernel!r} has no gradient with respect to these inputs; "
            "use method='search' with neighbours=, or method='nearest'."
        )
    points, functions = starts(target, n_starts)
    points, values = lower(target, points, functions, max_iter=max_iter, tol=tol)
    return best(values, points, len(target))


def lower(
    target: Target, points: np.ndarray, functions: np.ndarray, *, max_iter: int, tol: float
) -> tuple[np.ndarray, np.ndarray]:
    """Points at least as near to their functions as those given, and the squared distances."""
    step, low = 0.1 * _spread(target), _lowest(target)
    parts = []
    for rows in _parallel.split(len(points), 512):  # bounds the memory of the L-BFGS history

        def objective(Z: np.ndarray, index: np.ndarray, mine: np.ndarray = functions[rows]) -> tuple:
            return target.with_gradients(Z, mine[index])

        parts.append(descend(objective, points[rows], max_iter=max_iter, tol=tol, step=step, low=low))
    return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])


def _spread(target: Target) -> float:
    """Square root of the total variance of (at most a thousand of) the training inputs, or 1 if they are all equal."""
    some = dense_rows(target.X, np.unique(np.linspace(0, len(target.inputs) - 1, 1000).astype(int)))
    return float(np.sqrt(some.var(axis=0, dtype=np.float64).sum())) or 1.0


def _lowest(target: Target) -> float:
    """Lower bound on entries: 0 where the kernel refuses negative ones, as kernels on histograms do."""
    try:
        target.kernel.prepare(-np.ones((1, target.X.shape[1])), like=target.inputs)
    except ValueError:
        return 0.0
    return -np.inf
