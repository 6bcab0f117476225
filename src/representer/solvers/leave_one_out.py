"""The leave-one-out error of ridge regression and its gradient, for tuning kernels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from representer import _parallel
from representer.kernels.base import Gradients
from representer.losses.base import Loss
from representer.problems.ridge import RidgeProblem
from representer.solvers.memory import bytes_of_tiles


@dataclass(frozen=True)
class LeaveOneOut:
    """Predictions of each target by the fit without its row."""

    predictions: np.ndarray
    variances: np.ndarray
    """1 / M_ii: the variance of y_i given all others, in units of the kernel; alpha / w_i of it is noise."""


def leave_one_out(problem: RidgeProblem) -> LeaveOneOut:
    """The predictions y_i - a_i / M_ii of all rows, with M = (K + alpha W^(-1))^(-1) less its part along the intercept.

    One alpha for all targets, and positive weights.
    """
    with _parallel.one_blas_thread():
        M, a, _ = _dual(problem)
    diagonal = M.diagonal().copy()
    return LeaveOneOut(problem.targets - a / diagonal[:, None], 1.0 / diagonal)


def loo_error(problem: RidgeProblem, loss: Loss | None = None) -> tuple[float, Gradients, float]:
    """Weighted mean leave-one-out loss, its gradient by hyper-parameter, and its derivative by alpha.

    It is the squared error when no loss is given. With A = K + alpha W^(-1), M = A^(-1) (less the part along the
    intercept) and a = M y, leaving i out predicts f_i = y_i - e_i with e_i = a_i / M_ii. From dM = -M dA M the gradient
    is <V, dA> with V = (M c) a' - M diag(d) M, c_i = w_i l'(y_i, f_i) / M_ii and d_i = c_i e_i. As dA is symmetric,
    (V + V') / 2 does as well. One alpha for all targets, and positive weights.
    """
    # the threads of BLAS wait for each other at every panel, which takes longer than the panels of such small matrices
    with _parallel.one_blas_thread():
        return _loo_error(problem, loss)


def loo_bytes(n: int, targets: int, threads: int | None) -> int:
    """The inverse, the two factors of the gradient, and tiles of weights and derivatives."""
    return 24 * n * n + 8 * 10 * n * targets + 2 * bytes_of_tiles(n, threads)


def _dual(problem: RidgeProblem) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """M, a = M y, and the weights."""
    weights = np.ones(problem.n) if problem.weights is None else problem.weights
    M = problem.gram.astype(np.float64).dense()
    M.ravel()[:: len(M) + 1] += float(problem.alpha[0]) / weights
    M = _inverse(M)
    if problem.intercept:
        u = M.sum(axis=1)
        M -= np.multiply.outer(u, u / u.sum())
    return M, M @ problem.targets, weights


def _loo_error(problem: RidgeProblem, loss: Loss | None) -> tuple[float, Gradients, float]:
    M, a, weights = _dual(problem)
    y, diagonal = problem.targets, M.diagonal().copy()
    errors, total = a / diagonal[:, None], weights.sum() * y.shape[1]
    losses = errors**2 if loss is None else loss.value(y, y - errors)
    slopes = -2.0 * errors if loss is None else loss.gradient(y, y - errors)
    value = float((weights[:, None] * losses).sum() / total)
    c = weights[:, None] * slopes / diagonal[:, None] / total
    d = (c * errors).sum(axis=1)
    # factors (U, V) of the symmetric part, so that its tiles are computed where they are used, on all threads
    Mc = M @ c
    U, V = np.hstack([M * -d, Mc, a]), np.hstack([M, 0.5 * a, 0.5 * Mc])
    by_alpha = float((np.einsum("ij,ij->i", U, V) / weights).sum())
    return value, problem.gram.astype(np.float64).contract((U, V), lower=True), by_alpha


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
