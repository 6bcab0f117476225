"""Kernel principal components in three ways that can be compared, and a relaxed problem that is not quite the same.

K is a Gram matrix, centred or not, and V = [v_1, ..., v_r] are functions in the span of its n representers, V = Phi A.
All of them maximise the variance tr(V' Phi Phi' V) = tr(A' K K A):

1. `gram_view`: the columns of A are eigenvectors of K, divided by the square roots of their eigenvalues.
2. `stiefel_view`: ascent over orthonormal V, which is the Stiefel manifold V'V = A' K A = I.
3. `cholesky_view`: with K = C'C, orthonormal V are A = C^+ M with M'M = I, so the scores V' Phi = M' C are just
   an orthogonal projection of the Cholesky factor C onto its left singular vectors.

The problem over orthonormal V in all of H, not only in the span, does not obey the representer theorem: the part of V
outside the span is invisible to the objective and fills V'V up to I. Seen from the span its constraint is V'V <= I, the
ball of the spectral norm, and `relaxed_view` solves that. A convex function attains its maximum on the boundary, so the
solution is the same as long as r is at most the rank of K. Beyond that the other three have no solution; and the least
variance, where the three views find the minor components, is zero in the relaxed problem, attained by functions
orthogonal to all data.

These are for study and small n; use `KernelPCA` for real work.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eigh, lapack, polar, svd

from representer.kernels import checks


@dataclass(frozen=True)
class View:
    """Functions V = Phi A in the span of the data."""

    coef: np.ndarray
    """A, array of shape (n, r)."""
    scores: np.ndarray
    """V' Phi = A' K, array of shape (r, n)."""

    @property
    def inner(self) -> np.ndarray:
        """V'V = A' K A, the identity for orthonormal functions."""
        return self.scores @ self.coef

    @property
    def variance(self) -> float:
        """tr(V' Phi Phi' V)."""
        return float((self.scores**2).sum())


def centred(K: np.ndarray) -> np.ndarray:
    """The Gram matrix of the k(x_i, .) less their mean."""
    return K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()


def gram_view(K: np.ndarray, r: int, *, least: bool = False) -> View:
    """A = U Lambda^(-1/2) from eigenvectors of K: the r largest, or with ``least`` the smallest positive."""
    values, U = eigh(K)
    some = np.arange(len(K))[values > 1e-10 * values[-1]]
    _check_rank(r, len(some))
    some = some[:r] if least else some[::-1][:r]
    A = U[:, some] / np.sqrt(values[some])
    return View(A, A.T @ K)


def stiefel_view(K: np.ndarray, r: int, *, least: bool = False, random_state: Any = 0, max_iter: int = 10_000) -> View:
    """Gradient steps for tr(V' Phi Phi' V), each followed by the nearest orthonormal V, its polar factor."""
    C = _factor(K)
    _check_rank(r, len(C))
    start = np.linalg.qr(np.random.default_rng(random_state).normal(size=(len(C), r)))[0]
    return _view(C, _ascent(C, start, lambda M: polar(M)[0], least, max_iter))


def cholesky_view(K: np.ndarray, r: int, *, least: bool = False) -> View:
    """The factor C of K = C'C, projected onto its first (or ``least``: last) left singular vectors M: scores M' C."""
    C = _factor(K)
    _check_rank(r, len(C))
    M = svd(C, full_matrices=False)[0]
    return _view(C, M[:, ::-1][:, :r] if least else M[:, :r])


def relaxed_view(K: np.ndarray, r: int, *, least: bool = False, random_state: Any = 0, max_iter: int = 10_000) -> View:
    """The same steps in the ball V'V <= I of the spectral norm: singular values above one are clipped to one."""
    C = _factor(K)
    start = 0.1 * np.random.default_rng(random_state).normal(size=(len(C), r)) / np.sqrt(len(C))

    def into_ball(M: np.ndarray) -> np.ndarray:
        left, sizes, right = svd(M, full_matrices=False)
        return (left * np.minimum(sizes, 1.0)) @ right

    return _view(C, _ascent(C, start, into_ball, least, max_iter))


def _factor(K: np.ndarray) -> np.ndarray:
    """C with K = C'C by pivoted Cholesky, with one row for each dimension that the data span."""
    upper, pivots, rank, _ = lapack.dpstrf(K, tol=1e-10 * K.diagonal().max())
    C = np.empty((rank, len(K)))
    C[:, pivots - 1] = np.triu(upper)[:rank]
    return C


def _check_rank(r: int, rank: int) -> None:
    checks.integer(r, "r")
    if r > rank:
        raise ValueError(
            f"{r} orthonormal functions are wanted, but the data span {rank} dimensions; use an r of at most that."
        )


def _view(C: np.ndarray, M: np.ndarray) -> View:
    """V = Phi A with A = C^+ M."""
    return View(np.linalg.pinv(C) @ M, M.T @ C)


def _ascent(C: np.ndarray, M: np.ndarray, back: Any, least: bool, max_iter: int) -> np.ndarray:
    """M <- back(M + C C' M / L), or descent, until it stops moving; L is the largest eigenvalue of C C' and of K."""
    S = C @ C.T
    S /= np.linalg.norm(S, 2) * (-1.0 if least else 1.0)
    for _ in range(max_iter):
        new = back(M + S @ M)
        if np.abs(new - M).max() < 1e-13:
            break
        M = new
    return M
