"""Kernel ridge regression: a linear system for each target."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from representer.gram.operator import Operator
from representer.gram.tiled import Gram
from representer.problems.judgement import Judgement


@dataclass(frozen=True)
class RidgeProblem:
    """minimise over f in H and b:  sum_i w_i (y_i - f(x_i) - b)^2 + alpha ||f||^2, for each column y of the targets.

    With D = diag(sqrt w) and coefficients coef = D z, this is the linear system (D K D + alpha I) z = D (y - b).

    Parameters
    ----------
    gram : Gram
    targets : array of shape (n, n_targets)
    alpha : array of shape (n_targets,)
    weights : array of shape (n,) or None
    intercept : bool
        Whether b is free; otherwise it is 0.
    """

    gram: Gram
    targets: np.ndarray
    alpha: np.ndarray
    weights: np.ndarray | None = None
    intercept: bool = False

    @property
    def n(self) -> int:
        return len(self.targets)

    @cached_property
    def sqrt_weights(self) -> np.ndarray:
        """The square roots of the weights, as a column."""
        return np.ones((self.n, 1)) if self.weights is None else np.sqrt(self.weights)[:, None]

    @cached_property
    def right_hand_sides(self) -> np.ndarray:
        """D y for each target and, with an intercept, D 1."""
        ones = [self.sqrt_weights] if self.intercept else []
        return np.concatenate([self.sqrt_weights * self.targets, *ones], axis=1)

    @property
    def ridges(self) -> np.ndarray:
        """alpha for each right-hand side. Targets with an intercept share one alpha."""
        return np.append(self.alpha, self.alpha[:1]) if self.intercept else self.alpha

    @cached_property
    def diagonal(self) -> np.ndarray:
        """w_i k(x_i, x_i), the diagonal of D K D."""
        return self.sqrt_weights.ravel() ** 2 * self.gram.diag().astype(np.float64)

    def apply(self, Z: np.ndarray, ridges: np.ndarray, K: Operator) -> np.ndarray:
        """(D K D + alpha I) Z, with K as given."""
        return self.sqrt_weights * (K @ (self.sqrt_weights * Z)) + ridges * Z

    def matrix(self, ridge: float, dtype: type = np.float64) -> np.ndarray:
        """D K D + alpha I as a new array."""
        A: np.ndarray = self.gram.astype(dtype).dense().astype(dtype, copy=False)
        if self.weights is not None:
            A *= self.sqrt_weights.astype(dtype)
            A *= self.sqrt_weights.ravel().astype(dtype)
        A.ravel()[:: len(A) + 1] += dtype(ridge)
        return A

    def finish(self, Z: np.ndarray, R: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Coefficients and intercepts from the solutions Z of all right-hand sides, and their residual from R.

        b = <1, D z> / <1, D u>, where u is the solution for D 1; then the coefficients D (z - b u) sum to zero.
        """
        D = self.sqrt_weights
        if not self.intercept:
            return D * Z, np.zeros(len(self.alpha)), R
        Z, u = Z[:, :-1], Z[:, -1:]
        rest = None if R is None else R[:, -1:]
        total = (D * u).sum()
        if abs(total) > 1e-10 * np.linalg.norm(D) * np.linalg.norm(u):
            intercept = (D * Z).sum(axis=0) / total
            Z = Z - u * intercept
        else:  # constants are outside the range of K and nothing else fits them: b is the weighted mean
            intercept, rest = np.average(self.targets, axis=0, weights=self.weights), D
        return D * Z, intercept, None if R is None else R[:, :-1] - rest * intercept

    def residual(self, coef: np.ndarray, intercept: np.ndarray) -> np.ndarray:
        """r = D (y - b) - (D K D + alpha I) z, with K in float64."""
        D = self.sqrt_weights
        Z = np.divide(coef, D, out=np.zeros_like(coef), where=D > 0)
        return D * (self.targets - intercept) - self.apply(Z, self.alpha, self.gram.astype(np.float64))

    def judge(self, coef: np.ndarray, intercept: np.ndarray, residual: np.ndarray | None = None) -> Judgement:
        """Relative residual |r| / |D y| and a bound on ||f - f*||, for each target.

        The error z - z* is -M r with 0 <= M <= I / alpha, so that |r| / (2 sqrt(alpha)) is a bound; an indefinite
        kernel has none. With an intercept, only the part of r orthogonal to d = D 1 counts for it, as the best b
        removes the rest, and coefficients whose sum is not zero are off by that sum times the mean of the k(x_i, .).
        ``residual`` is r where the solver has just computed it in float64 from these coefficients.
        """
        r = self.residual(coef, intercept) if residual is None else residual
        norms, size = np.linalg.norm(r, axis=0), np.linalg.norm(self.sqrt_weights * self.targets, axis=0)
        errors, off = norms, 0.0
        if self.intercept:
            d = self.sqrt_weights
            sums, total = np.abs(coef.sum(axis=0)), (d**2).sum()
            errors = np.linalg.norm(r - d * ((d * r).sum(axis=0) / total), axis=0)
            off = sums * float(d.ravel() @ np.sqrt(np.abs(self.diagonal))) / total
            norms = np.maximum(norms, np.hypot(errors, self.alpha * sums / np.sqrt(total)))
        bounded = (self.alpha > 0) & self.gram.definite
        bound = np.divide(errors, 2.0 * np.sqrt(self.alpha), out=np.full_like(errors, np.inf), where=bounded) + off
        return Judgement(np.divide(norms, size, out=norms.copy(), where=size > 0), "relative residual", bound)
