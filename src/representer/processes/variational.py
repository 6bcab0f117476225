"""A sparse Gaussian process on landmarks: a lower bound on the marginal likelihood, and the posterior attaining it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import cho_solve, lapack, solve_triangular

from representer import _parallel
from representer.gram.tiled import Gram
from representer.kernels.base import Gradients, Kernel, add_gradients
from representer.processes.likelihood import log_density

JITTER = 1e-8
"""Added to the diagonal of the landmarks' Gram matrix, times its mean: landmarks may come close to each other."""


@dataclass(frozen=True)
class Bound:
    """The bound and its gradient with respect to hyper-parameters, noise and the entries of the kernel matrices."""

    value: float
    gradients: Gradients
    by_noise: float
    _at: Landmarks
    _by_cross: np.ndarray
    _by_square: np.ndarray
    _by_diagonal: np.ndarray

    @cached_property
    def by_inputs(self) -> np.ndarray:
        """The gradient with respect to the inputs."""
        at = self._at
        return at.cross.input_gradient(self._by_cross) + along_diagonal(at.kernel, at.inputs, self._by_diagonal)

    @cached_property
    def by_landmarks(self) -> np.ndarray:
        """The gradient with respect to the landmarks."""
        at = self._at
        return at.cross.T.input_gradient(self._by_cross.T) + 2.0 * at.square.input_gradient(self._by_square)


class Landmarks:
    """Q = K_xu K_u^(-1) K_ux in place of K: the data inform f only through its values at the landmarks u.

    With S = K_u + K_ux K_xu / noise the posterior mean is k(x, u) m, m = S^(-1) K_ux y / noise, and the variance is
    k(x, x) - k(x, u) (K_u^(-1) - S^(-1)) k(u, x). No n x n matrix is formed.

    Parameters
    ----------
    kernel : Kernel
    inputs, landmarks : prepared inputs
        The landmarks prepared like the inputs.
    Y : array of shape (n, n_targets)
    noise : float
        Variance of the noise.
    """

    def __init__(
        self, kernel: Kernel, inputs: Any, landmarks: Any, Y: np.ndarray, noise: float, threads: int | None = None
    ):
        self.kernel, self.inputs, self.landmarks, self.Y, self.noise = kernel, inputs, landmarks, Y, noise
        self.cross = Gram.of(kernel, inputs, landmarks, threads=threads)
        self.square = Gram.of(kernel, landmarks, threads=threads)
        self.K_xu, K_u = self.cross.dense(), self.square.dense()
        K_u.ravel()[:: len(K_u) + 1] += JITTER * float(K_u.diagonal().mean())
        self.squares = self.K_xu.T @ self.K_xu
        self.L = _cholesky(K_u)
        # S = L (I + A A' / noise) L' with A = L^(-1) K_ux avoids the loss of digits in K_u^(-1)
        A = solve_triangular(self.L, self.K_xu.T, lower=True, check_finite=False)
        inner = A @ A.T
        self.explained = float(np.trace(inner))
        self.inner = _cholesky(np.eye(len(inner)) + inner / noise)
        self.L_S = self.L @ self.inner
        self.whitened = solve_triangular(self.inner, A @ Y, lower=True, check_finite=False)
        self.mean = solve_triangular(self.L_S, self.whitened, lower=True, trans=1, check_finite=False) / noise

    @property
    def reduction(self) -> np.ndarray:
        """K_u^(-1) - S^(-1)."""
        eye = np.eye(len(self.L))
        return cho_solve((self.L, True), eye) - cho_solve((self.L_S, True), eye)

    def bound(self) -> Bound:
        """log N(y; 0, Q + noise I) - tr(K - Q) / (2 noise), summed over targets, with its gradient.

        It is the largest lower bound on the log marginal likelihood that a posterior on these landmarks can give, so
        the landmarks can be optimised with it without any danger of overfitting.
        """
        n, targets = self.Y.shape
        inverse = cho_solve((self.L, True), np.eye(len(self.L)))
        inverse_S = cho_solve((self.L_S, True), np.eye(len(self.L)))
        diagonal = self.kernel.diagonal(self.inputs)
        rest = float(diagonal.sum()) - self.explained
        b = 1.0 / self.noise
        fitted = b * float(np.vdot(self.whitened, self.whitened))
        size = float(np.vdot(self.Y, self.Y))
        determinant = n * np.log(self.noise) + 2.0 * float(np.log(self.inner.diagonal()).sum())
        value = log_density(b * (size - fitted), determinant, n, targets) - 0.5 * b * targets * rest
        outer = self.mean @ self.mean.T
        by_cross = b * (self.K_xu @ (targets * (inverse - inverse_S) - outer) + self.Y @ self.mean.T)
        by_square = 0.5 * (targets * (inverse - inverse_S - b * inverse @ self.squares @ inverse) - outer)
        by_precision = 0.5 * (
            n * targets / b
            - targets * (float(np.vdot(inverse_S, self.squares)) + rest)
            - size
            + 2.0 * fitted
            - float(np.vdot(outer, self.squares))
        )
        return self._bound_from(value, by_cross, by_square, -0.5 * targets * b, -(b**2) * by_precision)

    def _bound_from(
        self, value: float, by_cross: np.ndarray, by_square: np.ndarray, by_diagonal: float, by_noise: float
    ) -> Bound:
        """The bound, with its gradient by the chain rule from those with respect to K_xu, K_u and each k(x, x)."""
        along = np.full(len(self.Y), by_diagonal)
        gradients = self.cross.contract(by_cross)
        add_gradients(gradients, self.square.contract(by_square))
        add_gradients(gradients, vjp_diagonal(self.kernel, self.inputs, along))
        return Bound(value, gradients, by_noise, self, by_cross, by_square, along)


def vjp_diagonal(kernel: Kernel, A: Any, w: np.ndarray) -> Gradients:
    """sum_i w_i dk(a_i, a_i) / dtheta, from small blocks along the diagonal."""
    gradients: Gradients = {}
    for part, W in _diagonal_blocks(A, w):
        add_gradients(gradients, kernel.vjp(part, part, W))
    return gradients


def along_diagonal(kernel: Kernel, A: Any, w: np.ndarray) -> np.ndarray:
    """w_i dk(a_i, a_i) / da_i."""
    return np.concatenate([2.0 * kernel.input_vjp(part, part, W) for part, W in _diagonal_blocks(A, w)])


def _diagonal_blocks(A: Any, w: np.ndarray) -> Iterator[tuple[Any, np.ndarray]]:
    for rows in _parallel.split(len(A), 64):
        yield A[rows], np.diag(w[rows]).astype(A.dtype)


def _cholesky(A: np.ndarray) -> np.ndarray:
    L, info = lapack.dpotrf(A, lower=1, clean=1)
    if info != 0:
        raise np.linalg.LinAlgError(
            "The landmarks' matrix is not positive definite; use fewer landmarks or more noise."
        )
    return L
