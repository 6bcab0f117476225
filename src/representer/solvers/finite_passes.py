"""Shared by solvers in the span of a basis: the cost of a pass, precisions, and conjugate gradients on sums."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, eigvalsh

from representer.gram.design import Design
from representer.problems.finite import Applied, FiniteRidge, Residuals
from representer.result import Budget

PAIR_SECONDS, SINGLE_SHARE = 1.0e-9, 0.5
"""Seconds to compute psi_j(x_i) in float64 and use it twice, on two cores; and the fraction of it for float32."""
PASS_SECONDS = 3e-3
"""Seconds that a pass takes for few rows."""
FLOPS = 1.4e11
"""Float32 operations per second in products of columns, on two cores."""
SMALL_WORK = 2e10
"""n m^2 up to which rows are orthonormalised in float64: the digits of an exact fit, in less than a second."""


def bytes_of_blocks(problem: Any, budget: Budget) -> int:
    """A block of rows with its prepared copies, and strips of values in flight."""
    rows, threads = problem.rows, budget.threads or 2
    return 8 * 4 * rows.block_rows * max(rows.n_columns, 1) + 8 * 128 * problem.size * (threads + 16)


def wide(design: Design) -> Design:
    """The design in float64 with orthonormalised rows: three times the work, but full precision."""
    return replace(design, basis=design.basis.astype(np.float64), orthonormal=True)


def is_little(n: int, m: int) -> bool:
    """Whether there is so little work that sums over n rows are computed in float64."""
    return float(n) * m * m <= SMALL_WORK


def design_for_sums(design: Design, n: int) -> Design:
    """The design for sums of psi psi' over n rows: float64 for little work, else float32 if the basis has it."""
    if is_little(n, design.basis.size):
        return wide(design)
    single = design.basis.astype(np.float32)
    return replace(design, basis=single.deflated() if single.dtype == np.float32 else single)


def definite_factor(A: np.ndarray) -> Any:
    """The Cholesky factor of A, or of A + c I where float32 sums have left A indefinite: then steps are shorter."""
    try:
        return cho_factor(A, check_finite=False)
    except np.linalg.LinAlgError:
        least = float(eigvalsh(A, subset_by_index=(0, 0), check_finite=False)[0])
        shift = 2.0 * abs(least) + len(A) * np.finfo(np.float64).eps * float(A.diagonal().max())
        return cho_factor(A + shift * np.eye(len(A)), overwrite_a=True, check_finite=False)


@dataclass(frozen=True)
class RidgePoint:
    """Coefficients of ridge regression with the best intercept, and their gradient from one pass."""

    w: np.ndarray
    b: np.ndarray
    g: np.ndarray
    """sum_i w_i (phi_i - mean) r_i - alpha w: the steepest-descent direction."""
    squares: np.ndarray
    """sum_i w_i r_i^2."""
    mean: np.ndarray
    """The weighted mean of phi; zero without an intercept."""
    weight: float
    """The sum of weights."""
    sides: np.ndarray | None = None
    """sum_i w_i (phi_i - mean) y_i', of which norms of g are fractions, where it was asked for."""

    @classmethod
    def at(
        cls,
        problem: FiniteRidge,
        design: Design,
        w: np.ndarray,
        b: np.ndarray,
        weight: float,
        sides: bool = False,
    ) -> RidgePoint:
        """Evaluate at w and b by one pass in the precision of the design."""
        part = Residuals(*design.at(w), b, problem.intercept, sides)
        sums, total, squares, psi, C = problem.rows.total(part)
        g, total = design.from_sums(sums) - problem.alpha * w, np.atleast_1d(total)
        C = design.from_sums(C) if sides else None
        if not problem.intercept:
            return cls(w, b, g, squares, np.zeros(len(w)), weight, C)
        s = design.from_sums(psi)
        mean = s / weight  # the best intercept removes the mean residual
        C = C - np.multiply.outer(mean, total + s @ w) if sides else None
        g, squares = g - np.multiply.outer(mean, total), squares - total**2 / weight
        return cls(w, b + total / weight, g, squares, mean, weight, C)

    def improved(
        self,
        problem: FiniteRidge,
        design: Design,
        precondition: Callable[[np.ndarray], np.ndarray],
        tol: np.ndarray,
        most: int,
    ) -> tuple[RidgePoint, int]:
        """Conjugate gradients until the norms of g are at most tol, with one pass in the design's precision per step.

        The new g and sum of squares are updated from the old ones and the products, so they have the precision of
        those.
        """
        alpha, g, taken = problem.alpha, self.g, 0
        x, sums = np.zeros_like(g), np.zeros(g.shape[1])
        z = precondition(g)
        p, rho = z, np.sum(g * z, axis=0)
        while taken < most and np.any(np.linalg.norm(g, axis=0) > tol):
            found, total = problem.rows.total(Applied(*design.at(p)))
            taken, total = taken + 1, np.atleast_1d(total)
            q = design.from_sums(found) + alpha * p
            if problem.intercept:
                q -= np.multiply.outer(self.mean, total)
            curved = np.sum(p * q, axis=0)
            step = np.divide(rho, curved, out=np.zeros_like(rho), where=curved > 0)
            x, g, sums = x + step * p, g - step * q, sums + step * total
            z = precondition(g)
            new = np.sum(g * z, axis=0)
            p, rho = z + np.divide(new, rho, out=np.zeros_like(rho), where=rho > 0) * p, new
        squares = self.squares - np.sum(x * (self.g + 2.0 * alpha * self.w + g + alpha * x), axis=0)
        b = self.b - sums / self.weight if problem.intercept else self.b
        return replace(self, w=self.w + x, b=b, g=g, squares=np.maximum(squares, 0.0)), taken
