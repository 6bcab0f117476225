"""Contributions of training rows to a prediction: the weights of their targets, or the terms of the representers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from representer.estimators.gaussian_process import GaussianProcessRegressor
from representer.estimators.kernel_ridge import Ridge
from representer.estimators.loss_machine import Machine
from representer.estimators.searched_model import SearchedModel
from representer.functions import Function
from representer.gram.tiled import Gram
from representer.kernels import checks
from representer.problems.ridge import RidgeProblem
from representer.solvers import choose

TOLERANCE_OF_WEIGHTS = 1e-10
"""Relative residual of the linear system for the weights of a row."""
SUM_TO_ZERO = 1e-6
"""Largest relative sum of coefficients with which the intercept belongs to the rows."""
LANDMARK_JITTER = 1e-12
"""Jitter added to the landmarks' Gram matrix, relative to the mean of k(z, z)."""
BY_TARGETS = "f(x) = start + sum of weight * (target - start)"
BY_LANDMARKS = "f(x) = start + sum of weight * (f(landmark) - start)"
BY_REPRESENTERS = "f(x) = start + sum of alpha_i k(x_i, x)"
BY_DIFFERENCES = "f(x) = start + sum of alpha_i (k(x_i, x) - min_j k(x_j, x))"


@dataclass(frozen=True)
class RowShare:
    """A training row, its target, the weight of the target in a prediction, and its contribution."""

    row: int
    target: Any
    """As in the table, or in the units of f, or a class; for landmarks the value of f; None if unknown."""
    weight: float | None
    """None for losses other than squared ones."""
    added: float

    def words(self, rows_are: str) -> str:
        """One line of text."""
        target = f"{self.target:,.6g}" if isinstance(self.target, float) else self.target
        what = "" if target is None else f" ({target})"
        weight = "" if self.weight is None else f", weight {self.weight:.3f}"
        return f"{self.added:+.4g} by {rows_are} {self.row}{what}{weight}"


@dataclass(frozen=True)
class RowShares:
    """f(x) = start + sum_i added_i for one x."""

    start: float
    added: np.ndarray
    weights: np.ndarray | None
    targets: np.ndarray | None
    formula: str

    def listed(self, n: int, label: Any) -> tuple[tuple[RowShare, ...], tuple[RowShare, ...], float]:
        """The n largest and the n most negative contributions, and the sum of all others; ``label`` names a row."""
        order = np.argsort(self.added, kind="stable")
        up, down = [i for i in order[::-1][:n] if self.added[i] > 0.0], [i for i in order[:n] if self.added[i] < 0.0]

        def share(i: int) -> RowShare:
            number, target = label(i, None if self.targets is None else float(self.targets[i]))
            weight = None if self.weights is None else float(self.weights[i])
            return RowShare(number, target, weight, float(self.added[i]))

        others = float(np.delete(self.added, [*up, *down]).sum())
        return tuple(map(share, up)), tuple(map(share, down)), others


def row_shares(machine: Any, f: Function, one: Any, output: int) -> RowShares:
    """The contribution of each row to f(x), f a single output of the machine's function.

    Squared losses: s(x) = (K + alpha W^(-1))^(-1) k(x) are the weights of the targets; with an intercept, k(x) is
    lowered by the constant for which they sum to one. Other losses: alpha_i k(x_i, x); if the alpha_i sum to zero,
    as with an intercept, k is counted from its least value where that is positive, since most of a kernel with large
    length scales would cancel. In the span of landmarks z: the weights K(z, z)^(-1) k(z, x) of the values f(z).
    """
    if machine.kernel_.original is not machine.kernel_:
        return _of_landmarks(f, one)
    if isinstance(machine, Ridge | GaussianProcessRegressor | Machine):
        dual = np.asarray(machine.dual_coef_, np.float64)
        X = machine.X_fit_
        if checks.number_of(X) == len(dual):  # a linear kernel's function may be spanned by columns
            f = Function(f.kernel, X, dual if dual.ndim == 1 else dual[:, output], f.constant, threads=f.threads)
    if isinstance(machine, Ridge | GaussianProcessRegressor | SearchedModel):
        return _of_targets(machine, f, one, output)
    return _of_representers(f, one)


