"""Ridge in the span of a basis from one pass: S = sum_i w_i phi_i phi_i', for all alphas at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from time import perf_counter
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve, eigh

from representer.gram.design import SLAB_ROWS, Design
from representer.problems.finite import FiniteRidge, Moments, columns_of, weights_of
from representer.result import Budget, Plan, Result, Work, certificate_of
from representer.solvers.finite_passes import (
    FLOPS,
    PAIR_SECONDS,
    RidgePoint,
    bytes_of_blocks,
    design_for_sums,
    is_little,
    wide,
)
from representer.solvers.memory import working_memory

REFINEMENTS = 40
"""Most passes with float64 products after the first residual, before sums are recomputed in float64."""
MOST_FACTORS = 4
"""Number of distinct alphas up to which each gets a Cholesky factor instead of one eigendecomposition for all."""
LEAVE_OUT_WORK, LEAVE_OUT_ENTRIES = 1e11, 2e7
"""n m^2, and rows times alphas, up to which leave-one-out predictions are computed; beyond, alpha is chosen by GCV."""
UNDETERMINED = 1e-12
"""One minus the leverage of a row, up to which its prediction by all other rows has no digits."""

name = "normal_equations"
way_out = "use fewer components, or a larger memory="


def cost(problem: FiniteRidge, budget: Budget, alphas: np.ndarray | None = None) -> Plan:
    """Two or three passes, n m^2 operations, and some matrices of m x m doubles."""
    n, m = problem.n, problem.size
    work = float(n) * m * m
    little, extra = is_little(n, m), leaves_out(problem, alphas)
    passes = (2 if little else 3) + extra
    seconds = work / FLOPS * (4 if little else 1) + passes * n * m * PAIR_SECONDS + 5e-10 * m**3
    seconds += extra * 2.0 * work / FLOPS
    many = alphas is not None and len(alphas) > 1
    why = "alpha is chosen from several" if many else "all sums are taken in one pass"
    bytes_ = 8 * 6 * m * m + 8 * min(n, SLAB_ROWS) * m + bytes_of_blocks(problem, budget)
    reads = passes + problem.intercept * problem.rows.sample_passes  # a mean of targets is sampled
    plan = Plan(name, why, int(bytes_), passes * n * m, seconds, passes=reads)
    return plan.within(working_memory(2 * budget.memory), way_out)


def leaves_out(problem: FiniteRidge, alphas: np.ndarray | None) -> bool:
    """Whether a path has leave-one-out predictions, or generalised cross-validation alone."""
    n, work = problem.n, float(problem.n) * problem.size**2
    return alphas is not None and len(alphas) > 1 and work <= LEAVE_OUT_WORK and n * alphas.size <= LEAVE_OUT_ENTRIES


@dataclass(frozen=True)
class Sums:
    """sum_i w_i phi_i phi_i', w_i phi_i y_i', w_i phi_i, w_i, w_i y_i, w_i y_i^2, and the number of weighted rows."""

    S: np.ndarray
    C: np.ndarray
    s: np.ndarray
    weight: float
    y: np.ndarray
    yy: np.ndarray
    n: int
    shift: np.ndarray
    intercept: bool

    @classmethod
    def of(cls, problem: FiniteRidge, design: Design) -> Sums:
        """By one pass over the rows."""
        shift = np.zeros(len(problem.alpha))
        if problem.intercept:  # any number near the mean keeps the digits of squares
            _, y, w = problem.rows.sample(min(problem.n, 1024), 0)
            w = weights_of(w, len(y))
            shift = np.average(columns_of(y), axis=0, weights=w) if w.sum() > 0 else shift
        G, C, s, weight, y, yy, n = problem.rows.total(Moments(design.columns, shift))
        S = design.from_moments(G)
        sums = design.from_sums(C), design.from_sums(s), float(weight), y, yy, int(n), shift
        return cls((S + S.T) / 2.0, *sums, problem.intercept)

    @property
    def mean(self) -> np.ndarray:
        """The mean of the features if there is an intercept; else 0."""
        return self.s / self.weight if self.intercept else np.zeros_like(self.s)

    @cached_property
    def sides(self) -> np.ndarray:
        """sum_i w_i (phi_i - mean) y_i'."""
        return self.C - np.multiply.outer(self.mean, self.y) if self.intercept else self.C

    @cached_property
    def squares(self) -> np.ndarray:
        """sum_i w_i (y_i - mean)^2."""
        return np.maximum(self.yy - self.y**2 / self.weight, 0.0) if self.intercept else self.yy

    @cached_property
    def spectrum(self) -> tuple[np.ndarray, np.ndarray]:
        """Nonnegative eigenvalues, and eigenvectors, of S minus its part along the mean."""
        A = self.S - self.weight * np.multiply.outer(self.mean, self.mean)
        values, V = eigh(A, overwrite_a=True, check_finite=False, driver="evd")
        return np.maximum(values, 0.0), V

    @cached_property
    def inside(self) -> np.ndarray:
        """The right-hand sides in the basis of eigenvectors."""
        return self.spectrum[1].T @ self.sides

    def shifted(self, alpha: np.ndarray) -> np.ndarray:
        """values + alpha, infinite where both are zero to rounding, so that such directions are left out."""
        values = self.spectrum[0]
        total = values[:, None] + alpha
        return np.where(total > len(values) * np.finfo(np.float64).eps * values.max(initial=0.0), total, np.inf)

    def apply_inverse(self, g: np.ndarray, alpha: np.ndarray) -> np.ndarray:
        """(S + alpha I)^(-1) g, an alpha for each column."""
        V = self.spectrum[1]
        return V @ ((V.T @ g) / self.shifted(alpha))

    def inverse(self, alpha: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        """g -> (S + alpha I)^(-1) g: by a factor for each alpha, unless the spectrum is known or needed."""
        if "spectrum" not in vars(self) and len(different := np.unique(alpha)) <= MOST_FACTORS:
            try:
                factors = [self._factor(each) for each in different]
            except np.linalg.LinAlgError:  # indefinite to rounding
                return partial(self.apply_inverse, alpha=alpha)
            return partial(_solved, factors=factors, which=np.searchsorted(different, alpha))
        return partial(self.apply_inverse, alpha=alpha)

    def _factor(self, alpha: float) -> Any:
        A = self.S - self.weight * np.multiply.outer(self.mean, self.mean)
        least = len(A) * np.finfo(np.float64).eps * A.diagonal().max(initial=0.0)
        if alpha <= least:
            raise np.linalg.LinAlgError("The matrix may be singular.")
        A.ravel()[:: len(A) + 1] += alpha
        return cho_factor(A, overwrite_a=True, check_finite=False)

    def intercepts(self, w: np.ndarray) -> np.ndarray:
        """The best intercepts for coefficients w."""
        return self.shift + (self.y - self.s @ w) / self.weight if self.intercept else np.zeros(w.shape[1])

    def gcv(self, alphas: np.ndarray) -> np.ndarray:
        """n |r|^2 / tr(I - H)^2 for alphas of shape (n_alphas, n_targets), where weights count as repeated rows.

        Where they sum to less than the number of rows, that number is n.
        """
        values, out, n = self.spectrum[0][:, None], np.empty(alphas.shape), max(self.weight, self.n)
        for a, alpha in enumerate(alphas):
            inverse = 1.0 / self.shifted(alpha)
            errors = self.squares - np.sum(self.inside**2 * (2.0 - values * inverse) * inverse, axis=0)
            free = n - self.intercept - np.sum(values * inverse, axis=0)
            errors = n * np.maximum(errors, 0.0)
            out[a] = np.divide(errors, free**2, out=np.full_like(errors, np.inf), where=free > 0)
        return out


def _solved(g: np.ndarray, factors: list, which: np.ndarray) -> np.ndarray:
    """Solve each column with its factor."""
    out = np.empty_like(g)
    for k, factor in enumerate(factors):
        out[:, which == k] = cho_solve(factor, g[:, which == k], check_finite=False)
    return out


@dataclass(frozen=True)
class LeftOut:
    """Predictions of each y_i by the fit without row i, for all alphas: arrays of shape (n_alphas, n, n_targets).

    Infinite, with the wrong sign, where the leverage of row i is one to rounding, so that the alpha is not chosen.
    """

    design: Design
    vectors: np.ndarray
    """Eigenvectors as coefficients of the columns."""
    mean: np.ndarray
    """The mean in the basis of eigenvectors."""
    weight: float
    inverse: np.ndarray
    """1 / (values + alpha) of shape (rank, n_alphas, n_targets)."""
    coef: np.ndarray
    """Coefficients in the basis of eigenvectors, of the same shape."""
    intercept: np.ndarray

    def __call__(self, X: Any, y: Any, w: Any) -> np.ndarray:
        Y = columns_of(y)
        weights = weights_of(w, len(Y))
        U = self.design.values(X, self.vectors)
        centred = U - self.mean
        shape = (len(Y), *self.inverse.shape[1:])
        fits = (U @ self.coef.reshape(len(self.coef), -1)).reshape(shape) + self.intercept
        taken = (centred**2 @ self.inverse.reshape(len(self.inverse), -1)).reshape(shape)
        taken = weights[:, None, None] * (taken + (1.0 / self.weight if self.weight else 0.0))
        left, free = Y[:, None] - fits, 1.0 - taken
        worst = np.broadcast_to(np.copysign(np.inf, Y)[:, None], left.shape).copy()
        # the residual of a row that determines its own fit is mere rounding
        out = Y[:, None] - np.divide(left, free, out=worst, where=free > UNDETERMINED)
        return np.moveaxis(out, 0, 1)


def design_for(problem: FiniteRidge) -> Design:
    """In float64 with orthonormal rows for little work, else in float32 if the basis has it."""
    return design_for_sums(problem.design, problem.n)


class Path:
    """One pass, and then every alpha: coefficients, GCV, leave-one-out predictions and a certified solution."""

    def __init__(self, problem: FiniteRidge, budget: Budget):
        self.problem, self.budget, self.begin, self.passes = problem, budget, perf_counter(), 1
        self.design = design_for(problem)
        self.sums = Sums.of(problem, self.design)

    def leave_out(self, alphas: np.ndarray) -> np.ndarray:
        """Leave-one-out predictions of shape (n_alphas, n, n_targets)."""
        sums, exact = self.sums, replace(self.design, basis=self.design.basis.astype(np.float64))
        shifted = np.stack([sums.shifted(alpha) for alpha in alphas], axis=1)
        coef = sums.inside[:, None] / shifted
        V = sums.spectrum[1]
        intercept = np.stack([sums.intercepts(V @ coef[:, a]) for a in range(len(alphas))])
        weight = sums.weight if sums.intercept else 0.0
        part = LeftOut(*exact.at(V), sums.mean @ V, weight, 1.0 / shifted, coef, intercept)
        self.passes += 1
        return np.concatenate(list(self.problem.rows.map(part)), axis=1)

    def solve(self, alpha: np.ndarray, reason: str) -> Result:
        """Coefficients of phi for one alpha per target, with float64 residuals and corrections by the factor."""
        problem = replace(self.problem, alpha=alpha)
        best = self._refined(problem)
        if best[0].residuals.max() > self.budget.tol and self.design.basis.dtype == np.float32:
            other = wide(self.design)
            if other.basis.dtype == np.float64:
                self.design, self.passes = other, self.passes + 1
                self.sums = Sums.of(problem, other)
                best = min(best, self._refined(problem), key=lambda found: found[0].residuals.max())
        judgement, w, intercept, steps = best
        seconds, n, m = perf_counter() - self.begin, problem.n, problem.size
        single = self.design.basis.dtype == np.float32
        precision = "float32 products in float64 sums, float64 residuals" if single else "float64"
        bytes_ = cost(problem, self.budget).bytes
        work = Work("normal equations", reason, steps, bytes_, seconds, precision, self.passes)
        certificate = certificate_of([judgement], work, self.budget.tol, self.passes * n * m)
        return Result(w, intercept, certificate)

    def _refined(self, problem: FiniteRidge) -> tuple:
        """A float64 judgement, coefficients and the steps: the solution of the sums, refined by conjugate gradients.

        The preconditioner is the inverse of the sums, and products are float64, so that they converge where float32
        sums have lost digits.
        """
        sums, tol = self.sums, self.budget.tol
        exact = replace(problem.design, basis=problem.design.basis.astype(np.float64), orthonormal=False)
        exact = self.design if self.design.orthonormal else exact
        inverse, size = sums.inverse(problem.alpha), np.linalg.norm(sums.sides, axis=0)
        w = inverse(sums.sides)
        point, steps = RidgePoint.at(problem, exact, w, sums.intercepts(w), sums.weight), 0
        if np.any(np.linalg.norm(point.g, axis=0) > tol * size):
            point, steps = point.improved(problem, exact, inverse, 0.9 * tol * size, REFINEMENTS)
        self.passes += 1 + steps
        return problem.judge(point.w, point.b, (point.g, point.squares, size)), point.w, point.b, 1 + steps


def solve(problem: FiniteRidge, budget: Budget, reason: str, start: Any = None) -> Result:
    """The solution for the alphas of the problem."""
    return Path(problem, budget).solve(problem.alpha, reason)
