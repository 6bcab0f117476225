"""Ridge for a whole path of alphas, with exact leave-one-out errors, from one eigendecomposition."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from time import perf_counter

import numpy as np
from scipy.linalg import eigh

from representer.problems.ridge import RidgeProblem
from representer.result import Budget, Plan


@dataclass(frozen=True)
class Path:
    """Leave-one-out predictions and generalised cross-validation for each alpha."""

    predictions: np.ndarray
    """Array of shape (n_alphas, n, n_targets): the prediction of y_i by the fit without i."""
    gcv: np.ndarray
    """Array of shape (n_alphas, n_targets): n |r|^2 / tr(I - H)^2, where r are the weighted residuals and H is the hat
    matrix."""


def plan_of_path(name: str, problem: RidgeProblem, bytes_: int, seconds: float, budget: Budget) -> Plan:
    """The plan of a decomposition with this cost."""
    reason = "alpha is chosen from several by leave-one-out"
    plan = Plan(name, reason, bytes_ + problem.gram.nbytes, problem.n * (problem.n + 1), seconds)
    return plan.within(
        budget.memory, "use a single alpha with solver='conjugate_gradient', fewer rows, or a larger memory="
    )


def bytes_of_path(problem: RidgeProblem, alphas: np.ndarray) -> int:
    """Solutions of all right-hand sides for each alpha, in two places, diagonals of G, and predictions."""
    return 8 * alphas.size * problem.n * (4 + problem.intercept)


class Decomposition:
    """D K D = U diag(values) U', computed once; every alpha and target is then a product with U.

    For (D K D + alpha I) z = D y the leave-one-out error of i is z_i / G_ii, with G = (D K D + alpha I)^(-1), in units
    of D y.
    """

    name = "eigendecomposition"

    @staticmethod
    def cost(problem: RidgeProblem, budget: Budget, alphas: np.ndarray) -> Plan:
        """3 n^2 doubles and about 10 n^3 operations, for any number of alphas."""
        n = problem.n
        bytes_ = 8 * n * n + max(16 * n * n, 8 * n * n + bytes_of_path(problem, alphas))
        return plan_of_path(Decomposition.name, problem, bytes_, 1.2e-10 * n**3, budget)

    def __init__(self, problem: RidgeProblem):
        started = perf_counter()
        self.problem = problem
        A = problem.matrix(0.0).T  # the same matrix, in LAPACK's column-major order
        self.values, self.U = eigh(A, overwrite_a=True, check_finite=False, driver="evd")
        if problem.gram.definite:
            np.maximum(self.values, 0.0, out=self.values)
        self.rounding = len(self.values) * np.finfo(np.float64).eps * np.abs(self.values[[0, -1]]).max()
        self.inside = self.U.T @ problem.right_hand_sides
        self.seconds = perf_counter() - started

    def solve(self, alpha: np.ndarray) -> np.ndarray:
        """Solutions of all right-hand sides, with one alpha for each."""
        return self.U @ (self.inside / self._shifted(alpha))

    def _shifted(self, alpha: np.ndarray) -> np.ndarray:
        """values + alpha, infinite where both are zero to rounding, so that such directions are left out."""
        shifted = self.values[:, None] + alpha
        return np.where(np.abs(shifted) > self.rounding, shifted, np.inf)

    def path(self, alphas: np.ndarray) -> Path:
        """Leave-one-out predictions for alphas of shape (n_alphas, n_targets), all alphas in one product."""
        return leave_out(self.problem, self.at, alphas)

    def at(self, alphas: np.ndarray, columns: list[int]) -> tuple[np.ndarray, np.ndarray]:
        """The diagonals of G, and the solutions of these right-hand sides, of shape (n, n_alphas, n_columns)."""
        # directions outside the range of K decide when one row is left out, so here they are not dropped but get a
        # ridge above rounding
        shifted = self.values[:, None] + np.maximum(alphas, 10.0 * self.rounding)
        inverse = np.divide(1.0, shifted, out=np.zeros_like(shifted), where=shifted != 0.0)
        inside = inverse[:, :, None] * self.inside[:, None, columns]
        return self.squares @ inverse, (self.U @ inside.reshape(len(inside), -1)).reshape(inside.shape)

    @cached_property
    def squares(self) -> np.ndarray:
        return self.U**2


def leave_out(
    problem: RidgeProblem, at: Callable[[np.ndarray, list[int]], tuple[np.ndarray, np.ndarray]], alphas: np.ndarray
) -> Path:
    """Leave-one-out predictions for alphas of shape (n_alphas, n_targets).

    ``at(alphas, columns)`` gives the diagonals of G and the solutions of the right-hand sides ``columns``, which all
    targets with the same alphas share.
    """
    n, targets = problem.targets.shape
    predictions, gcv = np.empty((len(alphas), n, targets)), np.empty((len(alphas), targets))
    paths, which = np.unique(alphas, axis=1, return_inverse=True)
    for p, path in enumerate(paths.T):
        members = np.flatnonzero(which.ravel() == p).tolist()
        diagonal, Z = at(path, [*members, targets] if problem.intercept else members)
        u = Z[:, :, -1] if problem.intercept else None
        for i, t in enumerate(members):
            predictions[:, :, t], gcv[:, t] = _leave_out(problem, t, path, Z[:, :, i], u, diagonal)
    return Path(predictions, gcv)


def _leave_out(
    problem: RidgeProblem, target: int, alpha: np.ndarray, Z: np.ndarray, u: np.ndarray | None, diagonal: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Predictions and generalised cross-validation of one target; columns are alphas."""
    intercept = np.zeros(Z.shape[1])
    if u is not None:
        total = (problem.sqrt_weights * u).sum(axis=0)
        inside = np.abs(total) > 1e-10 * np.linalg.norm(problem.sqrt_weights) * np.linalg.norm(u, axis=0)
        mean = np.average(problem.targets[:, target], weights=problem.weights)
        intercept = np.divide(
            (problem.sqrt_weights * Z).sum(axis=0), total, out=np.full_like(total, mean), where=inside
        )
        Z = np.where(inside, Z - u * intercept, Z)
        diagonal = diagonal - np.divide(u**2, total, out=np.zeros_like(u), where=inside)
    scaled = problem.sqrt_weights * (np.maximum(diagonal, 0.0) if problem.gram.definite else diagonal)
    predictions = problem.targets[:, target, None] - np.divide(Z, scaled, out=np.zeros_like(Z), where=scaled != 0)
    left_out = problem.sqrt_weights.ravel() == 0
    if np.any(left_out):  # they took no part in the fit, so it predicts them directly
        predictions[left_out] = (
            problem.gram.astype(np.float64).block(np.flatnonzero(left_out), slice(None)) @ (problem.sqrt_weights * Z)
            + intercept
        )
    return predictions.T, _gcv(problem, alpha, Z, np.maximum(diagonal[~left_out], 0.0).sum(axis=0))


def _gcv(problem: RidgeProblem, alpha: np.ndarray, Z: np.ndarray, trace: np.ndarray) -> np.ndarray:
    """n |r|^2 / tr(I - H)^2, where weights count as repeated rows, which I - H leaves alone where they are equal.

    alpha G is the residual operator I - H, and alpha Z are the residuals themselves; the factors cancel.
    """
    weights = problem.sqrt_weights**2
    rows = np.count_nonzero(weights)
    n = max(float(weights.sum()), float(rows)) if problem.weights is not None else float(rows)
    repeated = n - rows if n > rows * (1.0 + 1e-12) else 0.0
    if repeated:
        trace = trace + np.divide(repeated, alpha, out=np.full_like(trace, np.inf), where=alpha > 0.0)
    return np.divide(n * (Z**2).sum(axis=0), trace**2, out=np.full_like(trace, np.inf), where=trace > 1e-100)
