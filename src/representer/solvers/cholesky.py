"""Ridge by Cholesky factorisation of the kernel matrix, in place."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np
from scipy.linalg import eigh, lapack

from representer.problem import Certificate, Result, RidgeProblem

MIXED_FROM = 1500  # rows from which a float32 factor with float64 refinement is faster than a float64 factor
EIGENVECTORS_UP_TO = 6000  # rows up to which eigenvectors take minutes and not hours


def solve(problem: RidgeProblem, *, tol: float, reason: str) -> Result:
    """Factor D K D + alpha I once for each alpha and solve all targets with it.

    From 1,500 rows on the factor is computed in float32, at half the time and memory, and its solution is refined with
    float64 residuals; where the matrix is too ill-conditioned for that, or refinement stalls, the factor is computed in
    float64. A matrix that is singular to rounding is solved by eigenvectors, with the least coefficients; beyond 6,000
    rows, where that would take hours, by the factor of a matrix whose ridge is raised above rounding, and the
    certificate tells the residual that was reached. Where there is no such factor either, it is an error.
    """
    start = perf_counter()
    Z = np.empty_like(problem.right_sides)
    worst, steps = "float32 factor, float64 residuals", 0
    for ridge in np.unique(problem.ridges):
        columns = problem.ridges == ridge
        solution, taken, precision = _solve_one(problem, ridge, problem.right_sides[:, columns], tol)
        Z[:, columns], steps = solution, max(steps, taken)
        worst = precision if precision.startswith(("float64", "eigen")) else worst
    coef, intercept = problem.finish(Z)
    relative, bound = problem.residuals(coef, intercept)
    n = problem.n
    itemsize = 4 if worst.startswith("float32") else 8
    return Result(
        coef,
        intercept,
        Certificate(
            solver="Cholesky",
            reason=reason,
            converged=bool(relative.max() <= tol),
            residual=float(relative.max()),
            tolerance=tol,
            error_bound=bound,
            iterations=steps,
            kernel_evaluations=n * (n + 1) // 2 * (len(np.unique(problem.ridges)) + steps + 1),
            bytes=itemsize * n * n,
            seconds=perf_counter() - start,
            precision=worst,
        ),
    )


def _solve_one(problem: RidgeProblem, ridge: float, B: np.ndarray, tol: float) -> tuple[np.ndarray, int, str]:
    """Solution, refinements and precision, by the cheapest factor that will do."""
    small = problem.n <= EIGENVECTORS_UP_TO
    # a factor exists for certain where the ridge is above the rounding of the largest eigenvalue
    raised = 0.0 if small else 10.0 * np.finfo(np.float64).eps * float(problem.diagonal.sum())
    tries: list[tuple[Any, float, str]] = [
        (np.float32, 0.0, "float32 factor, float64 residuals"),
        (np.float64, 0.0, "float64"),
        (np.float64, raised, "float64 factor with the ridge raised above rounding"),
    ]
    for dtype, more, precision in tries[problem.n < MIXED_FROM : 2 if small else 3]:
        L = _factor(problem, ridge + more, dtype)
        if L is None:
            continue
        Z, steps, size = _refine(problem, ridge, L, B, tol)
        if size <= tol or (not small and dtype == np.float64 and size < 1.0):
            return Z, steps, precision
        del L  # before the next matrix is made
    if not small:
        raise np.linalg.LinAlgError(
            f"The kernel matrix of {problem.n} rows plus alpha = {ridge:.2g} is not positive definite; use a larger "
            "alpha, and check the kernel with representer.psd.report."
        )
    return _least_coefficients(problem, ridge, B), 1, "eigenvectors, float64"


def _matrix(problem: RidgeProblem, ridge: float, dtype: Any) -> np.ndarray:
    """D K D + alpha I."""
    A = problem.kernel.block(problem.exact if dtype == np.float64 else problem.fast, threads=problem.threads)
    A = A.astype(dtype, copy=False)
    if problem.weights is not None:
        A *= problem.root.astype(dtype)
        A *= problem.root.ravel().astype(dtype)
    A.ravel()[:: len(A) + 1] += dtype(ridge)
    return A


def _factor(problem: RidgeProblem, ridge: float, dtype: Any) -> np.ndarray | None:
    """The Cholesky factor, written over the matrix; None if a pivot is not positive."""
    potrf = lapack.spotrf if dtype == np.float32 else lapack.dpotrf
    # the transposed view is column-major as LAPACK wants it, and the same matrix
    L, info = potrf(_matrix(problem, ridge, dtype).T, lower=1, overwrite_a=1, clean=0)
    return L if info == 0 else None


def _refine(
    problem: RidgeProblem, ridge: float, L: np.ndarray, B: np.ndarray, tol: float
) -> tuple[np.ndarray, int, float]:
    """Solve with the factor and correct with true residuals until they are below a tenth of the tolerance.

    The best solution, the number of corrections and the relative residual. That is above the tolerance if residuals
    stop falling there: then the factor is not precise enough for this matrix.
    """
    potrs = lapack.spotrs if L.dtype == np.float32 else lapack.dpotrs
    scale = np.maximum(np.linalg.norm(B, axis=0), np.finfo(np.float64).tiny)
    Z, R, size, steps = np.zeros_like(B), B / scale, np.inf, 0
    while steps < 30:
        steps += 1
        change = potrs(L, np.asfortranarray(R, L.dtype), lower=1)[0]
        if not np.all(np.isfinite(change)):
            break
        last, new = size, Z + change
        R = B / scale - problem.apply(new, np.full(B.shape[1], ridge))
        now = float(np.linalg.norm(R, axis=0).max())
        if now < size:
            Z, size = new, now
        if now <= 0.1 * tol or (now <= tol and now > 0.1 * last) or now > 0.5 * last:
            break
    return Z * scale, steps, size


def _least_coefficients(problem: RidgeProblem, ridge: float, B: np.ndarray) -> np.ndarray:
    """(D K D + alpha I)^+ B, leaving out eigenvalues that are zero to rounding."""
    values, vectors = eigh(_matrix(problem, ridge, np.float64), overwrite_a=True, check_finite=False)
    keep = values > problem.n * np.finfo(np.float64).eps * max(values[-1], 0.0)
    return vectors[:, keep] @ ((vectors[:, keep].T @ B) / values[keep, None])
