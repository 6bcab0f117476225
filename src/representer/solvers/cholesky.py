"""Ridge by Cholesky factorisation of the kernel matrix, in place."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np
from scipy.linalg import eigh, lapack

from representer import _parallel
from representer.problems.ridge import RidgeProblem
from representer.result import Budget, Plan, Result, Work, certify
from representer.solvers.memory import bytes_of_tiles

MIXED_FROM = 1500
"""Rows from which a float32 factor with float64 refinement is faster than a float64 factor."""
EIGENVECTORS_UP_TO = 6000
"""Rows up to which eigenvectors take minutes, not hours."""
EIGENVECTORS_BYTES = 16
"""Bytes per entry of a matrix: its eigenvectors take as much as the matrix."""
FEW_ROWS = 7000
"""Rows up to which a factorisation is no slower than conjugate gradients, for any alpha."""
FACTOR_SECONDS = 2.2e-12
"""Seconds per n^3 of a float32 factor on two cores. By these costs conjugate gradients take as long at 6,000 rows."""

name = "cholesky"
way_out = "use solver='conjugate_gradient', fewer rows, or a larger memory="


def cost(problem: RidgeProblem, budget: Budget) -> Plan:
    """n^2 floats, or doubles for few rows or a ridge below float32's rounding, and n^3 / 3 operations."""
    n, single = problem.n, problem.n >= MIXED_FROM and not is_tiny(problem)
    half = n * (n + 1) // 2
    why = "alpha is 0" if problem.alpha.min() == 0 else "alpha is tiny against the kernel's scale"
    reason = why if is_tiny(problem) else "n is small" if n <= FEW_ROWS else "alpha is small"
    seconds = FACTOR_SECONDS * (1 if single else 2) * n**3 + 1e-9 * 4 * half
    plan = Plan(name, reason, _bytes(problem, 4 if single else 8), 4 * half, seconds)
    return plan.within(budget.memory, way_out)


def _bytes(problem: RidgeProblem, for_each: int) -> int:
    """A matrix of ``for_each`` bytes per entry, right-hand sides, solutions and residuals, and tiles in flight."""
    sides = 16 * problem.right_hand_sides.nbytes
    return for_each * problem.n**2 + problem.gram.nbytes + sides + bytes_of_tiles(problem.n, problem.gram.threads)


def is_tiny(problem: RidgeProblem) -> bool:
    """Whether the ridge is lost in the rounding of float32 products, which is at most eps trace(K)."""
    return bool(problem.alpha.min() < 0.01 * np.finfo(np.float32).eps * problem.diagonal.sum())


def solve(problem: RidgeProblem, budget: Budget, reason: str, start: Any = None) -> Result:
    """Factor D K D + alpha I once for each alpha and solve all targets with it.

    From 1,500 rows on the factor is computed in float32, at half the time and memory, and its solution is refined with
    float64 residuals; where the matrix is too ill-conditioned for that, or refinement stalls, the factor is computed in
    float64. A matrix that is singular to rounding, or indefinite like its kernel, is solved by eigenvectors, for the
    minimum-norm coefficients; beyond 6,000 rows, where that would take hours, by the factor of a matrix whose ridge is
    raised above rounding, and the certificate reports the residual that was reached. Where that factor does not exist
    either, LinAlgError is raised.
    """
    begin = perf_counter()
    Z, steps = np.empty_like(problem.right_hand_sides), 0
    used: list[tuple[str, int]] = []
    with _parallel.blas_threads_for(problem.n):
        for ridge in np.unique(problem.ridges):
            columns = problem.ridges == ridge
            Z[:, columns], taken, way = _solve_one(problem, ridge, problem.right_hand_sides[:, columns], budget)
            steps = max(steps, taken)
            used.append(way)
    coef, intercept, _ = problem.finish(Z)
    precision, for_each = max(used, key=lambda way: way[1])  # the alpha that took the most memory
    work = Work("Cholesky", reason, steps, _bytes(problem, for_each), perf_counter() - begin, precision)
    return Result(coef, intercept, certify(problem, coef, intercept, work, budget.tol))


