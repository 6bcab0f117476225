"""Ridge for a whole path of alphas, with exact leave-one-out errors, from one eigendecomposition."""

from __future__ import annotations

from dataclasses import dataclass
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

    def __init__(self, problem: RidgeProblem):
        started = perf_counter()
        self.problem = problem
        A = problem.kernel.block(problem.exact, threads=problem.threads).astype(np.float64, copy=False)
        if problem.weights is not None:
            A *= problem.root
            A *= problem.root.ravel()
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
        """Leave-one-out predictions for an array of alphas of shape (n_alphas, n_targets)."""
        problem, squares = self.problem, self.U**2
        n, targets = problem.targets.shape
        predictions, gcv = np.empty((len(alphas), n, targets)), np.empty((len(alphas), targets))
        for a, alpha in enumerate(alphas):
            Z = self.solve(np.append(alpha, alpha[:1]) if problem.intercept else alpha)
            diagonal = squares @ (1.0 / self._shifted(alpha))
            coef, intercept = problem.finish(Z)
            if problem.intercept:
                u = Z[:, -1:]
                total = (problem.root * u).sum()
                Z = Z[:, :-1] - u * intercept
                diagonal = diagonal - (u**2 / total if total > 0 else 0.0)
            diagonal = np.maximum(diagonal, 0.0)
            errors = np.divide(Z, problem.root * diagonal, out=np.zeros_like(Z), where=(problem.root * diagonal) > 0)
            predictions[a] = problem.targets - errors
            left_out = problem.root.ravel() == 0
            if np.any(left_out):  # they took no part in the fit, so it predicts them as it is
                predictions[a][left_out] = (problem.gram.rows(left_out) @ coef) + intercept
            # alpha G are the residuals' operator I - H, and alpha Z the residuals themselves; the factors cancel
            trace = diagonal.sum(axis=0)
            gcv[a] = np.divide(n * (Z**2).sum(axis=0), trace**2, out=np.full(targets, np.inf), where=trace > 1e-100)
        return Path(predictions, gcv)
