"""The leave-one-out error of ridge regression and its gradient, for tuning kernels."""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from representer import _parallel
from representer.kernels.base import Gradients
from representer.problems.ridge import RidgeProblem
from representer.solvers.memory import bytes_of_tiles


def loo_error(problem: RidgeProblem) -> tuple[float, Gradients, float]:
    """Weighted mean squared leave-one-out error, its gradient by hyper-parameter, and its derivative by alpha.

    With A = K + alpha W^(-1), M = A^(-1) (less the part along the intercept) and a = M y, the error of leaving i out is
    e_i = a_i / M_ii. From dM = -M dA M the gradient is <V, dA> with V = M diag(d) M - (M c) a',
    c_i = 2 w_i e_i / M_ii and d_i = c_i a_i / M_ii. As dA is symmetric, (V + V') / 2 does as well.
    One alpha for all targets, and positive weights.
    """
    # the threads of BLAS wait for each other at every panel, which takes longer than the panels of such small matrices
    with _parallel.one_blas_thread():
        return _loo_error(problem)


def loo_bytes(n: int, targets: int, threads: int | None) -> int:
    """The inverse, the two factors of the gradient, and tiles of weights and derivatives."""
    return 24 * n * n + 8 * 10 * n * targets + 2 * bytes_of_tiles(n, threads)


def _loo_error(problem: RidgeProblem) -> tuple[float, Gradients, float]:
    weights = np.ones(problem.n) if problem.weights is None else problem.weights
    alpha = float(problem.alpha[0])
    K = problem.gram.astype(np.float64)
    M = K.dense()
    M.ravel()[:: len(M) + 1] += alpha / weights
    M = _inverse(M)
    if problem.intercept:
        u = M.sum(axis=1)
        M -= np.multiply.outer(u, u / u.sum())
    a = M @ problem.targets
    diagonal = M.diagonal().copy()
    errors = a / diagonal[:, None]
    total = weights.sum() * problem.targets.shape[1]
    value = float((weights[:, None] * errors**2).sum() / total)
    c = 2.0 * weights[:, None] * errors / diagonal[:, None] / total
    d = (c * a).sum(axis=1) / diagonal
    # factors (U, V) of the symmetric part, so that its tiles are computed where they are used, on all threads
    Mc = M @ c
    M *= np.sqrt(np.maximum(d, 0.0))  # no d is negative but by rounding
    U, V = np.hstack([M, Mc, a]), np.hstack([M, -0.5 * a, -0.5 * Mc])
    by_alpha = float((np.einsum("ij,ij->i", U, V) / weights).sum())
    return value, K.contract((U, V), lower=True), by_alpha


def _inverse(A: np.ndarray) -> np.ndarray:
    """The inverse of a positive definite matrix, written over it."""
    L, info = lapack.dpotrf(A.T, lower=1, overwrite_a=1, clean=1)
    if info == 0:
        L, info = lapack.dpotri(L, lower=1, overwrite_c=1)
    if info != 0:
        raise np.linalg.LinAlgError("the kernel matrix is singular to rounding; use a larger alpha")
    inverse = L + L.T
    inverse[np.diag_indices_from(inverse)] *= 0.5
    return inverse