def _solve_one(
    problem: RidgeProblem, ridge: float, B: np.ndarray, budget: Budget
) -> tuple[np.ndarray, int, tuple[str, int]]:
    """Solution, refinement steps, and the precision with its bytes per entry, by the cheapest factor that works."""
    small, tol = problem.n <= EIGENVECTORS_UP_TO, budget.tol
    # a factor surely exists if the ridge is above the rounding of the largest eigenvalue
    raised = 0.0 if small else 10.0 * np.finfo(np.float64).eps * float(problem.diagonal.sum())
    tries: list[tuple[Any, float, str]] = [
        (np.float32, 0.0, "float32 factor, float64 residuals"),
        (np.float64, 0.0, "float64"),
        (np.float64, raised, "float64 factor with the ridge raised above rounding"),
    ]
    for dtype, more, precision in tries[problem.n < MIXED_FROM : 2 if small else 3]:
        for_each = np.dtype(dtype).itemsize
        _require(problem, for_each, budget)
        L = factor(problem, ridge + more, dtype)
        if L is None:
            continue
        Z, R, steps = refine(problem, ridge, L, B, tol)
        size = relative_size(R, B)
        if size <= tol or (not small and dtype == np.float64 and size < 1.0):
            return Z, steps, (precision, for_each)
        del L  # before the next matrix is allocated
    if not small:
        raise np.linalg.LinAlgError(
            f"The kernel matrix of {problem.n} rows plus alpha = {ridge:.2g} is not positive definite; use a larger "
            "alpha, and check the kernel with representer.psd.report."
        )
    _require(problem, EIGENVECTORS_BYTES, budget)
    return _least_coefficients(problem, ridge, B), 1, ("eigenvectors, float64", EIGENVECTORS_BYTES)


def _require(problem: RidgeProblem, for_each: int, budget: Budget) -> None:
    """Raise if a matrix does not fit that the plan did not foresee, as a cheaper one was not precise enough."""
    what = Plan("Cholesky with a matrix that is singular to float32", "", _bytes(problem, for_each), 0)
    what.within(budget.memory, "use a larger alpha, fewer rows, or a larger memory=").require()


def factor(problem: RidgeProblem, ridge: float, dtype: Any) -> np.ndarray | None:
    """The Cholesky factor, written over the matrix; None if a pivot is not positive."""
    potrf = lapack.spotrf if dtype == np.float32 else lapack.dpotrf
    # the transposed view is the same matrix, in LAPACK's column-major order
    L, info = potrf(problem.matrix(ridge, dtype).T, lower=1, overwrite_a=1, clean=0)
    return L if info == 0 else None


def relative_size(R: np.ndarray, B: np.ndarray) -> float:
    """The largest relative residual |r| / |b| over the columns."""
    return float((np.linalg.norm(R, axis=0) / _lengths(B)).max())


def _lengths(B: np.ndarray) -> np.ndarray:
    return np.maximum(np.linalg.norm(B, axis=0), np.finfo(np.float64).tiny)


def refine(
    problem: RidgeProblem, ridge: float, L: np.ndarray, B: np.ndarray, tol: float
) -> tuple[np.ndarray, np.ndarray, int]:
    """Iterative refinement: solve with the factor, and correct with true residuals until they are below a tenth of tol.

    Returns the best solution, its residual and the number of corrections. The residual stays above the tolerance if it
    stagnates: then the factor is not precise enough for this matrix.
    """
    potrs = lapack.spotrs if L.dtype == np.float32 else lapack.dpotrs
    scale = _lengths(B)
    K, ridges = problem.gram.astype(np.float64), np.full(B.shape[1], ridge)
    Z, R, rest, size, steps = np.zeros_like(B), B / scale, B / scale, np.inf, 0
    while steps < 30:
        steps += 1
        change = potrs(L, np.asfortranarray(R, L.dtype), lower=1)[0]
        if not np.all(np.isfinite(change)):
            break
        last, new = size, Z + change
        R = B / scale - problem.apply(new, ridges, K)
        now = float(np.linalg.norm(R, axis=0).max())
        if now < size:
            Z, rest, size = new, R, now
        if now <= 0.1 * tol or (now <= tol and now > 0.1 * last) or now > 0.5 * last:
            break
    return Z * scale, rest * scale, steps


def _least_coefficients(problem: RidgeProblem, ridge: float, B: np.ndarray) -> np.ndarray:
    """(D K D + alpha I)^+ B, leaving out eigenvalues that are zero to rounding, but not negative ones."""
    A = problem.matrix(ridge).T  # the same matrix, in LAPACK's column-major order
    values, vectors = eigh(A, overwrite_a=True, check_finite=False)
    keep = np.abs(values) > problem.n * np.finfo(np.float64).eps * np.abs(values).max()
    inverse = np.divide(1.0, values, out=np.zeros_like(values), where=keep)
    return vectors @ (inverse[:, None] * (vectors.T @ B))