def _sum_to_zero(coef: np.ndarray) -> bool:
    return bool(abs(coef.sum()) <= SUM_TO_ZERO * np.abs(coef).sum())


def _of_representers(f: Function, one: Any) -> RowShares:
    coef, values = np.asarray(f.coef, np.float64), _values(f, one)
    least = float(values.min()) if _sum_to_zero(coef) else 0.0
    if least <= 0.0:
        return RowShares(float(f.constant), coef * values, None, None, BY_REPRESENTERS)
    start = float(f.constant) + least * float(coef.sum())
    return RowShares(start, coef * (values - least), None, None, BY_DIFFERENCES)


def _values(f: Function, one: Any) -> np.ndarray:
    return np.asarray(Gram(f.kernel, f.X, one).dense(), np.float64)[:, 0]


def _of_targets(machine: Any, f: Function, one: Any, output: int) -> RowShares:
    """Weights of targets; y = f + alpha a / w recovers the targets of the fit."""
    alpha, weights, intercept = _ridge(machine, output)
    coef = np.asarray(f.coef, np.float64)
    # where columns span f in place of rows, the coefficients need not sum to zero
    intercept = intercept and _sum_to_zero(coef)
    gram, n = Gram(f.kernel, f.X, threads=f.threads), len(f.coef)
    sides = np.column_stack([_values(f, one), *[np.ones(n)] * intercept])
    problem = RidgeProblem(gram, sides, np.full(sides.shape[1], alpha), weights)
    budget = replace(machine._budget(), tol=TOLERANCE_OF_WEIGHTS)
    s = choose.solve(problem, budget).coef
    if intercept:
        s = s[:, 0] - s[:, 1] * (s[:, 0].sum() - 1.0) / s[:, 1].sum()
    noise = np.full(n, alpha) if weights is None else np.divide(alpha, weights, out=np.zeros(n), where=weights > 0.0)
    targets = f(f.X).astype(np.float64) + noise * coef
    start = float(np.average(targets, weights=weights)) if intercept else float(f.constant)
    s = s.ravel()
    return RowShares(start, s * (targets - start), s, targets, BY_TARGETS)


def _ridge(machine: Any, output: int) -> tuple[float, np.ndarray | None, bool]:
    """alpha, weights of rows, and whether the fit has an intercept."""
    if isinstance(machine, GaussianProcessRegressor):
        noise = machine._fitted_noise
        return (1.0, 1.0 / np.asarray(noise), False) if np.ndim(noise) else (float(noise), None, False)
    alpha = np.atleast_1d(machine.alpha_)
    intercept = isinstance(machine, SearchedModel) or machine.fit_intercept
    return float(alpha[min(output, len(alpha) - 1)]), _weights(machine), intercept


def _weights(machine: Any) -> np.ndarray | None:
    """The weight of each row of the fit; None where all are one, or known only for groups of equal rows."""
    known, rows = vars(machine).get("_weights"), vars(machine).get("_fitted_rows")
    n = len(machine.function_.coef)
    if known is None or not isinstance(machine, SearchedModel):
        return known
    if rows is None or len(rows) < n:
        return None
    weights = np.empty(n)
    weights[rows] = known
    return weights


def _of_landmarks(f: Function, one: Any) -> RowShares:
    """f is in the span of the k(z, .), so that its values at z determine it."""
    K = np.asarray(Gram(f.kernel, f.X).dense(), np.float64)
    K.flat[:: len(K) + 1] += LANDMARK_JITTER * float(np.trace(K)) / len(K)
    s = np.linalg.solve(K, _values(f, one))
    values = K @ np.asarray(f.coef, np.float64)
    return RowShares(float(f.constant), s * values, s, values + float(f.constant), BY_LANDMARKS)
