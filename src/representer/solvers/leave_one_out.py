"""The leave-one-out error of ridge regression and its gradient, for tuning kernels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from representer import _parallel
from representer._loops import definite
from representer.gram.tiled import Gram
from representer.kernels.base import Gradients
from representer.losses.base import Loss
from representer.problems.ridge import RidgeProblem
from representer.solvers.memory import bytes_of_tiles

WHOLE_UP_TO = 1000
"""Rows up to which the weights of a gradient are one product on the calling thread."""


@dataclass(frozen=True)
class LeaveOneOut:
    """Predictions for each target by the fit without its row."""

    predictions: np.ndarray
    variances: np.ndarray
    """1 / M_ii: the variance of y_i given all others, in units of the kernel; alpha / w_i of it is noise."""


def leave_one_out(problem: RidgeProblem) -> LeaveOneOut:
    """Predictions y_i - a_i / M_ii for all rows, with M = (K + alpha W^(-1))^(-1) minus its part along the intercept.

    One alpha for all targets, and positive weights.
    """
    with _parallel.one_blas_thread():
        M, a, _ = _dual(problem)
    diagonal = M.diagonal().copy()
    return LeaveOneOut(problem.targets - a / diagonal[:, None], 1.0 / diagonal)


def loo_error(problem: RidgeProblem, loss: Loss | None = None) -> tuple[float, Gradients, float]:
    """Weighted mean leave-one-out loss, its gradient by hyper-parameter, and its derivative by alpha.

    The squared error when no loss is given. With A = K + alpha W^(-1), M = A^(-1) (minus the part along the intercept)
    and a = M y, leaving i out predicts f_i = y_i - e_i with e_i = a_i / M_ii. From dM = -M dA M the gradient is <V, dA>
    with V = (M c) a' - M diag(d) M, c_i = w_i l'(y_i, f_i) / M_ii and d_i = c_i e_i. As dA is symmetric, (V + V') / 2
    serves as well. One alpha for all targets, and positive weights.
    """
    # BLAS threads synchronise at every panel, which takes longer than the panels of such small matrices
    with _parallel.one_blas_thread():
        return _loo_error(problem, loss)


def predictive_likelihood(problem: RidgeProblem) -> tuple[float, Gradients, float]:
    """Weighted mean log probability of y_i given all others, its gradient, and its derivative by alpha.

    Given the others, y_i is normal about y_i - a_i / M_ii with variance s^2 / M_ii, and s^2, the amplitude of the
    kernel, is its maximum-likelihood value: the mean of a_i^2 / M_ii. Up to a constant the value is (mean of log M_ii -
    log s^2) / 2.
    """
    with _parallel.one_blas_thread():
        M, a, weights = _dual(problem)
        diagonal, share = M.diagonal().copy(), weights / weights.sum()
        squares = (a**2).mean(axis=1) / diagonal
        amplitude = float(share @ squares)
        if not amplitude > 0.0:
            raise np.linalg.LinAlgError("all targets are zero, so there is no likelihood")
        value = 0.5 * float(share @ np.log(diagonal)) - 0.5 * np.log(amplitude)
        u = M @ (-a * (share / diagonal)[:, None]) / (amplitude * a.shape[1])
        q = 0.5 * share * (1.0 / diagonal + squares / diagonal / amplitude)
        by_noise = -q @ M**2 - (u * a).sum(axis=1)
        return value, by_kernel(problem.gram, M, u, a, q), float((by_noise / weights).sum())


def loo_bytes(n: int, targets: int, threads: int | None) -> int:
    """The inverse, the two factors of the gradient, and tiles of weights and derivatives."""
    return 24 * n * n + 8 * 10 * n * targets + 2 * bytes_of_tiles(n, threads)


def _dual(problem: RidgeProblem) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """M, a = M y, and the weights."""
    weights = np.ones(problem.n) if problem.weights is None else problem.weights
    M = problem.gram.astype(np.float64).dense()
    M.ravel()[:: len(M) + 1] += float(problem.alpha[0]) / weights
    M = inverse_of(M)
    if problem.intercept:
        M = without_constants(M)
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
    u = -M @ c
    by_noise = -d @ M**2 - (u * a).sum(axis=1)
    return value, by_kernel(problem.gram, M, u, a, d), float((by_noise / weights).sum())


def by_kernel(gram: Gram, M: np.ndarray, u: np.ndarray, a: np.ndarray, q: np.ndarray) -> Gradients:
    """-<u a' + M diag(q) M, dK> for each hyper-parameter, M symmetric."""
    K = gram.astype(np.float64)
    if len(M) <= WHOLE_UP_TO:
        root = M * np.sqrt(np.abs(q))
        W = (root if np.all(q <= 0.0) else root * -np.sign(q)) @ root.T  # half the operations for the same factor
        del root
        half = 0.5 * (u @ a.T)
        W -= half
        W -= half.T
        return K.contract(W, lower=True)
    # factors (U, V) of the symmetric part, so that its tiles are computed on the fly, on all threads
    U, V = np.hstack([M * -q, -u, a]), np.hstack([M, 0.5 * a, -0.5 * u])
    return K.contract((U, V), lower=True)


def without_constants(M: np.ndarray) -> np.ndarray:
    """The inverse M minus its part along constants, which a free intercept absorbs; overwrites M."""
    u = M.sum(axis=1)
    M -= np.multiply.outer(u, u / u.sum())
    return M


def inverse_of(A: np.ndarray) -> np.ndarray:
    """The inverse of a positive definite matrix, which is overwritten."""
    if not definite.invert(A):
        raise np.linalg.LinAlgError("the kernel matrix is singular to rounding; use a larger alpha")
    return A
