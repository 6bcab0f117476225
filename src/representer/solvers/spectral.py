"""Ridge for a whole path of alphas, with exact leave-one-out errors, from one eigendecomposition."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from time import perf_counter

import numpy as np
from scipy.linalg import eigh

from representer.problem import RidgeProblem


@dataclass(frozen=True)
class Path:
    """Leave-one-out predictions and generalised cross-validation for each alpha."""

    predictions: np.ndarray
    """Array of shape (n_alphas, n, n_targets): the prediction of y_i by the fit without i."""
    gcv: np.ndarray
    """Array of shape (n_alphas, n_targets): n |r|^2 / tr(I - H)^2, r the weighted residuals and H the hat matrix."""


class Decomposition:
    """D K D = U diag(values) U', computed once; every alpha and target is then a product with U.

    For (D K D + alpha I) z = D y the error of leaving i out is z_i / G_ii, G = (D K D + alpha I)^(-1), in units of D y.
    """

    name = "eigendecomposition"

    def __init__(self, problem: RidgeProblem):
        started = perf_counter()
        self.problem = problem
        A = weighted_matrix(problem).T  # the same matrix in the order that LAPACK takes without a copy
        self.values, self.U = eigh(A, overwrite_a=True, check_finite=False, driver="evd")
        np.maximum(self.values, 0.0, out=self.values)
        self.inside = self.U.T @ problem.right_sides
        self.seconds = perf_counter() - started

    def solve(self, alpha: np.ndarray) -> np.ndarray:
        """Solutions of all right sides, with one alpha for each."""
        return self.U @ (self.inside / self._shifted(alpha))

    def _shifted(self, alpha: np.ndarray) -> np.ndarray:
        """values + alpha, infinite where both are zero to rounding, so that such directions are left out."""
        shifted = self.values[:, None] + alpha
        return np.where(shifted > len(self.values) * np.finfo(np.float64).eps * self.values[-1], shifted, np.inf)

    def path(self, alphas: np.ndarray) -> Path:
        """Leave-one-out predictions for alphas of shape (n_alphas, n_targets), all alphas in one product."""
        return leave_out(self.problem, self.at, alphas)

    def at(self, alphas: np.ndarray, columns: list[int]) -> tuple[np.ndarray, np.ndarray]:
        """The diagonal of G for each alpha, and solutions of shape (n, n_alphas, n_columns) of these right sides."""
        # directions outside the range of K decide when one row is left out, so here they are not left out but get a
        # ridge that rounding leaves visible
        least = 10.0 * len(self.values) * np.finfo(np.float64).eps * self.values[-1]
        shifted = self.values[:, None] + np.maximum(alphas, least)
        inverse = np.divide(1.0, shifted, out=np.zeros_like(shifted), where=shifted > 0.0)
        inside = inverse[:, :, None] * self.inside[:, None, columns]
        return self.squares @ inverse, (self.U @ inside.reshape(len(inside), -1)).reshape(inside.shape)

    @cached_property
    def squares(self) -> np.ndarray:
        return self.U**2


def weighted_matrix(problem: RidgeProblem) -> np.ndarray:
    """D K D in float64."""
    A = problem.kernel.block(problem.exact, threads=problem.threads).astype(np.float64, copy=False)
    if problem.weights is not None:
        A *= problem.root
        A *= problem.root.ravel()
    return A


def leave_out(
    problem: RidgeProblem, at: Callable[[np.ndarray, list[int]], tuple[np.ndarray, np.ndarray]], alphas: np.ndarray
) -> Path:
    """Leave-one-out predictions for alphas of shape (n_alphas, n_targets).

    ``at(alphas, columns)`` gives the diagonals of G and the solutions of the right sides ``columns``, which all targets
    with the same alphas share.
    """
    n, targets = problem.targets.shape
    predictions, gcv = np.empty((len(alphas), n, targets)), np.empty((len(alphas), targets))
    paths, which = np.unique(alphas, axis=1, return_inverse=True)
    for p, path in enumerate(paths.T):
        members = np.flatnonzero(which.ravel() == p).tolist()
        diagonal, Z = at(path, [*members, targets] if problem.intercept else members)
        u = Z[:, :, -1] if problem.intercept else None
        for i, t in enumerate(members):
            predictions[:, :, t], gcv[:, t] = _leave_out(problem, t, Z[:, :, i], u, diagonal)
    return Path(predictions, gcv)


def _leave_out(
    problem: RidgeProblem, target: int, Z: np.ndarray, u: np.ndarray | None, diagonal: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Predictions and generalised cross-validation of one target; columns are alphas."""
    intercept = np.zeros(Z.shape[1])
    if u is not None:
        total = (problem.root * u).sum(axis=0)
        inside = total > 1e-10 * np.linalg.norm(problem.root) * np.linalg.norm(u, axis=0)
        mean = np.average(problem.targets[:, target], weights=problem.weights)
        intercept = np.divide((problem.root * Z).sum(axis=0), total, out=np.full_like(total, mean), where=inside)
        Z = np.where(inside, Z - u * intercept, Z)
        diagonal = diagonal - np.divide(u**2, total, out=np.zeros_like(u), where=inside)
    scaled = problem.root * np.maximum(diagonal, 0.0)
    predictions = problem.targets[:, target, None] - np.divide(Z, scaled, out=np.zeros_like(Z), where=scaled > 0)
    left_out = problem.root.ravel() == 0
    if np.any(left_out):  # they took no part in the fit, so it predicts them as it is
        predictions[left_out] = problem.gram.rows(left_out) @ (problem.root * Z) + intercept
    # alpha G are the residuals' operator I - H, and alpha Z the residuals themselves; the factors cancel
    used = ~left_out
    trace = np.maximum(diagonal[used], 0.0).sum(axis=0)
    gcv = np.divide(used.sum() * (Z**2).sum(axis=0), trace**2, out=np.full_like(trace, np.inf), where=trace > 1e-100)
    return predictions.T, gcv
